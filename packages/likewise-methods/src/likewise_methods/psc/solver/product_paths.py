"""Code many vectors over product codebooks, in batches and threads; return marginals as CSR.

float32 vectors are projected and scanned in float32, float64 vectors in float64.  Supports,
coefficients and thresholds are float64 in both cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from likewise_methods.blas_threads import one_blas_thread
from likewise_methods.errors import InvalidInput
from likewise_methods.psc.codebooks import as_words
from likewise_methods.psc.solver import active_set, root_finding
from likewise_methods.psc.solver.homotopy import State, room
from likewise_methods.psc.solver.marching import DONE, apart, halving, pack, together
from likewise_methods.psc.solver.simd import pad_support, pad_width, zeros
from likewise_methods.validation import finite_rows, number, whole

Floats = NDArray[np.float64]
Method = Literal["approximate", "iterative", "exact"]

# Rows at a time: their correlations fit a second-level cache.
_ROWS = 512
# This share of a vector's largest correlation counts as rounding.
_STILL = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-12}
# A word enters if it is above the threshold by this share of that rounding.
_ABOVE = 0.25
# How often a vector may start again because words left; three times suffice for all but one in a
# thousand.
_STARTS = 6
# With more words, no float64 Gram matrix in addition to that for scans.
_MANY = 4096
# Shares of the largest correlation that break ties, tried in turn.
_NUDGES = (1e-9, 1e-11, 1e-7)


@dataclass(frozen=True)
class Task:
    """Options of a call: ``alpha``, ``method``, and the limits of "iterative".

    Parameters
    ----------
    alpha : float
        The weight of the code's sum.
    method : {"exact", "approximate", "iterative"}
        As for :func:`product_codes`.
    n_steps : int, default=10
        Bisections of "iterative", at most.
    tol : float, default=1e-6
        What ends them before.

    See Also
    --------
    ProductPaths : does it.
    """

    alpha: float
    method: Method
    n_steps: int = 10
    tol: float = 1e-6

    @property
    def half(self) -> float:
        """alpha / 2, which kernels compare correlations with."""
        return 0.5 * self.alpha


class _Room(NamedTuple):
    """The arrays of a thread, for one batch after the other."""

    C: NDArray[Any]
    state: State | active_set.Room
    ids: NDArray[np.int32]
    values: Floats
    counts: NDArray[np.int64]


def _first(array: NDArray[Any], n: int) -> NDArray[Any]:
    """Return the room for n rows a part, without gaps between the parts."""
    if array.shape[1] == n:
        return array
    shape = (array.shape[0], n, *array.shape[2:])
    return array.reshape(-1)[: math.prod(shape)].reshape(shape)


class ProductPaths:
    """Sub-codebooks prepared for coding; Gram matrices are computed on first use and kept.

    Parameters
    ----------
    codebooks : m arrays of shape (k, d_i)
        One word of norm 1/sqrt(m) a row.

    See Also
    --------
    product_codes : the same in one call.
    Task : the options.
    """

    def __init__(self, codebooks: Sequence[Floats]) -> None:
        self.codebooks = [np.ascontiguousarray(words, np.float64) for words in codebooks]
        self.m, self.k = len(self.codebooks), len(self.codebooks[0])
        # An additional coordinate of the words' own size (see ``marching``).
        self.lift = 1.0 / self.m
        self._kept: dict[tuple[Any, float], tuple[NDArray[Any], NDArray[Any]]] = {}
        self._most: dict[float, NDArray[np.int64]] = {}

    def grams(self, dtype: Any, lift: float) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return stacked Gram matrices for scans, and in float64 for supports.

        For very many words one matrix in the type of the vectors serves both.
        """
        key = (np.dtype(dtype), lift)
        if key not in self._kept:
            exact = np.float64 if self.k <= _MANY else dtype
            wide = pad_width(self.k)
            gram = zeros((self.m, wide, wide), exact)
            for own, words in zip(gram, self.codebooks, strict=True):
                turned = self._transpose(words, exact)
                np.dot(turned.T, turned, out=own)
                own[: self.k, : self.k] += gram.dtype.type(lift)
            gram = gram.reshape(-1, wide)
            scanned = gram
            if gram.dtype != key[0]:
                scanned = zeros(gram.shape, dtype)
                scanned[:] = gram
            self._kept[key] = scanned, gram
        return self._kept[key]

    def _largest(self, lift: float) -> NDArray[np.int64]:
        """Return the largest supports: ranks of the codebooks, with the coordinate of ``lift``."""
        if lift not in self._most:
            more = np.full((self.k, 1), np.sqrt(lift))
            books = [np.hstack([words, more]) if lift else words for words in self.codebooks]
            self._most[lift] = np.array([np.linalg.matrix_rank(book) for book in books])
        return self._most[lift]

    def code(
        self,
        parts: Sequence[NDArray[Any]],
        task: Task,
        *,
        n_threads: int = 1,
    ) -> list[Any]:
        """Return m CSR arrays (n, k): the marginals of the codes of m arrays of parts (n, d_i).

        Their masses are equal for "exact" only.

        Parameters
        ----------
        parts : m arrays of shape (n, d_i)
            The parts of the vectors.
        task : Task
            Options.
        n_threads : int, default=1
            Threads.

        Returns
        -------
        list of m CSR arrays of shape (n, k)
            float64.
        """
        dtype = parts[0].dtype
        grams = self.grams(dtype, self._lift(task))
        books = [self._transpose(book, dtype) for book in self.codebooks]
        # Arrays that no thread uses now: allocating them for every batch would cost a tenth.
        rooms: list[_Room] = []

        def work(start: int) -> list[tuple[Any, Any, Any]]:
            here = [part[start : start + _ROWS] for part in parts]
            try:
                space = rooms.pop()
            except IndexError:
                space = self._room(min(_ROWS, len(parts[0])), dtype, task)
            C = _first(space.C, len(here[0]))
            for i, (part, book) in enumerate(zip(here, books, strict=True)):
                np.dot(part, book, out=C[i])
            out, status = self._run(grams, C, C, task, space)
            if status.any():
                self._again(np.flatnonzero(status), here, out, task)
            done = pack_rows(*out)
            rooms.append(space)
            return done

        starts = range(0, len(parts[0]), _ROWS)
        with one_blas_thread():
            if n_threads == 1 or len(starts) < 2:
                done = [work(start) for start in starts]
            else:
                with ThreadPoolExecutor(n_threads) as pool:
                    done = list(pool.map(work, starts))
        return [stack_rows([one[i] for one in done], self.k) for i in range(self.m)]

    def _transpose(self, book: Floats, dtype: Any) -> NDArray[Any]:
        """Return words as columns, padded with columns of zeros to the width of ``simd``."""
        turned = np.zeros((book.shape[1], pad_width(self.k)), dtype)
        turned[:, : self.k] = book.T
        return turned

    def _lift(self, task: Task) -> float:
        return self.lift if METHODS[task.method].common else 0.0

    def _room(self, n: int, dtype: Any, task: Task, *, ties: bool = False) -> _Room:
        most = self._largest(self._lift(task))
        cap = int(most.max()) + 1
        shape = (self.m, n, pad_support(cap))
        state: State | active_set.Room
        if METHODS[task.method].greedy and not ties:
            state = active_set.room(self.k, cap, n, dtype)
        else:
            state = room(self.k, most, dtype)
        return _Room(
            zeros((self.m, n, pad_width(self.k)), dtype),
            state,
            np.zeros(shape, np.int32),
            np.zeros(shape),
            np.zeros((self.m, n), np.int64),
        )

    def _run(
        self, grams: Any, C: Any, plain: Any, task: Task, space: _Room, *, ties: bool = False
    ) -> tuple[tuple[Any, Any, Any], NDArray[np.uint8]]:
        """Code a batch; return supports and coefficients, and which rows failed."""
        n = C.shape[1]
        ids, values, counts = (_first(a, n) for a in (space.ids, space.values, space.counts))
        status = np.zeros(n, np.uint8)
        out = (_STILL[C.dtype], 50 + 20 * ids.shape[2], ids, values, counts, status)
        rule = METHODS[task.method]
        run = rule.batch if ties else rule.greedy or rule.batch
        run((*grams, space.state, C), plain, task, self.lift, out)
        return (ids, values, counts), status

    def _again(self, rows: Any, parts: Sequence[Any], out: Any, task: Task) -> None:
        """Code rows with ties in float64; tiny changes of the correlations break the ties."""
        grams = self.grams(np.float64, self._lift(task))
        plain = np.empty((self.m, len(rows), pad_width(self.k)))
        for i, (part, book) in enumerate(zip(parts, self.codebooks, strict=True)):
            np.dot(part[rows].astype(np.float64), self._transpose(book, np.float64), out=plain[i])
        scale = np.abs(plain).max(axis=(0, 2))[None, :, None]
        left = np.arange(len(rows))
        for seed, share in enumerate((0.0, *_NUDGES)):
            nudges = np.random.default_rng(seed).random((self.m, 1, pad_width(self.k)))
            mine = np.ascontiguousarray(plain[:, left])
            C = mine + share * scale[:, left] * nudges
            space = self._room(len(left), np.float64, task, ties=True)
            found, status = self._run(grams, C, mine, task, space, ties=True)
            good = status == DONE
            for codes, new in zip(out, found, strict=True):
                codes[:, rows[left[good]]] = new[:, good]
            left = left[~good]
            if not len(left):
                return
        self._slowly(rows[left], parts, out, task)

    def _slowly(self, rows: Any, parts: Sequence[Any], out: Any, task: Task) -> None:
        """Code rows that no path could follow, one by one."""
        ids, values, counts = out
        for row in rows.tolist():
            own = [part[row].astype(np.float64) for part in parts]
            for i, u in enumerate(METHODS[task.method].single(self.codebooks, own, task)):
                used = np.flatnonzero(u > 0)
                counts[i, row] = len(used)
                ids[i, row, : len(used)], values[i, row, : len(used)] = used, u[used]


