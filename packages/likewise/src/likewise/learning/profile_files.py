"""A profile in a file of its own, for another collection with the same words."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from likewise.catalog import log_tables
from likewise.catalog.store import SpaceRow, Store
from likewise.errors import CollectionError
from likewise.learning.fold import ImportedWeights
from likewise.learning.history import WEIGHTS
from likewise.learning.log import timestamp
from likewise.learning.pair_fold import ImportedLessons, lessons_in_source
from likewise.learning.profile_states import ProfileStates
from likewise.search.similarities import check_new_name
from likewise.spaces.base import Space
from likewise.spaces.registry import open_spaces
from likewise_methods.neighbours import DamagedFile, open_arrays, save_arrays
from likewise_methods.solis import PEAK

_KIND = "Likewise profile"


def vocabulary_fingerprint(root: Path, space: SpaceRow) -> str:
    """What weights of words belong to: the words themselves."""
    digest = hashlib.blake2b(digest_size=16)
    file = space.files.get("vocabulary")
    if file is None:
        plain = {"recipe": dict(space.recipe), "width": space.width}
        digest.update(json.dumps(plain, sort_keys=True).encode())
    else:
        # Only here: vocabularies bring the means to learn them.
        from likewise.spaces.word_assignment import open_vocabulary

        digest.update(np.ascontiguousarray(open_vocabulary(str(root / file)).words_).tobytes())
    return digest.hexdigest()


def export_profile(store: Store, states: ProfileStates, profile: str, path: Path) -> Path:
    """What a profile learned in one checksummed file: weights, and rows of judged pairs.

    No pictures, no log.
    """
    arrays: dict[str, Any] = {}
    meta: dict[str, Any] = {"profile": profile, "base": log_tables.profiles(store)[profile].base}
    meta["spaces"] = {}
    if not states.history(profile).items:
        raise CollectionError(f"profile {profile!r} has learned nothing yet; judge something first")
    for name, space in open_spaces(store).items():
        if space.learns_pairs:
            _export_lessons(store, states, profile, space, meta, arrays)
        if not (space.row_format.learns_weights and space.generation):
            continue
        state = states.state(profile, space)
        words = np.flatnonzero(state.weights != state.start_weight)
        arrays[f"{name}/words"], arrays[f"{name}/weights"] = words, state.weights[words]
        meta["spaces"][name] = {
            "start": state.start,
            "width": space.width,
            "vocabulary": vocabulary_fingerprint(store.root, space),
        }
    save_arrays(path, _KIND, meta, arrays)
    return path


def _export_lessons(
    store: Store,
    states: ProfileStates,
    profile: str,
    space: Space,
    meta: dict[str, Any],
    arrays: dict[str, Any],
) -> None:
    """Judged pairs, as rows of the space that theirs is fitted to."""
    source = store.spaces().get(space.takes_rows_of or "")
    if source is None or not source.generation:
        return
    found = lessons_in_source(store, space, source, states.history(profile).items)
    if not len(found.counts):
        return
    arrays |= {f"{space.name}/{key}": value for key, value in found.arrays().items()}
    meta["spaces"][space.name] = {
        "lessons": len(found.counts),
        "width": source.width,
        "vocabulary": vocabulary_fingerprint(store.root, source),
    }


def import_profile(store: Store, path: Path, name: str | None) -> str:
    """A profile from a file; its weights are checked, and other words than ours are refused."""
    try:
        meta, arrays = open_arrays(path, _KIND)
    except OSError as error:
        raise CollectionError(f"{path} cannot be read: {error.strerror}") from error
    name = name or str(meta.get("profile", ""))
    check_new_name(store, name)
    base = meta.get("base", "")
    if not isinstance(base, str) or (base and base not in {*store.spaces(), "both", "default"}):
        raise CollectionError(
            f"{path} ranks by {base!r}, which this collection has not; add that space first"
        )
    given: dict[str, tuple[int, ImportedWeights | ImportedLessons]] = {}
    try:
        for space_name, said in meta["spaces"].items():
            space = open_spaces(store).get(space_name)
            if space is not None and space.learns_pairs and "lessons" in said:
                lessons = _read_lessons(store, path, space, said, arrays)
                given[space_name] = (space.generation, lessons)
                continue
            if space is None or not (space.row_format.learns_weights and space.generation):
                continue
            if (
                said["vocabulary"] != vocabulary_fingerprint(store.root, space)
                or said["width"] != space.width
            ):
                raise CollectionError(
                    f"{path} was learned with other words than space {space_name!r} has now; "
                    "weights of one vocabulary mean nothing in another"
                )
            words, weights = arrays[f"{space_name}/words"], arrays[f"{space_name}/weights"]
            if not _are_usable(said["start"], words, weights, space.width):
                raise DamagedFile(f"{path}: its weights for space {space_name!r} cannot be used")
            given[space_name] = (space.generation, ImportedWeights(said["start"], words, weights))
    except (KeyError, TypeError, AttributeError) as error:
        raise DamagedFile(f"{path}: not a usable profile ({error!r})") from error
    if not given:
        raise CollectionError(f"{path} has weights for no space of this collection")
    put_weights(store, name, base, given, {"from": path.name})
    return name


def _read_lessons(
    store: Store, path: Path, space: Space, said: Mapping[str, Any], arrays: Mapping[str, Any]
) -> ImportedLessons:
    source = store.spaces()[str(space.takes_rows_of)]
    if said["vocabulary"] != vocabulary_fingerprint(store.root, source):
        raise CollectionError(
            f"{path} was learned over another space than {source.name!r}, which {space.name!r} is "
            "fitted to; rows of one mean nothing in the other"
        )
    parts = (arrays[f"{space.name}/{key}"] for key in ("rows", "counts"))
    found = ImportedLessons(*parts)
    if not found.is_usable(source.width):
        raise DamagedFile(f"{path}: its lessons for space {space.name!r} cannot be used")
    return found


def _are_usable(start: Any, words: Any, weights: Any, width: int) -> bool:
    """Whether every later fold can begin with these weights: each word once, none negative."""
    return bool(
        start in ("ones", "zeros")
        and words.ndim == 1
        and words.shape == weights.shape
        and words.dtype.kind in "iu"
        and weights.dtype.kind == "f"
        and (not len(words) or (words[0] >= 0 and words[-1] < width))
        and (words[1:] > words[:-1]).all()
        and ((weights >= 0) & (weights <= PEAK)).all()
    )


def put_weights(
    store: Store,
    name: str,
    base: str,
    given: Mapping[str, tuple[int, ImportedWeights | ImportedLessons]],
    about: Mapping[str, Any],
    parent: str | None = None,
) -> int:
    """A new profile that begins with weights made elsewhere: one line of its log says so.

    With a ``parent`` it also has what was said there: verdicts on queries, and the figures.
    """
    with store.write(durable=True) as c:
        now = {space: row.generation for space, row in store.spaces().items()}
        if any(now.get(space) != generation for space, (generation, _) in given.items()):
            raise CollectionError("new words came in between; try again")
        check_new_name(store, name)
        position = 0 if parent is None else log_tables.last_entry(store, parent)
        log_tables.put_profile(c, name, base, timestamp(), parent, position)
        number = log_tables.append_entry(c, name, WEIGHTS, timestamp(), None, dict(about))
        for space, (generation, weights) in given.items():
            log_tables.put_imported_weights(c, number, space, generation, weights.pack())
    return number
