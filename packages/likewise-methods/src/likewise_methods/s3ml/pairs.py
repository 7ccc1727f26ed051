"""Check labels or pairs, and multiply by them: the matrix W0 of the S3ML paper.

W0 has 1 on its diagonal, +1 for a similar pair, -1 for a dissimilar one, 0 elsewhere
(docs/methods/s3ml.md, (1)).  It is not stored: :meth:`Constraints.apply` multiplies by it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from likewise_methods.errors import InvalidInput

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
UNLABELLED = -1
# Labelled rows make a quadratic number of pairs; this many suffice for a median.
MOST_LISTED = 200_000


@dataclass(frozen=True)
class Constraints:
    """Similar and dissimilar rows, from classes or from pairs.

    ``codes`` numbers the classes from 0, -1 for rows without a label; it is None for pairs, whose
    rows are ``first`` < ``second``, each pair once, and ``alike`` their answers.  A dissimilar pair
    has weight ``-minus`` in W0 (the paper: -1).
    """

    n: int
    codes: Ints | None
    first: Ints
    second: Ints
    alike: NDArray[np.bool_]
    minus: float = 1.0

    @property
    def n_similar(self) -> int:
        if self.codes is None:
            return int(self.alike.sum())
        sizes = self.class_sizes()
        return int((sizes * (sizes - 1) // 2).sum())

    @property
    def n_dissimilar(self) -> int:
        if self.codes is None:
            return int((~self.alike).sum())
        labelled = int(self.class_sizes().sum())
        return labelled * (labelled - 1) // 2 - self.n_similar

    def weigh(self, dissimilar: float) -> Constraints:
        """Return constraints whose dissimilar pairs weigh ``dissimilar`` times the similar ones."""
        if not self.n_similar or not self.n_dissimilar:
            return self
        return replace(self, minus=dissimilar * self.n_similar / self.n_dissimilar)

    def least(self, theta: float) -> tuple[float, float]:
        """Return the least size of a positive and of a negative affinity that count.

        Where dissimilar pairs weigh less than similar ones, their affinities are cut lower in the
        same proportion; otherwise many of them would be cut for being many.
        """
        return theta, theta * min(1.0, self.minus)

    def class_sizes(self) -> Ints:
        """Return how many rows each class has."""
        assert self.codes is not None
        return np.bincount(self.codes[self.codes >= 0]).astype(np.int64)

    def constrained_rows(self) -> Ints:
        """Return the rows with a label or in a pair, ascending."""
        if self.codes is not None:
            return np.flatnonzero(self.codes >= 0)
        return np.unique(np.concatenate([self.first, self.second]))

    def pair_matrix(self) -> sp.csr_array:
        """Return W0 - I of pairs, sparse and symmetric."""
        sign = np.where(self.alike, 1.0, -self.minus)
        rows = np.concatenate([self.first, self.second])
        columns = np.concatenate([self.second, self.first])
        return sp.csr_array((np.concatenate([sign, sign]), (rows, columns)), shape=(self.n, self.n))

    def start_rows(self, rows: Ints) -> sp.csr_array:
        """Return some rows (and columns) of W0 of pairs: sparse, (rows, n)."""
        itself = sp.csr_array(
            (np.ones(len(rows)), rows, np.arange(len(rows) + 1)), shape=(len(rows), self.n)
        )
        return sp.csr_array(self.pair_matrix()[rows] + itself)

    def apply(self, V: Floats) -> Floats:
        """Return W0 V; a labelled row gets its class's sum minus that of the others."""
        if self.codes is None:
            return np.asarray(V + self.pair_matrix() @ V)
        out = V.copy()
        rows = self.constrained_rows()
        if len(rows):
            sums = self.class_sums(V)
            out[rows] = (1 + self.minus) * sums[self.codes[rows]] - self.minus * sums.sum(axis=0)
        return out

    def class_sums(self, V: Floats) -> Floats:
        """Return the sum of the rows of V in each class."""
        assert self.codes is not None
        rows = self.constrained_rows()
        sums = np.zeros((len(self.class_sizes()), *V.shape[1:]))
        np.add.at(sums, self.codes[rows], V[rows])
        return sums

    def list_pairs(self) -> tuple[Ints, Ints, NDArray[np.bool_]]:
        """Return the pairs; for many labelled rows a random sample of them."""
        if self.codes is None:
            return self.first, self.second, self.alike
        rows = self.constrained_rows()
        total = len(rows) * (len(rows) - 1) // 2
        number = np.arange(total) if total <= MOST_LISTED else _sample_pairs(total)
        i, j = _pair_of_rank(number, len(rows))
        first, second = rows[i], rows[j]
        return first, second, self.codes[first] == self.codes[second]


def _sample_pairs(total: int) -> Ints:
    """Return MOST_LISTED different numbers below ``total``."""
    return np.sort(np.random.default_rng(0).choice(total, MOST_LISTED, replace=False))


