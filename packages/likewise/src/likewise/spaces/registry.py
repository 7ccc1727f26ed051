"""The kinds of space: those of this package, and plug-ins of the group ``likewise.spaces``.

A package adds a kind by an entry point: its name is the ``feature``, its value the class.  A recipe
of a missing or broken kind is refused.  A collection with such a space still opens and ranks by the
rows it has, and its messages say what to do.
"""

from __future__ import annotations

import importlib
import inspect
import json
from dataclasses import asdict, dataclass, fields
from functools import cached_property, lru_cache
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from likewise.catalog.store import SpaceRow, Store
from likewise.errors import (
    BrokenSpaceKind,
    CollectionError,
    SpaceKindClash,
    UnknownSpaceKind,
)
from likewise.plugins import SPACES, package_of, points_of
from likewise.spaces.base import Pixels, Recipe, Space

_BUILT_IN = {
    "words": ("likewise.spaces.words", "WordsSpace"),
    "holistic": ("likewise.spaces.holistic", "HolisticSpace"),
    "deep": ("likewise.spaces.deep", "DeepSpace"),
    "deep-dense": ("likewise.spaces.deep", "DeepDenseSpace"),
    "look": ("likewise.spaces.fitted", "LookSpace"),
    "fitted": ("likewise.spaces.fitted", "FittedKind"),
    "deep-words": ("likewise.spaces.deep_words", "DeepWordsSpace"),
    "psc": ("likewise.spaces.pooled", "ProductCodesSpace"),
    "vlad": ("likewise.spaces.pooled", "VladSpace"),
    "onnx": ("likewise.spaces.onnx", "OnnxSpace"),
    "clip": ("likewise.spaces.clip", "ClipSpace"),
    "own": ("likewise.spaces.own", "OwnSpace"),
}

_RECORD = tuple(one.name for one in fields(SpaceRow))


@dataclass(frozen=True)
class UnavailableSpace(Space):
    """A space whose kind is not available here; ``reason`` says why, and what to do."""

    reason: str = ""

    feature = "unavailable"

    def is_available(self) -> bool:
        return False

    def how_to_get(self) -> str:
        return f"{self.reason}, then run likewise add again"

    def load(self) -> None:
        raise UnknownSpaceKind(self.reason)

    def describe(self, picture: Pixels, shared: dict[str, Any]) -> Any:
        raise UnknownSpaceKind(self.reason)


def kind_names() -> list[str]:
    """Return the features a recipe may name, those of this package first."""
    return [*_BUILT_IN, *sorted(set(points_of(SPACES)) - set(_BUILT_IN))]


def find_kind(feature: Any) -> type[Space]:
    """Return the class of a feature, or raise an error that says what to install."""
    if isinstance(feature, str) and feature in _BUILT_IN:
        return _import_built_in(feature)
    plugins = points_of(SPACES).get(feature, ()) if isinstance(feature, str) else ()
    if not plugins:
        raise UnknownSpaceKind(
            f"feature is {feature!r}; one of {', '.join(kind_names())} expected, or install the "
            "package that has it"
        )
    if len(plugins) > 1:
        raise SpaceKindClash(
            f"feature {feature!r} is in several packages: "
            f"{', '.join(map(package_of, plugins))}; uninstall all but one"
        )
    return _load(plugins[0])


def validate_recipe(recipe: Recipe) -> tuple[str, dict[str, Any]]:
    """Return (kind of vector, complete recipe) for what a user gave, or refuse it."""
    feature = recipe.get("feature")
    found = find_kind(feature)
    clashing = points_of(SPACES).get(str(feature), ()) if feature in _BUILT_IN else ()
    if clashing:
        raise SpaceKindClash(
            f"feature {feature!r} is Likewise's own, and {', '.join(map(package_of, clashing))} "
            "has another of that name; uninstall it, or rename its entry point"
        )
    whole = found.validate(recipe)
    return found.format_of(whole).name, whole


def open_space(root: Path, row: SpaceRow) -> Space:
    """Open the space of a record; one whose kind is missing raises when it is used."""
    values = {name: getattr(row, name) for name in _RECORD}
    try:
        kind = find_kind(row.recipe.get("feature"))
    except CollectionError as error:
        return UnavailableSpace(**values, root=root, reason=str(error))
    return kind(**values, root=root)


def open_spaces(store: Store) -> dict[str, Space]:
    """Return every space of a collection by name, with its live generation."""
    return {name: open_space(store.root, row) for name, row in store.spaces().items()}


class SpaceSet(tuple[Space, ...]):
    """The spaces of a collection that a worker needs: sent as text, opened once."""

    @cached_property
    def text(self) -> str:
        """Return the folder and the records as JSON."""
        return json.dumps([str(self[0].root), [asdict(one.record) for one in self]])

    @cached_property
    def needed_files(self) -> tuple[str, ...]:
        """Return the files that a worker on another machine needs for all of them."""
        return tuple(sorted({name for one in self for name in one.needed_files()}))

    def __reduce__(self) -> tuple[Any, ...]:
        return (_open_set, (self.text,)) if self else (SpaceSet, ())

    def at(self, root: Path) -> SpaceSet:
        """Return the same spaces with the files of their collection in another folder."""
        return _set_at(self.text, str(root)) if self else self


@lru_cache(maxsize=8)
def _open_set(text: str) -> SpaceSet:
    root, records = json.loads(text)
    return SpaceSet(open_space(Path(root), SpaceRow(**one)) for one in records)


@lru_cache(maxsize=8)
def _set_at(text: str, root: str) -> SpaceSet:
    return SpaceSet(one.at(Path(root)) for one in _open_set(text))


def new_space(root: Path, name: str, recipe: Recipe) -> Space:
    """Make a space of a complete recipe that is in no catalog yet."""
    kind = find_kind(recipe["feature"])
    row_format = kind.format_of(recipe).name
    return kind(name, row_format, dict(recipe), 0, 0, 0, {}, root=root)


@lru_cache(maxsize=len(_BUILT_IN))
def _import_built_in(feature: str) -> type[Space]:
    """Import a built-in kind; some need heavy libraries."""
    module, name = _BUILT_IN[feature]
    found: type[Space] = getattr(importlib.import_module(module), name)
    return found


def _load(point: EntryPoint) -> type[Space]:
    try:
        found = point.load()
    except Exception as error:
        raise BrokenSpaceKind(
            f"feature {point.name!r} cannot be loaded from {package_of(point)} ({point.value}): "
            f"{type(error).__name__}: {error}; repair or uninstall it"
        ) from error
    wrong = None
    if not (isinstance(found, type) and issubclass(found, Space)):
        wrong = "is no subclass of Space"
    elif inspect.isabstract(found):
        wrong = f"lacks {', '.join(sorted(found.__abstractmethods__))}"
    elif getattr(found, "feature", None) != point.name:
        wrong = f"has the feature {getattr(found, 'feature', None)!r}"
    if wrong is not None:
        raise BrokenSpaceKind(
            f"feature {point.name!r}: {point.value} of {package_of(point)} {wrong}; repair or "
            "uninstall it"
        )
    kind: type[Space] = found
    return kind
