"""A uniform sample of a stream of rows, in one pass and fixed memory (Vitter 1985, algorithm R).

Row t (from 0) draws one number u and replaces row ``floor(u (t + 1))`` of the sample, if it exists,
so the sample does not depend on the batches of the stream.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class Reservoir:
    """A uniform sample of ``size`` of all rows added.

    >>> keep = Reservoir(2, np.random.default_rng(0))
    >>> keep.add(np.arange(6, dtype=np.float32).reshape(3, 2))
    >>> keep.n_seen, keep.rows.shape
    (3, (2, 2))
    """

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self.size = size
        self.n_seen = 0
        self._rng = rng
        self._rows: NDArray[np.float32] | None = None

    def add(self, batch: NDArray[np.float32]) -> None:
        """Add the rows of a batch, in order."""
        if self._rows is None:
            # Memory of an empty array costs nothing until it is written.
            self._rows = np.empty((self.size, batch.shape[1]), np.float32)
        free = min(max(self.size - self.n_seen, 0), len(batch))
        self._rows[self.n_seen : self.n_seen + free] = batch[:free]
        late = batch[free:]
        turns = np.arange(self.n_seen + free, self.n_seen + len(batch))
        places = (self._rng.random(len(late)) * (turns + 1)).astype(np.int64)
        # Of two rows with the same index the later stays: numpy assigns in order.
        self._rows[places[places < self.size]] = late[places < self.size]
        self.n_seen += len(batch)

    @property
    def rows(self) -> NDArray[np.float32]:
        """The sample so far."""
        if self._rows is None:
            return np.empty((0, 0), np.float32)
        return self._rows[: self.n_seen]
