"""LLC: a descriptor as the affine combination of its nearest words that is closest to it.

Wang et al. (2010), the approximated version: of the ``n_nearest`` words B solve
``(C + ridge tr(C) I) w = 1`` with ``C = (B - 1x')(B - 1x')'`` and scale w to sum 1
(docs/methods/psc.md, (17)).  Weights may be negative.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from likewise_methods.coding._locality_kernels import locality_weights
from likewise_methods.coding.word_search import ROWS_AT_ONCE, Descriptors, WordSearch
from likewise_methods.errors import InvalidInput
from likewise_methods.estimators import Transformer
from likewise_methods.neighbours.protocol import rows
from likewise_methods.validation import number, whole


class LLC(WordSearch, Transformer):
    """Locality-constrained linear coding: an affine combination of the nearest words.

    Parameters
    ----------
    n_words : int, default=1024
        Words that ``fit`` learns by k-means.
    n_nearest : int, default=5
        Words that share a descriptor.
    ridge : float, default=1e-4
        How much of tr(C) is added to the diagonal, above 0; larger makes the shares more alike.
    codebook : array of shape (words, columns), optional
        The words; given, ``fit`` is not needed.
    n_iter : int, default=12
        Rounds of k-means.
    random_state : int, Generator or None, default=None
        Draws the first words.
    n_threads : int, default=1
        Threads for training and search.

    Attributes
    ----------
    codebook_ : array of shape (words, columns)
        The words in use.
    n_features_in_ : int
        Columns of a descriptor.

    See Also
    --------
    VQ : one word a descriptor.
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
            Not looked at.

        Returns
        -------
        self
        """
        self._checked_ridge()
        whole(self.n_nearest, "n_nearest")
        self._fit_words(X, self.n_iter, self.random_state)
        return self

    def transform(self, X: ArrayLike) -> sparse.csr_array:
        """One row a descriptor with ``n_nearest`` entries that sum to 1.

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
