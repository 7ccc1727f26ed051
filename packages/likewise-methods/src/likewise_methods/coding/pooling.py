"""Max pooling: the largest code of a picture's descriptors, per word.

Descriptors are coded and pooled in batches, so memory does not grow with their number.  Product
codes of two subspaces are pooled from their marginals u and v of common mass s, ``y_ij = u_i v_j /
s``, without listing all words (docs/methods/psc.md, (16)).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from likewise_methods.coding.word_search import ROWS_AT_ONCE, Floats, batches_of, pictures_of
from likewise_methods.errors import InvalidInput
from likewise_methods.estimators import Transformer
from likewise_methods.kernels import kernel
from likewise_methods.validation import one_of, whole

Normalise = Literal["l2", "l1"] | None
Cells = NDArray[np.int64]


class MaxPooling(Transformer):
    """The largest code per word; 0 for unused words and negative codes.

    There is nothing to learn: ``fit`` does nothing, and the coder must be fitted.

    Parameters
    ----------
    coder : fitted coder, optional
        An object with ``transform`` (and ``marginals`` for product codes); then a picture is an
        array of descriptors.  Without one a picture is a matrix of codes, dense or sparse.  A
        picture can also be an iterator of such arrays (batches).
    normalise : {"l2", "l1", None}, default="l2"
        The norm that is 1 for the pooled vector.
    batch : int, default=8192
        Number of descriptors coded at a time.

    See Also
    --------
    SpatialPyramid : pools per region.
    likewise_methods.psc.ProductSparseCoder : codes that are pooled from their marginals.

    References
    ----------
    docs/methods/psc.md, (16).

    Examples
    --------
    >>> MaxPooling(normalise=None).transform([np.array([[0.0, 2.0], [1.0, 0.5]])]).toarray()
    array([[1., 2.]], dtype=float32)
    """

    def __init__(
        self, coder: Any = None, *, normalise: Normalise = "l2", batch: int = ROWS_AT_ONCE
    ) -> None:
        self.coder = coder
        self.normalise = normalise
        self.batch = batch

    def fit(self, X: object = None, y: object = None) -> Self:
        """Do nothing."""
        return self

    def transform(self, pictures: Any) -> sparse.csr_array:
        """Return one sparse row per picture.

        Parameters
        ----------
        pictures : iterable of pictures, or one matrix
            Descriptors or codes of each; see the class.

        Returns
        -------
        float32 CSR array of shape (pictures, words)
        """
        return stack_rows(self.pool(picture) for picture in pictures_of(pictures))

    def pool(self, picture: Any) -> Floats:
        """Return the vector of one picture.

        A picture without descriptors gives the zero vector if the coder has a known number of
        words; without a coder at least one code is needed.
        """
        checked_normalise(self.normalise)
        buffer = Buffer(1, "max")
        for part in batches_of(picture, whole(self.batch, "batch")):
            buffer.put(self.coder, part, np.zeros(part.shape[0], np.int64))
        made: Floats = normalise_rows(buffer.pooled_rows(self.coder), self.normalise)[0]
        return made


class Buffer:
    """One row of words per cell, filled in batches; allocated at the first."""

    def __init__(self, n_cells: int, pooling: str) -> None:
        self._n_cells, self._pooling = n_cells, pooling
        self._rows: Floats | None = None

    def put(self, coder: Any, part: Any, cells: Cells) -> None:
        """Pool the rows of ``part``: descriptors, or codes without a coder."""
        marginals = product_marginals(coder, part) if self._pooling == "max" else None
        if marginals is not None:
            (left, right) = marginals
            rows = self._of_width(left.shape[1] * right.shape[1])
            max_products(*_plain(left), *_plain(right), right.shape[1], cells, rows)
            return
        codes = sparse.csr_array(part if coder is None else coder.transform(part))
        _check_finite(codes)
        kernel = max_codes if self._pooling == "max" else add_codes
        kernel(*_plain(codes), cells, self._of_width(codes.shape[1]))

    def pooled_rows(self, coder: Any) -> Floats:
        """Return the pooled rows; zeros if nothing was pooled."""
        if self._rows is None:
            width = n_words_of(coder)
            if width is None:
                raise InvalidInput("a picture without codes; at least one row of codes expected")
            return np.zeros((self._n_cells, width), np.float32)
        return self._rows

    def _of_width(self, width: int) -> Floats:
        if self._rows is None:
            self._rows = np.zeros((self._n_cells, width), np.float32)
        if self._rows.shape[1] != width:
            raise InvalidInput(f"codes over {width} words; {self._rows.shape[1]} before")
        return self._rows


def product_marginals(coder: Any, part: Any) -> tuple[Any, Any] | None:
    """Return the two marginals of product codes; None for other coders."""
    if getattr(coder, "n_subspaces", None) != 2 or not hasattr(coder, "marginals"):
        return None
    left, right = coder.marginals(part)
    return left, right


def n_words_of(coder: Any) -> int | None:
    """Return the number of columns of a coder's codes, if known."""
    books = getattr(coder, "codebooks", None)
    books = getattr(coder, "codebooks_", None) if books is None else books
    if books is not None:
        return int(np.prod([len(book) for book in books]))
    book = getattr(coder, "codebook", None)
    book = getattr(coder, "codebook_", None) if book is None else book
    return None if book is None else len(book)


