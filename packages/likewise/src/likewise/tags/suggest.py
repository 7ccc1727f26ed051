"""Tags for a picture from the tagged pictures that reconstruct it (SISO), with how sure that is.

A suggestion's score is the sum of the shares of the pictures behind it, mixed with the odds of a
linear machine where that helps (:mod:`~likewise_methods.siso.mixing`); its confidence is how often
such a score was right for pictures of this collection
(:mod:`~likewise.tags.calibration`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from likewise.catalog import tag_tables
from likewise.catalog.changes import put_setting
from likewise.catalog.jobs import Report, silent
from likewise.errors import InvalidInput
from likewise.search.query import ResolvedQuery
from likewise.search.views import Views
from likewise.spaces.registry import open_spaces
from likewise.tags.calibration import AT_ONCE, Calibration, CalibrationRun, measure_calibration
from likewise.tags.evidence import Evidence, Reconstruction, usable_spaces

MOST_SUPPORTING = 8
"""Pictures a suggestion names, at most."""


@dataclass(frozen=True)
class SupportingPicture:
    """A tagged picture behind a suggestion; ``weight`` is its share in the reconstruction.

    A suggestion of the linear machine alone names the pictures with the tag that are most like the
    one asked about; these have no share, and a weight of 0.

    See Also
    --------
    Suggestion : what it speaks for.
    """

    id: int
    path: str
    weight: float


@dataclass(frozen=True)
class Suggestion:
    """A tag a picture may deserve.

    Attributes
    ----------
    tag : str
        Its name.
    confidence : float
        How often such a score was right: measured on this collection where ``calibrated``; else too
        little is tagged for that, and it is a cautious guess of at most a half.
    score : float
        What the annotator says.
    because : tuple of SupportingPicture
        The pictures it rests on.
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
    """Suggestions of one collection; holds the tagged pictures between calls."""

    def __init__(self, views: Views) -> None:
        self._store, self._views = views.store, views
        # An annotator remembers its last answer: one question at a time.
        self.lock = threading.RLock()
        self._evidence: dict[tuple[str, ...], Evidence] = {}
        self._calibrations: dict[tuple[str, ...], Calibration] = {}
        self._runs: dict[tuple[str, ...], CalibrationRun] = {}

    def suggest(self, question: ResolvedQuery, k: int) -> list[Suggestion]:
        """The k tags most likely, best first; those the picture has or was refused left out."""
        if question.vector is not None:
            raise InvalidInput("tags are suggested for pictures; a vector was given")
        with self.lock:
            for names in usable_spaces(open_spaces(self._store)):
                evidence = self.evidence(names)
                row = evidence.row_of(self._views, question)
                if row is None:
                    continue
                own = self._own_picture(question)
                calibration = self.calibration(evidence)
                (reconstruction,) = evidence.reconstruct(row, own, calibration.mix)
                left = best_tags(reconstruction, k, self._excluded_tags(question))
                supporting = supporting_pictures(reconstruction, [tag for tag, _ in left])
                bare = [tag for tag, some in supporting.items() if not some]
                for tag, near in evidence.nearest(row, bare, MOST_SUPPORTING, own).items():
                    supporting[tag] = [(image, 0.0) for image in near]
                return self._build_suggestions(left, supporting, calibration)
        return []

    def evidence(self, names: tuple[str, ...]) -> Evidence:
        """The tagged pictures in some spaces, as they are now; the caller holds the lock."""
        found = self._evidence.setdefault(names, Evidence(names))
        found.update(self._views)
        return found

    def calibration(
        self, evidence: Evidence, *, exact: bool = False, report: Report = silent
    ) -> Calibration:
        """The curve of confidence, measured anew where the tags have changed enough (or at all).

        A curve that is only somewhat old goes on serving while the next is measured, a piece with
        each suggestion; nobody who accepts a tag waits for all of it.
        """
        spaces = self._store.spaces()
        where = tuple((name, spaces[name].generation) for name in evidence.names)
        now = evidence.number, len(evidence)
        found = self._calibrations.get(evidence.names)
        if found is None or found.is_stale(*now):
            kept = self._store.setting(self._key(evidence))
            found = None if kept is None else Calibration.from_json(kept)
        if found is None or found.spaces != where or (exact and found.number != evidence.number):
            found = self._save(evidence, measure_calibration(evidence, self._views, where, report))
        elif found.is_stale(*now):
            if len(evidence) <= AT_ONCE or found.is_outdated(*now):
                found = self._save(
                    evidence, measure_calibration(evidence, self._views, where, report)
                )
            else:
                found = self.continue_measuring(evidence, found)
        self._calibrations[evidence.names] = found
        return found

    def continue_measuring(self, evidence: Evidence, old: Calibration) -> Calibration:
        """A piece of the next curve; the old one until it is there.  The caller holds the lock."""
        run = self._runs.get(evidence.names)
        if run is None or run.spaces != old.spaces or run.number < old.number:
            run = self._runs[evidence.names] = CalibrationRun(evidence, old.spaces)
        if not run.is_done:
            run.measure_some(evidence, self._views, run.step_size(len(evidence)))
        return self._save(evidence, run.curve(evidence)) if run.is_done else old

    def _save(self, evidence: Evidence, made: Calibration) -> Calibration:
        """Into the catalog, for the next process too."""
        self._runs.pop(evidence.names, None)
        with self._store.write() as c:
            put_setting(c, self._key(evidence), made.to_json())
        return made

    @staticmethod
    def _key(evidence: Evidence) -> str:
        return f"tag_calibration {'+'.join(evidence.names)}"

    def _own_picture(self, question: ResolvedQuery) -> tuple[int, ...]:
        """The picture itself, also where a copy from outside is asked about."""
        image = question.image
        if image is None and question.key is not None:
            image = self._store.image_of_hash(question.key)
        return () if image is None else (image,)

    def _excluded_tags(self, question: ResolvedQuery) -> set[str]:
        """Tags that are not to be suggested: said already, or refused."""
        known = (
            set() if question.key is None else tag_tables.refused_tags(self._store, question.key)
        )
        if question.image is not None:
            said = tag_tables.evidence(self._store, [question.image])
            known |= set(said.get(question.image, ()))
        return known

    def _build_suggestions(
        self,
        left: Sequence[tuple[str, float]],
        supporting: Mapping[str, Sequence[tuple[int, float]]],
        calibration: Calibration,
    ) -> list[Suggestion]:
        """Suggestions of a picture, with the pictures behind them."""
        rows = self._store.images({image for some in supporting.values() for image, _ in some})
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
            for tag, score in left
        ]


def supporting_pictures(
    reconstruction: Reconstruction, tags: Iterable[str]
) -> dict[str, list[tuple[int, float]]]:
    """(picture, share) behind each tag, the largest first."""
    return {
        tag: [one for one in reconstruction.shares if tag in reconstruction.tags[one[0]]][
            :MOST_SUPPORTING
        ]
        for tag in tags
    }


def best_tags(
    reconstruction: Reconstruction, k: int, known: Iterable[str]
) -> list[tuple[str, float]]:
    """The k tags with the highest scores, equal ones by name."""
    passed = set(known)
    left = [(tag, s) for tag, s in reconstruction.scores.items() if tag not in passed]
    return sorted(left, key=lambda one: (-one[1], one[0]))[:k]
