"""The lasso on a device: its rounds in NumPy everywhere, its kernels where there is a device."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from likewise.errors import InvalidInput
from likewise_cuda.batch import Batch
from likewise_cuda.device import DeviceOperations, why_not
from likewise_cuda.host import PIVOTS, HostOperations
from likewise_cuda.rounds import run
from likewise_cuda.solve import on_device, solve
from likewise_cuda.tableau import build, sweep, walk
from likewise_methods.siso.objective import certify
from likewise_methods.siso.solver.dictionary import Dictionary
from likewise_methods.siso.solver.homotopy import DONE, PAUSED
from likewise_methods.siso.solver.lasso import lasso
from likewise_methods.siso.solver.rounds import Settings
from tests.methods.siso.lasso_problems import check_exact, columns, gap, problem, violation

SETTINGS = Settings(
    alpha=0.02, tol=1e-6, expand=12, nonnegative=False, solver="homotopy", certify=True,
    max_rounds=500, batch=4,
)  # fmt: skip
WITHOUT = why_not()
on_a_device = pytest.mark.skipif(bool(WITHOUT), reason=WITHOUT or "there is a device")


# -- the tableau ------------------------------------------------------------------------------


def gram(w: int = 12, width: int = 20, seed: int = 0) -> Any:
    rows = np.random.default_rng(seed).standard_normal((w, width))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows @ rows.T


def test_sweeps_make_the_tableau_of_the_formula() -> None:
    G = gram()
    T, S, rest = G.copy(), [7, 2, 9], [0, 1, 3, 4, 5, 6, 8, 10, 11]
    for j in S:
        sweep(T, j)
    inverse = np.linalg.inv(G[np.ix_(S, S)])
    on = G[np.ix_(rest, S)] @ inverse
    np.testing.assert_allclose(T[np.ix_(S, S)], -inverse, atol=1e-12)
    np.testing.assert_allclose(T[np.ix_(rest, S)], on, atol=1e-12)
    np.testing.assert_allclose(
        T[np.ix_(rest, rest)], G[np.ix_(rest, rest)] - on @ G[np.ix_(S, rest)], atol=1e-12
    )
    for j in S:
        sweep(T, j)
    np.testing.assert_allclose(T, G, atol=1e-12)


def test_a_tableau_leaves_out_what_depends_on_the_support() -> None:
    G = gram()
    G[5], G[:, 5] = G[3], G[:, 3]
    G[5, 5] = 1.0
    x, s = np.zeros(12), np.zeros(12, np.int8)
    x[[3, 5, 8]], s[[3, 5, 8]] = 1.0, 1
    build(G, x, s)
    assert np.flatnonzero(s).tolist() == np.flatnonzero(x).tolist() == [3, 8]


@pytest.mark.parametrize("nonnegative", [False, True])
def test_a_walk_ends_where_the_lasso_is_solved(nonnegative: bool) -> None:
    A, Y = problem(30, 16, queries=1)
    rows, y = columns(A), Y[0]
    T, x, s = rows @ rows.T, np.zeros(30), np.zeros(30, np.int8)
    c = rows @ y
    size = c if nonnegative else np.abs(c)
    steps = walk(
        T, x, c, s, np.zeros(30, bool), level=float(size.max()), target=0.01, entries=1 << 30,
        most=16, nonnegative=nonnegative, limit=PIVOTS,
    )  # fmt: skip
    assert (steps.state, steps.left) == (DONE, 0.0)
    assert violation(rows, y, x, 0.01, nonnegative) < 1e-9
    np.testing.assert_array_equal(s, np.sign(x))


def test_a_walk_pauses_after_so_many_entries() -> None:
    A, Y = problem(30, 16, queries=1)
    rows = columns(A)
    x, s, c = np.zeros(30), np.zeros(30, np.int8), rows @ Y[0]
    steps = walk(
        rows @ rows.T, x, c, s, np.zeros(30, bool), level=float(np.abs(c).max()), target=0.001,
        entries=3, most=16, nonnegative=False, limit=PIVOTS,
    )  # fmt: skip
    assert steps.state == PAUSED
    assert steps.entered == 3
    assert 0 < steps.left < 1


# -- the rounds, in NumPy ---------------------------------------------------------------------


def in_numpy(A: Any, Y: Any, slots: int = 3, gamma: Any = None, **changed: Any) -> Any:
    settings = dataclasses.replace(SETTINGS, **changed)
    return run(HostOperations(Dictionary([A])), Y, gamma, settings, slots)


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("alpha", [0.3, 0.02, 0.002])
def test_rounds_are_exact(alpha: float, nonnegative: bool) -> None:
    A, Y = problem(500, 30, queries=7)
    found = in_numpy(A, Y, alpha=alpha, nonnegative=nonnegative)
    rows = columns(A)
    for y, one in zip(Y, found, strict=True):
        x = np.bincount(one.ids, one.values, len(A))
        size = rows @ y if nonnegative else np.abs(rows @ y)
        np.testing.assert_allclose(one.gamma, alpha * size.max())
        assert one.converged
        assert gap(rows, y, x, one.gamma, nonnegative) <= 1e-6
        # The gap it reports may not be smaller than the true one.
        assert gap(rows, y, x, one.gamma, nonnegative) <= one.gap + 1e-12
        assert one.rounds == one.scans > 1


@pytest.mark.parametrize("shape", [(1, 5), (3, 1), (50, 1), (200, 2), (8, 60), (300, 12)])
def test_any_shape_and_full_supports(shape: tuple[int, int]) -> None:
    A, Y = problem(*shape, queries=4)
    given = np.full(4, 1e-3)
    settings = dataclasses.replace(SETTINGS, alpha=0.002)
    D = Dictionary([A])
    codes = solve(HostOperations(D), D, Y, given, settings, 4)
    for y, one in zip(Y, codes, strict=True):
        assert gap(columns(A), y, np.bincount(one.ids, one.values, len(A)), 1e-3) <= 1e-6


def test_copies_zero_rows_and_silent_queries() -> None:
    A, Y = problem(60, 15, queries=4)
    A = np.concatenate([A, A, -A, np.zeros((2, 15), np.float32)])
    Y = np.concatenate([Y, np.zeros((1, 15))])
    D = Dictionary([A])
    codes = solve(HostOperations(D), D, Y, None, dataclasses.replace(SETTINGS, alpha=0.002), 5)
    for y, one in zip(Y[:4], codes[:4], strict=True):
        assert gap(columns(A), y, np.bincount(one.ids, one.values, len(A)), one.gamma) <= 1e-6
    assert len(codes[4].ids) == 0
    assert codes[4].converged


def test_a_gamma_no_column_reaches_gives_a_zero_code() -> None:
    A, Y = problem(60, 15, queries=2)
    for one in in_numpy(A, Y, gamma=np.full(2, 5.0)):
        assert len(one.ids) == 0
        assert (one.gap, one.converged) == (0.0, True)


def test_the_bound_of_a_scan_holds_for_what_it_does_not_list() -> None:
    A, Y = problem(400, 30, queries=6)
    check_bound(HostOperations(Dictionary([A]), room=25), A, Y)


def check_bound(operations: Any, A: Any, Y: Any) -> None:
    """Whatever is neither listed nor a member correlates no more than the bound says."""
    xp = operations.xp
    C = np.abs(Y @ columns(A).T)
    members = np.argsort(-C, axis=1)[:, :3].astype(np.int64)
    floor = np.quantile(C, [0.95, 0.9, 0.99, 0.5, 0.95, 0.9], axis=1).diagonal().copy()
    closely = np.array([True, True, True, True, False, False])
    found = operations.scan(xp.asarray(Y), floor, closely, xp.asarray(members), 10, False)
    ids, c = operations.back(found.ids), operations.back(found.c)
    for i in range(len(Y)):
        listed = ids[i][ids[i] >= 0]
        assert not set(listed) & set(members[i])
        np.testing.assert_allclose(np.abs(c[i][ids[i] >= 0]), C[i][listed], rtol=1e-12)
        rest = np.setdiff1d(np.arange(len(A)), [*listed, *members[i]])
        assert C[i][rest].max() <= found.bound[i] * (1 + 1e-12)
        # Of 400 columns the first and third query have no more in the band than there is room for.
        if i in (0, 2):
            doubt = operations.doubt * np.linalg.norm(Y[i])
            assert found.bound[i] <= max(C[i][rest].max(), floor[i] + doubt) * (1 + 1e-6)


def test_what_a_scan_cannot_decide_goes_to_the_processor() -> None:
    """More copies of the best column than a list holds: the rounds give up, the answer is exact."""
    A, Y = problem(60, 15, queries=3)
    best = A[np.abs(columns(A) @ Y[1]).argmax()]
    A = np.concatenate([A, np.repeat(best[None], 80, axis=0)])
    settings = dataclasses.replace(SETTINGS, expand=5)
    D = Dictionary([A])
    operations = HostOperations(D, room=0)
    assert run(operations, Y, None, settings, 3)[1] is None
    codes = solve(operations, D, Y, None, settings, 3)
    for y, one in zip(Y, codes, strict=True):
        assert one.converged
        assert gap(columns(A), y, np.bincount(one.ids, one.values, len(A)), one.gamma) <= 1e-6


class Narrow(HostOperations):
    """A machine whose memory holds two queries."""

    tidied = 0

    def columns(self, ids: Any) -> Any:
        if len(ids) > 2:
            raise MemoryError
        return super().columns(ids)

    def free_unused(self) -> None:
        self.tidied += 1


def test_where_a_batch_does_not_fit_smaller_ones_are_taken() -> None:
    A, Y = problem(200, 20, queries=8)
    D = Dictionary([A])
    operations = Narrow(D)
    codes = solve(operations, D, Y, None, SETTINGS, 8)
    assert operations.tidied == 2
    for y, one in zip(Y, codes, strict=True):
        assert gap(columns(A), y, np.bincount(one.ids, one.values, len(A)), one.gamma) <= 1e-6


def test_a_stale_tableau_is_rebuilt() -> None:
    """Tableaux disturbed on purpose: the rounds notice and mend them."""

    class Worn(HostOperations):
        rebuilt = 0

        def walk(self, T: Any, *others: Any) -> Any:
            mode = others[7]
            self.rebuilt += int(np.count_nonzero(mode == 2))
            made = super().walk(T, *others)
            if not self.rebuilt:
                T *= 1 + 1e-3 * np.random.default_rng(0).standard_normal(T.shape)
            return made

    A, Y = problem(300, 20, queries=3)
    D = Dictionary([A])
    operations = Worn(D)
    codes = solve(operations, D, Y, None, SETTINGS, 3)
    assert operations.rebuilt > 0
    for y, one in zip(Y, codes, strict=True):
        assert gap(columns(A), y, np.bincount(one.ids, one.values, len(A)), one.gamma) <= 1e-6


def test_newcomers_take_the_places_of_the_worst_outside() -> None:
    A, Y = problem(100, 20, queries=1)
    operations = HostOperations(Dictionary([A]))
    batch = Batch(operations, Y, 6, False)
    rows = columns(A)

    def expand(ids: list[int], replace: bool) -> int:
        wanted = np.array([ids + [-1] * (32 - len(ids))])
        c = np.where(wanted >= 0, np.einsum("k,bpk->bp", batch.R[0], rows[wanted]), 0.0)
        return int(batch.expand_with(wanted, c, np.zeros(1), np.array([replace]))[0])

    order = np.argsort(np.abs(rows @ Y[0]))
    worst, best = order[:32].tolist(), order[-6:].tolist()
    for start in range(0, 32, 6):
        expand(worst[start : start + 6], replace=False)
    assert sorted(batch.ids[0].tolist()) == sorted(worst)
    assert expand(best, replace=False) == 0
    assert expand(best, replace=True) == 6
    assert set(batch.ids[0].tolist()) == {*worst[6:], *best}
    members = batch.ids[0]
    np.testing.assert_allclose(batch.T[0], rows[members] @ rows[members].T, atol=1e-12)


# -- the door ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"device": "tpu"}, "device"),
        ({"device": "cuda", "solver": "cd"}, "homotopy"),
        ({"device": "cuda", "start": np.zeros((2, 50))}, "start"),
        ({"device": "cuda", "search": lambda R, k: R}, "search"),
    ],
)
def test_what_a_device_cannot_do_is_refused_everywhere(other: dict[str, Any], said: str) -> None:
    A, Y = problem(50, 10, queries=2)
    with pytest.raises(InvalidInput, match=said):
        lasso(A, Y, **other)


@pytest.mark.skipif(not WITHOUT, reason="there is a device")
def test_without_a_device_the_same_call_runs_on_the_processor() -> None:
    A, Y = problem(100, 20, queries=3)
    with pytest.warns(RuntimeWarning, match="runs on the processor: .*(CuPy|CUDA)"):
        codes = lasso(A, Y, device="cuda")
    other = lasso(A, Y)
    np.testing.assert_array_equal(codes.x.toarray(), other.x.toarray())


# -- the kernels ------------------------------------------------------------------------------


@on_a_device
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_scan_on_the_device_stays_within_its_doubt(dtype: Any) -> None:
    A, Y = problem(3000, 100, queries=6)
    check_bound(DeviceOperations(Dictionary([A.astype(dtype)])), A.astype(dtype), Y)


@on_a_device
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("width", [30, 150])
def test_the_kernel_walks_like_numpy(width: int, nonnegative: bool) -> None:
    """Long enough that held sweeps are applied several times."""
    A, Y = problem(256, width, queries=4)
    D = Dictionary([A])
    made = []
    for operations in (HostOperations(D), DeviceOperations(D)):
        batch = Batch(operations, Y, 128, nonnegative)
        ids = operations.to(np.tile(np.arange(256), (4, 1)))
        c = np.einsum("bk,nk->bn", Y, columns(A))
        level = (c if nonnegative else np.abs(c)).max(axis=1)
        every = np.zeros(4), np.ones(4, bool)
        for part in (slice(0, 128), slice(128, 256)):
            batch.expand_with(ids[:, part], operations.to(c[:, part].copy()), -every[0] - 1e9,
                              every[1])  # fmt: skip
        steps = batch.walk(level, np.full(4, 1e-4), np.full(4, 1 << 30), every[1])
        batch.refresh()
        back = operations.back
        kept = batch.T.copy()
        batch.rebuild(np.arange(4))
        np.testing.assert_allclose(back(batch.T), back(kept), rtol=1e-6, atol=1e-6)
        made.append((*steps, back(batch.x), back(batch.R), back(batch.s), back(batch.T)))
    host, device = made
    if width == 150 and not nonnegative:
        assert host[2].min() > 256  # pivots: four times as many as are held
    for i in (1, 2, 3, 6):
        np.testing.assert_array_equal(host[i], device[i])
    np.testing.assert_allclose(device[4], host[4], atol=1e-9)
    np.testing.assert_allclose(device[5], host[5], atol=1e-10)
    np.testing.assert_allclose(device[7], host[7], rtol=1e-6, atol=1e-6)


@on_a_device
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("alpha", [0.1, 0.002])
@pytest.mark.parametrize("width", [17, 120])
def test_codes_from_the_device_are_exact(width: int, alpha: float, nonnegative: bool) -> None:
    A, Y = problem(5000, width, queries=20)
    codes = lasso(A, Y, alpha=alpha, device="cuda", nonnegative=nonnegative, tol=1e-6)
    check_exact(A, Y, codes, 1e-6, nonnegative)
    other = lasso(A, Y, alpha=alpha, nonnegative=nonnegative, tol=1e-6)
    np.testing.assert_allclose(codes.x.toarray(), other.x.toarray(), atol=1e-4)


@on_a_device
def test_copies_and_blocks_on_the_device() -> None:
    A, Y = problem(900, 40, queries=9)
    D = Dictionary([A, A[:300].astype(np.float64), -A[:200]])
    codes = lasso(D, Y, device="cuda", batch=4)
    assert codes.converged.all()
    assert certify(D, Y, codes.x, codes.gamma).max() <= 1e-4


@on_a_device
def test_the_same_call_gives_the_same_bits_and_the_dictionary_stays() -> None:
    A, Y = problem(4000, 60, queries=30)
    D = Dictionary([A])
    first, second = (lasso(D, Y, device="cuda") for _ in range(2))
    np.testing.assert_array_equal(first.x.toarray(), second.x.toarray())
    np.testing.assert_array_equal(first.pivots, second.pivots)
    assert on_device(D) is on_device(D)
