"""Profiles: learned similarities with a history; versions, copies, roll-back, export, import.

A version is (profile, position in the log, generation).  Rolling back appends a line that says so;
nothing is erased, and the way forward again is another roll-back.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from likewise.collection.errors import CollectionError, UnknownName
from likewise.collection.feedback.fold import Given
from likewise.collection.feedback.history import (
    COMPARE,
    JUDGE,
    LESSONS,
    ROLLBACK,
    UNDO,
    WEIGHTS,
    History,
)
from likewise.collection.feedback.judge import append, stamp
from likewise.collection.feedback.learning import Learning
from likewise.collection.search.similarities import Figures, Similarity
from likewise.collection.spaces.word_assignment import open_vocabulary
from likewise.collection.store import log as feedback
from likewise.collection.store.models import model
from likewise.collection.store.store import SpaceRow, Store
from likewise.errors import InvalidInput
from likewise.neighbours.container import DamagedFile, open_arrays, save_arrays
from likewise.similarity.rows import PEAK, whole

DEFAULT = "default"
IN_USE = "profile_in_use"
_KIND = "Likewise profile"
_NAME_LENGTH = 40


class Version(NamedTuple):
    """A state of a profile: everything up to a position of the log, in a generation."""

    profile: str
    position: int
    generation: Mapping[str, int]


class LogLine(NamedTuple):
    """One line of the log for people: ``stands`` tells whether it still counts."""

    number: int
    profile: str
    kind: str
    made: str
    session: int
    stands: bool
    query: int | None
    liked: tuple[int, ...]
    disliked: tuple[int, ...]
    about: int | None
    contradicts: tuple[int, ...]


# -- names ----------------------------------------------------------------------------------


def named(store: Store, profile: str) -> str:
    """The profile a name means: ``default`` is the one in use."""
    name = str(store.setting(IN_USE, DEFAULT)) if profile == DEFAULT else profile
    known = feedback.profiles(store)
    if name not in known:
        raise UnknownName(f"there is no profile {name!r}; there are {', '.join(known)}")
    return name


def similarities(store: Store, built_in: Mapping[str, Similarity]) -> dict[str, Similarity]:
    """The built-in similarities and one for each profile; ``default`` is the profile in use."""
    found = {name: made for name, made in built_in.items() if name != DEFAULT}
    learned = all_profiles(store, built_in)
    used = str(store.setting(IN_USE, DEFAULT))
    found |= learned
    if used in learned:
        found[DEFAULT] = replace(learned[used], name=DEFAULT)
    return found


def all_profiles(store: Store, built_in: Mapping[str, Similarity]) -> dict[str, Similarity]:
    """Every profile under its own name, the one called ``default`` too."""
    found = {}
    for name, row in feedback.profiles(store).items():
        base = built_in.get(row.base) or built_in[DEFAULT]
        found[name] = Similarity(name, base.spaces, profile=name)
    return found


def base_of(store: Store, profile: str) -> str:
    """The built-in similarity a profile changes; empty where it follows the collection's."""
    return feedback.profiles(store)[profile].base


def check_name(store: Store, name: str) -> None:
    """A name a new profile may have."""
    plain = isinstance(name, str) and name.replace("-", "").replace("_", "").isalnum()
    if not plain or len(name) > _NAME_LENGTH:
        raise InvalidInput(f"{name!r} is no name for a profile; letters, digits, - and _ expected")
    taken = name in feedback.profiles(store) or name in store.spaces() or name == "both"
    if taken or model(store, name) is not None:
        raise CollectionError(f"there is a profile, space or similarity {name!r} already")


def create(store: Store, name: str, base: str | None, known: Mapping[str, Similarity]) -> None:
    """A profile that has learned nothing yet; ``base`` is the built-in similarity it changes."""
    built_in = [n for n, s in known.items() if s.profile is None and s.model is None]
    if base is not None and base not in built_in:
        plain = ", ".join(built_in)
        raise CollectionError(f"{base!r} is no built-in similarity; there are {plain}")
    with store.write(durable=True) as c:
        check_name(store, name)
        feedback.put_profile(c, name, base or "", stamp(), None, 0)


