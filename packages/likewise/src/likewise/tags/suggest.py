"""Suggest tags for a picture from the tagged pictures that reconstruct it (SISO).

A suggestion's score is the sum of the shares of the pictures behind it, mixed with the odds of a
linear classifier where that helps.  Its confidence is how often such a score was right in this
collection (:mod:`~likewise.tags.calibration`).  Suggesting only reads: a new calibration stays in
memory until a call that writes stores it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass

from likewise.catalog import tag_tables
from likewise.catalog.changes import put_setting
from likewise.catalog.jobs import Report, silent
from likewise.catalog.store import Transaction
from likewise.errors import InvalidInput
from likewise.search.query import ResolvedQuery
from likewise.search.views import Views
from likewise.spaces.registry import open_spaces
from likewise.tags.calibration import AT_ONCE, Calibration, CalibrationRun, measure_calibration
from likewise.tags.evidence import Evidence, Reconstruction, usable_spaces

MAX_SUPPORTING = 8
"""Pictures a suggestion names, at most."""


@dataclass(frozen=True)
class SupportingPicture:
    """A tagged picture behind a suggestion; ``weight`` is its share in the reconstruction.

    A suggestion of the linear classifier alone names the most similar pictures that have the tag,
    with a weight of 0.

    See Also
    --------
    Suggestion : the tag it supports.
    """

    id: int
    path: str
    weight: float


@dataclass(frozen=True)
class Suggestion:
    """A tag that may fit a picture.

    Attributes
    ----------
    tag : str
        Its name.
    confidence : float
        How often such a score was right: measured on this collection where ``calibrated``; else
        too few pictures are tagged, and it is a cautious guess of at most 0.5.
    score : float
        The annotator's score.
    because : tuple of SupportingPicture
        The tagged pictures that support it.
    calibrated : bool
        See ``confidence``.

    See Also
    --------
    likewise_methods.siso.MixedAnnotator : gives the score.
    """

    tag: str
    confidence: float
    score: float
    because: tuple[SupportingPicture, ...]
    calibrated: bool


class Suggester:
    """Suggests tags in one collection; keeps the tagged pictures in memory between calls."""

    def __init__(self, views: Views) -> None:
        self._store, self._views = views.store, views
        # An annotator caches its last answer, so only one thread may use it at a time.
        self.lock = threading.RLock()
        self._evidence: dict[tuple[str, ...], Evidence] = {}
        self._calibrations: dict[tuple[str, ...], Calibration] = {}
        self._runs: dict[tuple[str, ...], CalibrationRun] = {}
        self._unsaved: dict[str, Calibration] = {}

    def suggest(self, query: ResolvedQuery, k: int) -> list[Suggestion]:
        """Return the k most likely tags, except those it has or that were rejected for it."""
        if query.vector is not None:
            raise InvalidInput("tags are suggested for pictures; a vector was given")
        with self.lock:
            for names in usable_spaces(open_spaces(self._store)):
                evidence = self.evidence(names)
                row = evidence.row_of(self._views, query)
                if row is None:
                    continue
                image = query.image
                if image is None and query.key is not None:
                    # A picture of the collection must not be evidence for its own copy.
                    image = self._store.image_of_hash(query.key)
                own = () if image is None else (image,)
                calibration = self.calibration(evidence)
                (found,) = evidence.reconstruct(row, own, calibration.mix)
                best = best_tags(found, k, self._excluded_tags(query))
                supporting = supporting_pictures(found, [tag for tag, _ in best])
                bare = [tag for tag, some in supporting.items() if not some]
                for tag, near in evidence.nearest(row, bare, MAX_SUPPORTING, own).items():
                    supporting[tag] = [(image, 0.0) for image in near]
                rows = self._store.images({i for some in supporting.values() for i, _ in some})
                return [
                    Suggestion(
                        tag,
                        calibration.confidence(score),
                        score,
                        tuple(
                            SupportingPicture(i, rows[i].path, share)
                            for i, share in supporting[tag]
                            if i in rows
                        ),
                        calibration.is_measured,
                    )
                    for tag, score in best
                ]
        return []

    def evidence(self, names: tuple[str, ...]) -> Evidence:
        """Return the tagged pictures in some spaces, up to date; the caller holds the lock."""
        found = self._evidence.setdefault(names, Evidence(names))
        found.update(self._views)
        return found

    def calibration(
        self, evidence: Evidence, *, exact: bool = False, report: Report = silent
    ) -> Calibration:
        """Return the calibration, measured again if tags changed enough (``exact``: if they
        changed).

        A slightly outdated one is used while the next is measured, a few pictures per suggestion,
        so that accepting a tag never waits for a whole measurement.
        """
        spaces = self._store.spaces()
        where = tuple((name, spaces[name].generation) for name in evidence.names)
        now = evidence.number, len(evidence)
        found = self._calibrations.get(evidence.names)
        if found is None or found.is_stale(*now):
            # Another process may have stored a newer one.
            saved = self._store.setting(_setting(evidence))
            stored = None if saved is None else Calibration.from_json(saved)
            if stored and stored.spaces == where and (not found or stored.number > found.number):
                found = stored
        if (
            found is None
            or found.spaces != where
            or (exact and found.number != evidence.number)
            or (found.is_stale(*now) and (len(evidence) <= AT_ONCE or found.is_outdated(*now)))
        ):
            measured = measure_calibration(evidence, self._views, where, report)
            found = self._keep(evidence, measured)
        elif found.is_stale(*now):
            found = self.continue_measuring(evidence, found)
        self._calibrations[evidence.names] = found
        return found

    def continue_measuring(self, evidence: Evidence, old: Calibration) -> Calibration:
        """Measure a part of the next calibration; return it when done, else the old one."""
        run = self._runs.get(evidence.names)
        if run is None or run.spaces != old.spaces or run.number < old.number:
            run = self._runs[evidence.names] = CalibrationRun(evidence, old.spaces)
        if not run.is_done:
            run.measure_some(evidence, self._views, run.step_size(len(evidence)))
        return self._keep(evidence, run.curve(evidence)) if run.is_done else old

    def save_calibrations(self, c: Transaction) -> None:
        """Store calibrations measured since the last time, inside a transaction.

        Takes no lock: the caller's transaction must not wait for a suggestion in another thread.
        """
        for key in list(self._unsaved):
            if (measured := self._unsaved.pop(key, None)) is not None:
                put_setting(c, key, measured.to_json())

    def _keep(self, evidence: Evidence, measured: Calibration) -> Calibration:
        """Keep a new calibration in memory, to be stored with the next write."""
        self._runs.pop(evidence.names, None)
        self._unsaved[_setting(evidence)] = measured
        return measured

    def _excluded_tags(self, query: ResolvedQuery) -> set[str]:
        """Return tags not to suggest: those the picture has, and those rejected for it."""
        found = set() if query.key is None else tag_tables.refused_tags(self._store, query.key)
        if query.image is not None:
            own = tag_tables.evidence(self._store, [query.image])
            found |= set(own.get(query.image, ()))
        return found


def _setting(evidence: Evidence) -> str:
    return f"tag_calibration {'+'.join(evidence.names)}"


def supporting_pictures(
    reconstruction: Reconstruction, tags: Iterable[str]
) -> dict[str, list[tuple[int, float]]]:
    """Return (picture, share) behind each tag, the largest first."""
    return {
        tag: [one for one in reconstruction.shares if tag in reconstruction.tags[one[0]]][
            :MAX_SUPPORTING
        ]
        for tag in tags
    }


def best_tags(
    reconstruction: Reconstruction, k: int, known: Iterable[str]
) -> list[tuple[str, float]]:
    """Return the k tags with the highest scores, equal ones by name, without known ones."""
    known = set(known)
    left = [(tag, s) for tag, s in reconstruction.scores.items() if tag not in known]
    return sorted(left, key=lambda one: (-one[1], one[0]))[:k]
