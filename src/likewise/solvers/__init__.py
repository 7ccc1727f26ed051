"""Solvers: arrays in, arrays and certificates out; and what compiled kernels share."""
