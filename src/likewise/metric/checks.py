"""Parameters as numbers, or a refusal that names them."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.errors import InvalidInput


def is_number(value: Any) -> bool:
    """A real number, and no truth value."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def whole_number(value: Any, name: str) -> int:
    """A whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InvalidInput(f"{name} is {value!r}; an integer of at least 1 expected")
    return int(value)


def truth(value: Any, name: str) -> bool:
    """True or False: a text such as "no" would pass for true."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidInput(f"{name} is {value!r}; True or False expected")
    return bool(value)


def at_least(estimator: Any, name: str, least: float, *, open_end: bool = False) -> float:
    """A parameter as a finite number of at least (or above) ``least``."""
    value = getattr(estimator, name)
    sound = is_number(value) and np.isfinite(value)
    if not sound or value < least or (open_end and value == least):
        bound = f"above {least}" if open_end else f"of at least {least}"
        raise InvalidInput(f"{name} is {value!r}; a finite number {bound} expected")
    return float(value)
