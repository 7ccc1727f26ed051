"""What the graph methods share: a graph over tagged and other pictures, and answers for new ones.

In the papers these methods are transductive: the pictures to be tagged are part of the graph.  That
is ``fit(X, Y, unlabelled=Q)`` followed by ``unlabelled_scores_``.  ``predict_scores`` tags pictures
that came later: each is joined to the graph by its own edges, and what the graph believes stays.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from benchmarks.siso.baselines.base import Baseline, Floats, warn
from benchmarks.siso.baselines.graph import Ids, Index, lists_to, lists_within, matrix
from likewise_methods.neighbours.exact import Exact
from likewise_methods.siso.inputs import Rows, as_rows, unit_rows
from likewise_methods.validation import number, whole

# New pictures at a time, so that their lists stay small.
_BATCH = 4096


class GraphBaseline(Baseline):
    """A subclass says what an edge weighs (``_weigh``) and how tags spread (``_propagate``)."""

    n_neighbours: int
    tol: float
    max_steps: int

    unlabelled_scores_: Floats

    def fit(self, X: Any, Y: Any, unlabelled: Any = None) -> Self:
        """Spread the tags over tagged pictures and, where given, ``unlabelled`` ones.

        Parameters
        ----------
        X : array of shape (n, columns)
            Rows of tagged pictures; scaled to unit length inside.
        Y : 0/1 matrix of shape (n, tags), or list of lists of names
            The tags of each.
        unlabelled : array of shape (m, columns), optional
            Rows of pictures without tags, which the graph passes through.

        Returns
        -------
        self
        """
        self._check()
        rows, labels = self._check_tagged(X, Y)
        if unlabelled is not None:
            more = as_rows(unlabelled, self.n_features_in_)
            rows = np.concatenate([rows, unit_rows(more, "unlabelled")])
        self._learn(rows, labels)
        return self

    def _learn(self, X: Rows, labels: Any) -> None:
        """X are all pictures, the tagged ones first."""
        self._points = np.ascontiguousarray(X, np.float32)
        self._index = self._build_index(self._points)
        k = max(1, min(int(self.n_neighbours), len(self._points) - 1))
        ids, squares = lists_within(self._index, self._points, k)
        self._measure(squares)
        W = matrix(ids, self._weigh(self._points, ids, squares), len(self._points))
        Y = np.zeros((len(X), labels.shape[1]))
        Y[: labels.shape[0]] = labels.toarray()
        beliefs, self.steps_, error = self._propagate(W, Y)
        self.unlabelled_scores_ = beliefs[labels.shape[0] :]
        if error > float(self.tol):
            warn(
                f"tags were still moving by {error:.2g} after {self.steps_} steps "
                f"(tol={self.tol:g}); raise max_steps"
            )

    def _scores(self, Q: Rows) -> Floats:
        made = [np.zeros((0, len(self.tags_)))]
        k = min(int(self.n_neighbours), len(self._points))
        for start in range(0, len(Q), _BATCH):
            some = np.ascontiguousarray(Q[start : start + _BATCH], np.float32)
            ids, squares = lists_to(self._index, some, k)
            W = matrix(ids, self._weigh(some, ids, squares), len(self._points))
            made.append(self._score_new(W))
        return np.concatenate(made)

    # -- what a graph method says -----------------------------------------------------------

    def _build_index(self, X: Rows) -> Index:
        return Exact("ip").build(X)

    def _measure(self, squares: Floats) -> None:
        """Look at the squared distances within the graph before any edge is weighed."""

    def _weigh(self, Q: Rows, ids: Ids, squares: Floats) -> Floats:
        """Weights of the edges from rows of Q to the points their lists name."""
        raise NotImplementedError

    def _propagate(self, W: Any, Y: Floats) -> tuple[Floats, int, float]:
        """Scores of all points, steps taken, how far from the end."""
        raise NotImplementedError

    def _score_new(self, W: Any) -> Floats:
        """Scores of new pictures with edges W to the points."""
        raise NotImplementedError

    def _check(self) -> None:
        whole(self.n_neighbours, "n_neighbours")
        whole(self.max_steps, "max_steps")
        number(self.tol, "tol", above=0, below=1)
