"""Solvers of product sparse coding and of sparse coding over one codebook."""
