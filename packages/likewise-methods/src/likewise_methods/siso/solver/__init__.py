"""The lasso for many queries: rounds over working sets, and the solvers of a working set."""
