"""SISO: quality against other annotators, and (``siso.speed``) speed against lasso solvers."""
