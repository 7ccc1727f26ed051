"""Learn a concept from pictures that belong to it and pictures that do not.

Three opinions on rows that were smoothed over the neighbour graph: a logistic regression, a kernel
ridge regression, and the answers themselves travelling along the graph.  Their probabilities are
averaged.  Everything is an exact function of the set of answers: their order does not matter, and
an answer that is taken back leaves no trace.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likewise_methods.concepts.graph import NeighbourGraph
from likewise_methods.concepts.questions import Question, choose, choose_likely, draw
from likewise_methods.errors import InvalidInput
from likewise_methods.estimators import Estimator, check_is_fitted
from likewise_methods.validation import finite_rows, is_whole, number, whole

Floats = NDArray[np.float64]
Rows = NDArray[np.float32]
Ids = NDArray[np.int64]

SCALE = 30.0
"""Squared length of the rows that the logistic regression sees."""
SHARPNESS = 3.0
"""The ridge regression gives about -1 to 1; this times its value is taken as log odds."""
PRIOR = 0.01
"""Weight of "unknown" where answers arrive along the graph."""
DECAY, STEPS = 0.9, 20
"""How far answers travel along the graph."""
BACKGROUND, STAND_IN = 50, 0.1
"""Where nothing was refused yet, 50 pictures drawn at random count as refused, a tenth each."""
ALL_UP_TO = 20_000
"""Up to here every row is a candidate for a question; beyond, those near the answers, those the
linear part finds likely, and some drawn at random."""
POOL = 10_000


class ConceptLearner(Estimator):
    """A concept taught by yes and no, and the questions worth asking next.

    Parameters
    ----------
    n_neighbors : int, default=10
        Nearest rows of each row in the graph.
    C : float, default=0.03
        Inverse strength of the penalty of the regression; small values tolerate wrong answers.
    noise : float, default=1.0
        Variance of an answer that the ridge regression assumes.
    width : float, default=0.5
        Width of its kernel, as a share of the median squared distance between rows.
    propagation : float, default=0.5
        Weight of the answers that travel along the graph; the two regressions weigh 1 each.
    random_state : int, default=0
        Seed of the questions that are drawn at random.

    Attributes
    ----------
    answers_ : dict of int to bool
        What was said, by row.
    graph_ : NeighbourGraph
        The graph that rows and answers travel along.
    n_features_in_ : int
        Columns of the rows.
    classes_ : array of bool
        False and True, in the order of the columns of ``predict_proba``.

    See Also
    --------
    NeighbourGraph : what rows are smoothed over.
    Question : what is asked.

    References
    ----------
    Tong and Chang (2001), active learning for retrieval; Zhu, Ghahramani and Lafferty (2003),
    labels travelling along a graph.  docs/methods/concepts.md, (3), (4) and (6)

    Examples
    --------
    >>> import numpy as np
    >>> from likewise_methods.concepts import ConceptLearner
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 0.2, (40, 4)) + [1, 0, 0, 0],
    ...                     rng.normal(0, 0.2, (40, 4)) + [0, 1, 0, 0]])
    >>> concept = ConceptLearner().fit(X).partial_fit(yes=[0, 1], no=[40])
    >>> p = concept.predict_proba()[:, 1]
    >>> bool(p[:40].min() > p[40:].max())
    True
    >>> len(concept.ask(12))
    12
    """

    def __init__(
        self,
        n_neighbors: int = 10,
        *,
        C: float = 0.03,
        noise: float = 1.0,
        width: float = 0.5,
        propagation: float = 0.5,
        random_state: int = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.C = C
        self.noise = noise
        self.width = width
        self.propagation = propagation
        self.random_state = random_state

    def fit(self, X: Any, y: object = None, *, graph: NeighbourGraph | None = None) -> Self:
        """Take the rows of the collection; nothing is taught yet.

        Parameters
        ----------
        X : array of shape (n, columns)
            One row a picture, best those of a fitted space.
        y : None
            Ignored.
        graph : NeighbourGraph, optional
            The graph of these rows, where it has been built before.

        Returns
        -------
        self
        """
        self._check()
        rows = _unit(finite_rows(X, "X", dtype=np.float32))
        if graph is not None and len(graph) != len(rows):
            raise InvalidInput(f"graph has {len(graph)} rows; {len(rows)} expected, as in X")
        self.graph_ = NeighbourGraph.build(rows, self.n_neighbors) if graph is None else graph
        self.n_features_in_ = rows.shape[1]
        self.classes_ = np.array([False, True])
        self._rows, self._smooth = rows, self.graph_.smooth(rows)
        rng = np.random.default_rng(self.random_state)
        count = min(BACKGROUND, len(rows) // 2)
        self._background = np.sort(rng.choice(len(rows), count, replace=False))
        self._gamma = 1.0 / (self.width * _median_distance(self._smooth))
        self.answers_: dict[int, bool] = {}
        self._model: _Model | None = None
        return self

    def partial_fit(self, yes: Iterable[int] = (), no: Iterable[int] = ()) -> Self:
        """Add answers; an answer about a picture replaces an earlier one about it.

        Parameters
        ----------
        yes : iterable of int
            Rows of pictures that belong.
        no : iterable of int
            Rows of pictures that do not.

        Returns
        -------
        self
        """
        check_is_fitted(self, "answers_")
        said = dict.fromkeys(self._known(yes, "yes"), True)
        refused = dict.fromkeys(self._known(no, "no"), False)
        if both := sorted(said.keys() & refused.keys()):
            raise InvalidInput(f"row {both[0]} is in yes and in no; one of them expected")
        self.answers_ |= said | refused
        self._model = None
        return self

    def forget(self, rows: Iterable[int]) -> Self:
        """Take answers back, as if they had never been given.

        Parameters
        ----------
        rows : iterable of int
            Rows whose answers are taken back.

        Returns
        -------
        self
        """
        check_is_fitted(self, "answers_")
        for row in self._known(rows, "rows"):
            if row not in self.answers_:
                raise InvalidInput(f"row {row} has no answer; a row that was answered expected")
            del self.answers_[row]
        self._model = None
        return self

    def predict_proba(self, X: Any = None) -> Floats:
        """Return the probability of not belonging and of belonging.

        Parameters
        ----------
        X : array of shape (m, columns), optional
            New rows; by default those of ``fit``.

        Returns
        -------
        array of shape (m, 2)
            Columns as in ``classes_``.  Without any answer 1/2 everywhere; where nothing was
            refused, pictures drawn at random stand in.
        """
        check_is_fitted(self, "answers_")
        if X is None:
            p = self._probabilities(np.arange(len(self._rows)))
        else:
            rows = _unit(finite_rows(X, "X", dtype=np.float32))
            if rows.shape[1] != self.n_features_in_:
                raise InvalidInput(
                    f"X has {rows.shape[1]} columns; {self.n_features_in_} expected, as in fit"
                )
            p = self._of_new(rows)
        return np.column_stack([1 - p, p])

    def ask(self, n: int = 12, among: Any = None) -> list[Question]:
        """Choose the pictures that are most worth an answer.

        Of twelve, eight are those the learner is least sure of, two are likely, and two are drawn
        at random with known probability.  The same answers give the same questions.

        Parameters
        ----------
        n : int, default=12
            Number of questions.
        among : array of int or of bool, optional
            Rows that may be asked; by default all.

        Returns
        -------
        list of Question
            Fewer than ``n`` where fewer pictures are left; none twice and no two copies.
        """
        check_is_fitted(self, "answers_")
        whole(n, "n")
        free = self._free(among)
        if not len(free):
            return []
        rng = np.random.default_rng([self.random_state, self._digest()])
        n = min(n, len(free))
        drawn = draw(free, n, rng)
        pool = np.union1d(self._pool(free, rng), [one.row for one in drawn]).astype(np.int64)
        p = self._probabilities(pool)
        if len(set(self.answers_.values())) < 2:
            # Nothing separates yet: half as likely as possible, half anywhere.
            half = choose_likely(p, self._smooth[pool], pool, (n + 1) // 2)
            rest = np.setdiff1d(free, [one.row for one in half])
            places = rng.choice(len(rest), min(n // 2, len(rest)), replace=False)
            chance = len(places) / max(len(rest), 1)
            return half + [Question(int(rest[i]), "random", chance) for i in places.tolist()]
        return choose(p, self._smooth[pool], pool, n, drawn)

    # -- inside --------------------------------------------------------------------------------

    def _check(self) -> None:
        whole(self.n_neighbors, "n_neighbors")
        for name in ("C", "noise", "width"):
            number(getattr(self, name), name, above=0.0)
        number(self.propagation, "propagation", least=0.0)
        whole(self.random_state, "random_state", 0)

    def _known(self, rows: Iterable[int], name: str) -> list[int]:
        found = [row.item() if isinstance(row, np.generic) else row for row in rows]
        for row in found:
            if not is_whole(row, 0, len(self._rows) - 1):
                raise InvalidInput(
                    f"{name} holds {row!r}; a row from 0 to {len(self._rows) - 1} expected"
                )
        return found

    def _free(self, among: Any) -> Ids:
        n = len(self._rows)
        if among is None:
            chosen = np.arange(n)
        else:
            given = np.asarray(among)
            if given.dtype == bool:
                if given.shape != (n,):
                    raise InvalidInput(f"among has shape {given.shape}; ({n},) expected")
                chosen = np.flatnonzero(given)
            else:
                chosen = np.unique(np.asarray(self._known(given.tolist(), "among"), np.int64))
        return np.setdiff1d(chosen, np.fromiter(self.answers_, np.int64, len(self.answers_)))

    def _digest(self) -> int:
        """A number that depends on the set of answers and on nothing else."""
        text = repr(sorted(self.answers_.items())).encode()
        return int.from_bytes(hashlib.sha256(text).digest()[:8], "big")

    def _pool(self, free: Ids, rng: np.random.Generator) -> Ids:
        """Rows that are scored for the next questions."""
        if len(free) <= ALL_UP_TO or not self._can_learn():
            return free
        model = self._fitted()
        linear = np.abs(self._smooth[free] @ model.weights.astype(np.float32) + model.bias)
        near = free[np.argpartition(linear, POOL // 2)[: POOL // 2]]
        likely = free[np.argpartition(-model.travelled(free), POOL // 4)[: POOL // 4]]
        some = rng.choice(free, POOL // 4, replace=False)
        return np.unique(np.concatenate([near, likely, some]))

    def _can_learn(self) -> bool:
        """Whether something belongs, and what does not is known or can be drawn."""
        return any(self.answers_.values()) and (
            not all(self.answers_.values()) or len(self._background) > 0
        )

    def _fitted(self) -> _Model:
        if self._model is None:
            self._model = _Model(self)
        return self._model

    def _likeness(self, rows: Rows) -> Floats:
        """Probabilities where nothing belongs yet: below 1/2 near what was refused."""
        if not self.answers_:
            return np.full(len(rows), 0.5)
        known = np.fromiter(sorted(self.answers_), np.int64)
        best = (rows @ self._rows[known].T).max(axis=1).astype(np.float64)
        found: Floats = 0.5 - 0.49 * np.clip(best, 0.0, 1.0)
        return found

    def _probabilities(self, at: Ids) -> Floats:
        if not self._can_learn():
            return self._likeness(self._rows[at])
        model = self._fitted()
        return model.mix(self._smooth[at], model.travelled(at))

    def _of_new(self, rows: Rows) -> Floats:
        """Probabilities of rows outside the collection: smoothed by their neighbours in it."""
        if not self._can_learn():
            return self._likeness(rows)
        found = np.empty(len(rows))
        model = self._fitted()
        k = min(self.n_neighbors, len(self._rows))
        for low in range(0, len(rows), 256):
            part = rows[low : low + 256]
            near = np.argpartition(-(part @ self._rows.T), k - 1, axis=1)[:, :k]
            smooth = _unit(0.5 * part + 0.5 * self._smooth[near].mean(axis=1))
            arrived = model.travelled(near.ravel()).reshape(len(part), k).mean(axis=1)
            found[low : low + 256] = model.mix(smooth, arrived)
        return found


class _Model:
    """What a set of answers of both kinds makes of the collection."""

    def __init__(self, learner: ConceptLearner) -> None:
        answered = np.fromiter(sorted(learner.answers_), np.int64)
        said = np.array([learner.answers_[row] for row in answered.tolist()])
        seeds = np.column_stack([said, ~said]).astype(np.float64)
        self._reached, arrived = learner.graph_.propagate(answered, seeds, DECAY, STEPS)
        self._odds = (arrived[:, 0] + PRIOR) / (arrived.sum(axis=1) + 2 * PRIOR)
        rows, weights = answered, np.ones(len(answered))
        if said.all():
            # Most pictures do not belong: some of them stand in for the answers that are missing.
            others = np.setdiff1d(learner._background, answered)
            rows = np.concatenate([answered, others])
            said = np.concatenate([said, np.zeros(len(others), bool)])
            weights = np.concatenate([weights, np.full(len(others), STAND_IN)])
        self._taught = learner._smooth[rows].astype(np.float64)
        self._gamma, self._propagation = learner._gamma, learner.propagation
        products = self._taught @ self._taught.T
        duals, self.bias = logistic_regression(SCALE * products, said, learner.C, weights)
        self.weights = SCALE * (duals @ self._taught)
        kernel = np.exp(-self._gamma * np.maximum(2 - 2 * products, 0.0))
        target = np.where(said, 1.0, -1.0)
        self._ridge = np.linalg.solve(kernel + learner.noise * np.diag(1 / weights), target)

    def travelled(self, at: Ids) -> Floats:
        """Share of yes among what arrived at these rows along the graph; 1/2 where nothing did."""
        place = np.minimum(np.searchsorted(self._reached, at), len(self._reached) - 1)
        return np.where(self._reached[place] == at, self._odds[place], 0.5)

    def mix(self, smooth: Rows, travelled: Floats) -> Floats:
        """Average the three opinions on rows."""
        linear = smooth @ self.weights.astype(np.float32) + self.bias
        products = smooth @ self._taught.T.astype(np.float32)
        products -= 1
        products *= 2 * self._gamma
        np.exp(products, out=products)
        ridge = products @ self._ridge.astype(np.float32)
        both = _sigmoid(linear.astype(np.float64)) + _sigmoid(SHARPNESS * ridge.astype(np.float64))
        return (both + self._propagation * travelled) / (2 + self._propagation)


def logistic_regression(
    K: Floats, y: NDArray[np.bool_], C: float, weights: Floats | None = None
) -> tuple[Floats, float]:
    """Fit a logistic regression with balanced classes, given the products of its rows.

    Newton steps on the coefficients of the rows and a free intercept, until the largest residual of
    the optimality conditions is below 1e-10.  Returns the coefficients and the intercept.
    """
    n = len(y)
    weights = np.ones(n) if weights is None else weights
    half = C * weights.sum() / 2
    share = weights * np.where(y, half / weights[y].sum(), half / weights[~y].sum())
    sign = np.where(y, 1.0, -1.0)
    duals, bias = np.zeros(n), 0.0
    value = _objective(K, share, sign, duals, bias)
    for _ in range(100):
        margins = sign * (K @ duals + bias)
        miss = _sigmoid(-margins)
        # At the optimum duals = share * sign * miss, and they add up to 0.
        residual = duals - share * sign * miss
        if max(np.abs(residual).max(), abs((share * sign * miss).sum())) < 1e-10:
            break
        curve = np.maximum(share * miss * (1 - miss), 1e-12)
        system = np.zeros((n + 1, n + 1))
        system[:n, :n] = curve[:, None] * K + np.eye(n)
        system[:n, n] = curve
        system[n, :n] = 1.0
        step = np.linalg.solve(system, np.append(-residual, -duals.sum()))
        size = 1.0
        while size > 1e-8:
            moved = _objective(K, share, sign, duals + size * step[:n], bias + size * step[n])
            if moved <= value + 1e-12:
                break
            size /= 2
        duals, bias, value = duals + size * step[:n], bias + size * step[n], moved
    return duals, float(bias)


def _objective(K: Floats, share: Floats, sign: Floats, duals: Floats, bias: float) -> float:
    inner = K @ duals
    return float(0.5 * duals @ inner + share @ np.logaddexp(0.0, -sign * (inner + bias)))


def _unit(rows: Rows) -> Rows:
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    found: Rows = (rows / np.maximum(lengths, 1e-12)[:, None]).astype(np.float32)
    return found


def _median_distance(rows: Rows) -> float:
    """Median squared distance of pairs drawn with a fixed seed."""
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, len(rows), (2, 4_000))
    products = np.einsum("ij,ij->i", rows[one], rows[other], dtype=np.float64)
    return max(float(np.median(2 - 2 * products)), 1e-6)


def _sigmoid(x: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-np.clip(x, -500, 500)))
