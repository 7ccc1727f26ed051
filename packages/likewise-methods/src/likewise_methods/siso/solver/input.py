"""The door of the lasso: what may come in, and queries brought to one size.

Each query is scaled by a power of two so that its largest entry is between 1/2 and 1: scans are
float32, whose range ends at 1e38.  The lasso only scales with it (x and gamma like y), and a power
of two rounds nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from likewise_methods.errors import InvalidInput
from likewise_methods.siso.solver.queries import QueryCode
from likewise_methods.siso.solver.scan import Dictionary, Floats
from likewise_methods.siso.solver.working_set import SOLVERS
from likewise_methods.validation import number, one_of, refuse, truth, whole

# Rows times their scale in float32: beyond these lengths products could leave its range.
SHORTEST, LONGEST = 1e-15, 1e15
_TINY, _HUGE = np.finfo(np.float64).tiny, 1e300


def check_data(dictionary: Dictionary, Y: Floats) -> None:
    """Refuse what cannot be scanned."""
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


def check_settings(
    shares: dict[str, Any], counts: dict[str, Any], switches: dict[str, Any], solver: Any
) -> None:
    """``shares`` lie between 0 and 1, ``counts`` are whole and from 1, ``switches`` booleans."""
    for name, value in shares.items():
        number(value, name, above=0, below=1)
    for name, value in counts.items():
        whole(value, name)
    for name, value in switches.items():
        truth(value, name)
    one_of(solver, "solver", tuple(SOLVERS))


def check_device(device: Any, solver: str, plain: bool) -> None:
    """Refuse what a device cannot do, wherever the call runs in the end."""
    one_of(device, "device", ("cpu", "cuda"))
    if device == "cuda" and (solver != "homotopy" or not plain):
        raise InvalidInput(
            'device "cuda" goes with solver "homotopy", without start and search; '
            'leave them out, or take device "cpu"'
        )


def as_gammas(gamma: Any, n: int) -> Floats:
    """One gamma for all queries, or one each."""
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
    """Codes to begin with as CSR, each column once a query."""
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
    """Powers of two that bring queries to a largest entry between 1/2 and 1, and back."""

    def __init__(self, Y: Floats) -> None:
        self.exponents = np.frexp(np.abs(Y).max(axis=1, initial=0.0))[1].astype(np.int64)

    def queries(self, Y: Floats) -> Floats:
        """Y of this size; entries 1e-308 times the largest may become zero."""
        return np.asarray(np.ldexp(Y, -self.exponents[:, None]))

    def gammas(self, gamma: Floats) -> Floats:
        """A given gamma for the queries of this size, kept in the range of float64."""
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(np.clip(np.ldexp(gamma, -self.exponents), _TINY, _HUGE))

    def start(self, start: Any) -> Any:
        """Codes to begin with, for the queries of this size."""
        each = np.repeat(self.exponents, np.diff(start.indptr))
        with np.errstate(over="ignore", under="ignore"):
            data = np.clip(np.ldexp(start.data, -each), -_HUGE, _HUGE)
        return sp.csr_array((data, start.indices, start.indptr), shape=start.shape)

    def back(self, query: int, one: QueryCode, given: Floats | None) -> QueryCode:
        """The code of the query as it came; not certified where it leaves the range of float64."""
        exponent = int(self.exponents[query])
        with np.errstate(over="ignore", under="ignore"):
            values = np.ldexp(one.values, exponent)
            gamma = float(np.ldexp(one.gamma, exponent) if given is None else given[query])
        lost = not np.isfinite(values).all() or (one.gamma > 0 and gamma < _TINY)
        made = replace(one, values=values, gamma=gamma)
        return replace(made, gap=np.nan, converged=False) if lost else made