def checked_normalise(normalise: Any) -> None:
    one_of(normalise, "normalise", ("l2", "l1", None))


def normalise_rows(rows: Floats, normalise: Normalise) -> Floats:
    """Scale rows to unit length; rows of zeros stay zero."""
    if normalise is None:
        return rows
    if normalise == "l2":
        norms = np.sqrt((rows.astype(np.float64) ** 2).sum(axis=1, keepdims=True))
    else:
        norms = np.abs(rows).sum(axis=1, keepdims=True, dtype=np.float64)
    return (rows / np.where(norms > 0, norms, 1)).astype(np.float32)


def stack_rows(vectors: Iterator[Floats]) -> sparse.csr_array:
    """Stack dense vectors as the rows of a CSR matrix, one at a time."""
    found = [sparse.csr_array(vector[None]) for vector in vectors]
    if not found:
        raise InvalidInput("no pictures; at least one expected")
    return sparse.csr_array(sparse.vstack(found, format="csr"))


def _plain(codes: Any) -> tuple[Any, Any, Any]:
    """Convert codes to the array types of the kernels."""
    return (
        codes.indptr.astype(np.int64, copy=False),
        codes.indices.astype(np.int32, copy=False),
        codes.data.astype(np.float32, copy=False),
    )


def _check_finite(codes: Any) -> None:
    if not np.isfinite(codes.data).all():
        raise InvalidInput("codes have a non-finite value (NaN or inf)")


# -- kernels ---------------------------------------------------------------------------------------


@kernel
def max_codes(starts, words, values, cells, out):  # type: ignore[no-untyped-def]
    """``out[cell, word] = max`` over the codes; out starts at zero, which absent words count as."""
    for i in range(cells.shape[0]):
        row = out[cells[i]]
        for e in range(starts[i], starts[i + 1]):
            if values[e] > row[words[e]]:
                row[words[e]] = values[e]


@kernel
def add_codes(starts, words, values, cells, out):  # type: ignore[no-untyped-def]
    """``out[cell, word] +=`` the codes."""
    for i in range(cells.shape[0]):
        row = out[cells[i]]
        for e in range(starts[i], starts[i + 1]):
            row[words[e]] += values[e]


@kernel
def max_products(starts1, words1, values1, starts2, words2, values2, k2, cells, out):  # type: ignore[no-untyped-def]
    """Compute ``max_codes`` of product codes given by their marginals."""
    for i in range(cells.shape[0]):
        mass = 0.0
        for e in range(starts1[i], starts1[i + 1]):
            mass += values1[e]
        if mass <= 0.0:
            continue
        row = out[cells[i]]
        for e in range(starts1[i], starts1[i + 1]):
            left = np.float32(values1[e] / mass)
            base = words1[e] * k2
            for f in range(starts2[i], starts2[i + 1]):
                value = left * values2[f]
                if value > row[base + words2[f]]:
                    row[base + words2[f]] = value
