"""Code many vectors over one codebook: homotopy, feature-sign search, or near words only.

With the Gram matrix precomputed, the first two keep the correlations of all words up to date.
Without it, the many-query lasso takes over, whose working sets need small Gram blocks only.
float32 vectors are scanned in float32; supports and certificates are float64.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise_methods.blas_threads import one_blas_thread
from likewise_methods.errors import InvalidInput
from likewise_methods.psc.codebooks import as_words
from likewise_methods.psc.solver.feature_sign import feature_sign
from likewise_methods.psc.solver.product_paths import ProductPaths, Task, pack_rows, stack_rows
from likewise_methods.psc.solver.simd import pad_support
from likewise_methods.siso.solver.dictionary import Dictionary
from likewise_methods.siso.solver.lasso import lasso
from likewise_methods.validation import finite_rows, number, whole

Floats = NDArray[np.float64]
Coding = Literal["homotopy", "feature-sign", "nearest"]

_ROWS = 256
# Relative duality gap at which the many-query lasso stops.
_GAP = 1e-10


class WordPaths:
    """A codebook of unit words prepared for coding; ``lazily``: without its Gram matrix.

    Parameters
    ----------
    words : array of shape (k, d)
        One word a row.
    lazily : bool
        Without its Gram matrix, for very many words.

    See Also
    --------
    nonnegative_codes : the same in one call.
    """

    def __init__(self, words: Floats, *, lazily: bool) -> None:
        self.words = np.ascontiguousarray(words, np.float64)
        self.most = min(self.words.shape)
        self._dictionary = Dictionary([self.words.astype(np.float32)]) if lazily else None
        self._paths = None if lazily else ProductPaths([self.words])

    def code(
        self, X: NDArray[Any], alpha: float, method: Coding, *, n_nearest: int, n_threads: int
    ) -> Any:
        """Return the minima of |x - y words|^2 + alpha |y|_1 over y >= 0, as CSR (n, k).

        Parameters
        ----------
        X : array of shape (n, d)
            Vectors.
        alpha : float
            The weight of the code's sum.
        method : {"homotopy", "feature-sign", "nearest"}
            As for :func:`nonnegative_codes`.
        n_nearest : int
            Words a vector is coded on by "nearest".
        n_threads : int
            Threads.

        Returns
        -------
        CSR array of shape (n, k)
        """
        coding = CODINGS[method]
        if coding.gram and self._paths is None:
            return self._by_engine(X, alpha, method, n_threads)
        return coding.run(self, X, alpha, n_nearest, n_threads)

    def _homotopy(self, X: NDArray[Any], alpha: float, _: int, n_threads: int) -> Any:
        assert self._paths is not None
        return self._paths.code([X], Task(alpha, "approximate"), n_threads=n_threads)[0]

    def _feature_sign(self, X: NDArray[Any], alpha: float, _: int, n_threads: int) -> Any:
        return self._in_batches(X, n_threads, lambda x: self._by_feature_sign(x, alpha))

    def _near_words(self, X: NDArray[Any], alpha: float, n_nearest: int, n_threads: int) -> Any:
        return self._in_batches(X, n_threads, lambda x: self._nearest(x, alpha, n_nearest))

    def _by_engine(self, X: NDArray[Any], alpha: float, solver: str, n_threads: int) -> Any:
        assert self._dictionary is not None
        found = lasso(
            self._dictionary if X.dtype == np.float32 else self.words,
            X,
            gamma=alpha / 2,
            tol=_GAP,
            nonnegative=True,
            solver=solver,
            n_jobs=n_threads,
        ).x
        found.eliminate_zeros()
        found.sort_indices()
        return found

    def _by_feature_sign(self, X: NDArray[Any], alpha: float) -> tuple[Any, Any, Any]:
        assert self._paths is not None
        return self._run_feature_sign(
            *self._paths.grams(X.dtype, 0.0), X @ self.words.T.astype(X.dtype), alpha
        )

    def _run_feature_sign(self, G: Any, E: Any, C: Any, alpha: float) -> tuple[Any, Any, Any]:
        most = min(self.most, len(G))
        shape = len(C), pad_support(most + 1)
        ids, values = np.empty(shape, np.int32), np.empty(shape)
        counts = np.zeros(len(C), np.int64)
        feature_sign(G, E, C, 0.5 * alpha, most, 50 + 20 * most, ids, values, counts)
        return pack_rows(ids[None], values[None], counts[None])[0]

    def _nearest(self, X: NDArray[Any], alpha: float, n_nearest: int) -> tuple[Any, Any, Any]:
        """Code each row over the words with the largest products, in feature-sign search."""
        words = self.words.astype(X.dtype)
        C = X @ words.T
        n = min(n_nearest, len(words))
        near = np.argpartition(-C, n - 1, axis=1)[:, :n]
        near.sort(axis=1)
        made = []
        for c, some in zip(C, near, strict=True):
            own = words[some]
            gram = own @ own.T
            ids, values, counts = self._run_feature_sign(gram, gram, c[some][None], alpha)
            made.append((some[ids].astype(np.int32), values, counts))
        return tuple(np.concatenate([one[x] for one in made]) for x in range(3))  # type: ignore[return-value]

    def _in_batches(
        self, X: NDArray[Any], n_threads: int, work: Callable[[Any], tuple[Any, Any, Any]]
    ) -> Any:
        batches = [X[a : a + _ROWS] for a in range(0, len(X), _ROWS)]
        with one_blas_thread():
            if n_threads == 1 or len(batches) < 2:
                done = [work(batch) for batch in batches]
            else:
                with ThreadPoolExecutor(n_threads) as pool:
                    done = list(pool.map(work, batches))
        return stack_rows(done, len(self.words))


class Rule(NamedTuple):
    """One way to code.

    ``gram``: it needs the Gram matrix; without one the lasso solver of the same name is used.
    """

    run: Callable[[WordPaths, NDArray[Any], float, int, int], Any]
    gram: bool


CODINGS: dict[Coding, Rule] = {
    "homotopy": Rule(WordPaths._homotopy, gram=True),
    "feature-sign": Rule(WordPaths._feature_sign, gram=True),
    "nearest": Rule(WordPaths._near_words, gram=False),
}


def nonnegative_codes(
    X: NDArray[Any],
    words: NDArray[Any],
    alpha: float,
    *,
    method: Coding = "homotopy",
    gram: bool = True,
    n_nearest: int = 32,
    n_threads: int = 1,
) -> Any:
    """Return non-negative sparse codes: min of |x - y words|^2 + alpha |y|_1 over y >= 0.

    Parameters
    ----------
    X : array of shape (n, d)
        Vectors; float32 is scanned in float32, supports and coefficients are float64.
    words : array of shape (k, d)
        Words of unit length, one a row.
    alpha : float
        The weight of the code's sum.
    method : {"homotopy", "feature-sign", "nearest"}, default="homotopy"
        The first two are exact; "nearest" codes on the ``n_nearest`` words only.
    gram : bool, default=True
        Whether to compute the Gram matrix of all words first; without it (for very many words) the
        many-query lasso is used.
    n_nearest : int, default=32
        Words a vector is coded on by "nearest".
    n_threads : int, default=1
        Threads.

    Returns
    -------
    CSR array of shape (n, k)
        The codes; :func:`likewise_methods.psc.certify` gives their duality gap.

    Examples
    --------
    >>> X = np.array([[3.0, 4.0], [1.0, -1.0]])
    >>> nonnegative_codes(X, np.eye(2), 1.0).toarray().round(6).tolist()
    [[2.5, 3.5], [0.5, 0.0]]

    See Also
    --------
    SparseCoder : the estimator, which also learns the codebook.
    product_codes : the same over the products of several codebooks.
    likewise_methods.siso.lasso : many queries over very many columns, of either sign.

    References
    ----------
    docs/methods/psc.md, (1), with the words themselves for columns.
    """
    if method not in list(CODINGS):
        raise InvalidInput(f"method is {method!r}; one of {', '.join(CODINGS)} expected")
    book = as_words(words, "words", 1.0)
    X = finite_rows(X, "X", book.shape[1])
    paths = WordPaths(book, lazily=not gram or not CODINGS[method].gram)
    return paths.code(
        X,
        number(alpha, "alpha", above=0),
        method,
        n_nearest=whole(n_nearest, "n_nearest"),
        n_threads=whole(n_threads, "n_threads"),
    )
