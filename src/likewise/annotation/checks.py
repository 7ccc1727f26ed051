"""The parameters of an annotator: what each may be."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.errors import InvalidInput

SEARCHES = ("exact", "lsh", "hnsw")
SCORES = ("signed", "positive")


def is_whole(value: Any, least: int) -> bool:
    """Whether it is a whole number of at least ``least``; True is none."""
    number = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return number and value >= least


def check_parameters(model: Any) -> None:
    """Refuse parameters of a SparseAnnotator that make no sense."""
    for name, known in (("search", SEARCHES), ("scores", SCORES)):
        value = getattr(model, name)
        if not isinstance(value, str) or value not in known:
            raise InvalidInput(f"{name} is {value!r}; one of {', '.join(known)} expected")
    for name in ("alpha", "tol"):
        value = getattr(model, name)
        if not isinstance(value, (int, float, np.integer, np.floating)) or not 0 < value < 1:
            raise InvalidInput(f"{name} is {value!r}; a number between 0 and 1 expected")
    if not is_whole(model.expand, 1):
        raise InvalidInput(f"expand is {model.expand!r}; a whole number from 1 expected")
    if not is_whole(model.n_jobs, 1) and not (is_whole(model.n_jobs, -1) and model.n_jobs):
        raise InvalidInput(
            f"n_jobs is {model.n_jobs!r}; a whole number from 1 expected, or -1 for all cores"
        )
    for name in ("certify", "nonnegative"):
        value = getattr(model, name)
        if not isinstance(value, (bool, np.bool_)):
            raise InvalidInput(f"{name} is {value!r}; True or False expected")
    source = (np.random.RandomState, np.random.Generator)
    if not (
        model.random_state is None
        or isinstance(model.random_state, source)
        or is_whole(model.random_state, 0)
    ):
        raise InvalidInput(
            f"random_state is {model.random_state!r}; None, a whole number from 0, or a numpy "
            "generator expected"
        )
