"""The losses: values by the printed formulas, weights by finite differences, no overflow."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from likewise_methods.errors import InvalidInput
from likewise_methods.ordinal.losses import CKL, GNMDS, STE, TSTE, loss_of

ALL: list[Any] = [GNMDS(), STE(), TSTE(4.0), CKL(0.05)]


def formula(loss: Any, a: float, b: float) -> float:
    """docs/methods/ordinal.md, (2) to (5), naively."""
    if loss.name == "gnmds":
        return max(0.0, 1 + a - b)
    if loss.name == "ste":
        return -math.log(math.exp(-a) / (math.exp(-a) + math.exp(-b)))
    if loss.name == "tste":
        al = loss.alpha
        near, far = ((1 + d / al) ** (-(al + 1) / 2) for d in (a, b))
        return -math.log(near / (near + far))
    return -math.log((loss.mu + b) / (2 * loss.mu + a + b))


@pytest.mark.parametrize("loss", ALL, ids=lambda loss: loss.name)
def test_values_are_those_of_the_spec(loss: Any) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.exponential(2.0, (2, 50))
    expected = [formula(loss, x, y) for x, y in zip(a, b, strict=True)]
    np.testing.assert_allclose(loss.value(a, b), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("loss", ALL, ids=lambda loss: loss.name)
def test_weights_are_derivatives(loss: Any) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.exponential(2.0, (2, 200))
    h = 1e-6
    away = np.abs(1 + a - b) > 2 * h  # the hinge has no derivative at its corner
    _, fa, fb = loss.weights(a, b)
    da = (loss.value(a + h, b) - loss.value(a - h, b)) / (2 * h)
    db = (loss.value(a, b + h) - loss.value(a, b - h)) / (2 * h)
    np.testing.assert_allclose(fa[away], da[away], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(fb[away], db[away], rtol=1e-6, atol=1e-9)
    # Nearer should be nearer and farther farther: the signs the paper gets wrong (O1, O2).
    assert (fa >= 0).all()
    assert (fb <= 0).all()


@pytest.mark.parametrize("loss", ALL, ids=lambda loss: loss.name)
def test_nothing_overflows(loss: Any) -> None:
    far = np.array([0.0, 1e-300, 1.0, 1e5, 1e12, 1e100])
    a, b = (x.ravel() for x in np.meshgrid(far, far))
    for found in loss.weights(a, b):
        assert np.isfinite(found).all()


def test_weights_keep_the_shape() -> None:
    assert STE().weights(np.ones((2, 3)), 1.0).f.shape == (2, 3)
    assert STE().weights(1.0, 2.0).fa.shape == ()


def test_by_name() -> None:
    assert loss_of("tste", 10) == TSTE(9.0)
    assert loss_of("tste", 1) == TSTE(1.0)  # p - 1 = 0 would have no tails
    assert loss_of("tste", 10, alpha=2.5) == TSTE(2.5)
    assert loss_of("ckl", 2, mu=0.5) == CKL(0.5)
    assert loss_of(GNMDS(), 2) == GNMDS()
    with pytest.raises(InvalidInput, match="loss is 'hinge'; one of 'ste'"):
        loss_of("hinge", 2)
    for bad in (0.0, -1.0, np.nan, np.inf, "1", True, None):
        with pytest.raises(InvalidInput, match="mu is"):
            loss_of("ckl", 2, mu=bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="alpha is 0"):
        loss_of("tste", 2, alpha=0)
