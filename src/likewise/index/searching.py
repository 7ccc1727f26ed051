"""Top-k of one block: skip the frequent words, nominate by a bound, score the nominees exactly.

Let S be the frequent words of the query that were not accumulated.  By Cauchy-Schwarz they add at
most ``|q_S| * N(d)`` to picture d, N(d) being the norm of its row over a class of words that
contains S, kept in the block.  With ``error`` bounding rounding and coding, d can be among the k
best only if ``fast(d) + |q_S| N(d) + error >= theta``, theta being the k-th exact score so far.
Where that nominates too many, the next class is accumulated and the test is made again; with
nothing left to skip it is the plain term-at-a-time scan.
"""

from __future__ import annotations

import numpy as np

from likewise._kernels import kernel
from likewise.index.scoring import (
    add_lists,
    exact_scores,
    fill_table,
    find_lists,
    hint_row,
    round_score,
    rows_ready,
    score_row,
)
from likewise.index.topk import offer, replace_root, worse
from likewise.solvers.prefetch import prefetch

# Skip a class of words if it nominates fewer pictures than its postings divided by this.  A row
# that is not in a cache costs as much as some 2,000 postings.
_ROW_COST = 3000
# Pictures tested at once; one run in _SAMPLE is looked at to estimate the number of nominees.
_RUN = 64
_SAMPLE = 16
_FLOAT32_UNIT = 2.0**-24
_FLOAT32_MAX = float(np.finfo(np.float32).max)
_TINY = 2.0**-140


@kernel(inline="always")
def _bound(fast, norms, slope, d):  # type: ignore[no-untyped-def]
    return fast[d] + slope * np.float32(norms[d])


@kernel
def _over(fast, norms, slope, bar, first):  # type: ignore[no-untyped-def]
    """How many of _RUN pictures are over the bar; a loop that compiles to vector code."""
    some_fast = fast[first : first + _RUN]
    some_norms = norms[first : first + _RUN]
    found = np.int32(0)
    for i in range(_RUN):
        found += np.int32(_bound(some_fast, some_norms, slope, i) >= bar)
    return found


@kernel
def _estimate(fast, norms, slope, bar, n):  # type: ignore[no-untyped-def]
    found = 0
    for first in range(0, n - _RUN + 1, _RUN * _SAMPLE):
        found += _over(fast, norms, slope, bar, first)
    return found * _SAMPLE


@kernel
def _nominate(fast, norms, slope, bar, n, dead, limit, chosen):  # type: ignore[no-untyped-def]
    """Pictures over the bar, into ``chosen``; how many, or -1 if more than ``limit``."""
    found = 0
    for first in range(0, n, _RUN):
        last = min(first + _RUN, n)
        if last < first + _RUN or _over(fast, norms, slope, bar, first):
            for d in range(first, last):
                if _bound(fast, norms, slope, d) >= bar and not dead[d]:
                    chosen[found] = d
                    found += 1
            if found > limit:
                return -1
    return found


@kernel
def _any_over(fast, bar, first):  # type: ignore[no-untyped-def]
    some_fast = fast[first : first + _RUN]
    found = np.int32(0)
    for i in range(_RUN):
        found += np.int32(some_fast[i] > bar)
    return found > 0


@kernel
def _best_fast(fast, n, dead, k, scores, places):  # type: ignore[no-untyped-def]
    """The k living pictures with the highest fast scores (any of those that tie)."""
    size = 0
    for first in range(0, n, _RUN):
        last = min(first + _RUN, n)
        if size < k or last < first + _RUN or _any_over(fast, scores[0], first):
            for d in range(first, last):
                if (size < k or fast[d] > scores[0]) and not dead[d]:
                    size = offer(scores, places, size, k, fast[d], d)
    return size


@kernel
def _bar(theta, unit, slack):  # type: ignore[no-untyped-def]
    """What a fast score must reach, rounded down: theta itself was rounded, and may be tied."""
    bar = (theta - abs(theta) * 2.0**-22 - 2.0**-149) / unit - slack
    return np.float32(bar - abs(bar) * 2.0**-22)


