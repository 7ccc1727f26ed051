"""Recipes: how a space gets its vector from a picture, as a record that fits in the catalog.

``words`` are RootSIFT descriptors counted over a vocabulary (sparse), ``holistic`` is the 428-D
vector (dense), ``deep`` and ``deep-dense`` are what a network sees (sparse and dense, of one
forward pass), ``deep-words`` are the cells of its map counted over a vocabulary, ``psc`` and
``vlad`` are dense SIFT coded and pooled (dense), ``onnx`` is a network of the user's, ``own`` comes
from the user.  A recipe never changes once a space has it; what it learned from the collection
(vocabulary, document frequencies, codebooks, whitening) belongs to a generation.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise._validation import number
from likewise.collection.errors import DamagedCollection
from likewise.collection.spaces.pooled import check_pooled, described, open_pooled
from likewise.collection.spaces.wording import Words, open_projection, open_vocabulary
from likewise.collection.store.segments import pack_dense, pack_sparse
from likewise.collection.store.store import SpaceRow
from likewise.errors import InvalidInput
from likewise.features.deep.errors import ChangedModel
from likewise.features.deep.graph import CELL
from likewise.features.deep.network import MODEL, installed, network
from likewise.features.deep.onnx_model import OnnxModel
from likewise.features.deep.recipes import (
    CELLS_SIZE,
    KEEP,
    N_DEEP,
    DeepCells,
    DeepDense,
    DeepSparse,
    activations,
    strongest,
)
from likewise.features.deep.runtime import Preparation, three
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
DEEP: dict[str, Any] = {"feature": "deep", "model": MODEL, "keep": KEEP}
DEEP_DENSE: dict[str, Any] = {"feature": "deep-dense", "model": MODEL}
DEEP_WORDS: dict[str, Any] = {
    "feature": "deep-words",
    "model": MODEL,
    "size": CELLS_SIZE,
    "components": 128,
    # Words each cell is shared between.
    "soft": 5,
    # None: chosen from the data, see n_words().
    "n_words": None,
}
# Dense SIFT of both: patches of these sizes, every ``step`` pixels, of pictures this large.
_GRID: dict[str, Any] = {"sizes": [16, 24], "step": 8, "max_side": 400}
PSC: dict[str, Any] = {
    "feature": "psc",
    # Words of each of two sub-codebooks: their products are the words that are pooled.
    "n_words": 128,
    "alpha": 0.3,
    "components": 128,
    **_GRID,
}
VLAD: dict[str, Any] = {
    "feature": "vlad",
    "n_words": 256,
    "intra": True,
    "components": 128,
    **_GRID,
}
ONNX: dict[str, Any] = {
    "feature": "onnx",
    "path": None,
    "kind": "dense",
    "size": 224,
    "scale": 255.0,
    "mean": 0.0,
    "std": 1.0,
    "layer": None,
    "pool": "mean",
    "keep": KEEP,
    "licence": "not stated",
}
OWN: dict[str, Any] = {"feature": "own", "metric": "cosine", "kind": "dense"}
METRICS = ("cosine", "ip", "l2")

RECIPES: dict[str, tuple[dict[str, Any], str | None]] = {
    "words": (WORDS, "sparse"),
    "holistic": (HOLISTIC, "dense"),
    "deep": (DEEP, "sparse"),
    "deep-dense": (DEEP_DENSE, "dense"),
    "deep-words": (DEEP_WORDS, "sparse"),
    "psc": (PSC, "dense"),
    "vlad": (VLAD, "dense"),
    "onnx": (ONNX, None),
    "own": (OWN, None),
}
"""Every feature: its whole recipe, and its kind of vector (None: the recipe's own ``kind``)."""

DECODE_SIDE = 1024
"""Pictures are decoded no larger than this; every recipe shrinks further for itself."""

# The least of each whole number in a recipe.
_LEAST = {
    "max_features": 1,
    "max_side": 16,
    "n_words": 2,
    "n_words_large": 2,
    "large_from": 0,
    "keep": 1,
    "components": 1,
    "soft": 1,
    "size": 16,
    "step": 1,
}


class Step(NamedTuple):
    """What a worker has to do for one space: its recipe, and the files the recipe needs."""

    space: str
    generation: int
    recipe: Mapping[str, Any]
    vocabulary: str | None
    projection: str | None = None
    model: str | None = None
    coder: str | None = None


def step_for(
    root: Path, space: str, generation: int, recipe: Mapping[str, Any], files: Mapping[str, str]
) -> Step:
    """The step of a generation, given its files as the catalog names them."""
    needed = (files.get(key) for key in ("vocabulary", "projection", "model", "coder"))
    return Step(space, generation, recipe, *(str(root / name) if name else None for name in needed))


def step_of(root: Path, space: SpaceRow) -> Step:
    """The step of a space's live generation."""
    return step_for(root, space.name, space.generation, space.recipe, space.files)


def learns(recipe: Mapping[str, Any]) -> bool:
    """Whether a space has words that are learned from the collection."""
    return recipe["feature"] in ("words", "deep-words")


def pools(recipe: Mapping[str, Any]) -> bool:
    """Whether a space pools codes over codebooks that are learned from the collection."""
    return recipe["feature"] in ("psc", "vlad")


def is_fixed(recipe: Mapping[str, Any]) -> bool:
    """Whether Likewise makes the vectors and nothing is learned for them."""
    return recipe["feature"] in ("holistic", "deep", "deep-dense", "onnx")


def first_spaces(deep: bool | None) -> dict[str, tuple[str, dict[str, Any]]]:
    """The spaces beside ``words`` that a new collection starts with: name, kind, recipe.

    ``deep`` adds the network's; None adds them where the extra is installed.
    """
    if deep:
        network()
    found: dict[str, tuple[str, dict[str, Any]]] = {"holistic": ("dense", HOLISTIC)}
    if installed() if deep is None else deep:
        found |= {"deep": ("sparse", DEEP), "deep-dense": ("dense", DEEP_DENSE)}
    return found


def made_here(recipe: Mapping[str, Any]) -> bool:
    """Whether vectors of new pictures can be made on this machine."""
    feature = recipe["feature"]
    if feature == "onnx":
        # A layer inside the graph is made an output of it, which takes onnx.
        inner = recipe.get("inner", recipe.get("layer") is not None)
        needed = ("onnxruntime", "onnx") if inner else ("onnxruntime",)
        return all(importlib.util.find_spec(name) for name in needed)
    return feature != "own" and (feature not in ("deep", "deep-dense", "deep-words") or installed())


def checked(recipe: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """(kind, whole recipe) of what a user asked for, or a clear refusal."""
    feature = recipe.get("feature")
    if feature not in RECIPES:
        raise InvalidInput(f"feature is {feature!r}; one of {', '.join(RECIPES)} expected")
    allowed, fixed_kind = RECIPES[feature]
    unknown = set(recipe) - set(allowed)
    if unknown:
        raise InvalidInput(
            f"{sorted(unknown)[0]!r} is no parameter of {feature!r}; "
            f"it has {', '.join(k for k in allowed if k != 'feature') or 'none'}"
        )
    whole = {**allowed, **recipe}
    for name, low in _LEAST.items():
        value = whole.get(name, low)
        if value is None and allowed[name] is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or value < low:
            raise InvalidInput(f"{name} is {value!r}; a whole number of at least {low} expected")
    if not isinstance(whole.get("upright", False), bool):
        raise InvalidInput(f"upright is {whole['upright']!r}; true or false expected")
    if whole.get("model", MODEL) != MODEL:
        raise InvalidInput(f"model is {whole['model']!r}; {MODEL!r} expected (or feature onnx)")
    kind = fixed_kind or whole["kind"]
    if kind not in ("dense", "sparse"):
        raise InvalidInput(f"kind is {kind!r}; dense or sparse expected")
    if feature in _CHECKS:
        _CHECKS[feature](whole)
    return kind, whole


def _check_own(whole: Mapping[str, Any]) -> None:
    if whole["metric"] not in METRICS:
        raise InvalidInput(f"metric {whole['metric']!r} is not known; one of {METRICS} expected")


def _check_onnx(whole: Mapping[str, Any]) -> None:
    if not isinstance(whole["path"], str) or not whole["path"]:
        raise InvalidInput(f"path is {whole['path']!r}; the path of an .onnx file expected")
    if not isinstance(whole["licence"], str):
        raise InvalidInput(f"licence is {whole['licence']!r}; text expected")
    onnx_model(whole, whole["path"])


_CHECKS: dict[str, Callable[[Mapping[str, Any]], object]] = {
    "own": _check_own,
    "onnx": _check_onnx,
    "deep": lambda whole: DeepSparse(whole["keep"]),
    "deep-words": lambda whole: DeepCells(whole["size"]),
    "psc": check_pooled,
    "vlad": check_pooled,
}


def onnx_model(recipe: Mapping[str, Any], path: str) -> OnnxModel:
    """The user's network of a recipe, to be read from ``path``."""
    mean, std = three(recipe["mean"], "mean"), three(recipe["std"], "std")
    prepared = Preparation(recipe["size"], number(recipe["scale"], "scale"), mean, std)
    return OnnxModel(path, prepared, recipe["layer"], recipe["pool"], recipe.get("sha256"))


def local_features(
    recipe: Mapping[str, Any], picture: Picture | NDArray[np.uint8]
) -> LocalFeatures:
    """The descriptors a words space counts."""
    if recipe["feature"] == "deep-words":
        return DeepCells(recipe["size"]).extract(picture)
    return SIFT(
        max_features=recipe["max_features"],
        max_side=recipe["max_side"],
        upright=recipe["upright"],
    ).extract(picture)


def vector_of(
    step: Step, picture: Picture | NDArray[np.uint8], shared: dict[str, Any] | None = None
) -> bytes | None:
    """The raw vector of a picture as a blob; None where the space cannot make one (yet).

    ``shared`` is kept by the caller for one picture: spaces of one network share its forward pass.
    """
    recipe, feature = step.recipe, step.recipe["feature"]
    shared = {} if shared is None else shared
    if feature == "holistic":
        return pack_dense(Holistic().extract(picture))
    if feature in ("deep", "deep-dense"):
        if "pooled" not in shared:
            shared["pooled"] = activations(picture)
        if feature == "deep":
            return pack_sparse(*DeepSparse(recipe["keep"]).extract(picture, shared["pooled"]))
        return pack_dense(DeepDense().extract(picture, shared["pooled"]))
    if feature == "onnx" and step.model is not None:
        try:
            values = onnx_model(recipe, step.model).activations(picture)
        except ChangedModel as error:
            raise DamagedCollection(
                f"{error}; restore it from a backup, or drop space {step.space!r}"
            ) from error
        if recipe["kind"] == "sparse":
            return pack_sparse(*strongest(values, recipe["keep"]))
        return pack_dense(values)
    if step.coder is not None:
        found = described(recipe, picture, shared)
        return pack_dense(open_pooled(step.coder).vector(found.descriptors))
    if step.vocabulary is not None:
        return words_of(step).counted(local_features(recipe, picture).descriptors)
    return None


def words_of(step: Step) -> Words:
    """How the descriptors of a space with words become words."""
    assert step.vocabulary is not None
    projection = None if step.projection is None else open_projection(step.projection)
    return Words(open_vocabulary(step.vocabulary), projection, step.recipe.get("soft", 1))


def load_networks(recipe: Mapping[str, Any]) -> None:
    """Have the network of a recipe ready, or fail now rather than in every worker."""
    if recipe["feature"] in ("deep", "deep-dense", "deep-words"):
        network()


def n_words(recipe: Mapping[str, Any], n_pictures: int, n_descriptors: int) -> int:
    """How many words a collection of this size gets.

    Fewer than the recipe says while there are under eight descriptors a word: words nobody
    shares find nothing.  Cells of a network see things rather than corners; of these there are
    fewer, and they repeat: five times the root of the cells is a middle way.  On two of the four
    sets of docs/results/deep.md fewer words were better, by up to .035 mAP; on the other two a few
    more were, by up to .012.
    """
    if recipe["feature"] == "deep-words":
        cells = n_pictures * cells_of(recipe)
        wanted: int = recipe["n_words"] or min(round(5 * cells**0.5), 16_000)
    else:
        large = n_pictures >= recipe["large_from"]
        wanted = recipe["n_words_large"] if large else recipe["n_words"]
    return max(1, min(int(wanted), n_descriptors // 8))


def cells_of(recipe: Mapping[str, Any]) -> int:
    """Cells of one picture in a ``deep-words`` space."""
    return int((recipe["size"] // CELL) ** 2)


def width_of(recipe: Mapping[str, Any]) -> int:
    """Columns of a vector made by Likewise itself."""
    widths = {"holistic": N_HOLISTIC, "deep": N_DEEP, "deep-dense": N_DEEP}
    width = recipe.get("width") or widths.get(recipe["feature"])
    if width is None:
        raise InvalidInput(f"{recipe['feature']!r} has no fixed width")
    return int(width)