def copy(store: Store, source: str, name: str) -> None:
    """A profile that begins with all another has learned, and goes its own way from there."""
    row = feedback.profiles(store)[source]
    with store.write(durable=True) as c:
        check_name(store, name)
        # Whatever the source learns later is behind this position.
        position = feedback.last_entry(store, source)
        feedback.put_profile(c, name, row.base, stamp(), source, position)


# -- history --------------------------------------------------------------------------------


def undo(store: Store, learning: Learning, profile: str, judgement: int | None) -> int:
    """Take back a judgement (the last that stands, by default); gives its number."""
    # First the fold's lock, then the catalog's: everywhere in this order.
    with learning.lock, store.write(durable=True) as c:
        history = learning.history(profile)
        number = history.last_judgement() if judgement is None else whole(judgement, "judgement", 0)
        if number is None:
            raise CollectionError(
                f"profile {profile!r} has no judgement to take back; comparisons are taken back by "
                "their number, or all at once by a roll-back"
            )
        if not history.stands(number):
            raise CollectionError(
                f"judgement {number} does not stand in profile {profile!r}; see the log"
            )
        append(c, store, profile, UNDO, {"judgement": number})
    return number


def roll_back(store: Store, learning: Learning, profile: str, position: int) -> None:
    """The state of an earlier position again; 0 is the state a profile began with."""
    with learning.lock, store.write(durable=True) as c:
        history = learning.history(profile)
        position = whole(position, "position", 0)
        if position not in history.positions():
            raise CollectionError(
                f"profile {profile!r} has no version {position}; its log goes to {history.position}"
            )
        append(c, store, profile, ROLLBACK, {"position": position})


def log(store: Store, history: History, newest: int | None = None) -> list[LogLine]:
    """Every line of a profile's own log, oldest first, with pictures by id where they are here."""
    standing = {item.number for item in history.items}
    contradicts: dict[int, list[int]] = {}
    for found in history.contradictions:
        contradicts.setdefault(found.judgement, []).append(found.earlier)
    lines = history.log() if newest is None else history.log()[-newest:]
    subjects: set[int] = set()
    for entry in lines:
        if entry.kind in (JUDGE, COMPARE):
            subjects |= {entry.body["query"], *entry.body["liked"], *entry.body["disliked"]}
    here = feedback.subjects_in_collection(store, subjects)
    made = []
    for entry in lines:
        body = entry.body
        judged = entry.kind in (JUDGE, COMPARE)
        made.append(
            LogLine(
                entry.number, entry.profile, entry.kind, entry.made, entry.session,
                entry.number in standing if entry.kind in LESSONS else True,
                here.get(body["query"]) if judged else None,
                tuple(here[s] for s in body.get("liked", ()) if s in here),
                tuple(here[s] for s in body.get("disliked", ()) if s in here),
                body.get("judgement", body.get("position")),
                tuple(dict.fromkeys(contradicts.get(entry.number, ()))),
            )
        )  # fmt: skip
    return made


def figures(learning: Learning, similarity: Similarity, spaces: Mapping[str, SpaceRow]) -> Figures:
    """What a profile amounts to, in the sparse space its ranking leans on."""
    assert similarity.profile is not None
    with learning.lock:
        history = learning.history(similarity.profile)
        judgements = sum(item.kind in (JUDGE, COMPARE) for item in history.items)
    space = sparse_space(similarity, spaces)
    if space is None or not history.items:
        return Figures(judgements, space=space.name if space else None)
    state = learning.state(similarity.profile, space)
    start = 1.0 if state.start == "ones" else 0.0
    asked = state.asked
    return Figures(
        judgements,
        state.agreed / asked if asked else None,
        state.agreed_plain / asked if asked else None,
        float(np.mean(state.weights != start)),
        float(np.mean(state.weights == 0)),
        space.name,
        asked,
    )


