"""How many comparisons are enough, which dimension is right, and how noisy were the answers?

Comparisons are cut into folds; maps are fitted on growing shares of the other folds and tested on
those held out.  Held-out error falls towards a limit as comparisons are added.  Where it still
falls, more comparisons help; where it does not, only another dimension or loss can help.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from likewise_methods.errors import InvalidInput
from likewise_methods.ordinal.comparisons import Rows, as_comparisons, pair_numbers
from likewise_methods.ordinal.embedding import OrdinalEmbedding
from likewise_methods.validation import generator, number, whole

Floats = NDArray[np.float64]

# Fewer pairs of answers to one question are too few to estimate noise.
FEW = 50


@dataclass(frozen=True)
class Noise:
    """How often an answer is wrong, and what this estimate rests on.

    ``rate`` is ``from_repeats`` where that is known: how often two answers to one question differ
    (None with too few repeated questions).  Otherwise it is ``floor``: the held-out error of the
    best dimension, extrapolated to endless comparisons.  This is **an upper bound** (``at_most``),
    as it includes errors of the map.
    """

    rate: float
    from_repeats: float | None
    floor: float

    @property
    def at_most(self) -> bool:
        """Whether ``rate`` is only an upper bound, for lack of repeated questions."""
        return self.from_repeats is None

    def __str__(self) -> str:
        return f"{'at most ' if self.at_most else ''}{self.rate:.1%}"


@dataclass(frozen=True)
class Curve:
    """Held-out error by dimension and number of comparisons.

    ``error[d, m]`` is the mean over folds of the share of held-out comparisons that a map of
    ``dimensions[d]`` fitted on ``counts[m]`` comparisons violates.  ``spread`` is the standard
    deviation over folds, ``training`` the error on the comparisons fitted.
    """

    dimensions: tuple[int, ...]
    counts: tuple[int, ...]
    error: Floats
    spread: Floats
    training: Floats
    noise: Noise

    @property
    def best_dimension(self) -> int:
        """The smallest dimension within one standard deviation of the lowest error.

        Errors are those with all comparisons; the deviation is that of the best over folds.
        """
        last, deviation = self.error[:, -1], self.spread[:, -1]
        best = int(np.argmin(last))
        return self.dimensions[int(np.flatnonzero(last <= last[best] + deviation[best])[0])]

    @property
    def still_falling(self) -> bool:
        """Whether more comparisons would help.

        That is so if the last step lowered the error by more than the folds differ.
        """
        if len(self.counts) < 2:
            return False
        d = self.dimensions.index(self.best_dimension)
        return bool(self.error[d, -2] - self.error[d, -1] > self.spread[d, -1])

    def rows(self) -> list[dict[str, object]]:
        """Return one dictionary a point, for a table."""
        return [
            {
                "dimensions": p,
                "comparisons": m,
                "held-out error": float(self.error[d, c]),
                "±": float(self.spread[d, c]),
                "training error": float(self.training[d, c]),
            }
            for d, p in enumerate(self.dimensions)
            for c, m in enumerate(self.counts)
        ]

    def plot(self, axis: Any = None) -> Any:
        """Draw the curve with matplotlib (on ``axis`` if given); return the axis."""
        return plot_curve(self, axis)


def cross_validate(
    comparisons: Any,
    n_objects: int | None = None,
    *,
    dimensions: Sequence[int] = (1, 2, 3, 5),
    shares: Sequence[float] = (0.25, 0.5, 1.0),
    folds: int = 5,
    estimator: OrdinalEmbedding | None = None,
    random_state: Any = None,
) -> Curve:
    """Return the cross-validated error by dimension and number of comparisons.

    Answers to one question stay in one fold, since a repeat would give away the held-out answer.
    The noise rate comes from such repeats if there are enough; otherwise it is an upper bound
    (:class:`Noise`).

    Parameters
    ----------
    comparisons : int array of shape (m, 3) or (m, 4)
        The answers.
    n_objects : int, optional
        How many there are; by default 0 to the highest named.
    dimensions : sequence of int, default=(1, 2, 3, 5)
        Dimensions of the maps.
    shares : sequence of float, default=(0.25, 0.5, 1.0)
        Shares of the comparisons outside a fold, each above 0 and at most 1.
    folds : int, default=5
        Number of folds, at least 2.
    estimator : OrdinalEmbedding, optional
        Supplies the loss, the solver and other parameters.
    random_state : int, Generator or None, default=None
        Draws the folds.

    Returns
    -------
    Curve
        Held-out error by dimension and number of comparisons, and the noise of the answers.

    See Also
    --------
    OrdinalEmbedding : the estimator that is fitted.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(12, 1))
    >>> t = np.array([rng.choice(12, 3, replace=False) for _ in range(200)])
    >>> wrong = abs(x[t[:, 0]] - x[t[:, 1]]) > abs(x[t[:, 0]] - x[t[:, 2]])
    >>> t = np.where(wrong, t[:, [0, 2, 1]], t)
    >>> cross_validate(t, dimensions=[1, 2], folds=2, random_state=0).error.shape
    (2, 3)
    """
    rows = as_comparisons(comparisons, n_objects)
    n = int(rows.max()) + 1 if n_objects is None else whole(n_objects, "n_objects", 1)
    rng = generator(random_state)
    parts = sorted(number(s, "one of shares", above=0, most=1) for s in shares)
    if not parts:
        raise InvalidInput("shares is empty; at least one expected")
    fold, question = _folds(rows, whole(folds, "folds", 2), rng)
    sizes = tuple(whole(p, "dimensions", 1) for p in dimensions)
    if not sizes:
        raise InvalidInput("dimensions is empty; at least one expected")
    model = OrdinalEmbedding() if estimator is None else estimator
    error = np.empty((folds, len(sizes), len(parts)))
    training = np.empty_like(error)
    counts = np.empty((folds, len(parts)), np.int64)
    for f in range(folds):
        held, rest = rows[fold == f], rng.permutation(rows[fold != f])
        for c, share in enumerate(parts):
            used = rest[: max(round(share * len(rest)), 1)]
            counts[f, c] = len(used)
            for d, p in enumerate(sizes):
                seed = int(rng.integers(1 << 31))
                fitted = clone(model).set_params(n_components=p, random_state=seed).fit(used, n)
                error[f, d, c] = 1.0 - fitted.score(held)
                training[f, d, c] = 1.0 - fitted.score(used)
    mean = error.mean(axis=0)
    at = tuple(int(m) for m in counts.mean(axis=0))
    return Curve(
        sizes, at, mean, error.std(axis=0), training.mean(axis=0), _noise(rows, question, mean, at)
    )


def _folds(
    rows: Rows, folds: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each row's fold, the same for all answers to a question, and its question."""
    near, far = pair_numbers(rows)
    pairs = np.column_stack([np.minimum(near, far), np.maximum(near, far)])
    kinds, question = np.unique(pairs, axis=0, return_inverse=True)
    question = question.reshape(-1)
    if len(kinds) < folds:
        raise InvalidInput(f"there are {len(kinds)} different questions for {folds} folds; too few")
    return rng.permutation(np.arange(len(kinds)) % folds)[question], question


