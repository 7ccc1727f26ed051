"""Tags for a picture from the tagged pictures that reconstruct it (SISO).

A query y is written as a sparse combination of all tagged pictures, min 1/2 |A x - y|^2 + gamma
|x|_1, and each picture passes its tags on with its coefficient: scores l = L'x
(docs/methods/siso.md, (1) and (13)).  Nothing is trained; pictures can be added and removed at any
time.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from likewise_methods.errors import InvalidInput
from likewise_methods.estimators import check_is_fitted
from likewise_methods.siso.inputs import (
    Annotator,
    as_ids,
    as_rows,
    automatic_ids,
    dense,
    next_id,
    unit,
)
from likewise_methods.siso.objective import certify
from likewise_methods.siso.pictures import Pictures, Suggestions
from likewise_methods.siso.solver.dictionary import Dictionary
from likewise_methods.siso.solver.lasso import Codes, lasso
from likewise_methods.validation import check_seed, is_whole, number, one_of, refuse, truth, whole

if TYPE_CHECKING:
    from sklearn.utils import Tags

Floats = NDArray[np.float64]


class SparseAnnotator(Annotator):
    """Tag pictures by sparse reconstruction over all tagged pictures.

    Nothing is trained: pictures can be added and removed at any time.  Rows are scaled to unit
    length.  float32 rows are kept as they are (half the memory, and faster), other numbers as
    float64.  A C-contiguous ``numpy.memmap`` of either type stays on disk and must not change.
    This helps only the "exact" search: "lsh" and "hnsw" build their index from a float32 copy in
    memory.

    There is no ``fit_transform``: each picture would be reconstructed from itself alone.  The width
    of what ``transform`` returns changes as pictures are added and removed, so the annotator
    belongs at the end of a pipeline.

    Parameters
    ----------
    search : {"exact", "lsh", "hnsw"}, default="exact"
        How columns for the reconstruction are found: by scans of all pictures, or by an index
        first.
    alpha : float, default=0.002
        gamma is alpha times the largest correlation of the query with any picture; between 0 and 1.
    expand : int, default=100
        Approximate number of pictures that join a query's working set in a round.
    certify : bool, default=True
        Whether a final scan turns the answer of an index into the exact lasso.  If that scan finds
        pictures the index missed, the query continues with scans.  Without it, "lsh" and "hnsw"
        stop when the index finds nothing more: an approximation (``docs/results/siso-speed.md``
        has its cost and gain).  "exact" always certifies.
    tol : float, default=1e-4
        The relative duality gap at which a query stops.
    nonnegative : bool, default=False
        Whether coefficients may not be negative.
    scores : {"signed", "positive"}, default="signed"
        "positive" ignores negative coefficients in tag scores.
    n_jobs : int, default=1
        Threads.
    random_state : int, Generator or None, default=None
        Seeds the hashes of "lsh".  Their number suits the pictures given to ``fit``: fit again
        after large growth.

    Attributes
    ----------
    ids_ : array
        Ids of the pictures: the columns of ``transform``.
    tags_ : list
        Names or numbers of the tags: the columns of ``predict_scores``.
    n_features_in_ : int
        Columns of a row.
    gap_ : array of shape (queries,)
        (P - D) / P over all pictures for each query of the last call, computed on first access
        without ``certify``; absent after pictures are added or removed.
    codes_ : Codes
        The solver's report on the last call; absent in the same cases.

    See Also
    --------
    LinearAnnotator : a linear classifier for every tag.
    MixedAnnotator : both scores in one.
    likewise_methods.siso.lasso : the solver by itself.

    References
    ----------
    SISO (the title and authors of its paper are unknown to us).  The method as computed here:
    docs/methods/siso.md, (1) to (7) and (13), with an index (9) to (12).

    Examples
    --------
    >>> X = [[1.0, 0.0, 0.1], [0.9, 0.3, 0.0], [0.0, 1.0, 0.2]]
    >>> model = SparseAnnotator().fit(X, [["sea"], ["sea", "boat"], ["forest"]])
    >>> model.predict([[1.0, 0.1, 0.1]], k=1)
    [['sea']]
    >>> model.predict([[1.0, 0.1, 0.1]], k=1, without=[0, 1])
    [['forest']]
    """

    def __init__(
        self,
        search: str = "exact",
        alpha: float = 0.002,
        expand: int = 100,
        certify: bool = True,
        tol: float = 1e-4,
        nonnegative: bool = False,
        scores: str = "signed",
        n_jobs: int = 1,
        random_state: Any = None,
    ) -> None:
        self.search = search
        self.alpha = alpha
        self.expand = expand
        self.certify = certify
        self.tol = tol
        self.nonnegative = nonnegative
        self.scores = scores
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, Y: Any, ids: Any = None) -> Self:
        """Forget all pictures, then add these.

        Parameters
        ----------
        X : array of shape (n, columns)
            Rows of pictures.
        Y : 0/1 matrix of shape (n, tags), or list of lists of names
            The tags of each.
        ids : sequence of n ids, optional
            Numbered from 0 by default.

        Returns
        -------
        self
        """
        self._check_parameters()
        found = as_rows(X)
        if not len(found):
            raise InvalidInput("X has no rows; at least one tagged picture expected")
        by_name, labels, names = self._first_tags(Y, len(found))
        own = automatic_ids(0, len(found)) if ids is None else as_ids(ids, len(found))
        pictures = Pictures(found, isinstance(X, np.memmap), own, labels)
        self._by_name, self._names, self._own_ids = by_name, names, ids is not None
        self._next_id = next_id(own, 0)
        self._pictures = pictures
        self.n_features_in_ = int(found.shape[1])
        self._index = None
        if self.search != "exact":
            self._index = Suggestions(self.search, pictures, int(self.expand), self.random_state)
        self._forget_codes()
        return self

    def partial_fit(self, X: Any, Y: Any, ids: Any = None) -> Self:
        """Add pictures, perhaps with new tags; nothing is computed again.

        Parameters
        ----------
        X : array of shape (n, columns)
            Rows of pictures.
        Y : 0/1 matrix of shape (n, tags), or list of lists of names
            The tags of each.
        ids : sequence of n ids, optional
            By default numbers after the largest one ever used, removed pictures included.

        Returns
        -------
        self
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(X, Y, ids)
        self._check_parameters()
        found = as_rows(X, self.n_features_in_)
        if not len(found):
            return self
        labels, names = self._more_tags(Y, len(found), self._pictures.labels.shape[1])
        own = self._more_ids(ids, len(found))
        before = self._pictures.dictionary.n
        self._pictures.add(found, isinstance(X, np.memmap), own, labels)
        self._names = names
        self._next_id = next_id(own, self._next_id)
        if self._index is not None:
            self._index.add_rows(before)
        self._forget_codes()
        return self

    def remove(self, ids: Any) -> Self:
        """Remove pictures; their tags stay known.

        Parameters
        ----------
        ids : id or sequence of ids
            One, or several.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        moved = self._pictures.remove(self._pictures.rows_of(ids))
        if self._index is not None:
            self._index.forget_removed(moved)
        self._forget_codes()
        return self

    def _more_ids(self, ids: Any, n: int) -> NDArray[Any]:
        if ids is None and self._own_ids:
            raise InvalidInput("fit was given ids; give them for the new pictures too")
        own = automatic_ids(self._next_id, n) if ids is None else as_ids(ids, n)
        twice = next((i for i in own.tolist() if i in self._pictures.place), None)
        if twice is not None:
            raise InvalidInput(f"id {twice!r} is already there; remove it first or use another")
        return own

    @property
    def ids_(self) -> NDArray[Any]:
        """Ids of the pictures, in the order of the columns of ``transform``."""
        check_is_fitted(self)
        return np.asarray(self._pictures.ids[self._pictures.alive])

    @property
    def tags_(self) -> list[Any]:
        """Names of the tags, or their numbers, in the order of ``predict_scores``."""
        check_is_fitted(self)
        return list(self._names) if self._by_name else list(range(self._pictures.labels.shape[1]))

    def transform(self, X: Any, without: Any = None) -> Any:
        """Return the coefficients of the reconstruction; queries are scaled to unit length.

        A query of zeros has no code and no scores; a warning names it.

        Parameters
        ----------
        X : array of shape (q, columns)
            Queries.
        without : sequence of ids, optional
            Pictures to leave out of this call, as if they had been removed; so a tagged picture can
            be asked about as if it were new.  Nothing is copied, and columns stay those of
            ``ids_``.

        Returns
        -------
        CSR matrix of shape (q, pictures)
        """
        return self._of_living(self._code(X, without))

    def _of_living(self, x: Any) -> Any:
        """Return codes without the columns of removed pictures."""
        alive = self._pictures.alive
        if alive.all():
            return x
        column = np.cumsum(alive) - 1
        shape = (x.shape[0], int(alive.sum()))
        return sp.csr_array((x.data, column[x.indices], x.indptr), shape=shape)

    def predict_scores(self, X: Any, without: Any = None) -> Floats:
        """Return each tag's score: the sum of the coefficients of the pictures that have it.

        Parameters
        ----------
        X : array of shape (q, columns)
            Queries.
        without : sequence of ids, optional
            As for ``transform``.

        Returns
        -------
        array of shape (q, tags)
        """
        return self.codes_and_scores(X, without)[1]

    def codes_and_scores(self, X: Any, without: Any = None) -> tuple[Any, Floats]:
        """Return what ``transform`` and ``predict_scores`` return, from one reconstruction."""
        x = self._code(X, without)
        passed_on = x.maximum(0) if self.scores == "positive" else x
        return self._of_living(x), np.asarray((passed_on @ self._pictures.labels).toarray())

    def tagged(self, ids: Any) -> tuple[Floats, Any]:
        """Return unit rows and tags (CSR, columns of ``tags_``) of the pictures with these ids."""
        check_is_fitted(self)
        rows = self._pictures.rows_of(ids)
        return self._pictures.dictionary.rows(rows), self._pictures.labels[rows]

    def nearest(
        self, x: Any, tags: Sequence[int], k: int = 5, without: Any = None
    ) -> list[list[tuple[Any, float]]]:
        """Return, for each of some tags, the k pictures with it that are most like one query.

        ``tags`` are columns of ``tags_``; a picture is given as (id, cosine).
        """
        check_is_fitted(self)
        k, pictures = whole(k, "k"), self._pictures
        query, _ = unit(as_rows(np.atleast_2d(np.asarray(dense(x))), self.n_features_in_))
        parts = [tile @ query[0].astype(tile.dtype) for _, tile in pictures.dictionary.tiles()]
        cosines = np.concatenate(parts) * pictures.dictionary.scale
        here = pictures.alive.copy()
        if without is not None:
            here[pictures.rows_of(without)] = False
        found = []
        for tag in tags:
            entries = np.flatnonzero(pictures.labels.indices == tag)
            rows = np.searchsorted(pictures.labels.indptr, entries, side="right") - 1
            rows = rows[here[rows]]
            best = rows[np.argsort(-cosines[rows], kind="stable")[:k]]
            found.append(
                list(zip(pictures.ids[best].tolist(), cosines[best].tolist(), strict=True))
            )
        return found

    def predict(self, X: Any, k: int = 5, without: Any = None) -> Any:
        """Return the k tags with the highest scores, best first; ties by tag number.

        Scores of zero or less are among them where fewer than k tags have a higher one; see
        ``predict_scores``.

        Parameters
        ----------
        X : array of shape (q, columns)
            Queries.
        k : int, default=5
            Tags a query.
        without : sequence of ids, optional
            As for ``transform``.

        Returns
        -------
        list of lists of names, or int array of shape (q, k)
            Names if ``fit`` was given names; numbers are padded with -1 where there are fewer than
            k tags.  A query without a code gets no tags.
        """
        k = whole(k, "k")
        scores = self.predict_scores(X, without)
        return self._best_tags(scores, k, np.diff(self.codes_.x.indptr) > 0)

    def explain(self, x: Any, without: Any = None) -> list[tuple[Any, float]]:
        """Return the pictures that reconstruct one query, largest coefficient first.

        Parameters
        ----------
        x : array of shape (columns,)
            A query.
        without : sequence of ids, optional
            As for ``transform``.

        Returns
        -------
        list of (id, coefficient)
        """
        check_is_fitted(self)
        one = np.atleast_2d(np.asarray(dense(x)))
        if len(one) != 1:
            raise InvalidInput(f"explain takes one query; {len(one)} rows given")
        code = self._code(one, without)
        order = np.argsort(-np.abs(code.data), kind="stable")
        ids = self._pictures.ids[code.indices[order]].tolist()
        return list(zip(ids, code.data[order].tolist(), strict=True))

    @property
    def gap_(self) -> Floats:
        """(P - D) / P of each query of the last call, in float64 over all pictures used."""
        if self._last is None:
            raise AttributeError("gap_ exists after transform or a prediction")
        if self._gap is None:
            over, Y, codes = self._last
            gap = codes.gap.copy()
            open_ = np.flatnonzero(np.isnan(gap))
            if len(open_):
                gap[open_] = certify(
                    over, Y[open_], codes.x[open_], codes.gamma[open_], self.nonnegative
                )
            self._gap = gap
        return self._gap

    @property
    def codes_(self) -> Codes:
        """The solver's report on the last call: gamma, rounds, scans and pivots of each query.

        Columns of its ``x`` follow ``ids_``, as those of ``transform`` do.
        """
        if self._last is None:
            raise AttributeError("codes_ exists after transform or a prediction")
        codes = self._last[2]
        return codes if self._pictures.alive.all() else replace(codes, x=self._of_living(codes.x))

    _last: tuple[Dictionary, Floats, Codes] | None = None
    _gap: Floats | None = None
    _index: Suggestions | None

    def __sklearn_tags__(self) -> Tags:
        from sklearn.utils import TransformerTags

        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags(preserves_dtype=[])
        return tags

    def _check_parameters(self) -> None:
        one_of(self.search, "search", ("exact", "lsh", "hnsw"))
        one_of(self.scores, "scores", ("signed", "positive"))
        number(self.alpha, "alpha", above=0, below=1)
        number(self.tol, "tol", above=0, below=1)
        whole(self.expand, "expand")
        if not is_whole(self.n_jobs, 1) and not is_whole(self.n_jobs, -1, -1):
            raise refuse(
                "n_jobs", self.n_jobs, "a whole number of at least 1, or -1 for all cores,"
            )
        truth(self.certify, "certify")
        truth(self.nonnegative, "nonnegative")
        check_seed(self.random_state)

    def _forget_codes(self) -> None:
        self._last = self._gap = None

    def _code(self, X: Any, without: Any) -> Any:
        check_is_fitted(self)
        self._check_parameters()
        if not len(self._pictures):
            raise InvalidInput("no pictures are left; add some with partial_fit")
        passed = None if without is None else self._pictures.rows_of(without)
        if passed is not None and len(passed) == len(self._pictures):
            raise InvalidInput("without names every picture there is; leave at least one")
        Y = as_rows(X, self.n_features_in_).astype(np.float64)
        # Divide by the largest entry first: squares could leave the range of float64.
        largest = np.abs(Y).max(axis=1, keepdims=True)
        _warn_of_zeros(np.flatnonzero(largest[:, 0] == 0))
        Y /= np.where(largest > 0, largest, 1.0)
        Y /= np.maximum(np.linalg.norm(Y, axis=1, keepdims=True), 1.0)
        over = self._pictures.dictionary if passed is None else self._pictures.without(passed)
        codes = lasso(
            over, Y, alpha=float(self.alpha), tol=float(self.tol),
            expand=int(self.expand), nonnegative=bool(self.nonnegative), certify=bool(self.certify),
            n_jobs=(os.cpu_count() or 1) if self.n_jobs == -1 else int(self.n_jobs),
            search=self._searcher(passed),
        )  # fmt: skip
        self._last, self._gap = (over, Y, codes), None
        _warn_unfinished(codes, float(self.tol))
        return codes.x

    def _searcher(
        self, passed: NDArray[np.int64] | None = None
    ) -> Callable[[Floats, int], NDArray[np.int64]] | None:
        if self.search == "exact":
            return None
        index = self._index
        if index is None or index.search != self.search:
            raise InvalidInput(f"search was changed to {self.search!r} after fit; fit again")
        return index.find if passed is None else lambda R, k: index.find(R, k, passed)


def _warn_of_zeros(empty: NDArray[np.int64]) -> None:
    """Warn about queries that are all zeros, given by their numbers."""
    if len(empty):
        _warn(
            f"query {int(empty[0])} is all zeros ({len(empty)} such queries): no code, "
            "scores of zero",
            UserWarning,
        )


def _warn_unfinished(codes: Codes, tol: float) -> None:
    """Warn about queries whose solver stopped before reaching ``tol``."""
    if not codes.converged.all():
        from sklearn.exceptions import ConvergenceWarning

        worst = float(np.nanmax(codes.gap[~codes.converged], initial=0.0))
        _warn(
            f"{int((~codes.converged).sum())} queries did not reach tol={tol:g} "
            f"(largest gap {worst:.2g}); see gap_",
            ConvergenceWarning,
        )


def _warn(message: str, category: type[Warning]) -> None:
    """Warn at the first line outside this file, whichever method was called."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename == __file__:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
