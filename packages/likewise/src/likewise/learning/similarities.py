"""Every way to rank, by name: one for each space, ``both``, profiles, metrics and maps."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping
from dataclasses import replace

import numpy as np

from likewise.catalog import log_tables
from likewise.catalog.changes import put_setting
from likewise.catalog.log_tables import models
from likewise.catalog.store import SpaceRow, Store
from likewise.errors import CollectionError, UnknownName
from likewise.learning.history import COMPARE, JUDGE
from likewise.learning.profile_names import DEFAULT, IN_USE, resolve_profile
from likewise.learning.profile_states import ProfileStates
from likewise.search.explain import explaining_space
from likewise.search.similarities import Figures, Similarity, built_in_similarities
from likewise.spaces.base import Space
from likewise.spaces.registry import open_spaces

_ON_REQUEST = ("words", "holistic", "deep", "deep-dense", "look", "deep-words", "psc", "vlad")
"""Spaces that ``likewise space add`` makes by their name alone."""
_BY_NETWORK = ("deep", "deep-dense", "look", "deep-words")
"""Those of them that are made by the network, or of what it made."""


class Similarities(Mapping[str, Similarity]):
    """A similarity by its name, profiles with the figures of what they learned.

    ``default`` is the profile in use.
    """

    def __init__(self, store: Store, states: ProfileStates) -> None:
        self._store, self._states = store, states
        # Every search asks for one by its name: they are read again when something changed.
        self._read: tuple[int, dict[str, Similarity]] = (-1, {})

    def __getitem__(self, name: str) -> Similarity:
        return self._with_figures(self.find(name), open_spaces(self._store))

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def items(self) -> ItemsView[str, Similarity]:
        """All of one moment: another process may delete one meanwhile."""
        spaces = open_spaces(self._store)
        return {n: self._with_figures(made, spaces) for n, made in self._all().items()}.items()

    def __contains__(self, name: object) -> bool:
        return name in self._all()

    def find(self, name: str) -> Similarity:
        """A similarity without its figures, which take a fold of the log."""
        known = self._all()
        if name not in known:
            there = ", ".join(sorted(known))
            raise UnknownName(
                f"there is no similarity {name!r}{_how_to_make(name)}; there are {there}"
            )
        return known[name]

    def built_in(self) -> list[Similarity]:
        """The ways to rank that nobody taught: one for each space, and ``both``."""
        known = self._all().values()
        return [made for made in known if made.profile is None and made.model is None]

    def profiles(self) -> dict[str, Similarity]:
        """Every profile under its own name, the one called ``default`` too; without figures."""
        built_in = self._built_in()
        found = {}
        for name, row in log_tables.profiles(self._store).items():
            base = built_in.get(row.base) or built_in[DEFAULT]
            found[name] = Similarity(name, base.spaces, profile=name)
        return found

    def use(self, name: str) -> None:
        """Make a similarity the default one.

        A profile is then what ``default`` means in search, judge and undo; a built-in similarity
        becomes what the profile ``default`` starts from.
        """
        found = self.find(name)
        if found.model is not None:
            raise CollectionError(
                f"{name!r} is a learned {found.model.kind}; it ranks where it is named "
                f"(--by {name}) and cannot be what judgements change"
            )
        # By the name ``default`` the profile in use is meant everywhere; here it is the way back.
        profile = DEFAULT if name == DEFAULT else found.profile
        with self._store.write() as c:
            if profile is not None:
                put_setting(c, IN_USE, profile)
            else:
                put_setting(c, "default_similarity", name)
                put_setting(c, IN_USE, DEFAULT)

    def explaining_space(self, name: str = DEFAULT) -> str | None:
        """The space that says why this similarity found a picture; None: none knows places."""
        return explaining_space(open_spaces(self._store), self.find(name))

    def _with_figures(self, found: Similarity, spaces: Mapping[str, Space]) -> Similarity:
        if found.profile is None:
            return found
        return replace(found, figures=profile_figures(self._states, found, spaces))

    def _built_in(self) -> dict[str, Similarity]:
        preferred = self._store.setting("default_similarity")
        return built_in_similarities(open_spaces(self._store), preferred)

    def _all(self) -> dict[str, Similarity]:
        revision = self._store.revision
        if self._read[0] != revision:
            self._read = (revision, self._read_all())
        return self._read[1]

    def _read_all(self) -> dict[str, Similarity]:
        found = {name: made for name, made in self._built_in().items() if name != DEFAULT}
        found |= self.profiles()
        used = resolve_profile(self._store, DEFAULT)
        found[DEFAULT] = replace(found[used], name=DEFAULT)
        return found | {
            name: Similarity(name, {made.space: 1.0}, model=made)
            for name, made in models(self._store).items()
        }


def profile_figures(
    states: ProfileStates, similarity: Similarity, spaces: Mapping[str, Space]
) -> Figures:
    """What a profile amounts to, in the space its ranking leans on."""
    assert similarity.profile is not None
    with states.lock:
        history = states.history(similarity.profile)
        judgements = sum(item.kind in (JUDGE, COMPARE) for item in history.items)
    space = taught_space(similarity, spaces)
    if space is None:
        return Figures(judgements)
    if space.learns_pairs:
        return _pair_figures(judgements, states, similarity.profile, space)
    if not history.items:
        return Figures(judgements, space=space.name)
    state = states.answer(similarity.profile, space).state
    asked = state.asked
    return Figures(
        judgements,
        state.agreed / asked if asked else None,
        state.agreed_plain / asked if asked else None,
        float(np.mean(state.weights != state.start_weight)),
        float(np.mean(state.weights == 0)),
        space.name,
        asked,
        gains=state.gains,
    )


def _pair_figures(judgements: int, states: ProfileStates, profile: str, space: Space) -> Figures:
    found = states.pair_figures(profile, space)
    made = Figures(judgements, space=space.name, units="directions")
    if found is None:
        return made
    made = replace(made, changed=found.changed)
    if found.agreement is None:
        return made
    learned, plain, asked = found.agreement
    return replace(
        made, agreement=learned, agreement_plain=plain, triplets=asked, gains=found.gains
    )


def taught_space(similarity: Similarity, spaces: Mapping[str, Space]) -> Space | None:
    """The first space a similarity ranks by that judgements teach; None where it has none."""
    ranked = (spaces[name] for name in similarity.spaces if name in spaces)
    return next((space for space in ranked if space.is_taught and space.generation), None)


def sparse_space(similarity: Similarity, spaces: Mapping[str, SpaceRow]) -> SpaceRow | None:
    """The sparse space with words that a similarity ranks by; None where it has none."""
    for name in similarity.spaces:
        space = spaces.get(name)
        if space is not None and space.row_format.learns_weights and space.generation:
            return space
    return None


def _how_to_make(name: str) -> str:
    """What brings a space that a collection can have and this one has not."""
    if name == "both":
        return " yet: likewise space add words makes it"
    if name not in _ON_REQUEST:
        return ""
    made = f"likewise space add {name} makes it"
    if name in _BY_NETWORK:
        from likewise.vision.deep.network import can_run, what_it_needs

        # The command alone would be refused.
        if not can_run():
            return f" yet: once the network runs here ({what_it_needs()}), {made}"
    return f" yet: {made}"
