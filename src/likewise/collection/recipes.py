"""Recipes: how a space gets its vector from a picture, as a record that fits in the catalog.

``words`` are RootSIFT descriptors counted over a vocabulary (sparse), ``holistic`` is the 428-D
vector (dense), ``own`` comes from the user.  A recipe never changes once a space has it; what it
learned from the collection (vocabulary, document frequencies) belongs to a generation.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.coding.bow import count
from likewise.coding.vocabulary import Vocabulary
from likewise.collection.segments import pack_dense, pack_sparse
from likewise.errors import InvalidInput
from likewise.features.holistic import N_HOLISTIC, Holistic
from likewise.features.local import SIFT, LocalFeatures
from likewise.images import Picture

WORDS: dict[str, Any] = {
    "feature": "words",
    "max_features": 1500,
    "max_side": 800,
    "upright": False,
    # Words of a vocabulary while the collection is small, when it is large, and from when on.
    "n_words": 10_000,
    "n_words_large": 100_000,
    "large_from": 5_000,
}
HOLISTIC: dict[str, Any] = {"feature": "holistic"}
METRICS = ("cosine", "ip", "l2")

DECODE_SIDE = 1024
"""Pictures are decoded no larger than this; every recipe shrinks further for itself."""


class Step(NamedTuple):
    """What a worker has to do for one space: its recipe, and its vocabulary if it has one."""

    space: str
    generation: int
    recipe: Mapping[str, Any]
    vocabulary: str | None


def checked(recipe: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """(kind, whole recipe) of what a user asked for, or a clear refusal."""
    feature = recipe.get("feature")
    if feature == "holistic":
        allowed, kind = HOLISTIC, "dense"
    elif feature == "words":
        allowed, kind = WORDS, "sparse"
    elif feature == "own":
        allowed, kind = {"feature": "own", "metric": "cosine", "kind": "dense"}, ""
    else:
        raise InvalidInput(
            f'feature is {feature!r}; "words", "holistic" or "own" (your vectors) expected'
        )
    unknown = set(recipe) - set(allowed)
    if unknown:
        raise InvalidInput(
            f"{sorted(unknown)[0]!r} is no parameter of {feature!r}; "
            f"it has {', '.join(k for k in allowed if k != 'feature') or 'none'}"
        )
    whole = {**allowed, **recipe}
    for name, low in (
        ("max_features", 1),
        ("max_side", 16),
        ("n_words", 2),
        ("n_words_large", 2),
        ("large_from", 0),
    ):
        value = whole.get(name, low)
        if isinstance(value, bool) or not isinstance(value, int) or value < low:
            raise InvalidInput(f"{name} is {value!r}; a whole number of at least {low} expected")
    if not isinstance(whole.get("upright", False), bool):
        raise InvalidInput(f"upright is {whole['upright']!r}; true or false expected")
    if feature == "own":
        kind = whole["kind"]
        if kind not in ("dense", "sparse") or whole["metric"] not in METRICS:
            raise InvalidInput(
                f"kind is {kind!r} and metric {whole['metric']!r}; "
                f"dense or sparse, and one of {METRICS} expected"
            )
    return kind, whole


def local_features(
    recipe: Mapping[str, Any], picture: Picture | NDArray[np.uint8]
) -> LocalFeatures:
    """The descriptors a words space counts."""
    return SIFT(
        max_features=recipe["max_features"],
        max_side=recipe["max_side"],
        upright=recipe["upright"],
    ).extract(picture)


def vector_of(step: Step, picture: Picture | NDArray[np.uint8]) -> bytes | None:
    """The raw vector of a picture as a blob; None where the space cannot make one (yet)."""
    feature = step.recipe["feature"]
    if feature == "holistic":
        return pack_dense(Holistic().extract(picture))
    if feature == "words" and step.vocabulary is not None:
        found = local_features(step.recipe, picture)
        return counted(open_vocabulary(step.vocabulary), found.descriptors)
    return None


def counted(vocabulary: Vocabulary, descriptors: NDArray[np.float32]) -> bytes:
    """Term counts of one picture's descriptors."""
    if len(descriptors) == 0:
        return pack_sparse([], [])
    row = count(vocabulary.quantise(descriptors), vocabulary.n_words)
    return pack_sparse(row.indices, row.data)


@lru_cache(maxsize=4)
def open_vocabulary(path: str) -> Vocabulary:
    """A vocabulary by its file; files never change, so they may be kept."""
    return Vocabulary.open(Path(path))


def n_words(recipe: Mapping[str, Any], n_pictures: int, n_descriptors: int) -> int:
    """How many words a collection of this size gets.

    Fewer than the recipe says while there are under eight descriptors a word: words nobody
    shares find nothing.
    """
    large = n_pictures >= recipe["large_from"]
    wanted = int(recipe["n_words_large"] if large else recipe["n_words"])
    return max(1, min(wanted, n_descriptors // 8))


def width_of(recipe: Mapping[str, Any]) -> int:
    """Columns of a dense vector made by Likewise itself."""
    if recipe["feature"] != "holistic":
        raise InvalidInput(f"{recipe['feature']!r} has no fixed width")
    return N_HOLISTIC
