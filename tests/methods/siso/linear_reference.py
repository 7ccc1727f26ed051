"""The linear machine written out: a ridge regression and a discriminant for each tag, by itself."""

from __future__ import annotations

from typing import Any

import numpy as np


def log_odds(X: Any, Y: Any, Q: Any, penalty: float) -> Any:
    """Log odds (queries, tags) of unit rows; ``penalty`` in the scale of the rows.

    Ridge regression with a free intercept gives each tag's direction; the rows along it are two
    groups of one width, whose densities with the shares of both as priors give the odds.
    """
    X, Y, Q = (np.asarray(one, np.float64) for one in (X, Y, Q))
    n, width = X.shape
    # The intercept is a column that is not penalised.
    augmented = np.hstack([X, np.ones((n, 1))])
    ridge = penalty * np.diag([1.0] * width + [0.0])
    made = np.empty((len(Q), Y.shape[1]))
    for tag in range(Y.shape[1]):
        y = Y[:, tag]
        count = y.sum()
        prior = np.log((count + 0.5) / (n - count + 0.5))
        if count == 0:
            made[:, tag] = -np.inf
            continue
        if count == n:
            made[:, tag] = prior
            continue
        weights = np.linalg.lstsq(augmented.T @ augmented + ridge, augmented.T @ y, rcond=None)[0]
        fitted, asked = augmented @ weights, Q @ weights[:-1] + weights[-1]
        having, lacking = fitted[y == 1].mean(), fitted[y == 0].mean()
        # Of the indicator's variance the regression leaves this much.
        within = y.var() - (having - lacking) * y.var()
        made[:, tag] = (asked - (having + lacking) / 2) / within + prior
    return made


def total_variance(X: Any) -> float:
    X = np.asarray(X, np.float64)
    return float(((X - X.mean(axis=0)) ** 2).sum() / len(X))