def _pair_of_rank(number: Ints, size: int) -> tuple[Ints, Ints]:
    """Return the pair i < j of each number, pairs counted row by row: (0, 1), (0, 2), ..."""
    starts = np.concatenate([[0], np.cumsum(np.arange(size - 1, 0, -1))]) if size > 1 else [0]
    starts = np.asarray(starts, np.int64)
    i = np.searchsorted(starts, number, side="right") - 1
    return i, number - starts[i] + i + 1


def as_constraints(y: Any, same: Any, n: int) -> Constraints:
    """Return checked labels (``same`` None; -1 for unlabelled) or pairs, over n rows."""
    if y is None:
        raise InvalidInput(
            "requires y to be passed, but the target y is None: labels (-1 for unlabelled), "
            "or pairs (n, 2) together with same"
        )
    return _from_labels(y, n) if same is None else _from_pairs(y, same, n)


def _from_labels(y: Any, n: int) -> Constraints:
    labels = _array(y, "y")
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels.ravel()
    if labels.shape != (n,):
        hint = "; pairs need same, one bool each" if labels.ndim == 2 else ""
        raise InvalidInput(f"y has shape {labels.shape}; ({n},) labels expected{hint}")
    if labels.dtype.kind == "f":
        if not np.isfinite(labels).all():
            raise InvalidInput("y has NaN or inf; unlabelled rows are marked -1")
        if not (labels == np.round(labels)).all():
            raise InvalidInput("y holds numbers that are not whole; class labels expected")
    if labels.dtype.kind not in "iufbUSO":
        raise InvalidInput(f"y has type {labels.dtype}; class labels expected")
    codes = np.full(n, UNLABELLED, np.int64)
    try:
        known = _has_label(labels)
        codes[known] = np.unique(labels[known], return_inverse=True)[1].reshape(-1)
    except TypeError as error:
        raise InvalidInput(
            f"y mixes labels that cannot be compared ({error}); give all of one type, and -1 "
            "for unlabelled rows"
        ) from error
    none = np.empty(0, np.int64)
    return Constraints(n, codes, none, none, np.empty(0, bool))


def _has_label(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which rows have a label, that is, are not the number -1."""
    kind = labels.dtype.kind
    if kind in "if":
        return np.asarray(labels != UNLABELLED)
    if kind in "USO":
        strings = ("-1", b"-1")
        if any(isinstance(label, str | bytes) and label in strings for label in labels):
            raise InvalidInput(
                'y has the text "-1"; rows without a label are marked by the number -1: '
                "np.array([...], dtype=object) holds texts and numbers"
            )
    if kind != "O":
        return np.ones(len(labels), bool)
    missing = [i for i, label in enumerate(labels) if label is None or label != label]
    if missing:
        raise InvalidInput(
            f"label {missing[0]} is {labels[missing[0]]!r}; unlabelled rows are marked -1"
        )
    return np.array(
        [isinstance(label, str | bytes) or label != UNLABELLED for label in labels], bool
    )


def _from_pairs(y: Any, same: Any, n: int) -> Constraints:
    pairs, alike = _array(y, "pairs"), _array(same, "same")
    if pairs.size == 0:
        pairs = np.empty((0, 2), np.int64)
    if alike.size == 0:
        alike = np.empty(0, bool)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise InvalidInput(
            f"pairs has shape {pairs.shape} and type {pairs.dtype}; (n, 2) row numbers expected"
        )
    if alike.dtype.kind in "iu" and np.isin(alike, (0, 1)).all():
        alike = alike.astype(bool)
    if alike.shape != (len(pairs),) or alike.dtype.kind != "b":
        raise InvalidInput(
            f"same has shape {alike.shape} and type {alike.dtype}; one bool for each of the "
            f"{len(pairs)} pairs expected"
        )
    wrong = np.flatnonzero(((pairs < 0) | (pairs >= n)).any(axis=1))
    if len(wrong):
        a, b = pairs[wrong[0]]
        raise InvalidInput(
            f"pair {wrong[0]} is ({a}, {b}), but X has rows 0 to {n - 1} "
            f"({len(wrong)} pairs out of range)"
        )
    pairs = pairs.astype(np.int64)
    own = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if len(own):
        raise InvalidInput(f"pair {own[0]} is row {pairs[own[0], 0]} with itself; drop it")
    ordered = np.sort(pairs, axis=1)
    said = np.unique(np.column_stack([ordered, alike]), axis=0)
    twice = np.flatnonzero((said[1:, :2] == said[:-1, :2]).all(axis=1))
    if len(twice):
        a, b = said[twice[0], :2]
        raise InvalidInput(
            f"{len(twice)} of the pairs are said to be similar and dissimilar, first ({a}, {b}); "
            "decide or drop them"
        )
    return Constraints(n, None, said[:, 0], said[:, 1], said[:, 2].astype(bool))


def _array(values: Any, name: str) -> NDArray[Any]:
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{name} is not a rectangular array: {error}") from error
