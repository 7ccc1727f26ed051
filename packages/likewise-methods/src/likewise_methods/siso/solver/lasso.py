"""The lasso for many queries that share every scan of the dictionary (SISO).

For each row y of Y:  min over x of 1/2 |A x - y|^2 + gamma |x|_1, the columns of A being the rows
of the dictionary, scaled to unit length (docs/methods/siso.md, (1)).  Each query keeps a small
working set.  One matrix product per round finds, for a whole batch of queries, the columns that
violate optimality; the k worst join the working set, whose lasso is then solved exactly.  gamma
falls from where x = 0 as long as new columns suffice (continuation).  A query that is done makes
room for the next, so the products stay wide.

The result is certified: after a scan of *all* columns, (P - D) / P <= tol.  Scans are float32 and
the certificate is float64: columns whose float32 correlation is within the error bound of gamma are
computed again in float64, and all others are then known to stay below gamma (docs/methods/siso.md,
(27)).

Each query is scaled by a power of two so that its largest entry is between 1/2 and 1, as the range
of float32 ends at 1e38.  x and gamma scale with it, and a power of two rounds nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from likewise_methods.blas_threads import one_blas_thread
from likewise_methods.errors import InvalidInput
from likewise_methods.siso.solver.dictionary import Dictionary, Floats
from likewise_methods.siso.solver.rounds import QueryCode, Settings, run
from likewise_methods.siso.solver.working_set import SOLVERS
from likewise_methods.validation import matrix, number, one_of, refuse, truth, whole

# Bytes that the working sets of one batch may take together.
_MEMORY = 700 << 20


@dataclass(frozen=True, eq=False)
class Codes:
    """The codes, and a report on each query.

    Attributes
    ----------
    x : CSR matrix of shape (q, n)
        The codes, queries by columns.
    gamma : array of shape (q,)
        The weight of |x|_1.
    gap : array of shape (q,)
        (P - D) / P over all columns, NaN where it was not certified.
    rounds : int array of shape (q,)
        Rounds: scans of all columns or a part, or searches.
    scans : int array of shape (q,)
        Scans of the whole dictionary.
    pivots : int array of shape (q,)
        Columns that entered or left (epochs for coordinate descent).
    converged : bool array of shape (q,)
        Whether the query reached ``tol``.

    See Also
    --------
    lasso : returns it.
    """

    x: Any
    gamma: Floats
    gap: Floats
    rounds: NDArray[np.int64]
    scans: NDArray[np.int64]
    pivots: NDArray[np.int64]
    converged: NDArray[np.bool_]


def lasso(
    A: Dictionary | NDArray[Any],
    Y: NDArray[Any],
    *,
    alpha: float = 0.002,
    gamma: Any = None,
    tol: float = 1e-4,
    expand: int = 100,
    nonnegative: bool = False,
    solver: str = "homotopy",
    start: Any = None,
    search: Callable[[Floats, int], NDArray[np.int64]] | None = None,
    certify: bool = True,
    batch: int | None = None,
    n_jobs: int = 1,
    max_rounds: int | None = None,
    device: str = "cpu",
) -> Codes:
    """Return codes of the rows of Y over the rows of A, which are scaled to unit length.

    Parameters
    ----------
    A : array of shape (n, d), or Dictionary
        The columns of the lasso, one a row, of length 1e-15 to 1e15, or zero.  A
        :class:`Dictionary` is scaled once and may be memory-mapped.
    Y : array of shape (q, d)
        Queries of any size; they are scaled by powers of two.  Where a code would leave the range
        of float64 (entries of y about 1e308, or below 1e-300), ``converged`` is False and the gap
        NaN.
    alpha : float, default=0.002
        ``gamma`` as a share of each query's largest correlation, between 0 and 1.
    gamma : float or array of shape (q,), optional
        The weight of |x|_1, instead of ``alpha``.
    tol : float, default=1e-4
        The relative duality gap (P - D) / P at which a query stops.
    expand : int, default=100
        Columns that join a working set in a round, at most.
    nonnegative : bool, default=False
        Whether codes may have no negative entries.
    solver : {"homotopy", "feature-sign", "cd"}, default="homotopy"
        How the lasso on a working set is solved.
    start : sparse matrix of shape (q, n), optional
        Codes to start from.
    search : callable, optional
        ``search(R, k)`` suggests columns for residuals (rows of R, unit length; -1 for none)
        instead of a scan.
    certify : bool, default=True
        Whether a scan confirms what ``search`` ends with.  Where it finds violators that the search
        missed, the query continues with scans: its residual is nearly orthogonal to all columns,
        where indexes work badly.
    batch : int, optional
        Queries at a time; by default as many as fit the memory, at most 96 (1,024 on a device).
    n_jobs : int, default=1
        Threads.
    max_rounds : int, optional
        The largest number of rounds; by default 500, or 20 times d if that is more.
    device : {"cpu", "cuda"}, default="cpu"
        Where to compute.  ``"cuda"`` (extra ``gpu``) takes hundreds of queries at a time, by
        homotopy and scans only: not with another ``solver``, ``start`` or ``search``.  A
        :class:`Dictionary` stays on the device for the next call.  Without a device, or where the
        dictionary does not fit, the call runs on the processor and warns.

    Returns
    -------
    Codes
        ``x`` (CSR, q by n) and, for each query, gamma, the gap and a report.

    Examples
    --------
    >>> A = np.array([[1.0, 0.0], [0.6, 0.8]], np.float32)
    >>> codes = lasso(A, np.array([[0.0, 1.0]]), alpha=0.5)
    >>> codes.x.toarray().round(3).tolist(), codes.gap.round(6).tolist()
    ([[0.0, 0.4]], [0.0])

    See Also
    --------
    Dictionary : rows that are scaled once, in memory or memory-mapped.
    likewise_methods.siso.SparseAnnotator : tags by this lasso.
    likewise_methods.psc.nonnegative_codes : codes over a small codebook, with its Gram matrix.

    References
    ----------
    Problem, certificate and the rounds over working sets: docs/methods/siso.md, (1) to (7), (27).
    """
    for name, share in (("alpha", alpha), ("tol", tol)):
        number(share, name, above=0, below=1)
    counts = {"expand": expand, "n_jobs": n_jobs, "batch": batch, "max_rounds": max_rounds}
    for name, count in counts.items():
        if count is not None or name in ("expand", "n_jobs"):
            whole(count, name)
    truth(nonnegative, "nonnegative")
    truth(certify, "certify")
    one_of(solver, "solver", tuple(SOLVERS))
    one_of(device, "device", ("cpu", "cuda"))
    if device == "cuda" and (solver != "homotopy" or start is not None or search is not None):
        raise InvalidInput(
            'device "cuda" goes with solver "homotopy", without start and search; '
            'leave them out, or take device "cpu"'
        )
    dictionary = A if isinstance(A, Dictionary) else Dictionary([matrix(A, "A")])
    Y = matrix(Y, "Y").astype(np.float64)
    check_data(dictionary, Y)
    rounds = max(500, 20 * dictionary.width) if max_rounds is None else max_rounds
    settings = Settings(
        alpha=float(alpha), tol=float(tol), expand=min(int(expand), dictionary.n),
        nonnegative=bool(nonnegative), solver=solver, certify=bool(certify), max_rounds=int(rounds),
        batch=_batch(dictionary, int(expand)) if batch is None else int(batch),
    )  # fmt: skip
    sizes = Sizes(Y)
    given = None if gamma is None else as_gammas(gamma, len(Y))
    scaled = None if given is None else sizes.gammas(given)
    if start is not None:
        start = sizes.start(as_start(start, (len(Y), dictionary.n)))
    Y = sizes.queries(Y)
    if device == "cuda" and (solved := _on_device(dictionary, Y, scaled, settings, batch)):
        back = [sizes.back(query, one, given) for query, one in enumerate(solved)]
        return _collect(back, dictionary.n)
    parts = np.array_split(np.arange(len(Y)), max(1, min(int(n_jobs), len(Y))))
    # More slots than queries of a thread would only take memory.
    most = max(1, min(settings.batch, max(len(part) for part in parts)))
    settings = replace(settings, batch=most)

    def work(part: NDArray[np.int64]) -> list[QueryCode]:
        own = None if start is None else start[part]
        gammas = None if scaled is None else scaled[part]
        return run(dictionary, Y[part], gammas, own, search, settings)

    # The BLAS must not start threads of its own in each of these.
    with one_blas_thread():
        if len(parts) == 1:
            solved = work(parts[0])
        else:
            with ThreadPoolExecutor(len(parts)) as pool:
                solved = [one for some in pool.map(work, parts) for one in some]
    back = [sizes.back(query, one, given) for query, one in enumerate(solved)]
    return _collect(back, dictionary.n)


def _on_device(
    dictionary: Dictionary, Y: Floats, gamma: Floats | None, settings: Settings, batch: int | None
) -> list[QueryCode]:
    """Return codes from a CUDA device; an empty list, and a warning, where there is none."""
    from likewise_cuda.device import why_not
    from likewise_cuda.solve import on_device, solve

    if not (reason := why_not()):
        try:
            operations = on_device(dictionary)
            slots = operations.slots(settings.expand)
        except MemoryError:
            slots = 0
        if slots:
            slots = min(slots, len(Y) if batch is None else batch)
            return solve(operations, dictionary, Y, gamma, settings, slots)
        reason = f"{dictionary.n:,} rows of {dictionary.width:,} do not fit the device"
    warnings.warn(f"the lasso runs on the processor: {reason}", RuntimeWarning, stacklevel=3)
    return []


def _collect(solved: Sequence[QueryCode], n: int) -> Codes:
    ends = np.concatenate([[0], np.cumsum([len(one.ids) for one in solved])]).astype(np.int64)
    ids = [one.ids for one in solved] or [np.zeros(0, np.int64)]
    values = [one.values for one in solved] or [np.zeros(0)]
    x = sp.csr_array((np.concatenate(values), np.concatenate(ids), ends), (len(solved), n))
    return Codes(
        x=x,
        gamma=np.array([one.gamma for one in solved]),
        gap=np.array([one.gap for one in solved]),
        rounds=np.array([one.rounds for one in solved], np.int64),
        scans=np.array([one.scans for one in solved], np.int64),
        pivots=np.array([one.pivots for one in solved], np.int64),
        converged=np.array([one.converged for one in solved], bool),
    )


def _batch(dictionary: Dictionary, expand: int) -> int:
    """Return how many queries at a time fit the memory, at most 96: wider products gain little."""
    most = min(dictionary.width, dictionary.n)
    w = min(dictionary.n, most + expand)
    each = 8 * (w * dictionary.width + w * w + most * most) + dictionary.n // 8
    return int(np.clip(_MEMORY // max(each, 1), 4, 96))


# Beyond these lengths, rows times their scale could leave the range of float32.
SHORTEST, LONGEST = 1e-15, 1e15
_TINY, _HUGE = np.finfo(np.float64).tiny, 1e300


def check_data(dictionary: Dictionary, Y: Floats) -> None:
    """Refuse a dictionary or queries that cannot be scanned."""
    if dictionary.n == 0:
        raise InvalidInput("the dictionary has no rows; at least 1 expected")
    scale = dictionary.scale
    odd = np.flatnonzero((scale > 1 / SHORTEST) | ((scale < 1 / LONGEST) & (scale != 0)))
    if len(odd):
        raise InvalidInput(
            f"row {int(odd[0])} of the dictionary has length {1 / scale[odd[0]]:.1g}; lengths "
            f"between {SHORTEST:g} and {LONGEST:g} expected: scale it"
        )
    if Y.shape[1] != dictionary.width:
        raise InvalidInput(f"Y has {Y.shape[1]} columns; {dictionary.width} expected")
    if not np.isfinite(Y).all():
        bad = int(np.flatnonzero(~np.isfinite(Y).all(axis=1))[0])
        raise InvalidInput(f"row {bad} of Y is not finite; replace or drop it")


def as_gammas(gamma: Any, n: int) -> Floats:
    """Return one gamma per query from one number or one each."""
    try:
        found = np.asarray(gamma, np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"gamma is not made of numbers: {error}") from error
    if found.shape not in ((), (1,), (n,)):
        raise InvalidInput(f"gamma has shape {found.shape}; one number, or {n}, expected")
    wrong = found[~(np.isfinite(found) & (found > 0))]
    if wrong.size:
        raise refuse("gamma", float(wrong[0]), "a finite number above 0")
    return np.array(np.broadcast_to(found, (n,)))


def as_start(start: Any, shape: tuple[int, int]) -> Any:
    """Return starting codes as CSR without duplicates and zeros."""
    try:
        found = sp.csr_array(start, dtype=np.float64, copy=True)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"start is not a matrix of numbers: {error}") from error
    if found.shape != shape:
        raise InvalidInput(f"start has shape {found.shape}; {shape} expected")
    if not np.isfinite(found.data).all():
        raise InvalidInput("start holds NaN or infinity; finite codes expected")
    found.sum_duplicates()
    found.eliminate_zeros()
    return found


class Sizes:
    """Powers of two that scale queries to a largest entry between 1/2 and 1, and back."""

    def __init__(self, Y: Floats) -> None:
        self.exponents = np.frexp(np.abs(Y).max(axis=1, initial=0.0))[1].astype(np.int64)

    def queries(self, Y: Floats) -> Floats:
        """Return Y scaled; entries 1e-308 times the largest may become zero."""
        return np.asarray(np.ldexp(Y, -self.exponents[:, None]))

    def gammas(self, gamma: Floats) -> Floats:
        """Return given gammas for the scaled queries, kept in the range of float64."""
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(np.clip(np.ldexp(gamma, -self.exponents), _TINY, _HUGE))

    def start(self, start: Any) -> Any:
        """Return starting codes for the scaled queries."""
        each = np.repeat(self.exponents, np.diff(start.indptr))
        with np.errstate(over="ignore", under="ignore"):
            data = np.clip(np.ldexp(start.data, -each), -_HUGE, _HUGE)
        return sp.csr_array((data, start.indices, start.indptr), shape=start.shape)

    def back(self, query: int, one: QueryCode, given: Floats | None) -> QueryCode:
        """Return the code of the query as given; uncertified beyond the range of float64."""
        exponent = int(self.exponents[query])
        with np.errstate(over="ignore", under="ignore"):
            values = np.ldexp(one.values, exponent)
            gamma = float(np.ldexp(one.gamma, exponent) if given is None else given[query])
        lost = not np.isfinite(values).all() or (one.gamma > 0 and gamma < _TINY)
        made = replace(one, values=values, gamma=gamma)
        return replace(made, gap=np.nan, converged=False) if lost else made
