"""The tagged pictures of an annotator, and the index that suggests some of them.

Rows stay in the blocks they came in: adding copies little, and a memory-mapped matrix stays on
disk.  A removed row keeps its place and loses its scale, so it cannot be chosen.  Once more than
half of the rows in memory are removed, the others are compacted.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from likewise_methods.errors import InvalidInput
from likewise_methods.neighbours.hnsw import HNSW
from likewise_methods.neighbours.lsh import LSH
from likewise_methods.siso.inputs import Rows
from likewise_methods.siso.solver.dictionary import Dictionary
from likewise_methods.siso.solver.lasso import LONGEST, SHORTEST

# Smaller blocks are joined with the next, so that tiles of the scan are full.
_SMALL = 8192


class Pictures:
    """Blocks of rows with ids and a CSR matrix of tags; some rows may be removed."""

    def __init__(self, X: Rows, on_disk: bool, ids: NDArray[Any], labels: Any) -> None:
        self.dictionary = _dictionary([X if on_disk else X.copy()])
        self.on_disk = [on_disk]
        self.ids = ids
        self.labels = labels
        self.alive = np.ones(len(X), bool)
        self._place: dict[Any, int] | None = None

    def __len__(self) -> int:
        return int(self.alive.sum())

    def add(self, X: Rows, on_disk: bool, ids: NDArray[Any], labels: Any) -> None:
        """Add pictures; ``labels`` may have more columns than before."""
        old = self.dictionary
        new = _dictionary([X if on_disk else X.copy()])
        blocks = list(old.blocks)
        if not (on_disk or self.on_disk[-1]) and len(blocks[-1]) < _SMALL:
            blocks[-1] = np.concatenate([blocks[-1], new.blocks[0]])
        else:
            blocks.append(new.blocks[0])
            self.on_disk.append(on_disk)
        self.dictionary = Dictionary(blocks, np.concatenate([old.scale, new.scale]))
        both = self.ids.dtype == np.int64 and ids.dtype == np.int64
        self.ids = np.concatenate([self.ids, ids], dtype=np.int64 if both else object)
        wider = sp.csr_array(
            (self.labels.data, self.labels.indices, self.labels.indptr),
            shape=(self.labels.shape[0], labels.shape[1]),
        )
        self.labels = sp.csr_array(sp.vstack([wider, labels], format="csr"))
        if self._place is not None:
            self._place.update(zip(ids.tolist(), range(old.n, old.n + len(ids)), strict=True))
        self.alive = np.concatenate([self.alive, np.ones(len(X), bool)])

    @property
    def place(self) -> dict[Any, int]:
        """The row of each picture by id, built on first use and then updated."""
        if self._place is None:
            rows = enumerate(self.ids.tolist())
            self._place = {name: row for row, name in rows if self.alive[row]}
        return self._place

    def rows_of(self, ids: Any) -> NDArray[np.int64]:
        """Return the rows of the pictures with these ids; refuse unknown ids."""
        wanted = [ids] if isinstance(ids, str) or not isinstance(ids, Iterable) else list(ids)
        place = self.place
        unknown = next((i for i in wanted if not isinstance(i, Hashable) or i not in place), None)
        if unknown is not None:
            raise InvalidInput(f"there is no picture with the id {unknown!r}")
        return np.unique(np.array([place[i] for i in wanted], np.int64))

    def without(self, rows: NDArray[np.int64]) -> Dictionary:
        """Return the dictionary without some rows; blocks are shared."""
        scale = self.dictionary.scale.copy()
        scale[rows] = 0.0
        return Dictionary(self.dictionary.blocks, scale)

    def remove(self, rows: NDArray[np.int64]) -> bool:
        """Remove rows; return whether the others were compacted."""
        for name in self.ids[rows].tolist():
            self.place.pop(name, None)
        self.alive[rows] = False
        self.dictionary = self.without(rows)
        moved = self._compact()
        if moved:
            self._place = None
        return moved

    def _compact(self) -> bool:
        movable = np.repeat(~np.array(self.on_disk), [len(b) for b in self.dictionary.blocks])
        gone = movable & ~self.alive
        if 2 * gone.sum() <= movable.sum() or gone.all():
            return False
        starts = self.dictionary.starts
        blocks, on_disk = [], []
        for block, start, disk in zip(self.dictionary.blocks, starts, self.on_disk, strict=False):
            kept = block if disk else block[~gone[start : start + len(block)]]
            if len(kept):
                blocks.append(kept)
                on_disk.append(disk)
        self.dictionary = Dictionary(blocks, self.dictionary.scale[~gone])
        self.on_disk, self.ids, self.alive = on_disk, self.ids[~gone], self.alive[~gone]
        self.labels = self.labels[~gone]
        return True

    def unit_rows(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return these rows as unit vectors, a float32 copy."""
        made = np.empty((len(rows), self.dictionary.width), np.float32)
        for start in range(0, len(rows), _SMALL):
            made[start : start + _SMALL] = self.dictionary.rows(rows[start : start + _SMALL])
        return made


