"""Top-k search, block by block: nominate pictures by an upper bound, then score them exactly.

Every posting of the query adds an upper bound to the sum of its picture (see ``scoring``).  A
picture can be among the k best only if its sum reaches theta, the k-th exact score so far; such
pictures are scored from their rows.  The first theta comes from the k pictures with the highest
sums.
"""

from __future__ import annotations

import numpy as np

from likewise_methods.index.rows import query_unit
from likewise_methods.index.scoring import (
    RUN,
    add_bounds,
    choose_scale,
    exact_scores,
    fill_table,
    find_lists,
    hint_row,
    join_sums,
    round_score,
    rows_ready,
    score_row,
)
from likewise_methods.index.table import LIVING, marks_at, views_at
from likewise_methods.index.topk import offer, replace_root, worse
from likewise_methods.kernels import kernel
from likewise_methods.prefetch import prefetch

# Bounds are used with at least so many times k pictures; else most rows are read anyway.
_PICTURES = 4
_FLOAT32_MAX = float(np.finfo(np.float32).max)
# The sum of a picture that was already scored.
_SEEN = -32_768


@kernel
def _nominate(scratch, bar, n, dead):  # type: ignore[no-untyped-def]
    """Write the pictures whose sums reach the bar to ``scratch.chosen``; return their number."""
    found = 0
    for first in range(0, n, RUN):
        if scratch.peaks[first // RUN] >= bar:
            for d in range(first, min(first + RUN, n)):
                if scratch.sums[d] >= bar and not dead[d]:
                    scratch.chosen[found] = d
                    found += 1
    return found


@kernel
def _highest(scratch, n, dead, k, best, places):  # type: ignore[no-untyped-def]
    """Find k living pictures with the highest sums."""
    size = 0
    for first in range(0, n, RUN):
        if size < k or scratch.peaks[first // RUN] > best[0]:
            for d in range(first, min(first + RUN, n)):
                bound = np.float32(scratch.sums[d])
                if (size < k or bound > best[0]) and not dead[d]:
                    size = offer(best, places, size, k, bound, d)
    return size


@kernel
def _bar(theta, scale):  # type: ignore[no-untyped-def]
    """Return the bar for sums, rounded down: theta is rounded, and ties count."""
    return np.floor((theta - abs(theta) * 2.0**-22 - 2.0**-149) * scale)


@kernel
def _score_rows(v, checked, words, values, table, places, n, out):  # type: ignore[no-untyped-def]
    """Write exact scores of n pictures to ``out``; return False if a row is damaged."""
    for i in range(min(n, 2)):
        hint_row(v, places[i])
    for i in range(n):
        if i + 8 < n:
            prefetch(v.row_ends, places[i + 8])
        if i + 2 < n:
            hint_row(v, places[i + 2])
        if not rows_ready(v, checked, places[i]):
            return False
        out[i] = round_score(score_row(v, places[i], words, values, table))
    return True


@kernel
def _offer_all(v, dead, scratch, scores, ids, size, k):  # type: ignore[no-untyped-def]
    for d in range(len(v.ids)):
        if not dead[d]:
            score = round_score(scratch.exact[d])
            # As in offer, but faster: most pictures tie at 0.
            if size < k or worse(scores[0], ids[0], score, v.ids[d]):
                size = offer(scores, ids, size, k, score, v.ids[d])
    return size


@kernel
def _search_by_bounds(  # type: ignore[no-untyped-def]
    v, checked, dead, words, values, unit, plan, scratch, guess, scores, ids, size, k
):
    """Return the new heap size; -1 if a row is damaged, -2 if an exact scan is needed."""
    n = len(v.ids)
    # Few postings: zeros will be among the best.
    if plan.column[: len(words)].max() < 0 and plan.length[: len(words)].sum() < k:
        return -2
    scale = choose_scale(v, values, unit, plan)
    theta = np.float64(scores[0]) if size == k else -np.inf
    # No bar follows from a score that is out of range.
    if scale == 0 or (size == k and theta <= -_FLOAT32_MAX):
        return -2
    add_bounds(v, values, unit, plan, scale, scratch)
    join_sums(n, scratch)
    # Without a theta of earlier blocks, the k pictures with the highest sums give it.
    seeds = 0
    best = np.empty(k, np.float32)
    places = np.empty(k, np.int64)
    if guess or size < k:
        seeds = _highest(scratch, n, dead, k, best, places)
        if not _score_rows(v, checked, words, values, plan.table, places, seeds, best):
            return -1
        if seeds == k:
            theta = max(theta, np.float64(best.min()))
    bar = _bar(theta, scale / unit)
    # A picture without any of the words scores 0: if that reaches the bar, score all.
    if theta <= -_FLOAT32_MAX or bar <= 0:
        return -2
    for i in range(seeds):
        size = offer(scores, ids, size, k, best[i], v.ids[places[i]])
        scratch.sums[places[i]] = _SEEN
    found = _nominate(scratch, bar, n, dead)
    exact = scratch.exact
    if not _score_rows(v, checked, words, values, plan.table, scratch.chosen, found, exact):
        return -1
    for i in range(found):
        size = offer(scores, ids, size, k, np.float32(exact[i]), v.ids[scratch.chosen[i]])
    return size


@kernel
def search_blocks(  # type: ignore[no-untyped-def]
    numbers, norms, query_ends, words, values, plan, scratch, scores, ids
):
    """The best pictures of all blocks (rows of a ``Table``) for every query, best first.

    The number of a block with a damaged row; -1 where there is none.
    """
    k = scores.shape[1]
    for q in range(len(query_ends) - 1):
        its_words = words[query_ends[q] : query_ends[q + 1]]
        its_values = values[query_ends[q] : query_ends[q + 1]]
        unit = query_unit(its_values)
        fill_table(its_words, plan.table)
        size = 0
        seen = 0
        for b in range(len(numbers)):
            v = views_at(numbers[b], norms[b])
            dead, checked = marks_at(numbers[b])
            living = numbers[b, LIVING]
            # A k-th score from fewer pictures than this block has is a poor bar.
            size = _search_block(
                v, checked, dead, its_words, its_values, unit, plan, scratch, seen < living,
                scores[q], ids[q], size, k,
            )  # fmt: skip
            if size < 0:
                return b
            seen += living
        _sort_heap(scores[q], ids[q], size)
    return -1


@kernel
def _search_block(  # type: ignore[no-untyped-def]
    v, checked, dead, words, values, unit, plan, scratch, guess, scores, ids, size, k
):
    """Offer the pictures of a block to the heap; return its new size, -1 if a row is damaged."""
    n = len(v.ids)
    missing = find_lists(v, words, plan)
    if not missing and len(words) and _PICTURES * k <= n:
        found = _search_by_bounds(
            v, checked, dead, words, values, unit, plan, scratch, guess, scores, ids, size, k
        )
        # Whole runs: there are sums after the last picture.
        scratch.sums[: n + RUN] = 0
        scratch.columns[: n + RUN] = 0
        if found != -2:
            return found
    if not exact_scores(v, checked, words, values, plan, missing, scratch):
        return -1
    return _offer_all(v, dead, scratch, scores, ids, size, k)


@kernel
def score_block(v, checked, query_ends, words, values, plan, scratch, out):  # type: ignore[no-untyped-def]
    """Write the exact scores of every picture of a block for every query to ``out``."""
    for q in range(len(query_ends) - 1):
        its_words = words[query_ends[q] : query_ends[q + 1]]
        its_values = values[query_ends[q] : query_ends[q + 1]]
        missing = find_lists(v, its_words, plan)
        fill_table(its_words, plan.table)
        if not exact_scores(v, checked, its_words, its_values, plan, missing, scratch):
            return False
        for d in range(len(v.ids)):
            out[q, d] = round_score(scratch.exact[d])
    return True


@kernel
def _sort_heap(scores, ids, size):  # type: ignore[no-untyped-def]
    """Sort best first, in place; pad with id -1 and score -inf."""
    # Move the root, the worst, to the end, repeatedly.
    for last in range(size - 1, 0, -1):
        score = scores[last]
        id_ = ids[last]
        scores[last] = scores[0]
        ids[last] = ids[0]
        replace_root(scores, ids, last, score, id_)
    scores[size:] = -np.inf
    ids[size:] = -1
