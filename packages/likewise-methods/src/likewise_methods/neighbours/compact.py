"""Exact search over int8 codes: bounds select candidates, which are scored from the rows.

A row x is stored as int8 codes c of x - m, where m is the mean of the first rows, with a scale s
and the length r of the error: x = m + s c + e, |e| = r.  A query q is coded in 16 bits, q = t p +
f. The integer product gives the score up to

    |<x - m, q> - s t <c, p>|  <=  r |q| + (|x - m| + r) |f|        (Cauchy-Schwarz).

So each row has an upper and a lower bound.  A row whose upper bound is below the k-th largest lower
bound is not among the k best; the others are scored by ``scores`` from the rows, which may lie on
disk.  For the Euclidean distance the same holds for <x - m, q - m> - |x - m|^2 / 2, which has the
same order.  One scale per row has a smaller error than one per column (|e| = .006 against .009 for
clustered unit rows of 128 numbers), and does not depend on other rows.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from likewise_methods.kernels import kernel
from likewise_methods.neighbours.protocol import Metric
from likewise_methods.neighbours.scores import Places, Rows, row_scores

_TOP = 127
_BLOCK = 65_536
_CHUNK = 8192
_SAMPLE = 4096
_RUN = 512
_SAME = 2.0**-20
"""Scores with a smaller relative difference may round to the same float32 number."""
_SMALLEST = 1e-44
_LARGEST = float(np.finfo(np.float32).max) / 4

_SCALE, _LEFT, _HALF = 0, 1, 2
"""Columns of a row's numbers: s, r, and |x - m|^2 / 2 (0 for inner products)."""
_STEP, _LENGTH, _DOUBT, _ORIGIN = 0, 1, 2, 3
"""Numbers of a query: t, |q|, the error common to all rows, and the value of score 0."""


class Lookup(Protocol):
    """Rows by index: a matrix, or an object that reads them on demand."""

    def __len__(self) -> int: ...

    def __getitem__(self, places: Places, /) -> Rows: ...


@kernel
def _encode(rows, centre, with_half, codes, numbers):  # type: ignore[no-untyped-def]
    """Compute codes and numbers of some rows; return the largest |x - m| + r."""
    n = rows.shape[1]
    longest = 0.0
    for i in range(len(rows)):
        most, square = 0.0, 0.0
        for j in range(n):
            x = np.float64(rows[i, j]) - centre[j]
            most = max(most, abs(x))
            square += x * x
        scale = np.float32(most / _TOP)
        left = 0.0
        for j in range(n):
            x = np.float64(rows[i, j]) - centre[j]
            c = 0.0
            if scale > 0:
                c = min(max(np.rint(x / scale), -_TOP), _TOP)
            codes[i, j] = np.int8(c)
            e = x - scale * c
            left += e * e
        length = np.sqrt(square)
        # Rounded up, plus the error of float64.
        error = np.sqrt(left) * (1 + _SAME) + length * 2.0**-40 + _SMALLEST
        numbers[i, _SCALE] = scale
        numbers[i, _LEFT] = np.float32(error)
        numbers[i, _HALF] = np.float32(square / 2) if with_half else np.float32(0)
        longest = max(longest, length + error)
    return longest


def _below(worth: float, origin: float) -> float:
    """Return a bound below which no value rounds to the score of ``worth``."""
    return worth - _SAME * abs(worth - origin) - _SMALLEST


_floor = kernel(inline="always", cache=False)(_below)


@kernel(inline="always", cache=False)
def _put_in(heap, worth):  # type: ignore[no-untyped-def]
    """Replace the smallest element of a heap, the first, by a larger one."""
    k = len(heap)
    at = 0
    while True:
        child = 2 * at + 1
        if child >= k:
            break
        if child + 1 < k and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= worth:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = worth


@kernel
def _nominate(codes, numbers, alive, query, asked, first, heap, places, highest):  # type: ignore[no-untyped-def]
    """Append candidates for the k best to ``places``, from row ``first`` on.

    ``heap`` has the k largest lower bounds so far.  ``places[0]`` is the number of candidates.
    Returns the next row, which is before the end only if ``places`` is full.
    """
    n, width = codes.shape
    step, length, doubt, origin = asked[_STEP], asked[_LENGTH], asked[_DOUBT], asked[_ORIGIN]
    floor = _floor(heap[0], origin)
    found = places[0]
    # A separate loop for the products, which the compiler vectorises.
    products = np.empty(_RUN, np.int32)
    at = first
    while at < n and found + _RUN < len(places):
        end = min(at + _RUN, n)
        for i in range(at, end):
            row = codes[i]
            product = np.int32(0)
            for j in range(width):
                product += np.int32(np.int32(row[j]) * np.int32(query[j]))
            products[i - at] = product
        for i in range(at, end):
            worth = np.float64(numbers[i, _SCALE]) * step * products[i - at] - numbers[i, _HALF]
            error = numbers[i, _LEFT] * length + doubt
            if worth + error >= floor and alive[i]:
                found += 1
                places[found] = i
                highest[found] = worth + error
                if worth - error > heap[0]:
                    _put_in(heap, worth - error)
                    floor = _floor(heap[0], origin)
        at = end
    places[0] = found
    return at


class _Block(NamedTuple):
    codes: NDArray[np.int8]
    numbers: Rows


class _Query(NamedTuple):
    row: Rows
    codes: NDArray[np.int16]
    numbers: NDArray[np.float64]


