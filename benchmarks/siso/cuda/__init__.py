"""The lasso on a CUDA device: ``bench-siso-cuda``, and others there: ``bench-siso-cuda-peers``."""
