"""From marginals to codes over all products of words, one part after another."""

from __future__ import annotations

import numpy as np

from likewise._kernels import kernel


@kernel
def crossed(ends, ids, values, other_ends, other_ids, other_values, k, masses):  # type: ignore[no-untyped-def]
    """Each row's outer product of two codes, divided by its mass; ids become id k + other id."""
    n = len(ends) - 1
    new = np.zeros(n + 1, np.int64)
    for row in range(n):
        size = (ends[row + 1] - ends[row]) * (other_ends[row + 1] - other_ends[row])
        new[row + 1] = new[row] + size
    made_ids, made = np.empty(new[n], np.int64), np.empty(new[n])
    for row in range(n):
        at = new[row]
        for a in range(ends[row], ends[row + 1]):
            base, share = np.int64(ids[a]) * k, values[a] / masses[row]
            for b in range(other_ends[row], other_ends[row + 1]):
                made_ids[at], made[at] = base + other_ids[b], share * other_values[b]
                at += 1
    return new, made_ids, made
