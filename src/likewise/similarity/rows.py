"""The door for vectors, triplets and their weights: checked arrays, or an InvalidInput.

Duplicated words are summed, explicit zeros leave, words ascend within a row, every number is
finite.  Kernels trust what comes out of here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from likewise._kernels import kernel
from likewise.errors import InvalidInput
from likewise.similarity.margin_kernels import Rows

Triplets = NDArray[np.int64]
Floats = NDArray[np.float64]

MAX_WIDTH = 1 << 31
# z and its square must stay far from the end of float64, or one row would poison the state.
PEAK = 1e50
_UNSOUND, _INFINITE, _UNSORTED, _ZEROS, _PEAK = 1, 2, 4, 8, 16


@kernel
def _inspect(ends, words, values, width, peak):  # type: ignore[no-untyped-def]
    """What is wrong with CSR arrays, the flags above added up; one pass, no temporary arrays."""
    if ends[0] != 0 or ends[-1] > len(words) or ends[-1] > len(values):
        return _UNSOUND
    found = 0
    for d in range(len(ends) - 1):
        if ends[d + 1] < ends[d] or ends[d + 1] > len(words):
            return _UNSOUND
        before = np.int64(-1)
        for p in range(ends[d], ends[d + 1]):
            word = np.int64(words[p])
            if word < 0 or word >= width:
                return _UNSOUND
            if word <= before:
                found |= _UNSORTED
            before = word
            value = values[p]
            if not np.isfinite(value):
                found |= _INFINITE
            elif abs(value) > peak:
                found |= _PEAK
            if value == 0:
                found |= _ZEROS
    return found


def as_rows(X: Any, width: int | None = None, name: str = "X") -> Rows:
    """X, dense or sparse, as canonical CSR arrays; float32 stays float32, the rest is float64.

    ``width`` is the number of columns expected, where one is.
    """
    csr = _as_csr(X, name)
    if width is not None and csr.shape[1] != width:
        raise InvalidInput(f"{name} has {csr.shape[1]} columns; {width} expected, one per word")
    ends, words, values = csr.indptr, csr.indices, csr.data
    faults = _inspect(ends, words, values, csr.shape[1], PEAK)
    if faults & _UNSOUND or len(ends) != csr.shape[0] + 1:
        raise InvalidInput(f"{name} is not a sound CSR matrix: its indices are out of range")
    if faults & _INFINITE:
        raise InvalidInput(f"{name} holds a value that is not finite; replace or drop it")
    if faults & _UNSORTED:
        copy = (values.astype(np.float64), words.copy(), ends.copy())
        csr = sp.csr_array(copy, shape=csr.shape)
        csr.sum_duplicates()
        ends, words = csr.indptr, csr.indices
        values = csr.data.astype(values.dtype)
        faults |= _ZEROS
    if faults & _PEAK or (faults & _UNSORTED and np.abs(values).max(initial=0) > PEAK):
        raise InvalidInput(f"{name} holds a value beyond {PEAK:.0e}; scale it")
    values, words = values[: ends[-1]], words[: ends[-1]]
    if faults & _ZEROS:
        kept = values != 0
        ends = np.concatenate([[0], np.cumsum(kept)])[ends]
        values, words = values[kept], words[kept]
    return Rows(
        np.ascontiguousarray(ends, np.int64),
        np.ascontiguousarray(words).astype(np.uint32, copy=False),
        np.ascontiguousarray(values),
        int(csr.shape[1]),
    )


def _as_csr(X: Any, name: str) -> Any:
    sparse = sp.issparse(X)
    if not sparse:
        try:
            X = np.asarray(X)
        except ValueError as error:
            raise InvalidInput(f"{name} is not a matrix of numbers: {error}") from error
    if X.ndim != 2:
        raise InvalidInput(f"{name} has {X.ndim} dimensions; 2 expected (pictures, words)")
    if X.dtype.kind not in "buif":
        raise InvalidInput(f"{name} has type {X.dtype}; real numbers expected")
    if not 1 <= X.shape[1] < MAX_WIDTH:
        raise InvalidInput(f"{name} has {X.shape[1]} columns; 1 to {MAX_WIDTH - 1} expected")
    if X.dtype.kind != "f" or X.dtype.itemsize not in (4, 8):
        X = X.astype(np.float64)
    if not sparse:
        return sp.csr_array(X)
    return X if X.format == "csr" else X.tocsr()


def as_array(value: Any, name: str) -> NDArray[Any]:
    """An array; lists of unequal lengths are refused."""
    try:
        return np.asarray(value)
    except ValueError as error:
        raise InvalidInput(f"{name} is not an array, its rows differ in length: {error}") from error


def as_triplets(triplets: Any, n_rows: int) -> Triplets:
    """An integer array (n, 3) of rows of X, n at least 1."""
    found = as_array(triplets, "triplets")
    if found.ndim != 2 or (found.shape[1] != 3 and found.size):
        seen = f"{found.shape[1]} columns" if found.ndim == 2 else f"shape {found.shape}"
        raise InvalidInput(f"triplets has {seen}; 3 columns expected (anchor, nearer, farther)")
    if not found.size:
        raise InvalidInput("triplets is empty; at least one (anchor, nearer, farther) expected")
    if found.dtype.kind not in "iu":
        raise InvalidInput(f"triplets has type {found.dtype}; integers expected, rows of X")
    low, high = int(found.min()), int(found.max())
    if low < 0 or high >= n_rows:
        raise InvalidInput(
            f"triplets names row {low if low < 0 else high}; X has rows 0 to {n_rows - 1}"
        )
    return np.ascontiguousarray(found, np.int64)


def as_sample_weight(sample_weight: Any, n: int) -> Floats:
    """One finite weight, not negative, per triplet; an empty array for None."""
    if sample_weight is None:
        return np.zeros(0)
    found = as_array(sample_weight, "sample_weight")
    if found.shape != (n,) or found.dtype.kind not in "buif":
        raise InvalidInput(
            f"sample_weight has shape {found.shape} and type {found.dtype}; "
            f"{n} numbers expected, one per triplet"
        )
    found = np.ascontiguousarray(found, np.float64)
    if not (np.isfinite(found).all() and (found >= 0).all() and (found <= PEAK).all()):
        raise InvalidInput("sample_weight must be finite and not negative")
    return found


def number(
    value: Any, name: str, *, above: float | None = None, least: float | None = None
) -> float:
    """A finite parameter greater than ``above`` or not less than ``least``."""
    if isinstance(value, (bool, np.bool_)):  # 1.0 to Python, and a slip here
        raise InvalidInput(f"{name} is {value!r}; a number expected")
    try:
        found = float(value)
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} is {value!r}; a number expected") from None
    if not np.isfinite(found):
        raise InvalidInput(f"{name} is {value!r}; a finite number expected")
    if above is not None and not found > above:
        raise InvalidInput(f"{name} is {value!r}; a number above {above:g} expected")
    if least is not None and not found >= least:
        raise InvalidInput(f"{name} is {value!r}; at least {least:g} expected")
    return found


def choice(value: Any, name: str, known: Any) -> str:
    """One of the names in ``known``."""
    if not isinstance(value, str) or value not in known:
        raise InvalidInput(f"{name} is {value!r}; one of {', '.join(map(repr, known))} expected")
    return value


def whole(value: Any, name: str, least: int) -> int:
    """A whole number not less than ``least``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InvalidInput(f"{name} is {value!r}; a whole number of at least {least} expected")
    return int(value)


def generator(random_state: Any) -> np.random.Generator:
    """Randomness from a seed, a Generator, or (None) from the system."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(as_seed(random_state))


def as_seed(random_state: Any) -> Any:
    """None, a Generator, or a whole number; for where no randomness may be needed in the end."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return random_state
    return whole(random_state, "random_state", 0)
