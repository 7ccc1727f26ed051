"""Solvers of sparse inverse covariance selection."""
