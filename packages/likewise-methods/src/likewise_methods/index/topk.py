"""A heap of the k best (score, id) so far; the root is the worst.

A is worse than B if its score is lower or, at equal scores, its id is higher.
"""

from __future__ import annotations

from likewise_methods.kernels import kernel


@kernel(inline="always")
def worse(score_a, id_a, score_b, id_b):  # type: ignore[no-untyped-def]
    return score_a < score_b or (score_a == score_b and id_a > id_b)


@kernel
def push(scores, ids, size, score, id_):  # type: ignore[no-untyped-def]
    """Add an item to a heap of ``size`` < k items."""
    i = size
    while i > 0:
        parent = (i - 1) >> 1
        if not worse(score, id_, scores[parent], ids[parent]):
            break
        scores[i] = scores[parent]
        ids[i] = ids[parent]
        i = parent
    scores[i] = score
    ids[i] = id_


@kernel
def replace_root(scores, ids, k, score, id_):  # type: ignore[no-untyped-def]
    """Replace the worst of k items by a better one."""
    i = 0
    while True:
        child = 2 * i + 1
        if child >= k:
            break
        if child + 1 < k and worse(scores[child + 1], ids[child + 1], scores[child], ids[child]):
            child += 1
        if not worse(scores[child], ids[child], score, id_):
            break
        scores[i] = scores[child]
        ids[i] = ids[child]
        i = child
    scores[i] = score
    ids[i] = id_


@kernel
def offer(scores, ids, size, k, score, id_):  # type: ignore[no-untyped-def]
    """Add the item if it is among the k best; return the new size."""
    if size < k:
        push(scores, ids, size, score, id_)
        return size + 1
    if worse(scores[0], ids[0], score, id_):
        replace_root(scores, ids, k, score, id_)
    return size
