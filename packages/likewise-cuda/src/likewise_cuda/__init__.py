"""The lasso on a CUDA device: hundreds of queries in step, exact with the same certificate.

``rounds`` is where to begin reading: scan, expand, walk, until the gap over all columns is proven.
``batch`` holds the working sets of a batch and their tableaux, ``tableau`` says what a tableau is
and walks on one (NumPy).  The work itself is done by *operations*: ``host`` in NumPy, which is what
tests everywhere run, or ``device`` in CuPy with ``kernels.cu``, which is compiled when it is first
needed.  Nothing here is imported unless a device was asked for.
"""
