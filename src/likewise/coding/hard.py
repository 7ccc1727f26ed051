"""VQ: each descriptor becomes its nearest word, and nothing else (Sivic and Zisserman 2003).

The simplest code there is, and what the others are measured against.  Codes are rows of a CSR
matrix with a single one in each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from likewise._doors import Later
from likewise._estimators import Transformer
from likewise.coding.word_search import ROWS_AT_ONCE, Descriptors, WordSearch, in_batches
from likewise.neighbours.protocol import rows

if TYPE_CHECKING:
    from scipy import sparse
else:
    sparse = Later("scipy.sparse")


class VQ(WordSearch, Transformer):
    """Hard assignment.

    Parameters
    ----------
    n_words : words that ``fit`` learns by k-means.
    codebook : (words, columns); given, ``fit`` is not needed.
    n_iter : rounds of k-means.
    random_state : int, ``numpy.random.Generator`` or None.
    n_threads : threads for training and search.

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
        """Learn words from an array of descriptors, or an iterable of such arrays."""
        self._fit_words(X, self.n_iter, self.random_state)
        return self

    def transform(self, X: ArrayLike) -> sparse.csr_array:
        """One row a descriptor, a one at its word."""
        words = self.words()
        checked = rows(X, "X", words.shape[1])
        found = [self.nearest(part, 1)[1][:, 0] for part in in_batches(checked, ROWS_AT_ONCE)]
        labels = np.concatenate([np.zeros(0, np.int64), *found]).astype(np.int32)
        n = len(labels)
        parts = (np.ones(n, np.float32), labels, np.arange(n + 1))
        return sparse.csr_array(parts, shape=(n, len(words)))
