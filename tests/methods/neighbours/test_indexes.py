"""What all four indexes promise, and how near the truth the approximate ones come."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from likewise_methods.errors import InvalidInput
from likewise_methods.neighbours._faiss import threads
from likewise_methods.neighbours.container import DamagedFile, save_arrays
from likewise_methods.neighbours.exact import Exact
from likewise_methods.neighbours.hnsw import HNSW
from likewise_methods.neighbours.ivf import IVF
from likewise_methods.neighbours.lsh import LSH
from likewise_methods.neighbours.protocol import Metric, Neighbours, NotBuilt

Make = Callable[..., Any]
KINDS: list[Make] = [Exact, HNSW, IVF, LSH]
# Neighbours here are about 0.7 away: cells must be wider than for near duplicates.
WAYS: dict[Make, dict[str, Any]] = {LSH: {"hash_width": 1.5, "n_probes": 16}}
FLOORS: dict[Make, float] = {Exact: 1.0, HNSW: 0.97, IVF: 0.9, LSH: 0.9}


def unit_rows(n: int, width: int, seed: int) -> NDArray[np.float32]:
    """Clustered points on the sphere: queries have near neighbours, as descriptors do."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(max(n // 20, 1), width))
    X = centres[rng.integers(len(centres), size=n)] + 0.5 * rng.normal(size=(n, width))
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True), np.float32)


def truth(X: NDArray[Any], Q: NDArray[Any], k: int, metric: Metric) -> tuple[Any, Any]:
    """The reference: float64, all pairs, ties by id."""
    X, Q = X.astype(np.float64), Q.astype(np.float64)
    values = Q @ X.T if metric == "ip" else ((Q[:, None] - X[None]) ** 2).sum(-1)
    key = -values if metric == "ip" else values
    ids = np.argsort(key, axis=1, kind="stable")[:, :k]
    return ids, np.take_along_axis(values, ids, 1)


@pytest.mark.parametrize("metric", ["ip", "l2"])
@pytest.mark.parametrize("make", KINDS)
def test_recall_and_values(make: Make, metric: Metric) -> None:
    X, Q = unit_rows(3000, 24, 1), unit_rows(50, 24, 2)
    index = make(metric=metric, **WAYS.get(make, {})).build(X)
    assert isinstance(index, Neighbours)
    ids, values = index.search(Q, 10)
    assert ids.dtype == np.int64
    assert values.dtype == np.float32
    right, _ = truth(X, Q, 10, metric)
    share = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(ids, right, strict=True)])
    assert share >= FLOORS[make]
    # Whatever is returned carries its true value, best first.
    filled = ids >= 0
    rows, columns = np.nonzero(filled)
    a, b = Q[rows].astype(np.float64), X[ids[filled]].astype(np.float64)
    expected = (a * b).sum(1) if metric == "ip" else ((a - b) ** 2).sum(1)
    np.testing.assert_allclose(values[rows, columns], expected, atol=2e-6)
    with np.errstate(invalid="ignore"):
        steps = np.diff(values, axis=1)
    assert (steps[filled[:, 1:]] * (1 if metric == "l2" else -1) >= 0).all()


@settings(max_examples=60, deadline=None)
@given(
    data=st.data(),
    n=st.integers(1, 12),
    width=st.integers(1, 4),
    k=st.integers(1, 15),
    metric=st.sampled_from(["ip", "l2"]),
)
def test_exact_is_exact_with_ties_and_padding(
    data: st.DataObject, n: int, width: int, k: int, metric: Metric
) -> None:
    whole = st.integers(-3, 3)
    row = st.lists(whole, min_size=width, max_size=width)
    X = np.array(data.draw(st.lists(row, min_size=n, max_size=n)))
    Q = X[:2] + 1
    ids, values = Exact(metric).build(X).search(Q, k)
    _, expected = truth(X, Q, k, metric)
    some = min(k, n)
    np.testing.assert_array_equal(values[:, :some], expected)
    assert (ids[:, some:] == -1).all()
    assert (values[:, some:] == (np.inf if metric == "l2" else -np.inf)).all()
    for row_ids, row_values in zip(ids[:, :some], values[:, :some], strict=True):
        assert len(set(row_ids.tolist())) == some
        for i in range(some - 1):
            assert row_values[i] != row_values[i + 1] or row_ids[i] < row_ids[i + 1]


@pytest.mark.parametrize("make", KINDS)
def test_add_continues_the_numbering(make: Make) -> None:
    X = unit_rows(400, 8, 3)
    index = make(metric="l2").build(X[:300])
    assert index.add(X[300:]) is index
    assert len(index) == 400
    index.add(X[:0])
    assert len(index) == 400
    ids, values = index.search(X, 1)
    assert (ids[:, 0] == np.arange(400)).mean() > 0.99
    assert values[:, 0].max() < 1e-5 or make is not Exact
    # Building again forgets.
    assert len(index.build(X[:5])) == 5


