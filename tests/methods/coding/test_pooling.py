"""Pooling and pyramids against plain numpy; product codes from their marginals."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from likewise_methods.coding.hard import VQ
from likewise_methods.coding.locality import LLC
from likewise_methods.coding.pooling import MaxPooling
from likewise_methods.coding.pyramid import SpatialPyramid
from likewise_methods.errors import InvalidInput


class Pairs:
    """A product coder by hand: marginals of common mass, and the outer products they stand for."""

    n_subspaces = 2

    def __init__(self, k: int) -> None:
        self.k = k
        self.codebooks = [np.zeros((k, 1)), np.zeros((k, 1))]

    def marginals(self, X: np.ndarray) -> list[sparse.csr_array]:
        found = []
        for part in (X[:, : self.k], X[:, self.k :]):
            u = np.maximum(part, 0)
            mass = u.sum(axis=1, keepdims=True)
            # Rows of mass 2; a row without mass has none on either side.
            found.append(np.where(mass > 0, 2 * u / np.where(mass > 0, mass, 1), 0))
        empty = (found[0].sum(axis=1) == 0) | (found[1].sum(axis=1) == 0)
        return [sparse.csr_array(np.where(empty[:, None], 0, u)) for u in found]

    def transform(self, X: np.ndarray) -> sparse.csr_array:
        left, right = (u.toarray() for u in self.marginals(X))
        return sparse.csr_array((left[:, :, None] * right[:, None] / 2).reshape(len(X), -1))


def plain_regions(codes: np.ndarray, positions: np.ndarray, size: tuple, levels: tuple, how: str):
    """Every region for itself, from its own descriptors."""
    found = []
    for n in levels:
        x = np.clip(((positions[:, 0] + 0.5) * n / size[0]).astype(int), 0, n - 1)
        y = np.clip(((positions[:, 1] + 0.5) * n / size[1]).astype(int), 0, n - 1)
        for row in range(n):
            for column in range(n):
                inside = codes[(y == row) & (x == column)]
                total = np.zeros(codes.shape[1])
                if len(inside):
                    total = np.maximum(inside.max(axis=0), 0) if how == "max" else inside.sum(0)
                found.append(total)
    return np.stack(found)


@pytest.fixture
def codes() -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.normal(size=(300, 11)) * (rng.random((300, 11)) < 0.2)


@pytest.fixture
def positions() -> np.ndarray:
    return np.random.default_rng(1).random((300, 2)) * [40, 30] - 0.5


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_the_largest_by_word(codes: np.ndarray, kind: type) -> None:
    pool = MaxPooling(normalise=None, batch=64)
    expected = np.maximum(codes.max(axis=0), 0)
    assert np.allclose(pool.pool(sparse.csr_array(kind(codes))), expected)
    assert np.allclose(pool.pool(iter([codes[:5], codes[5:]])), expected)
    assert np.allclose(pool.transform(kind(codes)).toarray(), expected[None])
    if kind is np.asarray:
        assert np.allclose(pool.transform([codes, codes[:7]]).toarray()[0], expected)
        assert pool.transform(codes.reshape(3, 100, 11)).shape == (3, 11)


@pytest.mark.parametrize("order", ["l2", "l1"])
def test_lengths(codes: np.ndarray, order: str) -> None:
    row = MaxPooling(normalise=order).pool(codes)
    assert np.linalg.norm(row, 2 if order == "l2" else 1) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("levels", [(1,), (1, 2, 4), (1, 3), (2, 4)])
@pytest.mark.parametrize("how", ["max", "sum"])
def test_coarse_regions_come_from_the_fine_ones(
    codes: np.ndarray, positions: np.ndarray, levels: tuple, how: str
) -> None:
    made = SpatialPyramid(levels=levels, pooling=how, normalise=None, batch=77).pool(
        codes, positions, (40, 30)
    )
    expected = plain_regions(codes, positions, (40, 30), levels, how)
    assert np.abs(made.reshape(expected.shape) - expected).max() < 1e-5


def test_lengths_of_regions(codes: np.ndarray, positions: np.ndarray) -> None:
    whole = SpatialPyramid().pool(codes, positions, (40, 30))
    assert np.linalg.norm(whole) == pytest.approx(1, abs=1e-5)
    each = SpatialPyramid(by_region=True).pool(codes, positions, (40, 30)).reshape(21, -1)
    assert np.allclose(np.linalg.norm(each, axis=1), 1, atol=1e-5)


def test_product_codes_are_pooled_from_their_marginals(positions: np.ndarray) -> None:
    X = np.random.default_rng(3).normal(size=(300, 12)) - 0.7
    X[:4] = -1
    coder = Pairs(6)
    dense = coder.transform(X).toarray()
    assert (dense.sum(axis=1) > 0).any()
    assert not dense[:4].any()
    pooled = MaxPooling(coder, normalise=None, batch=50).pool(X)
    assert np.abs(pooled - dense.max(axis=0)).max() < 1e-6
    regions = SpatialPyramid(coder, normalise=None).pool(X, positions, (40, 30))
    expected = plain_regions(dense, positions, (40, 30), (1, 2, 4), "max")
    assert np.abs(regions.reshape(21, -1) - expected).max() < 1e-6


def test_with_a_coder_descriptors_are_given() -> None:
    rng = np.random.default_rng(4)
    words, X = rng.normal(size=(9, 5)), rng.normal(size=(60, 5))
    for coder in (VQ(codebook=words), LLC(codebook=words)):
        expected = np.maximum(coder.transform(X).toarray().max(axis=0), 0)
        assert np.allclose(MaxPooling(coder, normalise=None).pool(X), expected)
    histogram = SpatialPyramid(VQ(codebook=words), levels=(1,), pooling="sum", normalise="l1")
    row = histogram.pool(X, np.zeros((60, 2)), (8, 8))
    assert np.allclose(row, np.bincount(VQ(codebook=words).transform(X).indices, minlength=9) / 60)


def test_a_picture_without_descriptors_is_zero() -> None:
    coder = VQ(codebook=np.eye(4))
    assert MaxPooling(coder).pool(np.zeros((0, 4))).tolist() == [0.0] * 4
    empty = SpatialPyramid(coder).pool(np.zeros((0, 4)), np.zeros((0, 2)), (5, 5))
    assert empty.shape == (84,)
    assert not empty.any()
    assert MaxPooling(Pairs(3)).pool(np.zeros((0, 6))).shape == (9,)
    with pytest.raises(InvalidInput, match="at least one row of codes"):
        MaxPooling().pool(iter([]))


def test_memory_does_not_grow_with_the_descriptors() -> None:
    coder = VQ(codebook=np.random.default_rng(0).normal(size=(64, 16)))
    pool = MaxPooling(coder, batch=512)
    part = np.random.default_rng(1).normal(size=(512, 16)).astype(np.float32)
    pool.pool(iter([part] * 2))

    def peak(n_batches: int) -> int:
        tracemalloc.start()
        pool.pool(iter([part] * n_batches))
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    # 76 batches more: not one of them is kept.
    assert peak(80) < peak(4) + part.nbytes


def test_bad_input(codes: np.ndarray, positions: np.ndarray) -> None:
    with pytest.raises(InvalidInput, match="normalise is 'l3'"):
        MaxPooling(normalise="l3").pool(codes)
    with pytest.raises(InvalidInput, match="non-finite"):
        MaxPooling().pool(np.full((2, 2), np.nan))
    with pytest.raises(InvalidInput, match="codes over 5 words; 11 before"):
        MaxPooling().pool(iter([codes, codes[:, :5]]))
    with pytest.raises(InvalidInput, match="divide the last"):
        SpatialPyramid(levels=(1, 3, 4)).pool(codes, positions, (40, 30))
    with pytest.raises(InvalidInput, match="300 descriptors at 10 positions"):
        SpatialPyramid().pool(codes, positions[:10], (40, 30))
    with pytest.raises(InvalidInput, match="size is"):
        SpatialPyramid().pool(codes, positions, (0, 30))
    with pytest.raises(InvalidInput, match="NaN or inf"):
        SpatialPyramid().pool(codes, positions * np.nan, (40, 30))
    with pytest.raises(InvalidInput, match=r"one \(x, y\) a row"):
        SpatialPyramid().pool(codes, positions[:, :1], (40, 30))
    with pytest.raises(InvalidInput, match="pooling is 'mean'"):
        SpatialPyramid(pooling="mean").pool(codes, positions, (40, 30))
