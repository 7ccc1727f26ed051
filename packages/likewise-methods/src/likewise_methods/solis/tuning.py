"""Grid search for l1 and step on held-out triplets, in threads on one copy of the data."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone

from likewise_methods.errors import InvalidInput
from likewise_methods.solis.base import OnlineLearner
from likewise_methods.solis.rows import as_rows, as_triplets
from likewise_methods.solis.scales import GAIN, measured_scales
from likewise_methods.solis.solis import SOLIS
from likewise_methods.validation import number, whole

# Shares of lambda_max, and gains of the step (docs/methods/solis.md, (13) and (14)).
L1_SHARES = (1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.2)
GAINS = (0.3, 1.0, 3.0, 10.0, 30.0)

Report = Callable[[int, int], None]


@dataclass(frozen=True)
class Trial:
    """One point of the grid: parameters, held-out accuracy and sparsity.

    Attributes
    ----------
    parameters : mapping of str to float
        The parameters of this point.
    accuracy : float
        Share of validation triplets ranked correctly.
    sparsity : float
        Share of weights that are exactly zero.
    changed : float
        Share of weights that differ from their start.

    See Also
    --------
    tune : returns trials.
    """

    parameters: Mapping[str, float]
    accuracy: float
    sparsity: float
    changed: float


@dataclass(frozen=True)
class Tuning:
    """The result of a grid search: all trials, and the best learner, fitted.

    Attributes
    ----------
    trials : sequence of Trial
        All trials, in the order of the grid.
    best : Trial
        The chosen trial.
    learner : SOLIS or another learner
        Fitted with the parameters of ``best``.

    See Also
    --------
    tune : returns it.
    """

    trials: Sequence[Trial]
    best: Trial
    learner: OnlineLearner

    @property
    def frontier(self) -> list[Trial]:
        """Return the trials that no other beats in both accuracy and sparsity, sparsest first."""
        kept: list[Trial] = []
        for trial in sorted(self.trials, key=lambda t: (-t.sparsity, -t.accuracy)):
            if not kept or trial.accuracy > kept[-1].accuracy:
                kept.append(trial)
        return kept

    def show(self) -> str:
        """Return a table of accuracy and sparsity; ``*`` marks the frontier, ``>`` the choice."""
        frontier = {id(t) for t in self.frontier}
        names = list(self.trials[0].parameters)
        lines = ["  accuracy  sparsity  " + "  ".join(f"{n:>10}" for n in names)]
        for t in sorted(self.trials, key=lambda t: -t.sparsity):
            mark = ">" if t is self.best else "*" if id(t) in frontier else " "
            values = "  ".join(f"{t.parameters[n]:10.4g}" for n in names)
            lines.append(f"{mark} {t.accuracy:8.4f}  {t.sparsity:8.4f}  {values}")
        return "\n".join(lines)


def tune(
    X: Any,
    triplets: Any,
    validation: Any,
    *,
    learner: OnlineLearner | None = None,
    grid: Mapping[str, Sequence[float]] | None = None,
    tolerance: float = 0.0,
    n_jobs: int | None = None,
    progress: bool | Report = False,
) -> Tuning:
    """Fit every point of the grid on ``triplets`` and score it on ``validation``.

    The best trial is the sparsest one whose accuracy is within ``tolerance`` of the highest.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, words)
        Rows of pictures.
    triplets : int array of shape (m, 3)
        Triplets to learn from: anchor, nearer, farther.
    validation : int array of shape (v, 3)
        Triplets to score on.
    learner : SOLIS or another online learner, optional
        Has all other parameters; ``SOLIS()`` by default.
    grid : mapping of str to sequence of float, optional
        Values of parameters; :func:`default_grid` by default, for SOLIS only.
    tolerance : float, default=0.0
        Accuracy to give up for sparsity.
    n_jobs : int, optional
        Threads; by default one per core.
    progress : bool or callable, default=False
        True prints to stderr; a function is called with (done, total).

    Returns
    -------
    Tuning
        The trials and the best learner.

    See Also
    --------
    SOLIS : the learner.
    default_grid : the default.

    References
    ----------
    docs/methods/solis.md, (13) and (14).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 1, 0], [1, 0, 1], [0, 1, 1]])
    >>> found = tune(X, [[0, 1, 2]], [[1, 0, 2]], grid={"l1": [0.01, 100.0]})
    >>> found.best.parameters, found.best.accuracy
    ({'l1': 0.01}, 1.0)
    """
    learner = SOLIS() if learner is None else learner
    if not isinstance(learner, OnlineLearner):
        raise InvalidInput(f"learner is a {type(learner).__name__}; an online learner expected")
    tolerance = number(tolerance, "tolerance", least=0)
    jobs = whole(os.cpu_count() or 1 if n_jobs is None else n_jobs, "n_jobs", 1)
    rows = as_rows(X)
    n = len(rows.ends) - 1
    train, held = as_triplets(triplets, n), as_triplets(validation, n)
    if grid is None:
        if not isinstance(learner, SOLIS):
            raise InvalidInput(f"{type(learner).__name__} has no default grid; give one")
        grid = default_grid(X, train, learner)
    if not grid or not all(len(values) for values in grid.values()):
        raise InvalidInput("grid is empty; at least one value of one parameter expected")
    points = [dict(zip(grid, p, strict=True)) for p in itertools.product(*grid.values())]
    report = _stderr if progress is True else progress or None

    def trial(number: int) -> tuple[int, Trial]:
        made = clone(learner).set_params(**points[number]).fit(X, train)
        return number, Trial(points[number], made.score(X, held), made.sparsity_, made.changed_)

    found: dict[int, Trial] = {}
    with ThreadPoolExecutor(min(jobs, len(points))) as pool:
        futures = [pool.submit(trial, i) for i in range(len(points))]
        try:
            for future in as_completed(futures):
                number_, result = future.result()
                found[number_] = result
                if report is not None:
                    report(len(found), len(points))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    trials = [found[i] for i in range(len(points))]
    top = max(t.accuracy for t in trials) - tolerance
    # Ties: the sparsest, then the first of the grid.
    best = max(
        range(len(trials)), key=lambda i: (trials[i].accuracy >= top, trials[i].sparsity, -i)
    )
    # Fitted again: keeping the states of all trials would take too much memory.
    fitted = clone(learner).set_params(**points[best]).fit(X, train)
    return Tuning(trials, trials[best], fitted)


def default_grid(X: Any, triplets: Any, learner: SOLIS) -> dict[str, list[float]]:
    """Return the default grid of l1 and step, scaled to the data.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, words)
        Rows of pictures.
    triplets : int array of shape (m, 3)
        Triplets to learn from.
    learner : SOLIS
        Has the method and the margin.

    Returns
    -------
    dict of str to list of float
        Values of ``l1`` and of ``eta`` (``gamma`` for "da").

    See Also
    --------
    tune : searches the grid.

    References
    ----------
    docs/methods/solis.md, (13) and (14).
    """
    checked = learner._check_parameters()
    method = checked["method"]
    rows = as_rows(X)
    train = as_triplets(triplets, len(rows.ends) - 1)
    scales = measured_scales(rows, train, method, checked["margin"], learner.random_state)
    l1 = [share * scales["lambda_max"] for share in L1_SHARES]
    if "gamma" in scales:
        return {"l1": l1, "gamma": [scales["gamma"] * GAIN / gain for gain in GAINS]}
    return {"l1": l1, "eta": [scales["eta"] / GAIN * gain for gain in GAINS]}


def _stderr(done: int, total: int) -> None:
    end = "\n" if done == total else ""
    sys.stderr.write(f"\rtuning: {done} of {total}{end}")
    sys.stderr.flush()
