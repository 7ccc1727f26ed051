"""Transfer judgements to the next generation of a space before the switch.

Pictures of the collection already have rows in the new generation.  A query from outside the
collection is described again from the small JPEG in the log.  A removed picture has only its old
code: each of its words is mapped to the nearest new word, which loses detail but keeps the
judgement.  Then every profile is replayed, so the switch needs no further learning.
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
    """The generation being built and the live one, as far as codes need them.

    ``idfs`` are the frozen idf of the old and the new one; None where rows have no weights.
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
        """Return a raw row of the new generation, as it is compared."""
        space, rows = self.space, self.space.row_format
        row = rows.query_row(rows.unpack([raw], space.width), self.idf)
        return rows.pack(rows.weighted_row(space, row))

    def code_of_jpeg(self, jpeg: bytes) -> bytes | None:
        """Return the code of a small JPEG from the log; None where it gives none."""
        try:
            return self.code_of(self.space.packed_row(decode(jpeg)))
        except LikewiseError:
            return None

    def translate_code(self, code: bytes) -> bytes | None:
        """Translate an old code: each old column becomes the nearest new one.

        None where the columns are unrelated (other codebooks, other directions).  Judgements about
        such a removed picture stay in the log and count in other spaces.
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
        """Translate imported weights: a new column gets the weight of the nearest old one.

        Where the columns are unrelated, all weights are equal again.
        """
        if self.has_same_columns or self.old.learns_pairs:
            # Imported pairs are rows of the source, which has not changed.
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
    """Return codes of the next generation for subjects without one; this may describe pictures."""
    old, number = coming.old, coming.space.generation
    lacking = log_tables.subjects_without_code(store, old.name, old.generation, number)
    here = log_tables.subjects_in_collection(store, [subject for subject, _ in lacking])
    found: dict[int, bytes] = {}
    for subject, code in lacking:
        image = here.get(subject)
        raw = None if image is None else store.vector(old.name, number, image)
        # An empty row may be that of an unavailable file: its old code is better.
        made = coming.code_of(raw) if raw else None
        # With the same columns the old code is exact, a small JPEG is not.
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
    """Inside a transaction: store missing codes and imported weights of the next generation."""
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
    """Fold every profile in a generation that is not live yet, and store the results.

    Lines after ``upto`` have no codes in this generation yet and are left out.
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
