"""Manage profiles: learned similarities with a history of log lines.

A version is (profile, position in the log, generation).  A roll-back appends a line and deletes
nothing, so another roll-back can restore the later version.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from likewise.catalog import jobs, log_tables
from likewise.catalog.filters import absolute
from likewise.catalog.pictures import PictureName, Pictures
from likewise.errors import CollectionError, InvalidInput, UnknownName
from likewise.learning import learned_report, profile_files, sparse_profiles
from likewise.learning.history import MERGE, ROLLBACK
from likewise.learning.judge import commit_comparisons
from likewise.learning.log import append_line, check_person, timestamp
from likewise.learning.models.constraints import label_pictures
from likewise.learning.profile_states import ProfileStates
from likewise.search.similarities import (
    DEFAULT,
    Figures,
    Similarities,
    Similarity,
    check_new_name,
    resolve_profile,
    sparse_space,
    taught_space,
)
from likewise.search.sparse_view import SparseView
from likewise.search.views import Views
from likewise.spaces import rows as space_rows
from likewise.spaces.registry import open_spaces
from likewise_methods.solis import triplets_from_labels
from likewise_methods.validation import whole

_CHUNK = 200
"""Comparisons written in one transaction."""


class Version(NamedTuple):
    """A state of a profile: everything up to a position of the log, in a generation.

    See Also
    --------
    LogLine : a line of the log.
    """

    profile: str
    position: int
    generation: Mapping[str, int]


class Profiles(Mapping[str, Similarity]):
    """Every profile by name, with its figures."""

    def __init__(
        self, views: Views, states: ProfileStates, similarities: Similarities, pictures: Pictures
    ) -> None:
        self._store, self._views, self._states = views.store, views, states
        self._similarities, self._pictures = similarities, pictures

    def __getitem__(self, name: str) -> Similarity:
        known = self._similarities.profiles()
        # Other methods take ``default`` for the profile in use; here it is the profile of that
        # name.
        if name not in known:
            raise UnknownName(f"there is no profile {name!r}; there are {', '.join(known)}")
        return self._similarities.with_figures(known[name], open_spaces(self._store))

    def __iter__(self) -> Iterator[str]:
        return iter(log_tables.profiles(self._store))

    def __len__(self) -> int:
        return len(log_tables.profiles(self._store))

    @property
    def in_use(self) -> str:
        """The profile that ``default`` means."""
        return resolve_profile(self._store, DEFAULT)

    def figures(self, profile: str = DEFAULT) -> Figures:
        """Return the figures of a profile."""
        found = self._similarities.profiles()[resolve_profile(self._store, profile)]
        taught = taught_space(found, open_spaces(self._store))
        return self._states.figures(found.profile or DEFAULT, taught)

    def version(self, profile: str = DEFAULT) -> Version:
        """Return the current version of a profile."""
        name = resolve_profile(self._store, profile)
        live = {space.name: space.generation for space in self._store.spaces().values()}
        return Version(name, self._states.history(name).position, live)

    def report(
        self,
        profile: str = DEFAULT,
        *,
        top: int = 6,
        examples: int = 4,
        report: jobs.Report = jobs.silent,
    ) -> learned_report.LearnedReport:
        """Report what a profile learned: the ``top`` words or directions either way."""
        name = resolve_profile(self._store, profile)
        similarity = self._similarities.profiles()[name]
        return learned_report.report_learned(
            self._views, self._states, similarity, top=top, examples=examples, report=report
        )

    # -- create and change -----------------------------------------------------------------

    def create(self, name: str, base: str | None = None) -> None:
        """Make an empty profile over a built-in similarity."""
        built_in = [made.name for made in self._similarities.built_in()]
        if base is not None and base not in built_in:
            raise CollectionError(
                f"{base!r} is no built-in similarity; there are {', '.join(built_in)}"
            )
        with self._store.write(durable=True) as c:
            check_new_name(self._store, name)
            log_tables.put_profile(c, name, base or "", timestamp(), None, 0)

    def copy(self, source: str, name: str) -> None:
        """Make a profile that begins with everything another has learned."""
        source = resolve_profile(self._store, source)
        row = log_tables.profiles(self._store)[source]
        with self._store.write(durable=True) as c:
            check_new_name(self._store, name)
            position = log_tables.last_entry(self._store, source)
            log_tables.put_profile(c, name, row.base, timestamp(), source, position)

    def merge(self, sources: Sequence[str], name: str) -> None:
        """Make a profile from everything that several have learned.

        Shared judgements count once; where two contradict each other about a query, the later one
        counts. The sources do not change.
        """
        found = list(dict.fromkeys(resolve_profile(self._store, one) for one in sources))
        if len(found) < 2:
            raise CollectionError("nothing to merge; name two profiles or more")
        rows = log_tables.profiles(self._store)
        bases = {rows[one].base for one in found}
        if len(bases) > 1:
            ranked = ", ".join(f"{one} by {rows[one].base or 'default'}" for one in found)
            raise CollectionError(f"these profiles rank by different similarities: {ranked}")
        with self._store.write(durable=True) as c:
            check_new_name(self._store, name)
            log_tables.put_profile(c, name, bases.pop(), timestamp(), None, 0)
            for one in found:
                position = log_tables.last_entry(self._store, one)
                body = {"profile": one, "position": position}
                append_line(c, self._store, name, MERGE, body)
        self._states.fold_new_lines(name)

    def roll_back(self, position: int, *, profile: str = DEFAULT) -> None:
        """Return a profile to an earlier position of its log; 0 is its beginning."""
        name = resolve_profile(self._store, profile)
        # Lock order, everywhere: the states first, then the catalog.
        with self._states.lock, self._store.write(durable=True) as c:
            history = self._states.history(name)
            position = whole(position, "position", 0)
            if position not in history.positions():
                raise CollectionError(
                    f"profile {name!r} has no version {position}; "
                    f"its log goes to {history.position}"
                )
            append_line(c, self._store, name, ROLLBACK, {"position": position})
        self._states.fold_new_lines(name)

    def export(self, path: str | os.PathLike[str], *, profile: str = DEFAULT) -> Path:
        """Write what was learned to a file, for another collection with the same words."""
        name = resolve_profile(self._store, profile)
        return profile_files.export_profile(self._store, self._states, name, absolute(path))

    def load(self, path: str | os.PathLike[str], name: str | None = None) -> str:
        """Make a profile from a file that :meth:`export` wrote; return its name."""
        return profile_files.import_profile(self._store, absolute(path), name)

    # -- learn in bulk ----------------------------------------------------------------------

    def behind(self, profile: str = DEFAULT) -> int:
        """Return how many judgements are still being learned again in the background."""
        return self._states.behind(resolve_profile(self._store, profile))

    def settle(self, profile: str = DEFAULT, *, report: jobs.Report = jobs.silent) -> None:
        """Wait until a profile has learned everything in its log that counts.

        Withdrawing or contradicting an old line among many thousand is learned in the background:
        until then searches rank as before, and report how many lines they are ``behind``.
        """
        self._states.settle(resolve_profile(self._store, profile), report)

    def learn_triplets(
        self,
        triplets: Iterable[Sequence[PictureName]],
        *,
        profile: str = DEFAULT,
        source: str = "file",
        person: str | None = None,
        report: jobs.Report = jobs.silent,
    ) -> int:
        """Log many comparisons (anchor, nearer, farther), learn them, and return their number."""
        name = resolve_profile(self._store, profile)
        id_of = self._pictures.id_of
        rows = [(id_of(a), id_of(b), id_of(c)) for a, b, c in triplets]
        who = check_person(person)
        for row in rows:
            if len(set(row)) != 3:
                raise InvalidInput(f"{row} names a picture twice; three different ones expected")
        for start in range(0, len(rows), _CHUNK):
            chunk = rows[start : start + _CHUNK]
            commit_comparisons(self._views, chunk, name, source, who)
            report(jobs.Progress("writing comparisons", start + len(chunk), len(rows)))
        self._states.fold_new_lines(name)
        self._states.settle(name, report)
        return len(rows)

    def learn_labels(
        self,
        labels: str = "folders",
        *,
        n_triplets: int = 2_000,
        seed: int = 0,
        profile: str = DEFAULT,
        report: jobs.Report = jobs.silent,
    ) -> int:
        """Learn comparisons drawn from labels: folder names, or single tags."""
        ids, names = label_pictures(self._store, labels)
        drawn = triplets_from_labels(names, n_triplets, random_state=seed)
        rows = ids[drawn].tolist()
        return self.learn_triplets(rows, profile=profile, source=labels, report=report)

    def relearn(self, profile: str = DEFAULT) -> Similarity:
        """Learn the whole log again, and return the profile with its figures.

        The result must equal the current state; else the catalog is damaged.
        """
        name = resolve_profile(self._store, profile)
        for space in open_spaces(self._store).values():
            if space.row_format.learns_weights and space.generation:
                self._states.relearn(name, space)
            elif space.learns_pairs and space.generation:
                self._states.relearn_pairs(name, space)
        return self[name]

    def learn_sparse(
        self, name: str, *, profile: str = DEFAULT, report: jobs.Report = jobs.silent
    ) -> sparse_profiles.SparseOutcome:
        """Make a sparse profile from another: most words weigh nothing.

        Made only from enough triplets, and if it is right no less often about held-out
        judgements.  Verdicts about single queries are copied.
        """
        source = resolve_profile(self._store, profile)
        check_new_name(self._store, name)
        space = sparse_space(self._similarities.profiles()[source], self._store.spaces())
        if space is None:
            raise CollectionError(f"profile {source!r} ranks by no words, so it cannot be sparse")
        view = self._views.view(space.name)
        assert isinstance(view, SparseView)
        cost = sparse_profiles.posting_costs(view.frequency()[0])
        outcome, weights = sparse_profiles.learn_sparse(
            self._store, self._states, source, space, cost, report
        )
        if weights is not None:
            about = {"from": source, "sparse": True, "agreement": outcome.agreement}
            base = log_tables.profiles(self._store)[source].base
            profile_files.put_weights(
                self._store, name, base, {space.name: (space.generation, weights)}, about,
                parent=source,
            )  # fmt: skip
        return outcome

    def compact(
        self, profile: str = DEFAULT, *, report: jobs.Report = jobs.silent
    ) -> sparse_profiles.Compaction:
        """Give a sparse profile a smaller index with its own words; return the figures."""
        name = resolve_profile(self._store, profile)
        with self._store.lease("compact"):
            space_rows.tidy(self._store)
            space = sparse_space(self._similarities.profiles()[name], self._store.spaces())
            weights = (
                None if space is None else self._states.wait_for_state(name, space, report).weights
            )
            if space is None or weights is None or not np.any(weights == 0):
                raise CollectionError(
                    f"profile {name!r} gives no word the weight 0; make a sparse one first"
                )
            done = sparse_profiles.compact(self._views, name, space, weights, report)
            space_rows.tidy(self._store)
            return done