@pytest.mark.parametrize("make", KINDS)
def test_the_caller_may_change_his_array_afterwards(make: Make) -> None:
    X = unit_rows(50, 8, 3)
    index = make(metric="ip").build(X)
    before = index.search(X[:3].copy(), 2)
    Q = X[:3].copy()
    X[:] = 0
    np.testing.assert_array_equal(index.search(Q, 2)[1], before[1])


@pytest.mark.parametrize("make", KINDS)
def test_the_same_input_gives_the_same_bits(make: Make) -> None:
    X, Q = unit_rows(1500, 16, 4), unit_rows(40, 16, 5)
    first = make(metric="l2").build(X).search(Q, 7)
    for n_threads in (1, 2):
        again = make(metric="l2", n_threads=n_threads).build(X).search(Q, 7)
        np.testing.assert_array_equal(first[0], again[0])
        np.testing.assert_array_equal(first[1], again[1])


@pytest.mark.parametrize("metric", ["ip", "l2"])
@pytest.mark.parametrize("make", KINDS)
def test_save_open_and_copies(make: Make, metric: Metric, tmp_path: Path) -> None:
    X, Q = unit_rows(500, 8, 6), unit_rows(20, 8, 7)
    index = make(metric=metric).build(X)
    index.save(tmp_path / "index")
    opened = make.open(tmp_path / "index", n_threads=2)  # type: ignore[attr-defined]
    assert (opened.metric, opened.n_threads, opened.width, len(opened)) == (metric, 2, 8, 500)
    copied = pickle.loads(pickle.dumps(index))  # noqa: S301 - our own bytes
    for other in (opened, copied):
        for a, b in zip(index.search(Q, 5), other.search(Q, 5), strict=True):
            np.testing.assert_array_equal(a, b)
    opened.add(Q)
    assert (opened.search(Q, 1)[0][:, 0] >= 0).all()
    assert len(opened) == 520
    assert pickle.loads(pickle.dumps(make())).metric == "l2"  # noqa: S301


@pytest.mark.parametrize("make", KINDS)
def test_damage_is_a_typed_error(make: Make, tmp_path: Path) -> None:
    path = tmp_path / "index"
    make().build(unit_rows(60, 4, 8)).save(path)
    good = path.read_bytes()
    rng = np.random.default_rng(0)
    for at in rng.integers(len(good), size=80):
        path.write_bytes(good[:at] + bytes([good[at] ^ (1 << rng.integers(8))]) + good[at + 1 :])
        with pytest.raises(DamagedFile):
            make.open(path)  # type: ignore[attr-defined]
        path.write_bytes(good[:at])
        with pytest.raises(DamagedFile):
            make.open(path)  # type: ignore[attr-defined]
    path.write_bytes(good)
    wrong = Exact if make is not Exact else HNSW
    with pytest.raises(DamagedFile, match="expected"):
        wrong.open(path)


@pytest.mark.parametrize("make", KINDS)
def test_refusals_name_what_was_wrong(make: Make) -> None:
    X = unit_rows(30, 8, 9)
    with pytest.raises(NotBuilt, match="search before build"):
        make().search(X, 1)
    with pytest.raises(NotBuilt, match="add before build"):
        make().add(X)
    index = make().build(X)
    with pytest.raises(InvalidInput, match="Q has 5 columns; 8 expected"):
        index.search(X[:, :5], 1)
    with pytest.raises(InvalidInput, match="X has 5 columns; 8 expected"):
        index.add(X[:, :5])
    with pytest.raises(InvalidInput, match="Q has 1 dimensions; 2 expected"):
        index.search(X[0], 1)
    with pytest.raises(InvalidInput, match="k is 0"):
        index.search(X, 0)
    for bad in (np.nan, np.inf, 1e39):
        Y = X.astype(np.float64)
        Y[3, 2] = bad
        with pytest.raises(InvalidInput, match="X has NaN, inf or a value beyond float32 in row 3"):
            make().build(Y)
    for nonsense in (X.astype(complex), np.array([["a"]]), [[1.0], [1.0, 2.0]], X[:, :0]):
        with pytest.raises(InvalidInput):
            make().build(nonsense)
    with pytest.raises(InvalidInput, match="metric is 'cosine'"):
        make(metric="cosine").build(X)
    with pytest.raises(InvalidInput, match="n_threads is 0"):
        make(n_threads=0).build(X)
    # A refusal changes nothing.
    assert len(index) == 30


@pytest.mark.parametrize("make", KINDS)
def test_nothing_in_nothing_out(make: Make) -> None:
    index = make().build(np.ones((3, 2)))
    ids, values = index.search(np.ones((0, 2)), 4)
    assert ids.shape == values.shape == (0, 4)
    if make is IVF:
        with pytest.raises(InvalidInput, match="0 rows"):
            make().build(np.ones((0, 2)))
        return
    empty = make(metric="ip").build(np.ones((0, 2)))
    ids, values = empty.search(np.ones((1, 2)), 2)
    assert ids.tolist() == [[-1, -1]]
    assert values.tolist() == [[-np.inf, -np.inf]]


