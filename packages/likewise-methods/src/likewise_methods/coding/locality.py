"""LLC: code a descriptor as the closest affine combination of its nearest words.

Wang et al. (2010), the approximated version: of the ``n_nearest`` words B solve
``(C + ridge tr(C) I) w = 1`` with ``C = (B - 1x')(B - 1x')'`` and scale w to sum 1
(docs/methods/psc.md, (17)).  Weights may be negative.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from likewise_methods.coding.word_search import ROWS_AT_ONCE, Descriptors, WordSearch
from likewise_methods.errors import InvalidInput
from likewise_methods.estimators import Transformer
from likewise_methods.kernels import kernel
from likewise_methods.neighbours.protocol import rows
from likewise_methods.validation import number, whole


class LLC(WordSearch, Transformer):
    """Locality-constrained linear coding: an affine combination of the nearest words.

    Parameters
    ----------
    n_words : int, default=1024
        Words that ``fit`` learns by k-means.
    n_nearest : int, default=5
        Words per descriptor.
    ridge : float, default=1e-4
        Share of tr(C) added to the diagonal, above 0; larger gives more equal weights.
    codebook : array of shape (words, columns), optional
        The words; then ``fit`` is not needed.
    n_iter : int, default=12
        Rounds of k-means.
    random_state : int, Generator or None, default=None
        Seed of the first words.
    n_threads : int, default=1
        Threads for training and search.

    Attributes
    ----------
    codebook_ : array of shape (words, columns)
        The words.
    n_features_in_ : int
        Columns of a descriptor.

    See Also
    --------
    VQ : one word per descriptor.
    likewise_methods.psc.SparseCoder : non-negative, over all words.

    References
    ----------
    Wang et al., 2010.

    docs/methods/psc.md, (17).

    Examples
    --------
    >>> coder = LLC(n_nearest=2, ridge=1e-9, codebook=[[0.0, 0.0], [4.0, 0.0], [0.0, 9.0]])
    >>> coder.transform([[1.0, 0.0]]).toarray().round(3)
    array([[0.75, 0.25, 0.  ]], dtype=float32)
    """

    def __init__(
        self,
        n_words: int = 1024,
        *,
        n_nearest: int = 5,
        ridge: float = 1e-4,
        codebook: Any = None,
        n_iter: int = 12,
        random_state: int | np.random.Generator | None = None,
        n_threads: int = 1,
    ) -> None:
        self.n_words = n_words
        self.n_nearest = n_nearest
        self.ridge = ridge
        self.codebook = codebook
        self.n_iter = n_iter
        self.random_state = random_state
        self.n_threads = n_threads

    def fit(self, X: Descriptors, y: object = None) -> Self:
        """Learn the words.

        Parameters
        ----------
        X : array of shape (n, columns), or iterable of such arrays
            Descriptors.
        y : object, optional
            Ignored.

        Returns
        -------
        self
        """
        self._checked_ridge()
        whole(self.n_nearest, "n_nearest")
        self._fit_words(X, self.n_iter, self.random_state)
        return self

    def transform(self, X: ArrayLike) -> sparse.csr_array:
        """Return one row per descriptor, with ``n_nearest`` entries that sum to 1.

        Parameters
        ----------
        X : array of shape (n, columns)
            Descriptors.

        Returns
        -------
        float32 CSR array of shape (n, words)
        """
        ridge = self._checked_ridge()
        words = self.words()
        each = whole(self.n_nearest, "n_nearest")
        if each > len(words):
            raise InvalidInput(f"n_nearest is {each}; there are {len(words)} words")
        checked = rows(X, "X", words.shape[1])
        near = np.empty((len(checked), each), np.int64)
        weights = np.empty((len(checked), each), np.float32)
        for a in range(0, len(checked), ROWS_AT_ONCE):
            here = slice(a, a + ROWS_AT_ONCE)
            part, ids, _ = self.nearest(checked[here], each)
            near[here] = np.sort(ids, axis=1)
            locality_weights(part, words, near[here], ridge, weights[here])
        starts = np.arange(0, near.size + 1, each)
        parts = (weights.reshape(-1), near.reshape(-1).astype(np.int32), starts)
        return sparse.csr_array(parts, shape=(len(checked), len(words)))

    def _checked_ridge(self) -> float:
        return number(self.ridge, "ridge", above=0)


# -- kernels ---------------------------------------------------------------------------------------


@kernel
def locality_weights(X, words, near, ridge, out):  # type: ignore[no-untyped-def]
    """Solve (C + ridge tr(C) I) w = 1 for each descriptor by Cholesky; scale w to sum 1.

    If C is zero, because all near words equal the descriptor, the weights are equal.
    """
    n = near.shape[1]
    width = X.shape[1]
    centred = np.empty((n, width), np.float64)
    C = np.empty((n, n), np.float64)
    w = np.empty(n, np.float64)
    for i in range(X.shape[0]):
        trace = 0.0
        for a in range(n):
            for t in range(width):
                centred[a, t] = words[near[i, a], t] - X[i, t]
            for b in range(a + 1):
                total = 0.0
                for t in range(width):
                    total += centred[a, t] * centred[b, t]
                C[a, b] = total
            trace += C[a, a]
        if trace <= 0.0:
            for a in range(n):
                out[i, a] = 1.0 / n
            continue
        for a in range(n):
            C[a, a] += ridge * trace
        for a in range(n):
            for b in range(a + 1):
                total = C[a, b]
                for t in range(b):
                    total -= C[a, t] * C[b, t]
                if a == b:
                    # Rounding can cancel a pivot of equal words.
                    C[a, a] = np.sqrt(max(total, 1e-14 * trace))
                else:
                    C[a, b] = total / C[b, b]
        for a in range(n):
            total = 1.0
            for t in range(a):
                total -= C[a, t] * w[t]
            w[a] = total / C[a, a]
        total_mass = 0.0
        for a in range(n - 1, -1, -1):
            total = w[a]
            for t in range(a + 1, n):
                total -= C[t, a] * w[t]
            w[a] = total / C[a, a]
            total_mass += w[a]
        for a in range(n):
            out[i, a] = w[a] / total_mass
