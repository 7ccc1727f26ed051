"""OrdinalEmbedding: coordinates from comparisons.

The estimator checks its input and holds parameters; a loss (``losses``) defines the objective
(``objective``), and a solver (``solver``) minimises it.  No matrix of objects by objects is formed.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from likewise_methods.errors import InvalidInput
from likewise_methods.estimators import Estimator, check_is_fitted
from likewise_methods.ordinal.comparisons import (
    ComparisonCounts,
    Rows,
    as_comparisons,
    count_repeats,
    quadruplets,
)
from likewise_methods.ordinal.losses import ComparisonLoss, loss_of
from likewise_methods.ordinal.objective import Problem, Record, Solution, squares
from likewise_methods.ordinal.solver.registry import SOLVERS
from likewise_methods.validation import generator, number, one_of, whole

Floats = NDArray[np.float64]


class OrdinalEmbedding(Estimator):
    """Points whose distances agree with what people answered.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the map.
    loss : {"ste", "tste", "gnmds", "ckl"} or a loss, default="ste"
        "tste" separates clusters more clearly.
    solver : str, default="svrg-sbb"
        "svrg-sbb" (needs no tuning), "svrg", "sgd", "adagrad" (often the fastest) or "lbfgs".
    epsilon : float, optional
        Least curvature in svrg-sbb's step; by default 0.1 / objects, 0 is SBB_0.
    epochs : int, optional
        Epochs (one of SVRG costs three passes); by default the solver's own number.
    batch_size : int, default=1
        Comparisons a step, for svrg-sbb, svrg, sgd and adagrad.
    tol : float, default=1e-6
        Stop when an epoch moves the points by less than this share of their size.
    n_init : int, default=1
        Random starts; the lowest objective wins.
    step : float, optional
        First (svrg-sbb), fixed (svrg) or initial (sgd, adagrad) step; by default the solver's own.
    alpha : float, optional
        Parameter of "tste"; by default n_components - 1, at least 1.
    mu : float, default=0.05
        Parameter of "ckl".
    random_state : int, Generator, RandomState or None, default=None
        Draws the starts and the order of the comparisons.

    Attributes
    ----------
    embedding_ : array of shape (objects, n_components)
        The points, centred.
    objective_ : float
        The mean loss.
    history_ : list of (evaluations, objective, step)
        The records of the run.
    ended_ : str
        Why the solver stopped.
    said_ : ComparisonCounts
        How many comparisons, repeats and contradictions there were.
    compared_ : bool array of shape (objects,)
        Which objects the comparisons name (the others lie in the centre).
    comparisons_ : int array
        The comparisons learned from.
    n_objects_ : int
        Number of objects.

    See Also
    --------
    cross_validate : how many comparisons are enough, and which dimension.
    suggest_comparisons : what to ask next.
    KernelMap : places for objects without comparisons.

    References
    ----------
    K. Ma, J. Zeng, J. Xiong, Q. Xu, X. Cao, W. Liu and Y. Yao: Stochastic non-convex ordinal
    embedding with stabilized Barzilai-Borwein step size.  AAAI Conference on Artificial
    Intelligence, 2018.

    Objective and losses: docs/methods/ordinal.md, (1) to (6); SVRG-SBB: (7) to (12); stochastic
    gradient descent and AdaGrad: (13).

    Examples
    --------
    >>> model = OrdinalEmbedding(1, random_state=0).fit([[0, 1, 2], [2, 1, 0], [1, 0, 3]])
    >>> model.score([[0, 1, 2], [2, 1, 0]])
    1.0
    >>> model.embedding_.shape
    (4, 1)
    """

    embedding_: Floats
    objective_: float
    history_: list[Record]

    def __init__(
        self,
        n_components: int = 2,
        *,
        loss: str | ComparisonLoss = "ste",
        solver: str = "svrg-sbb",
        epsilon: float | None = None,
        epochs: int | None = None,
        batch_size: int = 1,
        tol: float = 1e-6,
        n_init: int = 1,
        step: float | None = None,
        alpha: float | None = None,
        mu: float = 0.05,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.loss = loss
        self.solver = solver
        self.epsilon = epsilon
        self.epochs = epochs
        self.batch_size = batch_size
        self.tol = tol
        self.n_init = n_init
        self.step = step
        self.alpha = alpha
        self.mu = mu
        self.random_state = random_state

    def fit(self, comparisons: Any, n_objects: int | None = None) -> Self:
        """Forget the map, then place all objects.

        Parameters
        ----------
        comparisons : int array of shape (m, 3) or (m, 4)
            Rows (i, j, k): i is nearer to j than to k; rows (i, j, l, k): i and j are nearer to
            each other than l and k.
        n_objects : int, optional
            How many there are; by default 0 to the highest named.

        Returns
        -------
        self
        """
        rows = self._rows(comparisons, n_objects)
        n = self._count(rows, n_objects, 0)
        settings = self._settings(n)
        rng = generator(self.random_state)
        best: Solution | None = None
        for _ in range(whole(self.n_init, "n_init", 1)):
            start = rng.random((n, self.n_components))
            found = self._solve(rows, start, rng, settings)
            if best is None or found.objective < best.objective:
                best = found
        assert best is not None
        self._keep(rows, n, best)
        return self

    def partial_fit(self, comparisons: Any, n_objects: int | None = None) -> Self:
        """Continue from the current map with more comparisons.

        New objects start at random places within the map.  The first call is ``fit``.

        Parameters
        ----------
        comparisons : int array of shape (m, 3) or (m, 4)
            As for ``fit``.
        n_objects : int, optional
            How many there are now.

        Returns
        -------
        self
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(comparisons, n_objects)
        if self.embedding_.shape[1] != self.n_components:
            raise InvalidInput(
                f"n_components is {self.n_components}, but the map has "
                f"{self.embedding_.shape[1]} dimensions; fit anew"
            )
        rows = self._rows(comparisons, n_objects)
        n = self._count(rows, n_objects, self.n_objects_)
        if rows.shape[1] != self.comparisons_.shape[1]:
            rows = np.vstack([quadruplets(self.comparisons_), quadruplets(rows)])
        else:
            rows = np.vstack([self.comparisons_, rows])
        settings = self._settings(n)
        rng = generator(self.random_state)
        start = np.empty((n, self.n_components))
        spread = self.embedding_[self.compared_].std(axis=0)
        start[:] = rng.normal(0.0, 1.0, start.shape) * spread
        placed = np.flatnonzero(self.compared_)
        start[placed] = self.embedding_[placed]
        self._keep(rows, n, self._solve(rows, start, rng, settings))
        return self

    def _solve(
        self, rows: Rows, start: Floats, rng: np.random.Generator, settings: dict[str, Any]
    ) -> Solution:
        problem = Problem(rows, len(start), settings["loss"])
        run, shared = SOLVERS[self.solver].run, {k: settings[k] for k in ("epochs", "tol")}
        # Products are small: BLAS threads would wait for each other.
        with threadpool_limits(1, user_api="blas"):
            return run(problem, start, rng, settings, **shared)

    def _rows(self, comparisons: Any, n_objects: int | None) -> Rows:
        if n_objects is not None:
            whole(n_objects, "n_objects", 1)
        return as_comparisons(comparisons, n_objects)

    def _count(self, rows: Rows, n_objects: int | None, before: int) -> int:
        n = max(int(rows.max()) + 1, before) if n_objects is None else n_objects
        if n < before:
            raise InvalidInput(f"n_objects is {n}; the map already has {before}")
        p = whole(self.n_components, "n_components", 1)
        if p >= n:
            raise InvalidInput(
                f"n_components is {p} for {n} objects, which always fit into {n - 1} dimensions; "
                "use fewer dimensions"
            )
        return n

    def _settings(self, n: int) -> dict[str, Any]:
        """Return the checked parameters."""
        default = SOLVERS[one_of(self.solver, "solver", tuple(SOLVERS))].epochs
        return {
            "loss": loss_of(self.loss, self.n_components, alpha=self.alpha, mu=self.mu),
            "solver": self.solver,
            "epsilon": None if self.epsilon is None else number(self.epsilon, "epsilon", least=0),
            "epochs": default if self.epochs is None else whole(self.epochs, "epochs", 1),
            "batch": whole(self.batch_size, "batch_size", 1),
            "tol": number(self.tol, "tol", least=0),
            "step": None if self.step is None else number(self.step, "step", above=0),
        }

    def _keep(self, rows: Rows, n: int, found: Solution) -> None:
        seen = np.zeros(n, np.bool_)
        seen[rows.ravel()] = True
        # No loss changes when all points move together, so the map is centred.
        placed = found.points - found.points[seen].mean(axis=0)
        placed[~seen] = 0.0
        self.embedding_ = placed
        self.objective_ = found.objective
        self.history_ = found.history
        self.ended_ = found.ended
        self._said: ComparisonCounts | None = None
        self.compared_ = seen
        self.comparisons_ = rows
        self.n_objects_ = n

    @property
    def said_(self) -> ComparisonCounts:
        """Repeats and contradictions among the comparisons, counted on first access."""
        check_is_fitted(self)
        if self._said is None:
            self._said = count_repeats(self.comparisons_)
        return self._said

    def margins(self, comparisons: Any) -> Floats:
        """Return b - a of every comparison in squared distances; above 0 where it is satisfied."""
        check_is_fitted(self)
        rows = as_comparisons(comparisons, self.n_objects_)
        a, b = squares(self.embedding_, rows)
        return b - a

    def predict(self, comparisons: Any) -> NDArray[np.bool_]:
        """Return whether each comparison holds in the map; ties do not.

        Parameters
        ----------
        comparisons : int array of shape (m, 3) or (m, 4)
            As for ``fit``.

        Returns
        -------
        bool array of shape (m,)
        """
        return np.asarray(self.margins(comparisons) > 0)

    def score(self, comparisons: Any, y: Any = None) -> float:
        """Return the share of satisfied comparisons; ties count as wrong.

        Parameters
        ----------
        comparisons : int array of shape (m, 3) or (m, 4)
            As for ``fit``.
        y : object, optional
            Not used.

        Returns
        -------
        float
            Between 0 and 1.
        """
        return float(np.mean(self.predict(comparisons)))

    def suggest_comparisons(self, k: int, *, candidates: Any = None) -> NDArray[np.int64]:
        """Return the k questions (anchor, a, b) whose answers would teach most.

        See :func:`~likewise_methods.ordinal.suggestions.suggest_comparisons`.
        """
        from likewise_methods.ordinal.suggestions import suggest_comparisons

        return suggest_comparisons(self, k, candidates=candidates, random_state=self.random_state)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "embedding_")
