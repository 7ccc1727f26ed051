"""Solvers of ordinal embedding."""
