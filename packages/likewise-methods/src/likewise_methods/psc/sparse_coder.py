"""Non-negative sparse coding on an explicit codebook, exact and certified by its duality gap."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise_methods.coding.progress import Report, reporter
from likewise_methods.errors import InvalidInput
from likewise_methods.estimators import Transformer, not_fitted
from likewise_methods.psc.codebooks import as_words, train
from likewise_methods.psc.objective import certify, objectives
from likewise_methods.psc.solver.word_paths import CODINGS, Coding, WordPaths
from likewise_methods.validation import finite_rows, number, one_of, whole

Floats = NDArray[np.float64]
# With more words, training codes on the nearest words only.
_MANY = 2_048


class SparseCoder(Transformer):
    """Non-negative sparse codes over one codebook.

    For each row x the minimum over y >= 0 of ||x - A y||^2 + alpha |y|_1, where the columns of A
    are the words, of unit norm.  Rows are not scaled; alpha = 0.3 suits rows of unit norm.

    Parameters
    ----------
    n_words : int, default=1024
        Words of the codebook.
    alpha : float, default=0.3
        Weight of the code's sum; above 0.
    method : {"homotopy", "feature-sign", "nearest"}, default="homotopy"
        The first two are exact; "nearest" codes on the ``n_nearest`` words nearest to the row, by
        feature-sign search.
    gram : {"precomputed", "on-the-fly"}, default="precomputed"
        Whether to keep the Gram matrix of n_words^2 numbers, or to compute its rows when needed.
    n_nearest : int, default=200
        Words used by "nearest".
    codebook : array of shape (n_words, columns), optional
        Words of unit norm, one a row.  ``fit`` is then optional: it trains nothing and keeps the
        Gram matrix for later calls.
    random_state : int, Generator or None, default=None
        Draws the first words and new seeds in ``fit``.
    n_iter : int, default=15
        Rounds of training.  Above 2,048 words they code on the nearest words.
    n_threads : int, default=1
        Threads for coding.
    progress : bool or callable, default=False
        True prints to stderr, or a function of (round, rounds, mean objective).

    Attributes
    ----------
    codebook_ : array of shape (n_words, columns)
        The words in use.
    history_ : list of float
        Mean objective of the training rows before each round's new words.
    n_features_in_ : int
        Columns of a row.

    See Also
    --------
    ProductSparseCoder : many words at the cost of few.
    likewise_methods.psc.nonnegative_codes : the solver by itself.

    References
    ----------
    docs/methods/psc.md, (1), with the words themselves for columns.

    Examples
    --------
    >>> coder = SparseCoder(2, alpha=0.2, codebook=[[1.0, 0.0], [0.6, 0.8]])
    >>> coder.transform([[0.0, 1.0], [1.0, 0.1]]).toarray().round(3).tolist()
    [[0.0, 0.7], [0.862, 0.062]]
    """

    def __init__(
        self,
        n_words: int = 1024,
        alpha: float = 0.3,
        method: Coding = "homotopy",
        gram: Literal["precomputed", "on-the-fly"] = "precomputed",
        n_nearest: int = 200,
        codebook: ArrayLike | None = None,
        random_state: int | np.random.Generator | None = None,
        *,
        n_iter: int = 15,
        n_threads: int = 1,
        progress: bool | Report = False,
    ) -> None:
        self.n_words = n_words
        self.alpha = alpha
        self.method = method
        self.gram = gram
        self.n_nearest = n_nearest
        self.codebook = codebook
        self.random_state = random_state
        self.n_iter = n_iter
        self.n_threads = n_threads
        self.progress = progress

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn the codebook from rows; with ``codebook`` given, only check it and X.

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
        if self.codebook is not None:
            words, history = self._check_codebook(), list[float]()
            finite_rows(X, "X", words.shape[1], objects=True)
        else:
            n_iter = whole(self.n_iter, "n_iter", 0)
            if len(X) < self.n_words:
                raise InvalidInput(
                    f"{len(X)} training vectors (samples) for {self.n_words} words; at least "
                    "one a word expected"
                )
            books, history = train(
                [X],
                self.n_words,
                self._training,
                alpha=float(self.alpha),
                n_iter=n_iter,
                random_state=self.random_state,
                report=reporter(self.progress, "codebook", "objective"),
            )
            words = books[0]
        self.codebook_, self.history_ = words, history
        self._paths = self._word_paths(words)
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: ArrayLike) -> Any:
        """Return codes in the type of X.

        Parameters
        ----------
        X : array of shape (n, columns)
            Rows.

        Returns
        -------
        CSR array of shape (n, n_words)
        """
        paths, X = self._ready(X)
        codes = self._code(paths, X)
        codes.data = codes.data.astype(X.dtype, copy=False)
        return codes

    def objective(self, X: ArrayLike) -> Floats:
        """Return ||x - A y||^2 + alpha |y|_1 of each row's code, in float64."""
        paths, X = self._ready(X)
        return objectives([X], [self._code(paths, X)], [paths.words], float(self.alpha))

    def gap(self, X: ArrayLike) -> Floats:
        """Return each row's duality gap over all words, in float64.

        The objective is above the optimum by this at most.

        Parameters
        ----------
        X : array of shape (n, columns)
            Rows.

        Returns
        -------
        array of shape (n,)
        """
        paths, X = self._ready(X)
        return certify([X], [self._code(paths, X)], [paths.words], float(self.alpha))[1]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "codebook_") or self.codebook is not None

    def _check(self) -> None:
        whole(self.n_words, "n_words")
        whole(self.n_nearest, "n_nearest")
        whole(self.n_threads, "n_threads")
        number(self.alpha, "alpha", above=0)
        one_of(self.method, "method", tuple(CODINGS))
        one_of(self.gram, "gram", ("precomputed", "on-the-fly"))

    def _check_codebook(self) -> Floats:
        assert self.codebook is not None
        words = as_words(self.codebook, "codebook", 1.0)
        if len(words) != self.n_words:
            raise InvalidInput(f"codebook has {len(words)} words; n_words={self.n_words} expected")
        return words

    def _word_paths(self, words: Floats) -> WordPaths:
        lazily = self.gram == "on-the-fly" or not CODINGS[self.method].gram
        return WordPaths(words, lazily=lazily)

    def _ready(self, X: ArrayLike) -> tuple[WordPaths, NDArray[Any]]:
        self._check()
        if hasattr(self, "codebook_"):
            paths = self._paths
        elif self.codebook is not None:
            paths = self._word_paths(self._check_codebook())
        else:
            raise not_fitted("SparseCoder has no codebook; call fit or give codebook")
        return paths, finite_rows(X, "X", paths.words.shape[1], objects=True)

    def _code(self, paths: WordPaths, X: NDArray[Any], method: Coding | None = None) -> Any:
        return paths.code(
            X,
            float(self.alpha),
            self.method if method is None else method,
            n_nearest=self.n_nearest,
            n_threads=self.n_threads,
        )

    def _training(self, books: list[Floats], parts: list[NDArray[Any]]) -> list[Any]:
        many = self.n_words > _MANY
        paths = WordPaths(books[0], lazily=many)
        return [self._code(paths, parts[0], "nearest" if many else None)]
