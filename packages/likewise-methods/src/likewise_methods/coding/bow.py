"""Bags of visual words: from term counts to tf-idf rows of unit length (CSR, float32).

``x_j = (n_j / sum n) log(N / df_j)``, and 0 for ``df_j = 0`` (docs/methods/solis.md, (15)).
Document frequencies follow every change; the idf of ``transform`` changes only with ``refresh``, so
that rows of one generation are comparable.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from likewise_methods.errors import InvalidInput
from likewise_methods.estimators import Transformer, check_is_fitted
from likewise_methods.lazy_imports import sparse
from likewise_methods.neighbours.container import DamagedFile, open_arrays, save_arrays
from likewise_methods.validation import one_of, refuse, whole

Weighting = Literal["tf-idf", "tf", "tf-idf2", "sqrt-tf-idf"]
_WEIGHTINGS = ("tf-idf", "tf", "tf-idf2", "sqrt-tf-idf")


def count(words: Any, n_words: int, shares: Any = None) -> sparse.csr_array:
    """Count the words of each picture.

    Parameters
    ----------
    words : int array, or iterable of int arrays
        Word numbers of one picture, or of many.
    n_words : int
        Number of words.
    shares : array or iterable of arrays, optional
        Weight of each entry (soft assignment), in the shapes of ``words``; 1 by default.

    Returns
    -------
    float32 CSR array of shape (pictures, n_words)
        The counts.

    See Also
    --------
    BagOfWords : computes tf-idf rows.
    Vocabulary : computes word numbers.

    Examples
    --------
    >>> count([np.array([2, 0, 2]), np.array([], int)], n_words=4).toarray()
    array([[1., 0., 2., 0.],
           [0., 0., 0., 0.]], dtype=float32)
    """
    n_words = whole(n_words, "n_words")
    pictures = [words] if isinstance(words, np.ndarray) else list(words)
    amounts: list[Any] = [None] * len(pictures)
    if shares is not None:
        amounts = [shares] if isinstance(shares, np.ndarray) else list(shares)
    if len(amounts) != len(pictures):
        raise InvalidInput(f"shares of {len(amounts)} pictures; {len(pictures)} expected")
    pairs = zip(pictures, amounts, strict=True)
    made = [_one_picture(w, n_words, a, i) for i, (w, a) in enumerate(pairs)]
    starts = np.zeros(len(made) + 1, np.int64)
    np.cumsum([len(names) for names, _ in made], out=starts[1:])
    indices = np.concatenate([np.zeros(0, np.int64), *(names for names, _ in made)])
    values = np.concatenate([np.zeros(0, np.float32), *(totals for _, totals in made)])
    return sparse.csr_array((values, indices, starts), shape=(len(made), n_words))


def _one_picture(
    words: Any, n_words: int, shares: Any, number: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    ids = np.asarray(words)
    if ids.size and ids.dtype.kind not in "iu":
        raise InvalidInput(f"words of picture {number} have type {ids.dtype}; integers expected")
    if ids.ndim not in (1, 2):
        raise InvalidInput(f"words of picture {number} have {ids.ndim} dimensions; 1 or 2 expected")
    if ids.size and not (ids.min() >= 0 and ids.max() < n_words):
        raise InvalidInput(
            f"words of picture {number} run from {ids.min()} to {ids.max()}; "
            f"0 to {n_words - 1} expected"
        )
    amounts = np.ones(ids.shape) if shares is None else np.asarray(shares, np.float64)
    if amounts.shape != ids.shape:
        raise InvalidInput(
            f"shares of picture {number} have shape {amounts.shape}; {ids.shape} expected"
        )
    wrong = amounts[~(np.isfinite(amounts) & (amounts >= 0))]
    if len(wrong):
        raise refuse(f"a share of picture {number}", float(wrong[0]), "a finite number from 0")
    names, places = np.unique(ids.reshape(-1), return_inverse=True)
    totals = np.bincount(places.reshape(-1), amounts.reshape(-1), len(names))
    some = totals > 0
    return names[some].astype(np.int64), totals[some].astype(np.float32)


class BagOfWords(Transformer):
    """Weight term counts by inverse document frequency; rows have unit length, or are empty.

    Document frequencies follow every change; the idf in use changes only with ``refresh``, so that
    rows of one generation are comparable.

    Parameters
    ----------
    weighting : {"tf-idf", "tf", "tf-idf2", "sqrt-tf-idf"}, default="tf-idf"
        "tf" is without idf, "tf-idf2" has idf squared, "sqrt-tf-idf" the root of the counts.

    Attributes
    ----------
    df_ : array of shape (words,)
        Number of pictures with a word; changed by ``partial_fit`` and ``forget``.
    n_pictures_ : int
        Number of pictures; changed by the same.
    idf_ : array of shape (words,)
        The idf of the last ``refresh``.
    generation_ : int
        Number of refreshes.
    n_features_in_ : int
        Number of words.

    See Also
    --------
    count : term counts from word numbers.
    likewise_methods.index.InvertedIndex : searches the rows.
    likewise_methods.solis.SOLIS : learns another weight for each word.

    References
    ----------
    docs/methods/solis.md, (15).

    Examples
    --------
    >>> counts = count([np.array([0, 1]), np.array([1, 1, 2])], n_words=3)
    >>> bag = BagOfWords().fit(counts)
    >>> bag.transform(counts).toarray().tolist()  # word 1 is in every picture
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """

    kind: ClassVar[str] = "bag of words"

    def __init__(self, weighting: Weighting = "tf-idf") -> None:
        self.weighting = weighting

    def fit(self, counts: Any, y: object = None) -> Self:
        """Count from zero, then ``refresh``.

        Parameters
        ----------
        counts : array or sparse matrix of shape (pictures, words)
            Term counts of 0 or more.
        y : object, optional
            Ignored.

        Returns
        -------
        self
        """
        self._check_weighting()
        counts = _term_counts(counts)
        self.df_ = np.zeros(counts.shape[1], np.int64)
        self.n_pictures_ = 0
        self.generation_ = 0
        return self.partial_fit(counts).refresh()

    def partial_fit(self, counts: Any, y: object = None) -> Self:
        """Count added pictures.  ``transform`` changes only with ``refresh``.

        Parameters
        ----------
        counts : array or sparse matrix of shape (pictures, words)
            Their term counts.
        y : object, optional
            Ignored.

        Returns
        -------
        self
        """
        self._check_weighting()
        counts = _term_counts(counts, self._n_words())
        if not hasattr(self, "df_"):
            self.df_ = np.zeros(counts.shape[1], np.int64)
            self.n_pictures_, self.generation_ = 0, 0
        self.df_ += np.bincount(counts.indices, minlength=len(self.df_))
        self.n_pictures_ += counts.shape[0]
        return self

    def forget(self, counts: Any) -> Self:
        """Subtract the counts of removed pictures.

        Parameters
        ----------
        counts : array or sparse matrix of shape (pictures, words)
            Their term counts, as counted before.

        Returns
        -------
        self
        """
        check_is_fitted(self, "df_")
        counts = _term_counts(counts, self._n_words())
        df = self.df_ - np.bincount(counts.indices, minlength=len(self.df_))
        n = self.n_pictures_ - counts.shape[0]
        if n < 0 or df.min(initial=0) < 0 or df.max(initial=0) > n:
            raise InvalidInput("counts of pictures that were never counted cannot be forgotten")
        self.df_, self.n_pictures_ = df, n
        return self

    def refresh(self) -> Self:
        """Compute the idf from the counts: the next generation."""
        check_is_fitted(self, "df_")
        seen = self.df_ > 0
        idf = np.zeros(len(self.df_))
        idf[seen] = np.log(self.n_pictures_ / self.df_[seen])
        self.idf_ = idf
        self.generation_ += 1
        return self

    def transform(self, counts: Any) -> sparse.csr_array:
        """Return weighted rows of unit length, float32 CSR with sorted indices and no stored zeros.

        Parameters
        ----------
        counts : array or sparse matrix of shape (pictures, words)
            Term counts.

        Returns
        -------
        CSR array of shape (pictures, words)
        """
        self._check_weighting()
        check_is_fitted(self, "idf_")
        counts = _term_counts(counts, self._n_words())
        lengths = np.diff(counts.indptr)
        values = _divide_rows(counts.data, np.asarray(counts.sum(axis=1)).reshape(-1), lengths)
        if self.weighting == "sqrt-tf-idf":
            values = np.sqrt(values)
        power = {"tf": 0, "tf-idf": 1, "tf-idf2": 2, "sqrt-tf-idf": 1}[self.weighting]
        values *= self.idf_[counts.indices] ** power
        # reduceat cannot sum empty rows; differences of a running sum could cancel.
        squares = sparse.csr_array((values**2, counts.indices, counts.indptr), shape=counts.shape)
        values = _divide_rows(values, np.sqrt(np.asarray(squares.sum(axis=1)).reshape(-1)), lengths)
        made = sparse.csr_array(
            (values.astype(np.float32), counts.indices, counts.indptr), shape=counts.shape
        )
        made.eliminate_zeros()
        return made

    def save(self, path: str | Path) -> None:
        """Write one checksummed file."""
        check_is_fitted(self, "df_")
        arrays = {"df": self.df_}
        if hasattr(self, "idf_"):
            arrays["idf"] = self.idf_
        meta = {
            "weighting": self.weighting,
            "n_pictures": self.n_pictures_,
            "generation": self.generation_,
        }
        save_arrays(path, self.kind, meta, arrays)

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open a saved file; raise ``DamagedFile`` if it was altered."""
        meta, arrays = open_arrays(path, cls.kind)
        try:
            made = cls(meta["weighting"])
            made._check_weighting()
            # Copies, since these arrays change.
            made.df_ = arrays["df"].astype(np.int64)
            made.n_pictures_ = whole(meta["n_pictures"], "n_pictures", 0)
            made.generation_ = whole(meta["generation"], "generation", 0)
            if "idf" in arrays:
                made.idf_ = arrays["idf"].astype(np.float64)
                if made.idf_.shape != made.df_.shape:
                    raise ValueError(f"df {made.df_.shape}, idf {made.idf_.shape}")
        except (KeyError, TypeError, ValueError) as error:
            raise DamagedFile(f"{path}: not a usable bag of words ({error})") from error
        return made

    @property
    def n_features_in_(self) -> int:
        """Number of words."""
        if not hasattr(self, "df_"):
            raise AttributeError("n_features_in_ is known after fit or partial_fit")
        return len(self.df_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    def _n_words(self) -> int | None:
        return len(self.df_) if hasattr(self, "df_") else None

    def _check_weighting(self) -> None:
        one_of(self.weighting, "weighting", _WEIGHTINGS)


def _term_counts(counts: Any, n_words: int | None = None) -> Any:
    """Return a copy of counts as canonical float64 CSR."""
    try:
        raw: Any = counts if sparse.issparse(counts) else np.asarray(counts)
        # scipy would drop the imaginary part silently.
        if raw.dtype.kind == "c":
            raise TypeError("Complex data not supported")
        made: Any = sparse.csr_array(raw, dtype=np.float64, copy=True)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"counts is not a matrix of numbers: {error}") from error
    if made.ndim != 2:
        raise InvalidInput(f"counts has {made.ndim} dimensions; 2 expected (pictures, words)")
    if n_words is not None and made.shape[1] != n_words:
        raise InvalidInput(f"counts has {made.shape[1]} columns; {n_words} expected")
    made.sum_duplicates()
    if not np.isfinite(made.data).all():
        raise InvalidInput("counts has a non-finite value (NaN or inf)")
    if (made.data < 0).any():
        raise InvalidInput(f"counts has a negative value: {made.data.min()}")
    made.eliminate_zeros()
    return made


def _divide_rows(
    values: NDArray[np.float64], by: NDArray[np.float64], lengths: NDArray[Any]
) -> NDArray[np.float64]:
    """Divide each row by its number; skip rows with number 0."""
    return np.asarray(values / np.repeat(np.where(by > 0, by, 1), lengths))


__all__ = ["BagOfWords", "Weighting", "count"]