class CompactFlat:
    """:class:`~likewise_methods.neighbours.scores.Flat` in a quarter of the memory.

    ``rows`` is a matrix or a :class:`Lookup`; a search reads only the candidates from it.

    >>> rows = np.array([[1, 0], [0, 1], [1, 0], [1, 0]], np.float32)
    >>> places, values = CompactFlat("ip", rows).best(rows, np.ones(4, bool), rows[0], 2)
    >>> {0, 2, 3} <= set(places.tolist())  # all that tie for second place
    True
    """

    def __init__(self, metric: Metric, rows: Lookup) -> None:
        self.metric = metric
        sample = rows[np.linspace(0, len(rows) - 1, min(_SAMPLE, len(rows))).astype(np.int64)]
        self._centre = sample.sum(axis=0, dtype=np.float64) / max(len(sample), 1)
        self._blocks: list[_Block] = []
        self._longest = 0.0
        self._n = 0
        self.add(rows)

    def __len__(self) -> int:
        return self._n

    @property
    def n_bytes(self) -> int:
        """Bytes of codes and numbers."""
        return self._n * (len(self._centre) + 12)

    def add(self, rows: Lookup) -> Self:
        """Add rows."""
        at = 0
        while at < len(rows):
            inside = self._n % _BLOCK
            if inside == 0:
                codes = np.empty((_BLOCK, len(self._centre)), np.int8)
                self._blocks.append(_Block(codes, np.empty((_BLOCK, 3), np.float32)))
            end = min(at + _CHUNK, at + _BLOCK - inside, len(rows))
            block, held = self._blocks[-1], slice(inside, inside + end - at)
            longest = _encode(
                rows[np.arange(at, end)],
                self._centre,
                self.metric == "l2",
                block.codes[held],
                block.numbers[held],
            )
            self._longest = max(self._longest, float(longest))
            self._n += end - at
            at = end
        return self

    def best(
        self, rows: Lookup, alive: NDArray[np.bool_], query: Rows, k: int
    ) -> tuple[Places, Rows]:
        """Return indices and scores of the k best rows, all ties of the last, and perhaps others.

        They are not sorted.  ``rows`` are the rows added; those not ``alive`` are skipped.
        """
        asked = self._ask(query)
        if asked is None or k >= int(alive.sum()):
            places = np.flatnonzero(alive)
            return places, self._scores(rows, places, query)
        places, highest = self._nominees(asked, alive, k)
        order = np.argsort(-highest, kind="stable")
        places, highest = places[order], highest[order]
        made = np.empty(len(places), np.float32)
        done, end = 0, min(len(places), k + k // 4 + 16)
        while done < end:
            made[done:end] = self._scores(rows, places[done:end], query)
            done = end
            last = float(np.partition(made[:done], done - k)[done - k])
            possible = int(np.searchsorted(-highest, -self._floor_of(last, asked), side="right"))
            end = min(2 * done, possible)
        return places[:done], made[:done]

    def _scores(self, rows: Lookup, places: Places, query: Rows) -> Rows:
        """Score rows in chunks in the order of their index, so that each page is read once."""
        made = np.empty(len(places), np.float32)
        order = np.argsort(places, kind="stable")
        for at in range(0, len(places), _CHUNK):
            some = order[at : at + _CHUNK]
            held = rows[places[some]]
            made[some] = row_scores(held, np.arange(len(some)), query, self.metric)
        return made

    def _ask(self, query: Rows) -> _Query | None:
        """Code a query; return None if scores may be infinite, where the bounds do not hold."""
        width, centre = len(self._centre), self._centre
        given = query.astype(np.float64)
        moved = given - centre if self.metric == "l2" else given
        length, far = float(np.linalg.norm(moved)), float(np.linalg.norm(centre))
        span = self._longest + far
        if not (span + length) ** 2 < _LARGEST:
            return None
        # Sums of this many products stay within int32.
        top = min(2**15 - 1, (2**31 - 1) // (_TOP * width))
        step = float(np.abs(moved).max(initial=0.0)) / top
        codes = np.rint(moved / step) if step > 0 else np.zeros(width)
        missed = float(np.linalg.norm(moved - step * codes))
        rounding = (width + 16) * 2.0**-50 * (span + length) * (length + far + span)
        doubt = self._longest * missed * (1 + _SAME) + rounding + _SMALLEST
        if self.metric == "l2":
            origin = length * length / 2
            doubt += 2.0**-24 * self._longest * self._longest
        else:
            origin = -float(centre @ given)
        numbers = np.array([step, length * (1 + _SAME), doubt, origin])
        return _Query(query, codes.astype(np.int16), numbers)

    def _floor_of(self, score: float, asked: _Query) -> float:
        """Return the smallest upper bound that a row with this score can have."""
        origin = float(asked.numbers[_ORIGIN])
        worth = origin - score * score / 2 if self.metric == "l2" else origin + score
        return _below(worth, origin)

    def _nominees(
        self, asked: _Query, alive: NDArray[np.bool_], k: int
    ) -> tuple[Places, NDArray[np.float64]]:
        """Return candidates for the k best, with their upper bounds."""
        heap = np.full(k, -np.inf)
        size = 4 * k + 4096
        places, highest = np.zeros(size, np.int64), np.zeros(size)
        kept: list[tuple[Places, NDArray[np.float64]]] = []
        for number, block in enumerate(self._blocks):
            start = number * _BLOCK
            n = min(_BLOCK, self._n - start)
            living = alive[start : start + n]
            at = 0
            while at < n:
                places[0] = 0
                at = _nominate(
                    block.codes[:n], block.numbers[:n], living, asked.codes, asked.numbers, at,
                    heap, places, highest,
                )  # fmt: skip
                some = slice(1, 1 + int(places[0]))
                kept.append((start + places[some], highest[some].copy()))
        most = np.concatenate([most for _, most in kept])
        still = most >= _below(float(heap[0]), float(asked.numbers[_ORIGIN]))
        return np.concatenate([some for some, _ in kept])[still], most[still]
