"""The compiled part of pooling: codes scattered into one buffer of words for each cell.

A descriptor touches only the words of its own support.  ``cells[i]`` says into which buffer code i
goes.  Product codes are pooled from their marginals u and v of common mass s, ``y_ij = u_i v_j /
s``: the k² words are never listed for a descriptor (docs/methods/psc.md, (16)).
"""

from __future__ import annotations

import numpy as np

from likewise_methods.kernels import kernel


@kernel
def max_codes(starts, words, values, cells, out):  # type: ignore[no-untyped-def]
    """``out[cell, word] = max`` over the codes; out starts at zero, which absent words count as."""
    for i in range(cells.shape[0]):
        row = out[cells[i]]
        for e in range(starts[i], starts[i + 1]):
            if values[e] > row[words[e]]:
                row[words[e]] = values[e]


@kernel
def add_codes(starts, words, values, cells, out):  # type: ignore[no-untyped-def]
    """``out[cell, word] +=`` the codes."""
    for i in range(cells.shape[0]):
        row = out[cells[i]]
        for e in range(starts[i], starts[i + 1]):
            row[words[e]] += values[e]


@kernel
def max_products(starts1, words1, values1, starts2, words2, values2, k2, cells, out):  # type: ignore[no-untyped-def]
    """As ``max_codes`` for codes of two subspaces given by their marginals."""
    for i in range(cells.shape[0]):
        mass = 0.0
        for e in range(starts1[i], starts1[i + 1]):
            mass += values1[e]
        if mass <= 0.0:
            continue
        row = out[cells[i]]
        for e in range(starts1[i], starts1[i + 1]):
            left = np.float32(values1[e] / mass)
            base = words1[e] * k2
            for f in range(starts2[i], starts2[i + 1]):
                value = left * values2[f]
                if value > row[base + words2[f]]:
                    row[base + words2[f]] = value