class Rule(NamedTuple):
    """How a method finds the thresholds of the parts.

    ``batch`` runs the kernel; ``greedy`` (optional) is a faster one that fails where words tie;
    ``single`` codes one vector that no path could follow.  ``common``: masses of the parts come out
    equal, for which Gram matrices are lifted (see ``marching``).  ``parts``: the number of parts
    required, None for any.
    """

    batch: Callable[[tuple[Any, ...], Any, Task, float, tuple[Any, ...]], None]
    greedy: Callable[[tuple[Any, ...], Any, Task, float, tuple[Any, ...]], None] | None
    single: Callable[[Sequence[Floats], Sequence[Floats], Task], list[Floats]]
    common: bool
    parts: int | None


def _apart(given: Any, plain: Any, task: Task, lift: float, out: Any) -> None:
    apart(*given, task.half / len(plain), *out)


def _at_level(given: Any, plain: Any, task: Task, lift: float, out: Any) -> None:
    still, _, *found = out
    active_set.at_level(*given, task.half / len(plain), _ABOVE * still, _STARTS, *found)


def _apart_single(books: Sequence[Floats], parts: Sequence[Floats], task: Task) -> list[Floats]:
    return root_finding.apart(books, parts, [task.half / len(books)] * len(books))


def _halving(given: Any, plain: Any, task: Task, lift: float, out: Any) -> None:
    halving(*given, task.half, task.n_steps, task.tol, *out)