@kernel
def _seed(v, checked, dead, words, values, plan, k, scratch, best, places):  # type: ignore[no-untyped-def]
    """A lower bound of the k-th exact score: that of the k pictures that look best so far."""
    n = len(v.ids)
    if _best_fast(scratch.fast, n, dead, k, best, places) < k:
        return True, -np.inf
    least = np.inf
    for i in range(k):
        if i + 2 < k:
            hint_row(v, places[i + 2])
        if not rows_ready(v, checked, places[i]):
            return False, 0.0
        least = min(
            least, np.float64(round_score(score_row(v, places[i], words, values, plan.table)))
        )
    return True, least


@kernel
def _offer_all(v, dead, scratch, scores, ids, size, k):  # type: ignore[no-untyped-def]
    for d in range(len(v.ids)):
        if not dead[d]:
            score = round_score(scratch.exact[d])
            # Said here as well as in offer: most pictures tie at 0 and end at this line.
            if size < k or worse(scores[0], ids[0], score, v.ids[d]):
                size = offer(scores, ids, size, k, score, v.ids[d])
    return size


@kernel
def _offer_chosen(v, checked, words, values, plan, scratch, found, scores, ids, size, k):  # type: ignore[no-untyped-def]
    for i in range(found):
        d = scratch.chosen[i]
        if i + 8 < found:
            prefetch(v.row_ends, scratch.chosen[i + 8])
        if i + 2 < found:
            hint_row(v, scratch.chosen[i + 2])
        if not rows_ready(v, checked, d):
            return -1
        score = round_score(score_row(v, d, words, values, plan.table))
        size = offer(scores, ids, size, k, score, v.ids[d])
    return size


@kernel
def _prune(  # type: ignore[no-untyped-def]
    v, checked, dead, words, values, unit, plan, error, scratch, guess, scores, ids, size, k
):
    """The new heap size; -1 where a row is damaged, -2 where only the exact scan will do."""
    n = len(v.ids)
    levels = len(v.cuts)
    skipped = np.zeros(levels + 1)  # squared norm of the query's words below a level
    work = np.zeros(levels + 1, np.int64)  # and their postings
    square = 0.0
    lists = 0
    total = 0
    for j in range(len(words)):
        if plan.counts[j]:
            weight = values[j] / unit
            square += weight * weight
            lists += 1
            total += plan.counts[j]
            for level in range(plan.level[j] + 1, levels + 1):
                skipped[level] += weight * weight
                work[level] += plan.counts[j]
    # Rounding of weights, products and sums, of the bar itself, and of subnormal numbers.  A
    # weight that is subnormal or vanishes beside a heavier word is off by up to 2**-149, whatever
    # it is multiplied with.
    reach = np.sqrt(square) * v.largest_norm + error
    slack = error + (lists + 16) * (_FLOAT32_UNIT * reach * 1.01 + _TINY)
    slack += lists * 2.0**-149 * v.largest_norm
    # Fewer postings than k: zeros will be among the best.
    if not reach < 1e30 or total < k:
        return -2
    best = np.empty(k, np.float32)
    places = np.empty(k, np.int64)
    theta = np.float64(scores[0]) if size == k else -np.inf
    # A score out of range says nothing of how far out it is: no bar can be made of it.
    if size == k and theta <= -_FLOAT32_MAX:
        return -2
    guess |= size < k
    level = levels
    add_lists(v, plan, len(words), level, scratch.fast)
    while True:
        while level > 0 and work[level - 1] == work[level]:
            level -= 1
        norms = v.norms[max(level, 1) - 1]
        wanted = work[level] // _ROW_COST + k
        limit = wanted if level > 0 else n // 8
        slope = np.float32(0.0)
        if level > 0:
            slope = np.float32(np.sqrt(skipped[level]) * v.norm_steps[level - 1] * (1 + 1e-6))
        bar = _bar(theta, unit, slack)
        nominees = _estimate(scratch.fast, norms, slope, bar, n)
        # Without earlier blocks to speak of, theta is a guess made from this one.  A better guess
        # is worth its price at first, and where it may let us stop here.
        close = level == 0 or nominees <= 16 * wanted
        if guess and (theta == -np.inf or (nominees > wanted and close)):
            sound, least = _seed(v, checked, dead, words, values, plan, k, scratch, best, places)
            if not sound:
                return -1
            if least == -np.inf:
                return -2
            theta = max(theta, least)
            if theta <= -_FLOAT32_MAX:
                return -2
            bar = _bar(theta, unit, slack)
            nominees = _estimate(scratch.fast, norms, slope, bar, n)
        # A picture without any of the words scores 0: if that may be enough, count exactly.
        if level == 0 and bar <= 0:
            return -2
        if nominees <= limit:
            found = _nominate(scratch.fast, norms, slope, bar, n, dead, 2 * limit, scratch.chosen)
            if found >= 0:
                # Never, while the bounds hold; if they did not, this costs time and no picture.
                if found < k - size and found < n - np.count_nonzero(dead):
                    return -2
                return _offer_chosen(
                    v, checked, words, values, plan, scratch, found, scores, ids, size, k
                )
        if level == 0:
            return -2
        level -= 1
        add_lists(v, plan, len(words), level, scratch.fast)