def test_the_thread_count_is_put_back() -> None:
    before = faiss.omp_get_max_threads()
    with threads(before + 1):
        assert faiss.omp_get_max_threads() == before + 1
    Exact(n_threads=before + 2).build(np.ones((3, 2))).search(np.ones((1, 2)), 1)
    with pytest.raises(ZeroDivisionError), threads(before + 3):
        raise ZeroDivisionError
    assert faiss.omp_get_max_threads() == before


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        (HNSW, {"links": 1}),
        (HNSW, {"ef_build": 0}),
        (IVF, {"n_cells": 0}),
        (IVF, {"random_state": -1}),
        (LSH, {"n_tables": 0}),
        (LSH, {"n_hashes": 1.5}),
        (LSH, {"hash_width": 0.0}),
        (LSH, {"hash_width": float("nan")}),
    ],
)
def test_parameters_are_checked_by_build(make: Make, wrong: dict[str, Any]) -> None:
    (name,) = wrong
    index = make(**wrong)
    with pytest.raises(InvalidInput, match=name):
        index.build(np.ones((3, 2)))


@pytest.mark.parametrize("metric", ["ip", "l2"])
def test_a_compact_graph_is_small_and_near(metric: Metric, tmp_path: Path) -> None:
    X, Q = unit_rows(4000, 32, 1), unit_rows(60, 32, 2)
    whole, compact = HNSW(metric).build(X), HNSW(metric, compact=True).build(X[:3000]).add(X[3000:])
    right, exact = truth(X, Q, 10, metric)
    ids, values = compact.search(Q, 10)
    assert np.mean([len(set(a) & set(b)) for a, b in zip(ids, right, strict=True)]) >= 9.5
    np.testing.assert_allclose(values, exact, atol=0.05)
    first = X[:3000]
    held = np.clip(X, first.min(axis=0), first.max(axis=0))
    np.testing.assert_allclose(compact.vectors(), held, atol=0.004)
    for name, index in (("whole", whole), ("compact", compact)):
        index.save(tmp_path / name)
        again = HNSW.open(tmp_path / name)
        assert again.compact is index.compact
        assert again.search(Q, 10)[0].tolist() == index.search(Q, 10)[0].tolist()
    saved = [(tmp_path / name).stat().st_size for name in ("whole", "compact")]
    assert saved[0] - saved[1] >= 0.95 * 3 * X.size


@pytest.mark.parametrize("compact", [False, True])
def test_a_graph_grown_from_parts(compact: bool, tmp_path: Path) -> None:
    """Of one part it is the graph of all rows; of several another one, which finds as well."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 16))[rng.integers(0, 40, 4000)] + rng.normal(size=(4000, 16)) / 3
    X = X.astype(np.float32)
    whole = HNSW(compact=compact).build(X)
    one = HNSW(compact=compact).build_in_parts(16, lambda: [X])
    whole.save(tmp_path / "whole")
    one.save(tmp_path / "one")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "whole").read_bytes()
    places = [np.arange(first, len(X), 7) for first in range(7)]
    parts = HNSW(compact=compact).build_in_parts(16, lambda: (X[at] for at in places))
    order = np.concatenate(places)
    Q = X[:200] + 0.01
    truth = Exact().build(X).search(Q, 10)[0]
    found = {"whole": whole.search(Q, 10)[0], "parts": order[parts.search(Q, 10)[0]]}
    shares = {
        name: np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(ids, truth, strict=True)])
        for name, ids in found.items()
    }
    assert shares["parts"] > shares["whole"] - 0.02


def test_a_compact_graph_of_no_parts_is_empty() -> None:
    empty = HNSW(compact=True).build_in_parts(4, list)
    assert len(empty) == 0
    assert empty.search(np.ones((1, 4)), 1)[0].tolist() == [[-1]]


def test_a_compact_graph_learns_its_range_from_the_first_rows() -> None:
    X = unit_rows(200, 8, 3)
    index = HNSW("ip", compact=True).build(X[:0])
    assert index.search(X[:2], 3)[0].tolist() == [[-1] * 3] * 2
    index.add(X[:0]).add(X)
    assert (
        index.search(X, 1)[0][:, 0].tolist() == HNSW("ip").build(X).search(X, 1)[0][:, 0].tolist()
    )
    with pytest.raises(InvalidInput, match="compact"):
        HNSW("ip", compact="yes").build(X)  # type: ignore[arg-type]


def test_graphs_of_earlier_files_open_and_mixed_up_ones_do_not(tmp_path: Path) -> None:
    X = unit_rows(50, 8, 4)
    index = HNSW("ip").build(X)
    meta, arrays = index._pack()
    del meta["compact"]
    save_arrays(tmp_path / "old", HNSW.kind, meta, arrays)
    old = HNSW.open(tmp_path / "old")
    assert old.compact is False
    assert old.search(X, 5)[0].tolist() == index.search(X, 5)[0].tolist()
    save_arrays(tmp_path / "mixed", HNSW.kind, {**meta, "compact": True}, arrays)
    with pytest.raises(DamagedFile, match="compact"):
        HNSW.open(tmp_path / "mixed")