def _dictionary(blocks: list[Rows]) -> Dictionary:
    made = Dictionary(blocks)
    empty = np.flatnonzero(made.scale == 0)
    if len(empty):
        raise InvalidInput(
            f"row {int(empty[0])} of X is all zeros ({len(empty)} such rows); a picture without "
            "features can reconstruct nothing: drop it"
        )
    odd = np.flatnonzero((made.scale > 1 / SHORTEST) | (made.scale < 1 / LONGEST))
    if len(odd):
        raise InvalidInput(
            f"row {int(odd[0])} of X has length {1 / made.scale[odd[0]]:.1g}; scale X to lengths "
            f"between {SHORTEST:g} and {LONGEST:g}"
        )
    return made


# Rebuilding costs as much as fitting; below this share removed entries only lengthen answers.
_MOST_DEAD = 0.25


def as_seed(random_state: Any) -> int:
    """Return a seed from None, a whole number, or a NumPy generator."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if random_state is None:
        return int(np.random.default_rng().integers(2**31))
    return int(random_state)


class Suggestions:
    """An LSH or HNSW index over the pictures ("lsh" and "hnsw" of the annotator).

    It holds a float32 copy of their unit rows.  Removed pictures stay in it and take up places in
    its answers, so more are asked for; once a quarter is removed the index is rebuilt.
    """

    def __init__(self, search: str, pictures: Pictures, expand: int, random_state: Any) -> None:
        self.search, self.pictures = search, pictures
        self.most_candidates = max(5000, 20 * expand)
        self.seed = as_seed(random_state)
        self._build()

    def _build(self) -> None:
        self.rows = np.flatnonzero(self.pictures.alive)
        self._count()
        units = self.pictures.unit_rows(self.rows)
        if self.search == "hnsw":
            self.index: LSH | HNSW = HNSW("ip", ef_search=128).build(units)
            return
        # This number of hashes leaves some thousand candidates: nearly orthogonal rows share a hash
        # of width 1 with probability .27 = exp(-1.31).
        hashes = int(np.clip(np.round(np.log(max(len(units), 1) / 50) / 1.31), 2, 12))
        self.index = LSH(
            "ip", hash_width=1.0, n_hashes=hashes, n_tables=20, n_probes=8,
            max_candidates=self.most_candidates, random_state=self.seed,
        ).build(units)  # fmt: skip

    def _count(self) -> None:
        """Find which entries of the index are still pictures, and how many are not."""
        self.alive = self.pictures.alive[self.rows]
        self.dead = int(np.count_nonzero(~self.alive))

    def add_rows(self, start: int) -> None:
        """Add the pictures whose rows start at ``start``."""
        new = np.arange(start, self.pictures.dictionary.n)
        self.index.add(self.pictures.unit_rows(new))
        self.rows = np.concatenate([self.rows, new])
        self._tidy()

    def forget_removed(self, moved: bool) -> None:
        """Update after a removal; ``moved`` says that the rows were compacted."""
        if moved:
            self._build()
        else:
            self._tidy()

    def _tidy(self) -> None:
        self._count()
        if len(self.pictures) and self.dead > _MOST_DEAD * len(self.rows):
            self._build()

    def find(
        self, R: NDArray[np.float64], k: int, without: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64]:
        """Return k rows for each of the residuals R, -1 where the index finds fewer.

        Rows in ``without`` are skipped as removed ones are.
        """
        alive, dead = self.alive, self.dead
        if without is not None:
            alive, dead = alive & ~np.isin(self.rows, without), dead + len(without)
        if isinstance(self.index, LSH):
            self.index.max_candidates = self.most_candidates + dead
        most, want = min(k + dead, len(self.rows)), k
        while True:
            want = min(want, most)
            found = self.index.search(R, want)[0]
            good = (found >= 0) & alive[found]
            # Enough, or everything: an answer padded with -1 is complete.
            if want == most or ((good.sum(axis=1) >= k) | (found[:, -1] < 0)).all():
                return np.where(good, self.rows[found], -1)
            want *= 2
