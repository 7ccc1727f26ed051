"""What people said, carried onto the next generation of a space before it goes live.

Pictures of the collection have their rows in the new generation already.  A query that never was
in the collection is described again from the small JPEG the log keeps.  A picture that left has
only its old code: its words are looked up among the new ones, which loses detail but never the
judgement.  Then every profile is replayed, so that the switch finds it ready.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from likewise.catalog import log_tables
from likewise.catalog.jobs import Progress, Report
from likewise.catalog.store import SpaceRow, Store
from likewise.errors import LikewiseError
from likewise.images.decode import decode
from likewise.learning.fold import ImportedWeights
from likewise.learning.profile_states import ProfileStates
from likewise.spaces.base import Space
from likewise_methods.coding import BagOfWords


class NextGeneration:
    """The generation that is being built and the one it follows, as far as codes need them.

    ``idfs`` are the frozen idf of the old one and of the new; None where rows are not weighed.
    """

    def __init__(
        self, old: Space, space: Space, idfs: tuple[BagOfWords | None, BagOfWords | None]
    ) -> None:
        self.old, self.space = old, space
        self._old_idf, self.idf = idfs
        self._matched: Any = None

    @property
    def has_same_columns(self) -> bool:
        """Whether only the idf changes."""
        return self.space.has_same_columns(self.old)

    def code_of(self, raw: bytes) -> bytes:
        """A raw row of the new generation, as its view will compare it."""
        space, rows = self.space, self.space.row_format
        row = rows.query_row(rows.unpack([raw], space.width), self.idf)
        return rows.pack(rows.weighted_row(space, row))

    def code_of_jpeg(self, jpeg: bytes) -> bytes | None:
        """The code of a picture that only the log has; None where it gives none."""
        try:
            return self.code_of(self.space.packed_row(decode(jpeg)))
        except LikewiseError:
            return None

    def translate_code(self, code: bytes) -> bytes | None:
        """An old code in new columns: each old one becomes the new one nearest to it.

        None where the two have nothing to do with each other (other codebooks, other directions):
        what was said about a picture that left the collection stays in the log, and counts in the
        other spaces.
        """
        if self.old.learns_pairs:
            row = self.old.row_format.unpack([code], self.old.width)[0]
            made = self.old.translate_row(row, self.space)
            return None if made is None else self.code_of(self.space.row_format.pack(made))
        if self._matched is None and self.old.row_format.is_sparse:
            self._matched = self.old.match_columns(self.space)
        if self._matched is None:
            return None
        row = self.old.row_format.unpack([code], self.old.width)
        idf = np.ones(self.old.width) if self._old_idf is None else self._old_idf.idf_
        # A code is counts times idf, up to its length; words with idf 0 are in every picture.
        counts = np.divide(
            row.data, idf[row.indices], out=np.zeros(len(row.data)), where=idf[row.indices] > 0
        )
        if self._old_idf is not None and self._old_idf.weighting == "sqrt-tf-idf":
            counts = counts**2
        total = np.bincount(self._matched[row.indices], counts, self.space.width)
        columns = np.flatnonzero(total)
        return self.code_of(self.space.row_format.pack((columns, total[columns])))

    def translate_weights(self, blob: bytes) -> bytes:
        """Weights that came in whole: a new column gets the weight of the old one nearest to it.

        Where columns have nothing to do with each other, all count alike again.
        """
        if self.has_same_columns or self.old.learns_pairs:
            # Judged pairs that came in are rows of the source, which has not changed.
            return blob
        given = ImportedWeights.unpack(blob)
        fill = 1.0 if given.start == "ones" else 0.0
        weights = np.full(self.old.width, fill)
        weights[given.words] = given.weights
        matched = self.space.match_columns(self.old)
        now = np.full(self.space.width, fill) if matched is None else weights[matched]
        words = np.flatnonzero(now != fill)
        return ImportedWeights(given.start, words, now[words]).pack()


def make_codes(store: Store, coming: NextGeneration) -> dict[int, bytes]:
    """Codes of the next generation for subjects that lack one; pictures may be described for it."""
    old, number = coming.old, coming.space.generation
    lacking = log_tables.subjects_without_code(store, old.name, old.generation, number)
    here = log_tables.subjects_in_collection(store, [subject for subject, _ in lacking])
    found: dict[int, bytes] = {}
    for subject, code in lacking:
        image = here.get(subject)
        raw = None if image is None else store.vector(old.name, number, image)
        # An empty row may be that of a file that cannot be read just now: its old code is better.
        made = coming.code_of(raw) if raw else None
        # The same columns: the old code is exact, a small JPEG is not.
        if made is None and code is not None and coming.has_same_columns:
            made = coming.translate_code(code)
        if made is None and (jpeg := log_tables.jpeg_of(store, subject)) is not None:
            made = coming.code_of_jpeg(jpeg)
        if made is None and code is not None:
            made = coming.translate_code(code)
        if made is None and raw is not None:
            made = coming.code_of(raw)
        if made is not None:
            found[subject] = made
    return found


def carry_over(c: Any, store: Store, coming: NextGeneration, codes: Mapping[int, bytes]) -> None:
    """Inside a transaction: codes and given weights of the next generation, those it lacks."""
    old, number = coming.old, coming.space.generation
    for subject, code in codes.items():
        log_tables.put_code(c, subject, old.name, number, code)
    have = {entry for entry, _ in log_tables.all_imported_weights(store, old.name, number)}
    for entry, blob in log_tables.all_imported_weights(store, old.name, old.generation):
        if entry not in have:
            log_tables.put_imported_weights(
                c, entry, old.name, number, coming.translate_weights(blob)
            )


def replay(store: Store, space: SpaceRow, report: Report, upto: int) -> None:
    """Fold every profile in a generation that is not live yet, and keep the results.

    Nothing behind line ``upto`` of the log is folded: it has no codes in this generation yet.
    """
    learning = ProfileStates(store, upto)
    known = [
        name
        for name, row in log_tables.profiles(store).items()
        if row.parent_position <= upto and learning.history(name).items
    ]
    for done, profile in enumerate(known, 1):
        history = learning.history(profile)
        learning.checkpoint(space, history, learning.wait_for_state(profile, space))
        report(Progress("replaying judgements", done, len(known)))
