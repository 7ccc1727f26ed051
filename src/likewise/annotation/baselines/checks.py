"""Parameters of the baselines: refused with the value seen and what would do."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from likewise.annotation.checks import is_whole
from likewise.errors import InvalidInput


def check_whole(model: Any, name: str, least: int) -> None:
    """``model.name`` must be a whole number of at least ``least``."""
    value = getattr(model, name)
    if not is_whole(value, least):
        raise InvalidInput(f"{name} is {value!r}; a whole number from {least} expected")


def check_number(
    model: Any, name: str, *, above: float = 0.0, below: float = math.inf, or_equal: bool = False
) -> None:
    """``model.name`` must lie between, the lower end included with ``or_equal``."""
    value = getattr(model, name)
    real = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not (real and (value >= above if or_equal else value > above) and value < below):
        low = "at least" if or_equal else "above"
        high = "finite" if below == math.inf else f"below {below:g}"
        raise InvalidInput(f"{name} is {value!r}; a number {low} {above:g} and {high} expected")


def check_choice(model: Any, name: str, known: tuple[str, ...]) -> None:
    """``model.name`` must be one of these words."""
    value = getattr(model, name)
    if not isinstance(value, str) or value not in known:
        raise InvalidInput(f"{name} is {value!r}; one of {', '.join(known)} expected")