def _halving_single(books: Sequence[Floats], parts: Sequence[Floats], task: Task) -> list[Floats]:
    return root_finding.halving(books, parts, task.half, task.n_steps, task.tol)


def _together(given: Any, plain: Any, task: Task, lift: float, out: Any) -> None:
    together(*given, plain, task.half, lift, *out)


def _together_single(books: Sequence[Floats], parts: Sequence[Floats], task: Task) -> list[Floats]:
    return root_finding.together(books, parts, task.half)


METHODS: dict[Method, Rule] = {
    "approximate": Rule(_apart, _at_level, _apart_single, common=False, parts=None),
    "iterative": Rule(_halving, None, _halving_single, common=False, parts=2),
    "exact": Rule(_together, None, _together_single, common=True, parts=None),
}


def product_codes(
    parts: Sequence[NDArray[Any]],
    codebooks: Sequence[NDArray[Any]],
    alpha: float,
    *,
    method: Method = "exact",
    n_steps: int = 10,
    tol: float = 1e-6,
    n_threads: int = 1,
) -> list[Any]:
    """Return non-negative sparse codes over all products of words, as their marginals (PSC).

    A vector x of m parts is coded over the k^m products of the words of m codebooks: the minimum of
    |x - A y|^2 + alpha |y|_1 over y >= 0.  Its value depends on y only through the m marginals,
    which are found without forming anything of size k^m.

    Parameters
    ----------
    parts : m arrays of shape (n, d_i)
        The parts of the vectors, all float32 or all float64; float32 is scanned in float32.
    codebooks : m arrays of shape (k, d_i)
        Words, one a row, each of norm 1 / sqrt(m), so that their products have norm 1.
    alpha : float
        The weight of the code's sum.
    method : {"exact", "approximate", "iterative"}, default="exact"
        "exact" is the optimum.  "approximate" codes every part separately at alpha / m (APSC), and
        "iterative" bisects the thresholds of two parts until masses agree (IPSC).
    n_steps : int, default=10
        Bisections of "iterative", at most.
    tol : float, default=1e-6
        The difference of masses at which bisection stops early.
    n_threads : int, default=1
        Threads, one batch of vectors each.

    Returns
    -------
    list of m CSR arrays of shape (n, k)
        The marginals.  Sums of rows are common to all parts for "exact" only.
        :func:`likewise_methods.psc.certify` gives their objective and duality gap.

    Examples
    --------
    >>> words = np.eye(2) / np.sqrt(2)
    >>> left, right = product_codes([np.array([[0.6, 0.0]])] * 2, [words, words], 0.4)
    >>> left.toarray().round(3).tolist(), right.toarray().round(3).tolist()
    ([[0.649, 0.0]], [[0.649, 0.0]])

    See Also
    --------
    ProductSparseCoder : the estimator, which also learns the codebooks.
    nonnegative_codes : codes over one explicit codebook.

    References
    ----------
    T. Ge, K. He and J. Sun: Product sparse coding.  CVPR, 2014.

    The problem and its marginals, the exact method and the two of the paper:
    docs/methods/psc.md, (1) to (8) and (10) to (13).
    """
    if method not in list(METHODS):
        raise InvalidInput(f"method is {method!r}; one of {', '.join(METHODS)} expected")
    m = len(codebooks)
    if m == 0 or len(parts) != m:
        raise InvalidInput(f"{len(parts)} parts for {m} codebooks; as many of each expected")
    wanted = METHODS[method].parts
    if wanted is not None and m != wanted:
        raise InvalidInput(f'method "{method}" is for {wanted} parts, not {m}; "exact" takes any')
    books = [as_words(words, f"codebook {i}", 1 / np.sqrt(m)) for i, words in enumerate(codebooks)]
    given = [
        finite_rows(part, f"part {i}", words.shape[1])
        for i, (part, words) in enumerate(zip(parts, books, strict=True))
    ]
    for i, (part, words) in enumerate(zip(given, books, strict=True)):
        if part.dtype != given[0].dtype or len(part) != len(given[0]):
            raise InvalidInput(
                f"part {i} has {len(part)} rows of {part.dtype}; "
                f"{len(given[0])} of {given[0].dtype} expected, as part 0 has"
            )
        if len(words) != len(books[0]):
            raise InvalidInput(
                f"codebook {i} has {len(words)} words; {len(books[0])} expected, as codebook 0 has"
            )
    task = Task(number(alpha, "alpha", above=0), method, whole(n_steps, "n_steps", 0), float(tol))
    return ProductPaths(books).code(given, task, n_threads=whole(n_threads, "n_threads"))


def pack_rows(ids: Any, values: Any, counts: Any) -> list[tuple[Any, Any, Any]]:
    """Return a batch without the unused room of its rows, part by part."""
    sizes = counts.sum(axis=1).tolist()
    own_ids, own_values = np.empty(sum(sizes), np.int32), np.empty(sum(sizes))
    pack(ids, values, counts, own_ids, own_values)
    made, start, counts = [], 0, counts.copy()
    for size, own in zip(sizes, counts, strict=True):
        made.append((own_ids[start : start + size], own_values[start : start + size], own))
        start += size
    return made


def stack_rows(parts: Sequence[tuple[Any, Any, Any]], k: int) -> Any:
    """Return batches stacked as one CSR matrix."""
    if not parts:
        return sp.csr_array((0, k))
    ids, values, counts = (np.concatenate([part[x] for part in parts]) for x in range(3))
    ends: NDArray[Any] = np.zeros(len(counts) + 1, np.int32 if len(ids) < 2**31 else np.int64)
    np.cumsum(counts, out=ends[1:])
    made = sp.csr_array((len(counts), k))
    # The constructor would check all indices again.
    made.data, made.indices, made.indptr = values, ids, ends
    made.has_sorted_indices = made.has_canonical_format = True
    return made
