"""Adding by the workers of a Dask cluster, beside the pool of this machine; ``make bench-dask``."""
