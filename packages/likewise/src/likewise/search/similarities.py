"""Similarities: the names a search can rank by.

Every space is one; ``both`` fuses words with the best dense space that works on this machine;
profiles, metrics and maps are learned; ``default`` is the profile in use.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from likewise.catalog import log_tables
from likewise.catalog.changes import put_setting
from likewise.catalog.log_tables import Model, model, models
from likewise.catalog.store import SpaceRow, Store
from likewise.errors import CollectionError, InvalidInput, UnknownName
from likewise.spaces.base import Space, ranked_spaces
from likewise.spaces.registry import open_spaces
from likewise_methods.evaluation import UNTESTED, Interval, Spread, mean_interval, wilson

DEFAULT = "default"
IN_USE = "profile_in_use"
"""The setting that says which profile ``default`` means."""
_ON_REQUEST = ("words", "holistic", "deep", "deep-dense", "look", "deep-words", "psc", "vlad")
"""Spaces that ``likewise admin spaces add`` makes by their name alone."""
_BY_NETWORK = ("deep", "deep-dense", "look", "deep-words")
"""Those of them that need the network."""
_LONGEST_NAME = 40

Units = Literal["words", "directions"]
Verdict = Literal["unknown", "unclear", "better", "worse"]
ENOUGH = 12
"""Tested judgements from which agreement is shown: with fewer its interval is wider than 0.5."""


@dataclass(frozen=True)
class Figures:
    """How much a learned similarity has learned, and whether that helps.

    While more judgements are ``needed``, the figures are for programs.  Then ``interval`` contains
    the true agreement in 95 of 100 cases, and ``gain`` what learning adds; learning helps or harms
    only where that interval excludes 0.

    Attributes
    ----------
    judgements : int
        The number that count.
    agreement : float or None
        The share that is predicted right; None before the first.  For *words*: of triplets, before
        they are learned.  For *directions*: of the comparisons in some judgements, each predicted
        from judgements of other queries alone.
    agreement_plain : float or None
        The share without learning.
    changed, sparsity : float
        Shares of the units that differ from their start, and that are zero.
    space : str or None
        The space that is taught.
    triplets : int
        The number tested, in as many judgements as ``gains`` counts.
    units : {"words", "directions"}
        What is learned in ``space``, and so how it was tested.
    gains : Spread
        What learning added to the share that was right.

    See Also
    --------
    Similarity : has them.
    """

    judgements: int
    agreement: float | None = None
    agreement_plain: float | None = None
    changed: float = 0.0
    sparsity: float = 0.0
    space: str | None = None
    triplets: int = 0
    units: Units = "words"
    gains: Spread = UNTESTED

    @property
    def needed(self) -> int:
        """How many more judgements are needed to estimate the accuracy."""
        return max(0, ENOUGH - self.gains.n)

    @property
    def interval(self) -> Interval | None:
        """The interval of ``agreement``; None while judgements are needed."""
        if self.agreement is None or self.needed:
            return None
        return wilson(self.agreement, self.gains.n)

    @property
    def gain(self) -> Interval | None:
        """The interval of what learning adds; None while judgements are needed."""
        return None if self.needed else mean_interval(self.gains)

    @property
    def verdict(self) -> Verdict:
        """``better`` or ``worse`` only where the interval of the gain excludes 0."""
        gain = self.gain
        if gain is None:
            return "unknown"
        return "better" if gain.low > 0 else "worse" if gain.high < 0 else "unclear"


@dataclass(frozen=True)
class Similarity:
    """A way to rank: spaces, with their weights in the fusion.

    Attributes
    ----------
    name : str
        Its name in a search.
    spaces : mapping of str to float
        Weights of spaces.
    profile : str or None
        The profile of a learned one.
    figures : Figures or None
        Those of its profile; ``Collection.similarities`` fills them in.
    model : Model or None
        A metric or a map over its one space.

    See Also
    --------
    Collection : ``use`` makes one the default.
    """

    name: str
    spaces: Mapping[str, float]
    profile: str | None = None
    figures: Figures | None = None
    model: Model | None = None


FiguresOf = Callable[[str, Space | None], Figures]
"""Sums up a profile in the space that it is taught in."""


class Similarities(Mapping[str, Similarity]):
    """Similarities by name, profiles with the figures of what they learned.

    ``default`` is the profile in use.
    """

    def __init__(self, store: Store, figures_of: FiguresOf) -> None:
        self._store, self._figures_of = store, figures_of
        # Every search looks one up: all are read again only when the catalog has changed.
        self._read: tuple[int, dict[str, Similarity]] = (-1, {})

    def __getitem__(self, name: str) -> Similarity:
        return self.with_figures(self.find(name), open_spaces(self._store))

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def items(self) -> ItemsView[str, Similarity]:
        """Return all of one moment: another process may delete one meanwhile."""
        spaces = open_spaces(self._store)
        return {n: self.with_figures(made, spaces) for n, made in self._all().items()}.items()

    def __contains__(self, name: object) -> bool:
        return name in self._all()

    def find(self, name: str) -> Similarity:
        """Return a similarity without its figures, which take a fold of the log."""
        known = self._all()
        if name not in known:
            there = ", ".join(sorted(known))
            raise UnknownName(
                f"there is no similarity {name!r}{_how_to_make(name)}; there are {there}"
            )
        return known[name]

    def built_in(self) -> list[Similarity]:
        """Return the similarities that were not learned: one for each space, and ``both``."""
        known = self._all().values()
        return [made for made in known if made.profile is None and made.model is None]

    def profiles(self) -> dict[str, Similarity]:
        """Return every profile under its own name, ``default`` included; without figures."""
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
        # Elsewhere ``default`` means the profile in use; here it means the profile of that name.
        profile = DEFAULT if name == DEFAULT else found.profile
        with self._store.write() as c:
            if profile is not None:
                put_setting(c, IN_USE, profile)
            else:
                put_setting(c, "default_similarity", name)
                put_setting(c, IN_USE, DEFAULT)

    def explaining_space(self, name: str = DEFAULT) -> str | None:
        """Return the space that explains hits of a similarity; None if no space can."""
        return explaining_space(open_spaces(self._store), self.find(name))

    def with_figures(self, found: Similarity, spaces: Mapping[str, Space]) -> Similarity:
        """Return a similarity with the figures of its profile, if it has one."""
        if found.profile is None:
            return found
        return replace(found, figures=self._figures_of(found.profile, taught_space(found, spaces)))

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


def built_in_similarities(
    spaces: Mapping[str, Space], preferred: str | None
) -> dict[str, Similarity]:
    """Return every built-in similarity: one for each space, ``both``, and ``default``."""
    found = {name: Similarity(name, {name: 1.0}) for name in spaces}
    partner = fusion_partner(spaces)
    if "words" in spaces and partner is not None:
        pair = ("words", partner)
        # Until both spaces have rows, the one that has ranks alone.
        ready = [name for name in pair if spaces[name].generation]
        found["both"] = Similarity("both", dict.fromkeys(ready or pair, 1.0))
    alone = [one.name for one in ranked_spaces(spaces, lambda one: one.default_rank)]
    usual = alone[0] if alone else "both" if "both" in found else next(iter(found))
    chosen = preferred if preferred in found else usual
    found[DEFAULT] = Similarity(DEFAULT, found[chosen].spaces)
    return found


def fusion_partner(spaces: Mapping[str, Space]) -> str | None:
    """Return the best dense space for ``both`` among those that can describe pictures here."""
    found = [
        # Of several of one kind the one that bears the kind's name.
        (one.fusion_rank, one.name != one.feature, place, one.name)
        for place, one in enumerate(spaces.values())
        if one.fusion_rank is not None and one.generation and one.is_available()
    ]
    return min(found)[-1] if found else "holistic" if "holistic" in spaces else None


def can_explain(space: Space) -> bool:
    """Return whether a space has words and can find where they lie in a picture."""
    return space.has_places and space.row_format.is_sparse and bool(space.generation)


def can_split(space: Space) -> bool:
    """Return whether a space can say what each place of a picture adds to its row."""
    return space.splits_rows and bool(space.generation) and space.is_available()


def explaining_space(spaces: Mapping[str, Space], similarity: Similarity) -> str | None:
    """Return the first space of a similarity that can locate things in pictures; None if none."""
    ranked = [spaces[name] for name in similarity.spaces if name in spaces]
    return next((one.name for one in ranked if can_explain(one) or can_split(one)), None)


def taught_space(similarity: Similarity, spaces: Mapping[str, Space]) -> Space | None:
    """Return the first space of a similarity that judgements teach; None if none."""
    ranked = (spaces[name] for name in similarity.spaces if name in spaces)
    return next((space for space in ranked if space.is_taught and space.generation), None)


def sparse_space(similarity: Similarity, spaces: Mapping[str, SpaceRow]) -> SpaceRow | None:
    """Return the first sparse space of a similarity that has words; None if none."""
    for name in similarity.spaces:
        space = spaces.get(name)
        if space is not None and space.row_format.learns_weights and space.generation:
            return space
    return None


def resolve_profile(store: Store, profile: str) -> str:
    """Return the profile that a name means: ``default`` is the one in use."""
    name = str(store.setting(IN_USE, DEFAULT)) if profile == DEFAULT else profile
    known = log_tables.profiles(store)
    if name not in known:
        raise UnknownName(f"there is no profile {name!r}; there are {', '.join(known)}")
    return name


def check_new_name(store: Store, name: str, kind: str = "profile") -> None:
    """Refuse a name that a new profile, metric or map (``kind``) cannot have."""
    plain = isinstance(name, str) and name.replace("-", "").replace("_", "").isalnum()
    if not plain or len(name) > _LONGEST_NAME:
        raise InvalidInput(f"{name!r} is no name for a {kind}; letters, digits, - and _ expected")
    taken = name in log_tables.profiles(store) or name in store.spaces() or name == "both"
    if taken or model(store, name) is not None:
        raise CollectionError(f"there is a profile, space or similarity {name!r} already")


def _how_to_make(name: str) -> str:
    """Say how to make a space that this collection does not have yet."""
    if name == "both":
        return " yet: likewise admin spaces add words makes it"
    if name not in _ON_REQUEST:
        return ""
    made = f"likewise admin spaces add {name} makes it"
    if name in _BY_NETWORK:
        from likewise.vision.deep.network import can_run, what_it_needs

        # The command alone would be refused.
        if not can_run():
            return f" yet: once the network runs here ({what_it_needs()}), {made}"
    return f" yet: {made}"
