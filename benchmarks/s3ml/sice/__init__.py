"""Sparse inverse covariance, S3ML's inner problem, against other solvers."""
