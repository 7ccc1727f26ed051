"""VLAD: residuals of descriptors to their nearest words, summed per word.

Jégou et al. (2010): ``v_j = sum of x - c_j over the descriptors x whose nearest word is c_j``, then
a signed root and unit length.  ``intra`` first scales each word's part to unit length (Arandjelović
and Zisserman 2013), against bursts of one word.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from likewise_methods.coding.word_search import (
    Descriptors,
    Floats,
    WordSearch,
    batches_of,
    pictures_of,
)
from likewise_methods.estimators import Transformer
from likewise_methods.kernels import kernel
from likewise_methods.validation import number


@kernel
def add_residuals(X, labels, words, out):  # type: ignore[no-untyped-def]
    """``out[labels[i]] += X[i] - words[labels[i]]`` for every row; out is float64."""
    for i in range(X.shape[0]):
        j = labels[i]
        for t in range(X.shape[1]):
            out[j, t] += X[i, t] - words[j, t]


class VLAD(WordSearch, Transformer):
    """Sums of residuals: one vector per picture, of ``words * columns`` numbers.

    A picture is an array of descriptors, or an iterator of such arrays (batches).  A picture
    without descriptors gives the zero vector.

    Parameters
    ----------
    n_words : int, default=64
        Words that ``fit`` learns by k-means; 32 to 256 are usual.
    power : float, default=0.5
        Exponent of the signed root, above 0 and at most 1 (no root).
    intra : bool, default=False
        Scale each word's part to unit length first.
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
    FisherVector : uses a mixture.
    MaxPooling : the largest code per word.

    References
    ----------
    Jégou et al., 2010; ``intra``: Arandjelović and Zisserman, 2013.

    Examples
    --------
    >>> coder = VLAD(power=1, codebook=[[0.0, 0.0], [4.0, 4.0]])
    >>> coder.transform([np.array([[3.0, 0.0], [4.0, 8.0]])])
    array([[0.6, 0. , 0. , 0.8]], dtype=float32)
    """

    def __init__(
        self,
        n_words: int = 64,
        *,
        power: float = 0.5,
        intra: bool = False,
        codebook: Any = None,
        n_iter: int = 12,
        random_state: int | np.random.Generator | None = None,
        n_threads: int = 1,
    ) -> None:
        self.n_words = n_words
        self.power = power
        self.intra = intra
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
        checked_power(self.power)
        self._fit_words(X, self.n_iter, self.random_state)
        return self

    def transform(self, pictures: Any) -> Floats:
        """Return one row per picture.

        Parameters
        ----------
        pictures : iterable of pictures, or one array
            Each an array of descriptors, or an iterator of such arrays.

        Returns
        -------
        float32 array of shape (pictures, words * columns)
            Rows of unit length, or zero.
        """
        made = [self.encode(picture) for picture in pictures_of(pictures)]
        return np.stack(made) if made else np.zeros((0, self.words().size), np.float32)

    def encode(self, picture: Any) -> Floats:
        """Return the vector of one picture."""
        words = self.words()
        total = np.zeros(words.shape, np.float64)
        for batch in batches_of(picture):
            checked, ids, _ = self.nearest(batch, 1)
            add_residuals(checked, ids[:, 0], words, total)
        rooted = rooted_sums(total, checked_power(self.power))
        if self.intra:
            rooted = unit_rows(rooted)
        made: Floats = unit_rows(rooted.reshape(1, -1))[0].astype(np.float32)
        return made


def checked_power(power: Any) -> float:
    """Return the validated exponent of a signed root."""
    return number(power, "power", above=0, most=1)


def rooted_sums(values: Any, power: float) -> Any:
    """sign(v) |v|^power."""
    return np.sign(values) * np.abs(values) ** power


def unit_rows(values: Any) -> Any:
    """Scale rows to unit length; rows of zeros stay zero."""
    norms = np.sqrt(np.einsum("ij,ij->i", values, values))[:, None]
    return values / np.where(norms > 0, norms, 1)
