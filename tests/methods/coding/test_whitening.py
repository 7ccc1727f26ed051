"""Whitening against the covariance written out, tall and wide, dense and sparse; its file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from likewise_methods.coding.whitening import Whitening
from likewise_methods.errors import InvalidInput
from likewise_methods.neighbours.container import DamagedFile


def data(n: int, width: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, width)) * np.linspace(3, 0.2, width) + 2
    return np.asarray(X * (rng.random((n, width)) < 0.6), np.float32)


def plain(X: np.ndarray, k: int, ridge: float) -> np.ndarray:
    """Eigenvectors of the covariance; rows up to the signs of their columns."""
    centred = X.astype(float) - X.mean(axis=0, dtype=float)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(X))
    values, vectors = values[::-1][:k], vectors[:, ::-1][:, :k]
    return centred @ vectors / np.sqrt(values + ridge * values[0])


@pytest.mark.parametrize("shape", [(300, 20), (25, 60)])
@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_rows_are_those_of_the_covariance(shape: tuple, ridge: float, kind: type) -> None:
    X = data(*shape)
    made = Whitening(6, ridge=ridge, normalise=False).fit(kind(X)).transform(kind(X))
    expected = plain(X, 6, ridge)
    signs = np.sign((made * expected).sum(axis=0))
    assert np.abs(made - signs * expected).max() < 1e-3


def test_columns_are_uncorrelated_and_rows_of_unit_length() -> None:
    X = data(400, 30)
    raw = Whitening(10, normalise=False).fit_transform(X)
    assert np.allclose(raw.T @ raw / 400, np.eye(10), atol=1e-3)
    assert np.allclose(np.linalg.norm(Whitening(10).fit_transform(X), axis=1), 1, atol=1e-5)


def test_new_rows_one_at_a_time_are_the_same() -> None:
    X = data(100, 30)
    fitted = Whitening(5).fit(X[:80])
    assert np.allclose(fitted.transform(X[80:81]), fitted.transform(X[80:])[:1], atol=1e-6)


def test_directions_without_spread_stay_silent() -> None:
    X = np.zeros((20, 4), np.float32)
    X[:, 0] = np.arange(20)
    made = Whitening(3, normalise=False).fit_transform(X)
    assert np.isfinite(made).all()
    assert not made[:, 1:].any()


def test_saved_and_opened(tmp_path: Path) -> None:
    X = data(50, 12)
    fitted = Whitening(4, ridge=0.01).fit(X)
    fitted.save(tmp_path / "one.lww")
    again = Whitening.open(tmp_path / "one.lww")
    assert np.array_equal(again.transform(X), fitted.transform(X))
    assert again.get_params() == fitted.get_params()
    whole = bytearray((tmp_path / "one.lww").read_bytes())
    whole[-40] ^= 1
    (tmp_path / "one.lww").write_bytes(whole)
    with pytest.raises(DamagedFile, match="checksum"):
        Whitening.open(tmp_path / "one.lww")


def test_bad_input() -> None:
    X = data(10, 6)
    with pytest.raises(InvalidInput, match="128 components from 10 rows of 6 columns; at most 6"):
        Whitening().fit(X)
    with pytest.raises(InvalidInput, match="at most 3"):
        Whitening(4).fit(X[:4])
    with pytest.raises(InvalidInput, match="at least 2 rows"):
        Whitening(1).fit(X[:1])
    with pytest.raises(InvalidInput, match="ridge is -1"):
        Whitening(2, ridge=-1).fit(X)
    with pytest.raises(InvalidInput, match="NaN"):
        Whitening(2).fit(np.full((5, 5), np.nan))
    with pytest.raises(InvalidInput, match="5 columns; 6 expected"):
        Whitening(2).fit(X).transform(sparse.csr_array(X[:, :5]))
