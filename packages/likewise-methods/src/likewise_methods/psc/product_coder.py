"""Product sparse coding: sparse codes over k^m words at the cost of m codebooks of k words.

A word of the product codebook is one word of each of m sub-codebooks, side by side (Ge, He and Sun
2014).  The optimal code depends only on its marginals, and those are found from the m parts of a
vector (``solver/product_paths.py``).  "exact" takes any vector and any m.

SIFT is a grid of 4 rows by 4 columns of cells with 8 orientations each, orientations running
fastest.  The splits "horizontal" and "vertical" cut the grid by a horizontal or vertical line,
"structural" divides the orientations, and "contiguous" takes neighbouring columns of any vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from likewise_methods.coding.progress import Report, reporter
from likewise_methods.errors import InvalidInput
from likewise_methods.estimators import Transformer, not_fitted
from likewise_methods.kernels import kernel
from likewise_methods.psc.codebooks import as_words, train
from likewise_methods.psc.objective import certify, objectives
from likewise_methods.psc.solver.product_paths import METHODS, Method, ProductPaths, Task
from likewise_methods.validation import finite_rows, number, one_of, whole

Split = Literal["contiguous", "horizontal", "vertical", "structural"]
SPLITS = ("contiguous", "horizontal", "vertical", "structural")
_GRID = (4, 4, 8)
_AXIS = {"horizontal": 0, "vertical": 1, "structural": 2}
_OF = {"horizontal": "rows of cells", "vertical": "columns of cells", "structural": "orientations"}


def columns(width: int, m: int, split: str) -> list[NDArray[np.int64]]:
    """Return the column numbers of the m parts of vectors with ``width`` columns."""
    one_of(split, "split", SPLITS)
    everything = np.arange(width)
    if split == "contiguous":
        if width % m:
            raise InvalidInput(
                f"{width} columns cannot be cut into {m} equal parts; choose n_subspaces among "
                f"the divisors of {width}"
            )
        return list(everything.reshape(m, -1))
    if width != int(np.prod(_GRID)):
        raise InvalidInput(
            f'split="{split}" is for SIFT with 128 columns, X has {width}; use "contiguous"'
        )
    axis = _AXIS[split]
    if _GRID[axis] % m:
        raise InvalidInput(
            f'split="{split}" cuts {_GRID[axis]} {_OF[split]}, which {m} parts do not divide; '
            "use another n_subspaces or split"
        )
    return [part.ravel() for part in np.split(everything.reshape(_GRID), m, axis=axis)]


def columns_of(widths: list[int]) -> list[NDArray[np.int64]]:
    """Return neighbouring columns, as many for each part as its words have."""
    ends = np.cumsum(widths)
    return np.split(np.arange(ends[-1]), ends[:-1])


Floats = NDArray[np.float64]
# Rows of which dense reconstructions are formed at a time.
_ROWS = 4096


class ProductSparseCoder(Transformer):
    """Non-negative sparse codes over a product codebook.

    For each row x the minimum over y >= 0 of ||x - A y||^2 + alpha |y|_1, where the columns of A
    are the k^m products of words.  Rows are not scaled; alpha = 0.3 suits rows of unit norm.

    Parameters
    ----------
    n_words : int, default=128
        Words of each sub-codebook.
    n_subspaces : int, default=2
        Parts of a vector, m.
    alpha : float, default=0.3
        Weight of the code's sum; above 0.
    method : {"approximate", "exact", "iterative"}, default="approximate"
        "exact" is the optimum, "approximate" codes every part separately at alpha / m (APSC), and
        "iterative" bisects the thresholds of two parts within (0, alpha) (IPSC).
    mass : {"geometric", "optimal"}, default="geometric"
        The mass of a code whose parts differ in mass: their geometric mean as in the paper, or the
        best for the directions found (never worse).
    split : {"contiguous", "horizontal", "vertical", "structural"}, default="contiguous"
        Which columns form a part: "contiguous" for any vector; for SIFT's 4 x 4 cells and 8
        orientations "horizontal" (upper and lower cells), "vertical" (left and right), "structural"
        (orientations).
    codebooks : m arrays of shape (n_words, columns of the part), optional
        Words of norm 1 / sqrt(m), one a row.  ``fit`` is then optional: it trains nothing and saves
        later calls the preparation.  "contiguous" parts may then have different widths.
    random_state : int, Generator or None, default=None
        Draws the first words and new seeds in ``fit``.
    n_iter : int, default=15
        Rounds of training.
    n_steps : int, default=10
        Bisections of "iterative".
    n_threads : int, default=1
        Threads for coding.
    progress : bool or callable, default=False
        True prints to stderr, or a function of (round, rounds, mean objective).

    Attributes
    ----------
    codebooks_ : list of m arrays of shape (n_words, columns of the part)
        The words in use.
    history_ : list of float
        Mean objective of the training rows before each round's new words.
    n_features_in_ : int
        Columns of a row.

    See Also
    --------
    SparseCoder : the same over one explicit codebook.
    likewise_methods.psc.product_codes : the solver by itself.
    likewise_methods.coding.SpatialPyramid : pools codes by region.

    References
    ----------
    T. Ge, K. He and J. Sun: Product sparse coding.  IEEE Conference on Computer Vision and Pattern
    Recognition (CVPR), 2014.

    The problem: docs/methods/psc.md, (1); codes from marginals: (3); the methods of the paper:
    (10) to (13); training: (15).

    Examples
    --------
    >>> words = [np.eye(2) / np.sqrt(2), np.eye(2) / np.sqrt(2)]
    >>> coder = ProductSparseCoder(2, alpha=0.2, method="exact", codebooks=words)
    >>> coder.transform(np.array([[0.0, 0.8, 0.6, 0.0]])).toarray().round(3).tolist()
    [[0.0, 0.0, 0.876, 0.028]]
    """

    def __init__(
        self,
        n_words: int = 128,
        n_subspaces: int = 2,
        alpha: float = 0.3,
        method: Method = "approximate",
        mass: Literal["geometric", "optimal"] = "geometric",
        split: Split = "contiguous",
        codebooks: Sequence[ArrayLike] | None = None,
        random_state: int | np.random.Generator | None = None,
        *,
        n_iter: int = 15,
        n_steps: int = 10,
        n_threads: int = 1,
        progress: bool | Report = False,
    ) -> None:
        self.n_words = n_words
        self.n_subspaces = n_subspaces
        self.alpha = alpha
        self.method = method
        self.mass = mass
        self.split = split
        self.codebooks = codebooks
        self.random_state = random_state
        self.n_iter = n_iter
        self.n_steps = n_steps
        self.n_threads = n_threads
        self.progress = progress

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn the sub-codebooks from rows; with ``codebooks`` given, only check them and X.

        Parameters
        ----------
        X : array of shape (n, columns)
            Rows.
        y : object, optional
            Not used.

        Returns
        -------
        self
        """
        self._check()
        X = finite_rows(X, "X", objects=True)
        if self.codebooks is not None:
            books, parts = self._check_codebooks()
            finite_rows(X, "X", sum(len(part) for part in parts), objects=True)
            self.codebooks_, self.history_ = books, list[float]()
        else:
            n_iter = whole(self.n_iter, "n_iter", 0)
            parts = columns(X.shape[1], self.n_subspaces, self.split)
            if len(X) < self.n_words:
                raise InvalidInput(
                    f"{len(X)} training vectors (samples) for {self.n_words} words; at least "
                    "one a word expected"
                )
            self.codebooks_, self.history_ = train(
                [_part(X, part) for part in parts],
                self.n_words,
                self._training,
                alpha=float(self.alpha),
                n_iter=n_iter,
                random_state=self.random_state,
                report=reporter(self.progress, "codebook", "objective"),
            )
        self._paths, self._parts = ProductPaths(self.codebooks_), parts
        self.n_features_in_ = X.shape[1]
        return self

    def marginals(self, X: ArrayLike) -> list[Any]:
        """Return the marginals of the codes of ``transform``, without forming the codes.

        Parameters
        ----------
        X : array of shape (n, columns)
            Rows.

        Returns
        -------
        list of m CSR arrays of shape (n, n_words)
        """
        X, paths, parts = self._ready(X)
        return [_as(one, X.dtype) for one in self._marginals(paths, parts)]

    def transform(self, X: ArrayLike) -> Any:
        """Return codes; word (j1, ..., jm) in C order, j1 k + j2 for two.

        Parameters
        ----------
        X : array of shape (n, columns)
            Rows.

        Returns
        -------
        CSR array of shape (n, n_words^m)
        """
        X, paths, parts = self._ready(X)
        k, m = paths.k, paths.m
        if k**m > np.iinfo(np.int64).max:
            raise InvalidInput(f"{k}^{m} words are more than a matrix can have; use marginals()")
        found = self._marginals(paths, parts)
        masses = _masses(found[0])
        ends, ids, values = found[0].indptr, found[0].indices, found[0].data
        for other in found[1:]:
            arrays = (other.indptr, other.indices, other.data)
            ends, ids, values = outer_products(ends, ids, values, *arrays, k, masses)
        return _as(sp.csr_array((values, ids, ends), (len(X), k**m)), X.dtype)

    def objective(self, X: ArrayLike) -> Floats:
        """Return ||x - A y||^2 + alpha |y|_1 of each row's code, in float64."""
        _, paths, parts = self._ready(X)
        found = self._marginals(paths, parts)
        return objectives(parts, found, paths.codebooks, float(self.alpha))

    def gap(self, X: ArrayLike) -> Floats:
        """Return each row's duality gap: how far its objective is above the optimum at most.

        Parameters
        ----------
        X : array of shape (n, columns)
            Rows.

        Returns
        -------
        array of shape (n,)
            0 up to rounding for "exact".
        """
        _, paths, parts = self._ready(X)
        found = self._marginals(paths, parts)
        return certify(parts, found, paths.codebooks, float(self.alpha))[1]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "codebooks_") or self.codebooks is not None

    def _check(self) -> None:
        whole(self.n_words, "n_words")
        whole(self.n_subspaces, "n_subspaces")
        whole(self.n_steps, "n_steps", 0)
        whole(self.n_threads, "n_threads")
        number(self.alpha, "alpha", above=0)
        one_of(self.method, "method", tuple(METHODS))
        one_of(self.mass, "mass", ("geometric", "optimal"))
        wanted = METHODS[self.method].parts
        if wanted is not None and self.n_subspaces != wanted:
            raise InvalidInput(
                f'method="{self.method}" is for {wanted} subspaces, not {self.n_subspaces}; '
                '"exact" takes any'
            )

    def _check_codebooks(self) -> tuple[list[Floats], list[NDArray[np.int64]]]:
        """Return the codebooks of the parameters, and the columns of the parts."""
        assert self.codebooks is not None
        m = self.n_subspaces
        if len(self.codebooks) != m:
            raise InvalidInput(f"{len(self.codebooks)} codebooks for {m} subspaces")
        norm = 1 / np.sqrt(m)
        books = [as_words(b, f"codebook {i}", norm) for i, b in enumerate(self.codebooks)]
        if any(len(book) != self.n_words for book in books):
            sizes = ", ".join(str(len(book)) for book in books)
            raise InvalidInput(
                f"codebooks have {sizes} words; n_words={self.n_words} each expected"
            )
        widths = [book.shape[1] for book in books]
        if self.split == "contiguous":
            return books, columns_of(widths)
        parts = columns(sum(widths), m, self.split)
        if [len(part) for part in parts] != widths:
            raise InvalidInput(f"codebooks of {widths} columns do not fit split={self.split!r}")
        return books, parts

    def _ready(self, X: ArrayLike) -> tuple[NDArray[Any], ProductPaths, list[NDArray[Any]]]:
        """Return the checked X, the coder of its parts, and its parts."""
        self._check()
        if hasattr(self, "codebooks_"):
            paths, parts = self._paths, self._parts
        elif self.codebooks is not None:
            books, parts = self._check_codebooks()
            paths = ProductPaths(books)
        else:
            raise not_fitted("ProductSparseCoder has no codebooks; call fit or give codebooks")
        X = finite_rows(X, "X", sum(len(part) for part in parts), objects=True)
        return X, paths, [_part(X, part) for part in parts]

    def _raw(self, paths: ProductPaths, parts: list[NDArray[Any]]) -> list[Any]:
        """Return marginals whose masses may still differ."""
        task = Task(float(self.alpha), self.method, self.n_steps)
        return paths.code(parts, task, n_threads=self.n_threads)

    def _training(self, books: list[Floats], parts: list[NDArray[Any]]) -> list[Any]:
        """Return the u_i themselves for APSC, whose parts decouple (docs/methods/psc.md, P9)."""
        return self._raw(ProductPaths(books), parts)

    def _marginals(self, paths: ProductPaths, parts: list[NDArray[Any]]) -> list[Any]:
        found = self._raw(paths, parts)
        if METHODS[self.method].common:
            return found
        return self._common(found, paths.codebooks, parts)

    def _common(
        self, found: list[Any], books: list[Floats], parts: list[NDArray[Any]]
    ) -> list[Any]:
        """Give all marginals one mass: docs/methods/psc.md, (11), or the optimal (12)."""
        masses = np.stack([_masses(one) for one in found])
        coded = (masses > 0).all(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.mass == "geometric":
                mass = np.exp(np.log(masses).mean(axis=0))
            else:
                along, length = _directions(found, masses, books, parts)
                mass = np.maximum(along - self.alpha / 2, 0) / length
            scales = np.where(coded, mass / masses, 0.0)
        for one, scale in zip(found, scales, strict=True):
            scale_rows(one.data, one.indptr, scale)
            if not scale.all():
                one.eliminate_zeros()
        return found


def _directions(
    found: list[Any], masses: Floats, books: list[Floats], parts: list[NDArray[Any]]
) -> tuple[Floats, Floats]:
    """Return the sums over parts of x_i'b_i and |b_i|^2, b_i = A_i u_i / |u_i|, as in (12)."""
    along, length = np.zeros(masses.shape[1]), np.zeros(masses.shape[1])
    for start in range(0, len(along), _ROWS):
        here = slice(start, start + _ROWS)
        for one, own, book, part in zip(found, masses, books, parts, strict=True):
            direction = (one[here] @ book) / own[here, None]
            along[here] += np.einsum("ij,ij->i", direction, part[here], dtype=np.float64)
            length[here] += np.einsum("ij,ij->i", direction, direction)
    return along, length


def _part(X: NDArray[Any], chosen: NDArray[np.int64]) -> NDArray[Any]:
    """Return some columns; neighbouring ones without a copy."""
    first, last = int(chosen[0]), int(chosen[-1])
    return X[:, first : last + 1] if last - first == len(chosen) - 1 else X[:, chosen]


def _as(codes: Any, dtype: Any) -> Any:
    codes.data = codes.data.astype(dtype, copy=False)
    return codes


def _masses(codes: Any) -> Floats:
    masses = np.empty(codes.shape[0])
    sum_rows(codes.data, codes.indptr, masses)
    return masses


@kernel
def sum_rows(values, ends, out):  # type: ignore[no-untyped-def]
    """Sum each row of a CSR matrix."""
    for row in range(len(out)):
        out[row] = 0.0
        for p in range(ends[row], ends[row + 1]):
            out[row] += values[p]


@kernel
def scale_rows(values, ends, scales):  # type: ignore[no-untyped-def]
    """Multiply each row of a CSR matrix by a number, in place."""
    for row in range(len(scales)):
        for p in range(ends[row], ends[row + 1]):
            values[p] *= scales[row]


@kernel
def outer_products(ends, ids, values, other_ends, other_ids, other_values, k, masses):  # type: ignore[no-untyped-def]
    """Return each row's outer product of two codes over its mass; ids are id k + other id.

    docs/methods/psc.md, (3).
    """
    n = len(ends) - 1
    new = np.zeros(n + 1, np.int64)
    for row in range(n):
        size = (ends[row + 1] - ends[row]) * (other_ends[row + 1] - other_ends[row])
        new[row + 1] = new[row] + size
    made_ids, made = np.empty(new[n], np.int64), np.empty(new[n])
    for row in range(n):
        at = new[row]
        for a in range(ends[row], ends[row + 1]):
            base, share = np.int64(ids[a]) * k, values[a] / masses[row]
            for b in range(other_ends[row], other_ends[row + 1]):
                made_ids[at], made[at] = base + other_ids[b], share * other_values[b]
                at += 1
    return new, made_ids, made
