"""Checks of single parameters: a number, a whole number, a seed; each says what was wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.errors import InvalidInput


def number(
    value: Any, name: str, *, above: float | None = None, least: float | None = None
) -> float:
    """A finite number greater than ``above``, or not less than ``least``."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.number)):
        raise InvalidInput(f"{name} is {value!r}; a number expected")
    found = float(value)
    if not np.isfinite(found):
        raise InvalidInput(f"{name} is {value!r}; a finite number expected")
    if above is not None and not found > above:
        raise InvalidInput(f"{name} is {value!r}; a number above {above:g} expected")
    if least is not None and not found >= least:
        raise InvalidInput(f"{name} is {value!r}; at least {least:g} expected")
    return found


def whole(value: Any, name: str, least: int) -> int:
    """A whole number not less than ``least``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InvalidInput(f"{name} is {value!r}; a whole number of at least {least} expected")
    return int(value)


def generator(random_state: Any) -> np.random.Generator:
    """Randomness from a seed, a Generator, a RandomState, or (None) from the system.

    A RandomState is drawn from, so that a second call with it goes on and does not repeat.

    >>> old = np.random.RandomState(0)
    >>> generator(old).integers(100) == generator(np.random.RandomState(0)).integers(100)
    np.True_
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 1 << 32, size=4, dtype=np.uint32))
    if random_state is None:
        return np.random.default_rng()
    return np.random.default_rng(whole(random_state, "random_state", 0))
