"""What people said, carried onto the next generation of a space before it goes live.

Pictures of the collection have their rows in the new generation already.  A query that never was
in the collection is described again from the small JPEG the log keeps.  A picture that left has
only its old code: its words are looked up among the new ones, which loses detail but never the
judgement.  Then every profile is replayed, so that the switch finds it ready.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from likewise.coding.bow import BagOfWords
from likewise.collection.feedback.fold import ImportedWeights
from likewise.collection.feedback.profile_states import ProfileStates
from likewise.collection.jobs import Progress, Report
from likewise.collection.spaces.recipes import step_for, vector_of
from likewise.collection.spaces.wording import nearest_words
from likewise.collection.store import log as feedback
from likewise.collection.store.segments import (
    pack_dense,
    pack_sparse,
    unpack_dense,
    unpack_sparse,
)
from likewise.collection.store.store import SpaceRow, Store
from likewise.errors import LikewiseError
from likewise.images import decode


def _described(root: Path, coming: Next | NextPooled, jpeg: bytes) -> bytes | None:
    """The raw row of the next generation for a picture; None where it gives none."""
    old = coming.old
    step = step_for(root, old.name, coming.number, old.recipe, coming.files)
    try:
        return vector_of(step, decode(jpeg))
    except LikewiseError:
        return None


class Next:
    """The generation that is being built, as far as codes need it."""

    def __init__(
        self,
        root: Path,
        old: SpaceRow,
        number: int,
        width: int,
        files: Mapping[str, str],
        bags: tuple[BagOfWords | None, BagOfWords],
    ) -> None:
        self.old, self.number, self.width, self.files = old, number, width, files
        self._root = root
        self._old_bag, self._bag = bags
        self._words: Any = None

    def ranked(self, raw: bytes) -> bytes:
        """A raw row of the new generation, as its index will hold it."""
        row = self._bag.transform(unpack_sparse([raw], self.width))
        return pack_sparse(row.indices, row.data)

    def from_jpeg(self, jpeg: bytes) -> bytes | None:
        """The code of a picture that only the log has."""
        raw = _described(self._root, self, jpeg)
        return None if raw is None else self.ranked(raw)

    def translated(self, code: bytes) -> bytes:
        """An old code in new words: each old word becomes the new one nearest to it."""
        row = unpack_sparse([code], self.old.width)
        idf = np.ones(self.old.width) if self._old_bag is None else self._old_bag.idf_
        # A code is counts times idf, up to its length; words with idf 0 are in every picture.
        counts = np.divide(
            row.data, idf[row.indices], out=np.zeros(len(row.data)), where=idf[row.indices] > 0
        )
        if self._old_bag is not None and self._old_bag.weighting == "sqrt-tf-idf":
            counts = counts**2
        total = np.bincount(self.nearest_new()[row.indices], counts, self.width)
        words = np.flatnonzero(total)
        return self.ranked(pack_sparse(words, total[words]))

    @property
    def same_words(self) -> bool:
        """Whether only the idf changes."""
        return self.files["vocabulary"] == self.old.files.get("vocabulary")

    def nearest_new(self) -> Any:
        """For each old word the new one it becomes; itself where the words stayed."""
        if self._words is None:
            if self.files["vocabulary"] == self.old.files.get("vocabulary"):
                self._words = np.arange(self.old.width)
            else:
                self._words = nearest_words(self._root, self.files, self.old.files)
        return self._words

    def reweighted(self, blob: bytes) -> bytes:
        """Weights that came in whole: a new word gets the weight of the old one nearest to it."""
        given = ImportedWeights.unpack(blob)
        if self.files["vocabulary"] == self.old.files["vocabulary"]:
            return blob
        fill = 1.0 if given.start == "ones" else 0.0
        weights = np.full(self.old.width, fill)
        weights[given.words] = given.weights
        now = weights[nearest_words(self._root, self.old.files, self.files)]
        words = np.flatnonzero(now != fill)
        return ImportedWeights(given.start, words, now[words]).pack()


class NextPooled:
    """The next generation of a pooled space.  Nothing is folded there: codes only serve queries."""

    same_words = False

    def __init__(
        self, root: Path, old: SpaceRow, number: int, width: int, files: Mapping[str, str]
    ) -> None:
        self.old, self.number, self.width, self.files = old, number, width, files
        self._root = root

    def ranked(self, raw: bytes) -> bytes:
        """A raw row as its view compares it: of unit length."""
        row = unpack_dense([raw], self.width)
        norm = float(np.linalg.norm(row))
        return pack_dense(row[0] / (norm if norm > 0 else 1))

    def from_jpeg(self, jpeg: bytes) -> bytes | None:
        """The code of a picture that only the log has."""
        raw = _described(self._root, self, jpeg)
        return None if raw is None else self.ranked(raw)

    def translated(self, code: bytes) -> None:
        """Other codebooks, other directions: an old code says nothing in the new space.

        What was said about a picture that left the collection stays in the log, and counts in the
        other spaces.
        """

    def reweighted(self, blob: bytes) -> bytes:
        """Weights are a matter of words; there are none here."""
        return blob


def coded(store: Store, coming: Next | NextPooled) -> dict[int, bytes]:
    """Codes of the next generation for subjects that lack one; pictures may be described for it."""
    old, number = coming.old, coming.number
    lacking = feedback.subjects_without_code(store, old.name, old.generation, number)
    here = feedback.subjects_in_collection(store, [subject for subject, _ in lacking])
    found: dict[int, bytes] = {}
    for subject, code in lacking:
        image = here.get(subject)
        raw = None if image is None else store.vector(old.name, number, image)
        # An empty row may be that of a file that cannot be read just now: its old code is better.
        made = coming.ranked(raw) if raw else None
        # The same words: the old code is exact, a small JPEG is not.
        if made is None and code is not None and coming.same_words:
            made = coming.translated(code)
        if made is None and (jpeg := feedback.jpeg_of(store, subject)) is not None:
            made = coming.from_jpeg(jpeg)
        if made is None and code is not None:
            made = coming.translated(code)
        if made is None and raw is not None:
            made = coming.ranked(raw)
        if made is not None:
            found[subject] = made
    return found


def carry(c: Any, store: Store, coming: Next | NextPooled, codes: Mapping[int, bytes]) -> None:
    """Inside a transaction: codes and given weights of the next generation, those it lacks."""
    old, number = coming.old, coming.number
    for subject, code in codes.items():
        feedback.put_code(c, subject, old.name, number, code)
    have = {entry for entry, _ in feedback.all_imported_weights(store, old.name, number)}
    for entry, blob in feedback.all_imported_weights(store, old.name, old.generation):
        if entry not in have:
            feedback.put_imported_weights(c, entry, old.name, number, coming.reweighted(blob))


def replay(store: Store, space: SpaceRow, report: Report, upto: int) -> None:
    """Fold every profile in a generation that is not live yet, and keep the results.

    Nothing behind line ``upto`` of the log is folded: it has no codes in this generation yet.
    """
    states = ProfileStates(store, upto)
    known = [
        name
        for name, row in feedback.profiles(store).items()
        if row.parent_position <= upto and states.history(name).items
    ]
    for done, profile in enumerate(known, 1):
        history = states.history(profile)
        states.checkpoint(space, history, states.state(profile, space))
        report(Progress("replaying judgements", done, len(known)))
