"""VQ: code each descriptor as its nearest word (Sivic and Zisserman 2003)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from likewise_methods.coding.word_search import ROWS_AT_ONCE, Descriptors, WordSearch, in_batches
from likewise_methods.estimators import Transformer
from likewise_methods.neighbours.protocol import rows


class VQ(WordSearch, Transformer):
    """Hard assignment: code each descriptor as its nearest word.

    Parameters
    ----------
    n_words : int, default=1024
        Words that ``fit`` learns by k-means.
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
    Vocabulary : for up to a million words.
    LLC : several words per descriptor.
    likewise_methods.psc.SparseCoder : a sparse combination of words.

    References
    ----------
    Sivic and Zisserman, 2003.

    Examples
    --------
    >>> coder = VQ(codebook=[[0.0, 0.0], [4.0, 4.0]])
    >>> coder.transform([[1.0, 0.0], [3.0, 5.0]]).toarray()
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """

    def __init__(
        self,
        n_words: int = 1024,
        *,
        codebook: Any = None,
        n_iter: int = 12,
        random_state: int | np.random.Generator | None = None,
        n_threads: int = 1,
    ) -> None:
        self.n_words = n_words
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
        self._fit_words(X, self.n_iter, self.random_state)
        return self

    def transform(self, X: ArrayLike) -> sparse.csr_array:
        """Return one row per descriptor, with a 1 at its word.

        Parameters
        ----------
        X : array of shape (n, columns)
            Descriptors.

        Returns
        -------
        float32 CSR array of shape (n, words)
        """
        words = self.words()
        checked = rows(X, "X", words.shape[1])
        found = [self.nearest(part, 1)[1][:, 0] for part in in_batches(checked, ROWS_AT_ONCE)]
        labels = np.concatenate([np.zeros(0, np.int64), *found]).astype(np.int32)
        n = len(labels)
        parts = (np.ones(n, np.float32), labels, np.arange(n + 1))
        return sparse.csr_array(parts, shape=(n, len(words)))
