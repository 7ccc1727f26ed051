"""The lasso on a CUDA device: hundreds of queries in step, exact with the same certificate.

Start reading with ``rounds``: scan, expand, walk, until the gap over all columns is proved.
``batch`` holds the working sets of a batch and their tableaux, and ``tableau`` defines a tableau
and the walk on one (NumPy).  *Operations* compute: ``host`` in NumPy, for tests without a device,
or ``device`` in CuPy with ``kernels.cu``, compiled on first use.  Nothing here is imported unless a
device is asked for.
"""