@kernel
def search_block(  # type: ignore[no-untyped-def]
    v, checked, dead, query_ends, words, values, units, plan, scratch, guess, scores, ids, sizes
):
    """Offer this block's pictures to the heap of every query; False where a row is damaged."""
    n = len(v.ids)
    k = scores.shape[1]
    for q in range(len(query_ends) - 1):
        its_words = words[query_ends[q] : query_ends[q + 1]]
        its_values = values[query_ends[q] : query_ends[q + 1]]
        error, missing = find_lists(v, its_words, its_values, units[q], plan)
        fill_table(its_words, plan.table)
        size = -2
        if not missing and len(v.cuts) and 16 * k <= n:
            size = _prune(
                v, checked, dead, its_words, its_values, units[q], plan, error, scratch,
                guess, scores[q], ids[q], sizes[q], k,
            )  # fmt: skip
            scratch.fast[:n] = 0
        if size == -2:
            if not exact_scores(v, checked, its_words, its_values, plan, missing, scratch):
                size = -1
            else:
                size = _offer_all(v, dead, scratch, scores[q], ids[q], sizes[q], k)
        if size == -1:
            return False
        sizes[q] = size
    return True


@kernel
def score_block(v, checked, query_ends, words, values, units, plan, scratch, out):  # type: ignore[no-untyped-def]
    """Exact scores of every picture of the block for every query, into ``out``."""
    for q in range(len(query_ends) - 1):
        its_words = words[query_ends[q] : query_ends[q + 1]]
        its_values = values[query_ends[q] : query_ends[q + 1]]
        _, missing = find_lists(v, its_words, its_values, units[q], plan)
        fill_table(its_words, plan.table)
        if not exact_scores(v, checked, its_words, its_values, plan, missing, scratch):
            return False
        for d in range(len(v.ids)):
            out[q, d] = round_score(scratch.exact[d])
    return True


@kernel
def sort_heaps(scores, ids, sizes):  # type: ignore[no-untyped-def]
    """Best first, in place; what a heap lacks becomes id -1 and score -inf."""
    for q in range(len(sizes)):
        # The root is the worst: put it last, again and again.
        for last in range(sizes[q] - 1, 0, -1):
            score = scores[q, last]
            id_ = ids[q, last]
            scores[q, last] = scores[q, 0]
            ids[q, last] = ids[q, 0]
            replace_root(scores[q], ids[q], last, score, id_)
        scores[q, sizes[q] :] = -np.inf
        ids[q, sizes[q] :] = -1
