"""S3ML: a sparse Mahalanobis metric from a few pairs (or labels) and all the unlabelled rows.

The pairs spread over the kNN graph into affinities W (``propagation``).  Their scatter T = X'(D -
W)X moves the prior, Sigma = M0^-1 + beta T, and the metric is the sparse inverse of Sigma: min
-logdet M + <Sigma, M> + lam sum |M_ij| (docs/methods/s3ml.md, (4) and (5)).  W has negative
entries, so Sigma may be indefinite: its eigenvalues relative to the prior are floored.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, eigh, solve_triangular
from sklearn.exceptions import ConvergenceWarning

from likewise_methods.s3ml.graph import knn_graph_and_recall
from likewise_methods.s3ml.metric import (
    RIDGE,
    LearnedMetric,
    as_rows,
    covariance,
    inverse,
    variances,
)
from likewise_methods.s3ml.pairs import Constraints, as_constraints
from likewise_methods.s3ml.propagation.scatter import check_weights, scatter
from likewise_methods.s3ml.solver.sparse_inverse import sparse_inverse_covariance
from likewise_methods.validation import number, one_of, truth, whole

Floats = NDArray[np.float64]
# No direction is shrunk by more than 1 + this times the strength.
REACH = 10.0
# If a smaller share of the features has nearly all the variance, their units differ too much.
FEW = 0.2
PRIORS = ("auto", "identity", "variance", "covariance")


@dataclass(frozen=True)
class FitReport:
    """Report on a fit.

    ``n_similar`` and ``n_dissimilar`` count the pairs given, ``counted_similar`` and
    ``counted_dissimilar`` those whose affinity passes the threshold (with a weight above 0).
    ``minus``: the weight of a dissimilar pair relative to a similar one.  ``n_neighbors``: links of
    each row, 0 without propagation.  ``beta``: the weight of T, ``strength`` times ``beta_max``,
    from which on Sigma is no longer positive definite (infinite if T has no negative direction), or
    less, as Sigma stays below 1 + 10 ``strength`` times the prior; ``capped``: this limit applied.
    ``lowest``: the smallest eigenvalue of Sigma relative to the prior before the floor;
    ``floored``: how many were raised to it.  ``l1``: the penalty of the sparse inverse, absolute.
    ``kept_prior``: nothing moved the prior; ``why``: what was missing.  ``converged``: the sparse
    inverse reached its tolerance in ``n_iter`` steps.  ``recall``: the share of the nearest
    neighbours that were found, 1 up to 20,000 rows and measured on a sample beyond.
    """

    n_similar: int
    n_dissimilar: int
    minus: float
    n_neighbors: int
    beta: float
    beta_max: float
    lowest: float
    floored: int
    l1: float
    kept_prior: bool
    why: str
    converged: bool = True
    n_iter: int = 0
    counted_similar: int = 0
    counted_dissimilar: int = 0
    capped: bool = False
    recall: float = 1.0

    @property
    def floor_acted(self) -> bool:
        return self.floored > 0

    def __str__(self) -> str:
        if self.kept_prior:
            return f"kept the prior: {self.why}"
        capped = " (held back by the cap on shrinking)" if self.capped else ""
        acted = f"raised {self.floored} directions" if self.floored else "did not act"
        return (
            f"{self.counted_similar} of {self.n_similar} similar and {self.counted_dissimilar} of "
            f"{self.n_dissimilar} dissimilar pairs count; "
            f"beta {self.beta:.3g} (largest safe {self.beta_max:.3g}){capped}, the floor {acted} "
            f"(smallest relative eigenvalue {self.lowest:.3g})"
            + f"; {self.recall:.0%} of the nearest neighbours were found" * (self.recall < 1)
            + f"; {self.why}" * bool(self.why)
            + f"; the sparse inverse ended after {self.n_iter} steps, short of its tolerance"
            * (not self.converged)
        )


class S3ML(LearnedMetric):
    """Semi-supervised sparse metric learning.

    ``fit(X, y)`` takes labels, -1 for unlabelled; ``fit(X, pairs, same)`` takes pairs (n, 2).
    Without anything to learn from the metric is the prior, and ``report_`` says so.

    Parameters
    ----------
    n_neighbors : int, default=6
        Neighbours of a row over which affinities spread; with fewer rows, all others.
    propagation : float, default=0.5
        How far they spread, a; at least 0 and below 1.
    threshold : float, default=0.01
        theta, below which affinities do not count (negative ones: relative to the weight of a
        dissimilar pair).
    strength : float, default=5.0
        Weight of the affinities relative to the largest that leaves Sigma positive definite or, if
        smaller, the one at which no direction of Sigma exceeds 1 + 10 times the prior.  So no
        direction exceeds 1 + 10 ``strength`` times the prior (``report_.capped``).
    l1 : float, default=0.01
        The sparsity, relative to the mean diagonal of Sigma; 0 gives a full matrix.
    prior : {"auto", "identity", "variance", "covariance"}, default="auto"
        "identity" is plain distance, "variance" plain distance of standardised features (in whose
        units the metric is learned), "covariance" has M0^-1 = Cov + ridge.  "auto" is "variance" if
        a few features have nearly all the variance, else "identity".
    propagate : bool, default=True
        False uses the pairs alone (the method is then called S2ML).
    floor : float, default=0.1
        A direction is stretched at most 1/floor times over the prior; above 0 and at most 1.
    dissimilar : float or None, default=0.2
        Total weight of the dissimilar pairs relative to the similar ones; None: every pair has
        weight 1, as in the paper.
    tol : float, default=1e-6
        The sparse inverse stops at a duality gap of ``tol`` times the number of features.
    max_iter : int, default=500
        The largest number of steps; reaching it raises a ``ConvergenceWarning``.
    verbose : bool, default=False
        Whether to print progress.

    Attributes
    ----------
    metric_ : array of shape (columns, columns)
        The metric, with exact zeros.
    components_ : array of shape (columns, columns)
        L with metric_ = L'L.
    sparsity_ : float
        Share of zeros off the diagonal.
    gap_ : float
        Duality gap of the sparse inverse.
    n_iter_ : int
        Steps of the sparse inverse, at least 1.
    prior_ : str
        The prior in use.
    report_ : FitReport
        What was done, and what was capped.
    floor_acted_ : bool
        Whether some direction was held by the floor.
    middle_ : float
        The median distance between the pairs learned from.

    See Also
    --------
    LRML : a full metric, in closed form.
    likewise_methods.spaces.FittedSpace : for the rows of a network, without labels.
    likewise_methods.s3ml.sparse_inverse_covariance : the solver by itself.

    References
    ----------
    W. Liu, S. Ma, D. Tao, J. Liu and P. Liu: Semi-supervised sparse metric learning using
    alternating linearization optimization.  ACM SIGKDD Conference on Knowledge Discovery and Data
    Mining, 2010.

    Prior and objective: docs/methods/s3ml.md, (4) and (5); strength and floor: (8) and (9).

    Examples
    --------
    >>> X = [[0.0, 0.0], [1.0, 0.1], [0.1, 4.0], [1.1, 4.1], [0.5, 0.0], [0.4, 4.2]]
    >>> model = S3ML(n_neighbors=2).fit(X, [0, 0, 1, 1, -1, -1])
    >>> bool(model.metric_[1, 1] > model.metric_[0, 0])
    True
    """

    prior_: str
    sparsity_: float
    gap_: float
    n_iter_: int
    report_: FitReport
    floor_acted_: bool

    def __init__(
        self,
        n_neighbors: int = 6,
        propagation: float = 0.5,
        threshold: float = 0.01,
        strength: float = 5.0,
        l1: float = 0.01,
        prior: str = "auto",
        propagate: bool = True,
        floor: float = 0.1,
        dissimilar: float | None = 0.2,
        tol: float = 1e-6,
        max_iter: int = 500,
        verbose: bool = False,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.propagation = propagation
        self.threshold = threshold
        self.strength = strength
        self.l1 = l1
        self.prior = prior
        self.propagate = propagate
        self.floor = floor
        self.dissimilar = dissimilar
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def fit(self, X: Any, y: Any, same: Any = None) -> Self:
        """Learn from labels or pairs; all rows of X shape the graph.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, columns)
            Rows.
        y : int array of shape (n,), or int array of shape (m, 2)
            Labels (-1: unlabelled), or pairs with ``same``.
        same : bool array of shape (m,), optional
            Whether each pair is alike.

        Returns
        -------
        self
        """
        self._check()
        rows = as_rows(self, X, reset=True)
        said = as_constraints(y, same, len(rows))
        if self.dissimilar is not None:
            said = said.weigh(number(self.dissimilar, "dissimilar", least=0))
        self.prior_ = _choose_prior(rows) if self.prior == "auto" else self.prior
        units = _units(rows) if self.prior_ == "variance" else None
        scaled = rows if units is None else rows / units.astype(rows.dtype)
        base = covariance(scaled, RIDGE) if self.prior_ == "covariance" else None
        if said.n_similar + said.n_dissimilar == 0:
            M, report = self._prior_alone(scaled, base, said)
        else:
            M, report = self._learn(scaled, base, said)
        self.report_, self.floor_acted_ = report, report.floor_acted
        self.n_iter_ = max(report.n_iter, 1)
        if units is not None:
            M = M / np.outer(units, units)
        self._keep_metric(rows, said, M)
        off = M.size - len(M)
        self.sparsity_ = float((off - np.count_nonzero(M) + len(M)) / off) if off else 0.0
        return self

    def _check(self) -> None:
        whole(self.n_neighbors, "n_neighbors")
        whole(self.max_iter, "max_iter")
        check_weights(self.propagation, self.threshold)
        truth(self.propagate, "propagate")
        number(self.strength, "strength", least=0)
        number(self.l1, "l1", least=0)
        number(self.tol, "tol", above=0)
        number(self.floor, "floor", above=0, most=1)
        one_of(self.prior, "prior", PRIORS)

    def _prior_alone(
        self, X: Any, base: Floats | None, said: Constraints
    ) -> tuple[Floats, FitReport]:
        self.gap_ = 0.0
        M = np.eye(X.shape[1]) if base is None else inverse(base)
        why = "no pair was given" if said.codes is None else "fewer than two rows have a label"
        return M, FitReport(0, 0, 1.0, 0, 0.0, np.inf, 1.0, 0, 0.0, True, why)

    def _learn(self, X: Any, base: Floats | None, said: Constraints) -> tuple[Floats, FitReport]:
        graph, recall = None, 1.0
        if self.propagate:
            graph, recall = knn_graph_and_recall(X, int(self.n_neighbors))
        T, similar, dissimilar = scatter(
            X, said, graph, float(self.propagation), float(self.threshold),
            progress=_to_stderr if self.verbose else None,
        )  # fmt: skip
        Sigma, beta, beta_max, lowest, floored = self._sigma(T, base)
        dissimilar = dissimilar if said.minus > 0 else 0
        l1 = float(self.l1) * float(np.trace(Sigma)) / len(Sigma)
        kinds = {"similar": said.n_similar, "dissimilar": said.n_dissimilar}
        why = "".join(f"no {kind} pair was given" for kind, count in kinds.items() if not count)
        k = 0 if graph is None else graph.shape[1]
        counts = said.n_similar, said.n_dissimilar, said.minus, k
        if beta == 0:
            self.gap_ = 0.0
            why = "strength is 0" if self.strength == 0 else "the pairs move no direction (T = 0)"
            return inverse(Sigma), FitReport(*counts, 0.0, beta_max, 1.0, 0, 0.0, True, why)
        M, converged, n_iter = self._inverse(Sigma, l1)
        return M, FitReport(
            *counts, beta, beta_max, lowest, floored, l1, False, why, converged, n_iter,
            similar, dissimilar, capped=beta < self.strength * beta_max, recall=recall,
        )  # fmt: skip

    def _inverse(self, Sigma: Floats, l1: float) -> tuple[Floats, bool, int]:
        """Return (metric, whether it reached its tolerance, steps)."""
        if l1 == 0:
            self.gap_ = 0.0
            return inverse(Sigma), True, 0
        found = sparse_inverse_covariance(Sigma, l1, tol=self.tol, max_iter=int(self.max_iter))
        self.gap_ = float(found.gap)
        if not found.converged:
            warnings.warn(
                f"the sparse inverse ended after {found.n_iter} steps with a gap of "
                f"{found.gap:.2g} (wanted: {self.tol * len(Sigma):.2g}); the metric can be used, "
                "but zeros may be missing: raise max_iter, tol or l1",
                ConvergenceWarning,
                stacklevel=4,
            )
        return np.asarray(found.precision), bool(found.converged), int(found.n_iter)

    def _sigma(self, T: Floats, base: Floats | None) -> tuple[Floats, float, float, float, int]:
        """Return M0^-1 + beta T, floored relative to M0^-1 (docs/methods/s3ml.md, (8) and (9))."""
        C = None if base is None else cholesky(base, lower=True)
        relative = (
            T
            if C is None
            else solve_triangular(C, solve_triangular(C, T, lower=True).T, lower=True)
        )
        values, V = eigh((relative + relative.T) / 2)
        low, top = float(values[0]), float(values[-1])
        beta_max = -1 / low if low < -1e-12 * max(abs(top), abs(low)) else np.inf
        # Where hardly any direction is stretched, the strongest shrinking sets the scale.
        most = min(beta_max, REACH / top if top > 0 else np.inf)
        beta = self.strength * most if most < np.inf else 0.0
        moved = 1 + beta * values
        raised = moved < self.floor
        if raised.any():
            V = V if C is None else C @ V
            Sigma = (V * np.maximum(moved, self.floor)) @ V.T
        else:
            Sigma = (np.eye(len(T)) if base is None else base) + beta * T
        Sigma = (Sigma + Sigma.T) / 2
        return Sigma, float(beta), float(beta_max), float(moved.min()), int(raised.sum())


def _choose_prior(X: Any) -> str:
    """Return "variance" where a few features have nearly all the variance, else "identity".

    (sum v)^2 / sum v^2 of the variances v counts how many features share the total; below a fifth
    of them, plain distance would ignore the others.
    """
    v = variances(X)
    v = v[v > 0]
    if not len(v):
        return "identity"
    v = v / v.max()
    return "variance" if v.sum() ** 2 / (v**2).sum() < FEW * len(v) else "identity"


def _units(X: Any) -> Floats:
    """Return each feature's standard deviation, 1 where it is constant."""
    deviation = np.sqrt(variances(X))
    largest = np.maximum(X.max(axis=0), -X.min(axis=0))
    return np.where(deviation > 1e-10 * largest, deviation, 1.0)


def _to_stderr(what: str, done: int, of: int) -> None:
    end = "\n" if done >= of else ""
    sys.stderr.write(f"\r{what}: {done:,} of {of:,}{end}")
    sys.stderr.flush()