def _noise(rows: Rows, question: NDArray[np.int64], error: Floats, counts: Sequence[int]) -> Noise:
    repeats = noise_from_repeats(rows, question)
    floor = min(_floor(error[d], np.asarray(counts, np.float64)) for d in range(len(error)))
    return Noise(floor if repeats is None else repeats, repeats, floor)


def noise_from_repeats(rows: Rows, question: NDArray[np.int64]) -> float | None:
    """Return the rate q of wrong answers from how often two answers differ: D = 2 q (1 - q).

    None below ``FEW`` pairs of answers to one question.
    """
    near, far = pair_numbers(rows)
    yes = np.bincount(question, near < far)
    times = np.bincount(question)
    pairs = times * (times - 1) / 2
    if pairs.sum() < FEW:
        return None
    differ = float((yes * (times - yes)).sum() / pairs.sum())
    return float((1 - np.sqrt(max(1 - 2 * differ, 0.0))) / 2)


def _floor(error: Floats, counts: Floats) -> float:
    """Return c of error = c + s / counts, by least squares, between 0 and the lowest error."""
    if len(counts) < 2:
        return float(error[-1])
    A = np.column_stack([np.ones(len(counts)), 1.0 / counts])
    c = float(np.linalg.lstsq(A, error, rcond=None)[0][0])
    return float(np.clip(c, 0.0, error.min()))


_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")


def plot_curve(curve: Curve, axis: Any = None) -> Any:
    """Draw held-out error against comparisons, a line a dimension, the noise rate dashed."""
    if axis is None:
        from matplotlib import pyplot

        axis = pyplot.subplots()[1]
    for d, p in enumerate(curve.dimensions):
        axis.errorbar(
            curve.counts,
            curve.error[d],
            yerr=curve.spread[d],
            marker="o",
            markersize=4,
            capsize=2,
            color=_COLOURS[d % len(_COLOURS)],
            label=f"{p} dimension{'s' if p > 1 else ''}",
        )
    label = "noise, at most" if curve.noise.at_most else "noise, from repeats"
    axis.axhline(curve.noise.rate, color="grey", linestyle="--", linewidth=1, label=label)
    axis.set(xlabel="comparisons", ylabel="held-out error", ylim=(0, None))
    axis.legend(fontsize=8)
    return axis
