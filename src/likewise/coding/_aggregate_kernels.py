"""The compiled part of VLAD: residuals added up by word."""

from __future__ import annotations

from likewise._kernels import kernel


@kernel
def add_residuals(X, labels, words, out):  # type: ignore[no-untyped-def]
    """``out[labels[i]] += X[i] - words[labels[i]]`` for every row; out is float64."""
    for i in range(X.shape[0]):
        j = labels[i]
        for t in range(X.shape[1]):
            out[j, t] += X[i, t] - words[j, t]
