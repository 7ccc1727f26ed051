"""Validate arguments, with one wording of errors: ``NAME is VALUE; WHAT expected``.

A function returns the value in the type to compute with, or raises
:class:`~likewise_methods.errors.InvalidInput`.  True and False are not numbers here: ``k=True`` is
a mistake.  NumPy is imported only by the functions that need it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from likewise_methods.errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "as_array",
    "check_seed",
    "finite_rows",
    "generator",
    "is_number",
    "is_whole",
    "matrix",
    "number",
    "one_of",
    "refuse",
    "truth",
    "vector",
    "whole",
]


def refuse(name: str, value: object, wanted: str) -> InvalidInput:
    """Return the error for an argument, to raise."""
    return InvalidInput(f"{name} is {value!r}; {wanted} expected")


# -- single values ------------------------------------------------------------------------------


def is_whole(value: Any, least: float = -math.inf, most: float = math.inf) -> bool:
    """Return whether this is a whole number in a range."""
    # bool is an Integral in Python.
    if isinstance(value, bool) or not isinstance(value, Integral):
        return False
    return least <= int(value) <= most


def is_number(value: Any) -> bool:
    """Return whether this is a finite real number."""
    # The common case first: the check for Real is slower.
    if type(value) is float:
        return math.isfinite(value)
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond float
        return False


def whole(value: Any, name: str, least: int = 1, most: int | None = None) -> int:
    """Return a whole number of at least ``least`` and at most ``most``.

    >>> whole(True, "k")
    Traceback (most recent call last):
    likewise_methods.errors.InvalidInput: k is True; a whole number of at least 1 expected
    """
    if not is_whole(value, least, math.inf if most is None else most):
        wanted = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise refuse(name, value, f"a whole number {wanted}")
    return int(value)


def number(
    value: Any,
    name: str,
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    most: float | None = None,
) -> float:
    """Return a finite number: above ``above`` or at least ``least``; also with an upper end.

    >>> number(1, "alpha", above=0, below=1)
    Traceback (most recent call last):
    likewise_methods.errors.InvalidInput: alpha is 1; a finite number above 0 and below 1 expected
    """
    sound = (
        is_number(value)
        and (above is None or value > above)
        and (least is None or value >= least)
        and (below is None or value < below)
        and (most is None or value <= most)
    )
    if not sound:
        ends = {"above": above, "of at least": least, "below": below, "at most": most}
        said = " and ".join(f"{word} {end:g}" for word, end in ends.items() if end is not None)
        raise refuse(name, value, f"a finite number {said}".rstrip())
    return float(value)


def truth(value: Any, name: str) -> bool:
    """Return True or False; a text such as "no" is an error."""
    if not isinstance(value, bool):
        import numpy as np

        if not isinstance(value, np.bool_):
            raise refuse(name, value, "True or False")
    return bool(value)


def one_of(value: Any, name: str, known: Iterable[str | None]) -> Any:
    """Return one of these names (or None, if that is one of them)."""
    names = tuple(known)
    # Only text is compared: comparing an array gives an array.
    if not (value is None or isinstance(value, str)) or value not in names:
        raise refuse(name, value, f"one of {', '.join(map(repr, names))}")
    return value


# -- randomness ---------------------------------------------------------------------------------


def check_seed(random_state: Any) -> Any:
    """Validate a ``random_state`` without using it."""
    import numpy as np

    source = isinstance(random_state, (np.random.Generator, np.random.RandomState))
    if not (random_state is None or source or is_whole(random_state, 0)):
        raise refuse(
            "random_state", random_state, "None, a whole number of at least 0 or a numpy generator"
        )
    return random_state


def generator(random_state: Any) -> np.random.Generator:
    """Return a generator from a seed, a Generator, a RandomState, or None (the system).

    A RandomState is advanced, so that a second call with it gives other numbers.

    >>> import numpy as np
    >>> old = np.random.RandomState(0)
    >>> int(generator(old).integers(100)) == int(generator(np.random.RandomState(0)).integers(100))
    True
    """
    import numpy as np

    check_seed(random_state)
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(0, 1 << 32, size=4, dtype=np.uint32)
    return np.random.default_rng(random_state)


# -- arrays -------------------------------------------------------------------------------------


def as_array(value: Any, name: str) -> NDArray[Any]:
    """Return an array; lists of unequal lengths are an error."""
    import numpy as np

    try:
        return np.asarray(value)
    except ValueError as error:
        raise InvalidInput(f"{name} is not an array, its rows differ in length: {error}") from error


def vector(value: Any, name: str, n: int, of: str) -> NDArray[Any]:
    """Return ``n`` real numbers, not checked to be finite; ``of`` says what each is."""
    found = as_array(value, name)
    if found.shape != (n,):
        raise InvalidInput(f"{name} has shape {found.shape}; ({n},) expected, {of}")
    if found.dtype.kind not in "buif":
        raise InvalidInput(f"{name} has type {found.dtype}; real numbers expected")
    return found


def matrix(
    X: Any,
    name: str,
    width: int | None = None,
    *,
    dtype: Any = None,
    of: str = "rows, columns",
    objects: bool = False,
) -> NDArray[Any]:
    """Return X as a two-dimensional array of real numbers, without a copy if possible.

    ``width`` is the expected number of columns; ``of`` says what the dimensions are.  Without a
    ``dtype`` float32 stays and everything else becomes float64.  Arrays of ``objects`` are an error
    by default.  :func:`finite_rows` also checks that numbers are finite.
    """
    import numpy as np

    if hasattr(X, "tocsr"):
        raise InvalidInput(f"{name} is a sparse matrix; an array ({of}) expected")
    found = as_array(X, name)
    # scikit-learn's checks expect some of these words.
    if found.dtype.kind == "c":
        seen = f"{name} has type {found.dtype}"
        raise InvalidInput(f"{seen}; real numbers expected.  Complex data not supported")
    if found.dtype.kind not in ("fiubO" if objects else "fiub"):
        raise InvalidInput(f"{name} has type {found.dtype}; real numbers expected")
    if found.ndim != 2:
        seen = f"{name} has {found.ndim} dimensions"
        raise InvalidInput(f"{seen}; 2 expected ({of}).  Reshape your data")
    if width is not None and found.shape[1] != width:
        raise InvalidInput(f"{name} has {found.shape[1]} columns; {width} expected")
    if found.shape[1] == 0:
        raise InvalidInput(f"{name} has 0 columns; at least 1 expected")
    if dtype is None:
        dtype = np.float32 if found.dtype == np.float32 else np.float64
    try:
        with np.errstate(over="ignore"):
            return found.astype(dtype, copy=False)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{name} is not made of numbers: {error}") from error


def finite_rows(
    X: Any,
    name: str,
    width: int | None = None,
    *,
    dtype: Any = None,
    of: str = "rows, columns",
    objects: bool = False,
) -> NDArray[Any]:
    """Return :func:`matrix` of finite numbers in C order."""
    import numpy as np

    found = np.ascontiguousarray(matrix(X, name, width, dtype=dtype, of=of, objects=objects))
    with np.errstate(over="ignore", invalid="ignore"):
        # A finite sum means finite numbers, and needs no temporary array.  If it overflows, the
        # rows are checked below.
        finite = np.isfinite(found.sum())
    if not finite:
        bad = np.flatnonzero(~np.isfinite(found).all(axis=1))
        if len(bad):
            float32 = dtype == np.float32
            what = "NaN, inf or a value beyond float32" if float32 else "NaN or infinity"
            raise InvalidInput(f"{name} has {what} in row {bad[0]}; finite numbers expected")
    return found