def sparse_space(similarity: Similarity, spaces: Mapping[str, SpaceRow]) -> SpaceRow | None:
    """The sparse space with words that a similarity ranks by; None where it has none."""
    for name in similarity.spaces:
        space = spaces.get(name)
        if space is not None and space.row_format.learns_weights and space.generation:
            return space
    return None


# -- out and in -----------------------------------------------------------------------------


def fingerprint(root: Path, space: SpaceRow) -> str:
    """What weights of words belong to: the words themselves."""
    digest = hashlib.blake2b(digest_size=16)
    file = space.files.get("vocabulary")
    if file is None:
        plain = {"recipe": dict(space.recipe), "width": space.width}
        digest.update(json.dumps(plain, sort_keys=True).encode())
    else:
        digest.update(np.ascontiguousarray(open_vocabulary(str(root / file)).words_).tobytes())
    return digest.hexdigest()


def export(store: Store, learning: Learning, profile: str, path: Path) -> Path:
    """The weights of a profile in one checksummed file: no pictures, no log."""
    arrays: dict[str, Any] = {}
    meta: dict[str, Any] = {"profile": profile, "base": feedback.profiles(store)[profile].base}
    meta["spaces"] = {}
    if not learning.history(profile).items:
        raise CollectionError(f"profile {profile!r} has learned nothing yet; judge something first")
    for name, space in store.spaces().items():
        if not (space.row_format.learns_weights and space.generation):
            continue
        state = learning.state(profile, space)
        start = 1.0 if state.start == "ones" else 0.0
        words = np.flatnonzero(state.weights != start)
        arrays[f"{name}/words"], arrays[f"{name}/weights"] = words, state.weights[words]
        meta["spaces"][name] = {
            "start": state.start,
            "width": space.width,
            "vocabulary": fingerprint(store.root, space),
        }
    save_arrays(path, _KIND, meta, arrays)
    return path


def import_(store: Store, path: Path, name: str | None) -> str:
    """A profile from a file; its weights are checked, and other words than ours are refused."""
    try:
        meta, arrays = open_arrays(path, _KIND)
    except OSError as error:
        raise CollectionError(f"{path} cannot be read: {error.strerror}") from error
    name = name or str(meta.get("profile", ""))
    check_name(store, name)
    given: dict[str, tuple[int, Given]] = {}
    try:
        for space_name, said in meta["spaces"].items():
            space = store.spaces().get(space_name)
            if space is None or not (space.row_format.learns_weights and space.generation):
                continue
            if said["vocabulary"] != fingerprint(store.root, space) or said["width"] != space.width:
                raise CollectionError(
                    f"{path} was learned with other words than space {space_name!r} has now; "
                    "weights of one vocabulary mean nothing in another"
                )
            words, weights = arrays[f"{space_name}/words"], arrays[f"{space_name}/weights"]
            if not _usable(said["start"], words, weights, space.width):
                raise DamagedFile(f"{path}: its weights for space {space_name!r} cannot be used")
            given[space_name] = (space.generation, Given(said["start"], words, weights))
    except (KeyError, TypeError, AttributeError) as error:
        raise DamagedFile(f"{path}: not a usable profile ({error!r})") from error
    if not given:
        raise CollectionError(f"{path} has weights for no space of this collection")
    put_weights(store, name, str(meta.get("base", "")), given, {"from": path.name})
    return name


def _usable(start: Any, words: Any, weights: Any, width: int) -> bool:
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
    given: Mapping[str, tuple[int, Given]],
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
        check_name(store, name)
        position = 0 if parent is None else feedback.last_entry(store, parent)
        feedback.put_profile(c, name, base, stamp(), parent, position)
        number = feedback.append(c, name, WEIGHTS, stamp(), None, dict(about))
        for space, (generation, weights) in given.items():
            feedback.put_given(c, number, space, generation, weights.pack())
    return number
