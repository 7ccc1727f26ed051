"""95 % confidence intervals of shares and means.

The unit is a judgement: its comparisons are not independent.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from likewise_methods.errors import InvalidInput

Z = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""
_FEWEST = 4


class Interval(NamedTuple):
    """An interval from ``low`` to ``high``.

    See Also
    --------
    wilson : the interval of a share.
    mean_interval : the interval of a mean.
    """

    low: float
    high: float


class Spread(NamedTuple):
    """Size, sum and sum of squares of a sample.

    See Also
    --------
    mean_interval : the interval of its mean.
    """

    n: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, value: float) -> Spread:
        """Return the spread with one more value."""
        return Spread(self.n + 1, self.total + value, self.squares + value * value)


UNTESTED = Spread()


def wilson(share: float, n: int) -> Interval:
    """Return the interval of a share of ``n`` independent tests (Wilson 1927).

    It also holds for a mean of n values in [0, 1].

    Parameters
    ----------
    share : float
        The observed share.
    n : int
        Number of tests.

    Returns
    -------
    Interval
        Inside [0, 1].

    See Also
    --------
    mean_interval : of any mean.

    Examples
    --------
    >>> [round(end, 3) for end in wilson(0.5, 10)]
    [0.237, 0.763]
    """
    if n < 1 or not 0 <= share <= 1:
        raise InvalidInput(f"share is {share} of {n} tests; a share of 1 or more expected")
    middle = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * math.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    return Interval(max(0.0, middle - half), min(1.0, middle + half))


def mean_interval(spread: Spread) -> Interval | None:
    """Return Student's interval of a mean; None for fewer than four values.

    Parameters
    ----------
    spread : Spread
        The sample.

    Returns
    -------
    Interval or None
        The interval.

    See Also
    --------
    wilson : of a share.

    Examples
    --------
    >>> differences = Spread()
    >>> for value in (0.1, 0.3, 0.2, 0.4, 0.0, 0.2):
    ...     differences = differences.add(value)
    >>> [round(end, 3) for end in mean_interval(differences)]
    [0.052, 0.348]
    """
    n = spread.n
    if n < _FEWEST:
        return None
    mean = spread.total / n
    variance = max(spread.squares / n - mean * mean, 0.0) * n / (n - 1)
    half = t_quantile(n - 1) * math.sqrt(variance / n)
    return Interval(mean - half, mean + half)


def t_quantile(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t, by the expansion of Fisher and Cornish (1960).

    >>> [round(t_quantile(n), 2) for n in (5, 11, 47)]
    [2.57, 2.2, 2.01]
    """
    z, v = Z, float(freedom)
    return (
        z
        + (z**3 + z) / (4 * v)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * v**3)
    )
