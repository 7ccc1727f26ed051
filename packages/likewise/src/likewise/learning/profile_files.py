"""Export a profile to a file, and import it into a collection with the same words."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import log_tables
from likewise.catalog.store import SpaceRow, Store
from likewise.errors import CollectionError
from likewise.learning.fold import CHUNK, ImportedPairs, ImportedWeights, item_codes, training_rows
from likewise.learning.history import WEIGHTS
from likewise.learning.log import timestamp
from likewise.learning.profile_states import ProfileStates
from likewise.search.similarities import check_new_name
from likewise.spaces.base import Space
from likewise.spaces.registry import open_spaces
from likewise_methods.neighbours import DamagedFile, open_arrays, save_arrays
from likewise_methods.solis import PEAK

_KIND = "Likewise profile"


def vocabulary_fingerprint(root: Path, space: SpaceRow) -> str:
    """Hash the words that weights belong to."""
    digest = hashlib.blake2b(digest_size=16)
    file = space.files.get("vocabulary")
    if file is None:
        plain = {"recipe": dict(space.recipe), "width": space.width}
        digest.update(json.dumps(plain, sort_keys=True).encode())
    else:
        # Imported here, because it loads the learner of vocabularies.
        from likewise.spaces.visual_words import open_vocabulary

        digest.update(np.ascontiguousarray(open_vocabulary(str(root / file)).words_).tobytes())
    return digest.hexdigest()


def export_profile(store: Store, states: ProfileStates, profile: str, path: Path) -> Path:
    """Write what a profile learned to one checksummed file: weights, and rows of training pairs.

    The file holds no pictures and no log.
    """
    arrays: dict[str, Any] = {}
    meta: dict[str, Any] = {"profile": profile, "base": log_tables.profiles(store)[profile].base}
    meta["spaces"] = {}
    if not states.history(profile).items:
        raise CollectionError(f"profile {profile!r} has learned nothing yet; judge something first")
    for name, space in open_spaces(store).items():
        source = store.spaces().get(space.takes_rows_of or "")
        if space.learns_pairs and source is not None and source.generation:
            found = _pairs_in_source(store, states, profile, space, source)
            if len(found.counts):
                arrays |= {f"{name}/{key}": value for key, value in found.arrays().items()}
                meta["spaces"][name] = {
                    "lessons": len(found.counts),
                    "width": source.width,
                    "vocabulary": vocabulary_fingerprint(store.root, source),
                }
        if space.row_format.learns_weights and space.generation:
            state = states.wait_for_state(profile, space)
            words = np.flatnonzero(state.weights != state.start_weight)
            arrays[f"{name}/words"], arrays[f"{name}/weights"] = words, state.weights[words]
            meta["spaces"][name] = {
                "start": state.start,
                "width": space.width,
                "vocabulary": vocabulary_fingerprint(store.root, space),
            }
    save_arrays(path, _KIND, meta, arrays)
    return path


def _pairs_in_source(
    store: Store, states: ProfileStates, profile: str, space: Space, source: SpaceRow
) -> ImportedPairs:
    """Return the training pairs of a profile as rows of the source of a space."""
    rows: list[NDArray[np.float32]] = [np.zeros((0, source.width), np.float32)]
    counts: list[tuple[int, int]] = []
    items = states.history(profile).items
    for start in range(0, len(items), CHUNK):
        chunk = items[start : start + CHUNK]
        codes = item_codes(store, source, chunk)
        for item in chunk:
            if item.kind == WEIGHTS:
                blob = log_tables.imported_weights(store, item.number, space.name, space.generation)
                if blob is not None:
                    given = ImportedPairs.unpack(blob)
                    rows.append(given.rows)
                    counts += [(int(a), int(b)) for a, b in given.counts]
            elif (found := training_rows(item, codes, source)) is not None:
                rows.append(found.rows)
                counts.append((found.n_liked, len(found.rows) - 1 - found.n_liked))
    return ImportedPairs(np.concatenate(rows), np.array(counts, np.int64).reshape(-1, 2))


def import_profile(store: Store, path: Path, name: str | None) -> str:
    """Make a profile from a file; unusable weights and other vocabularies are refused."""
    try:
        meta, arrays = open_arrays(path, _KIND)
    except OSError as error:
        raise CollectionError(f"{path} cannot be read: {error.strerror}") from error
    name = name or str(meta.get("profile", ""))
    check_new_name(store, name)
    base = meta.get("base", "")
    if not isinstance(base, str) or (base and base not in {*store.spaces(), "both", "default"}):
        raise CollectionError(
            f"{path} ranks by {base!r}, which this collection lacks; add that space first"
        )
    given: dict[str, tuple[int, ImportedWeights | ImportedPairs]] = {}
    try:
        for space_name, said in meta["spaces"].items():
            space = open_spaces(store).get(space_name)
            if space is not None and space.learns_pairs and "lessons" in said:
                given[space_name] = space.generation, _read_pairs(store, path, space, said, arrays)
            elif space is not None and space.row_format.learns_weights and space.generation:
                given[space_name] = (
                    space.generation,
                    _read_weights(store, path, space, said, arrays),
                )
    except (KeyError, TypeError, AttributeError) as error:
        raise DamagedFile(f"{path}: not a usable profile ({error!r})") from error
    if not given:
        raise CollectionError(f"{path} has weights for no space of this collection")
    put_weights(store, name, base, given, {"from": path.name})
    return name


def _read_pairs(
    store: Store, path: Path, space: Space, said: Mapping[str, Any], arrays: Mapping[str, Any]
) -> ImportedPairs:
    source = store.spaces()[str(space.takes_rows_of)]
    if said["vocabulary"] != vocabulary_fingerprint(store.root, source):
        raise CollectionError(
            f"{path} was learned over another space than {source.name!r}, which {space.name!r} is "
            "fitted to; their rows are not comparable"
        )
    found = ImportedPairs(arrays[f"{space.name}/rows"], arrays[f"{space.name}/counts"])
    if not found.is_usable(source.width):
        raise DamagedFile(f"{path}: its training pairs for space {space.name!r} cannot be used")
    return found


def _read_weights(
    store: Store, path: Path, space: Space, said: Mapping[str, Any], arrays: Mapping[str, Any]
) -> ImportedWeights:
    fingerprint = vocabulary_fingerprint(store.root, space)
    if said["vocabulary"] != fingerprint or said["width"] != space.width:
        raise CollectionError(
            f"{path} was learned with other words than space {space.name!r} has now; "
            "weights of different vocabularies are not comparable"
        )
    start = said["start"]
    words, weights = arrays[f"{space.name}/words"], arrays[f"{space.name}/weights"]
    # Refuse duplicate words, and weights that a later fold cannot use.
    if not (
        start in ("ones", "zeros")
        and words.ndim == 1
        and words.shape == weights.shape
        and words.dtype.kind in "iu"
        and weights.dtype.kind == "f"
        and (not len(words) or (words[0] >= 0 and words[-1] < space.width))
        and (words[1:] > words[:-1]).all()
        and ((weights >= 0) & (weights <= PEAK)).all()
    ):
        raise DamagedFile(f"{path}: its weights for space {space.name!r} cannot be used")
    return ImportedWeights(start, words, weights)


def put_weights(
    store: Store,
    name: str,
    base: str,
    given: Mapping[str, tuple[int, ImportedWeights | ImportedPairs]],
    about: Mapping[str, Any],
    parent: str | None = None,
) -> int:
    """Make a profile that begins with imported weights, and return the line that logs them.

    With a ``parent`` it also has that profile's judgements and figures.
    """
    with store.write(durable=True) as c:
        now = {space: row.generation for space, row in store.spaces().items()}
        if any(now.get(space) != generation for space, (generation, _) in given.items()):
            raise CollectionError("new words were learned meanwhile; try again")
        check_new_name(store, name)
        position = 0 if parent is None else log_tables.last_entry(store, parent)
        log_tables.put_profile(c, name, base, timestamp(), parent, position)
        number = log_tables.append_entry(c, name, WEIGHTS, timestamp(), None, dict(about))
        for space, (generation, weights) in given.items():
            log_tables.put_imported_weights(c, number, space, generation, weights.pack())
    return number
