"""Pictures an index suggests for a residual: "lsh" and "hnsw" of the annotator.

The index is built over unit rows of the pictures held, in a float32 copy of its own.  A removed
picture stays in it for a while and still takes up places in its answers, so as many more are asked
for; when a quarter of the index is dead it is built anew from the living.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise_methods.neighbours.hnsw import HNSW
from likewise_methods.neighbours.lsh import LSH
from likewise_methods.siso.pictures import Pictures

# Rebuilding costs as much as fitting; below this share the dead only make answers longer.
_MOST_DEAD = 0.25


def as_seed(random_state: Any) -> int:
    """A seed from None, a whole number, or one of numpy's generators."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if random_state is None:
        return int(np.random.default_rng().integers(2**31))
    return int(random_state)


class Suggestions:
    """An index over the living pictures, and which row each of its entries is."""

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
        # As many hashes as leave some thousand candidates: nearly orthogonal rows share a hash of
        # width 1 with probability .27 = exp(-1.31), over all tables and probes about 100 / n keys.
        hashes = int(np.clip(np.round(np.log(max(len(units), 1) / 50) / 1.31), 2, 12))
        self.index = LSH(
            "ip", hash_width=1.0, n_hashes=hashes, n_tables=20, n_probes=8,
            max_candidates=self.most_candidates, random_state=self.seed,
        ).build(units)  # fmt: skip

    def _count(self) -> None:
        """Which entries of the index are still pictures, and how many are not."""
        self.alive = self.pictures.alive[self.rows]
        self.dead = int(np.count_nonzero(~self.alive))

    def add_rows(self, start: int) -> None:
        """Pictures came: the rows from ``start`` on."""
        new = np.arange(start, self.pictures.dictionary.n)
        self.index.add(self.pictures.unit_rows(new))
        self.rows = np.concatenate([self.rows, new])
        self._tidy()

    def forget_removed(self, moved: bool) -> None:
        """Pictures went; ``moved``: the others have other rows now."""
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
        """Rows for the residuals R, k living ones where the index finds as many; -1 for none.

        Living rows of ``without`` are passed over as the dead are.
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
            # Enough, or all there is: an answer padded with -1 has nothing more to come.
            if want == most or ((good.sum(axis=1) >= k) | (found[:, -1] < 0)).all():
                return np.where(good, self.rows[found], -1)
            want *= 2
