"""The kernels below the lasso against what numpy says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from likewise_methods.errors import InvalidInput
from likewise_methods.siso.solver.cholesky import (
    append,
    backward,
    forward,
    gram_product,
    project,
    remove,
)
from likewise_methods.siso.solver.dictionary import TILE, Dictionary, mark
from tests.methods.siso.lasso_problems import columns


def gram(w: int, seed: int = 0) -> np.ndarray:
    A = np.random.default_rng(seed).standard_normal((w, w + 5))
    return A @ A.T


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 13, 30])
def test_triangular_solves(n: int) -> None:
    rng = np.random.default_rng(n)
    U = np.zeros((n + 3, n + 3))
    U[:n, :n] = np.linalg.cholesky(gram(n)).T
    v = rng.standard_normal(n + 3)
    z, d = v.copy(), np.zeros(n + 3)
    forward(U, n, z)
    backward(U, n, z, d)
    np.testing.assert_allclose(z[:n], np.linalg.solve(U[:n, :n].T, v[:n]), atol=1e-10)
    np.testing.assert_allclose(d[:n], np.linalg.solve(U[:n, :n], z[:n]), atol=1e-9)


def test_factor_follows_columns_that_come_and_go() -> None:
    """300 random appends and removals: U'U stays the Gram matrix, z stays U^-T v."""
    G, rng = gram(40), np.random.default_rng(1)
    U, z, u = np.zeros((40, 40)), np.zeros(40), np.zeros(40)
    v = rng.standard_normal(40)
    act = np.zeros(41, np.int64)
    n = 0
    for _ in range(300):
        inside = set(act[:n].tolist())
        if n < 40 and (n == 0 or rng.random() < 0.55):
            j = int(rng.choice([i for i in range(40) if i not in inside]))
            rest = project(U, n, G, act, j, u)
            append(U, n, u, rest)
            z[n] = (v[j] - u[:n] @ z[:n]) / U[n, n]
            act[n] = j
            n += 1
        else:
            p = int(rng.integers(n))
            remove(U, n, z, p)
            act[p : n - 1] = act[p + 1 : n].copy()
            n -= 1
        S, R = act[:n], np.triu(U[:n, :n])
        np.testing.assert_allclose(R.T @ R, G[np.ix_(S, S)], atol=1e-10)
        np.testing.assert_allclose(R.T @ z[:n], v[S], atol=1e-9)


@pytest.mark.parametrize("outside", [0, 1, 2, 3, 4, 5, 9])
def test_spread_fills_columns_outside_the_support(outside: int) -> None:
    w, rng = 20, np.random.default_rng(outside)
    G = gram(w)
    order = rng.permutation(w)
    act = order[outside:].astype(np.int64)
    s = np.ones(w)
    s[order[:outside]] = 0
    d, out = rng.standard_normal(len(act)), np.full(w, 7.0)
    gram_product(G, s, act, len(act), d, w, np.empty(w), out)
    np.testing.assert_allclose(out[order[:outside]], G[np.ix_(order[:outside], act)] @ d)
    assert (out[act] == 7).all()


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("k", [1, 7, 64])
def test_scan_lists_the_largest(nonnegative: bool, k: int) -> None:
    rng = np.random.default_rng(k)
    n = 2 * TILE + 100
    A = rng.standard_normal((n, 6)).astype(np.float32)
    R = rng.standard_normal((5, 6))
    D = Dictionary([A[:900], A[900:]])
    members = np.zeros((5, n // 8 + 1), np.uint8)
    passed = rng.choice(n, 300, replace=False).astype(np.int64)
    mark(members[2], passed, True)
    mark(members[2], passed[:100], False)
    floor = np.array([0.0, 0.5, 0.0, 1e9, 1.0])
    found = D.scan(R, floor, k, members, nonnegative)
    C = R @ columns(A).T
    C = C if nonnegative else np.abs(C)
    C[2, passed[100:]] = -1
    for b in range(5):
        wanted = np.flatnonzero(C[b] > floor[b])
        wanted = wanted[np.argsort(-C[b, wanted])][:k]
        ids, values = found.of(b)
        assert set(ids.tolist()) == set(wanted.tolist())
        np.testing.assert_allclose(values if nonnegative else np.abs(values), C[b, ids], rtol=1e-5)
        assert np.delete(C[b], ids).max() <= found.floor[b] + D.doubt(R)[b]


def test_parts_of_a_dictionary_are_all_of_it() -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((5 * TILE + 9, 3)).astype(np.float32)
    D = Dictionary([A[:700], A[700:]])
    seen = [start + np.arange(len(tile)) for p in range(3) for start, tile in D.tiles(p, 3)]
    assert np.sort(np.concatenate(seen)).tolist() == list(range(len(A)))
    R, none = rng.standard_normal((2, 3)), np.zeros((2, len(A) // 8 + 1), np.uint8)
    C = np.abs(R @ columns(A).T)
    for part in range(3):
        own = np.concatenate([s + np.arange(len(t)) for s, t in D.tiles(part, 3)])
        found = D.scan(R, np.zeros(2), 5, none, False, part, 3)
        for b in range(2):
            assert set(found.of(b)[0].tolist()) == set(own[np.argsort(-C[b, own])[:5]].tolist())


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_rows_and_correlations_are_those_of_the_columns(kind: type) -> None:
    rng = np.random.default_rng(0)
    A, r = rng.standard_normal((70, 37)).astype(kind), rng.standard_normal(37)
    ids = rng.choice(70, 50).astype(np.int64)
    for D in (Dictionary([A]), Dictionary([A[:9], A[9:40], A[40:]])):
        np.testing.assert_allclose(D.rows(ids), columns(A[ids]), rtol=1e-14)
        np.testing.assert_allclose(D.correlations(ids, r), columns(A[ids]) @ r, atol=1e-14)
        assert D.correlations(ids[:0], r).shape == (0,)


def test_doubt_bounds_the_error_of_float32() -> None:
    rng = np.random.default_rng(0)
    for width in (3, 100, 2000):
        A = rng.standard_normal((500, width)).astype(np.float32)
        R = rng.standard_normal((4, width)) * 10.0 ** rng.integers(-8, 8, (4, width))
        D = Dictionary([A])
        exact = R @ D.rows(np.arange(500)).T
        single = (R.astype(np.float32) @ A.T) * D.scale.astype(np.float32)
        assert (np.abs(single - exact).max(axis=1) <= D.doubt(R)).all()


def test_rows_that_are_not_finite_are_named() -> None:
    A = np.ones((5, 2), np.float32)
    A[3, 1] = np.nan
    with pytest.raises(InvalidInput, match="row 3 of the dictionary is not finite"):
        Dictionary([A])


SCRIPT = """
import sys
import numpy as np
from likewise_methods.siso.solver import (
    cholesky, coordinate_descent, dictionary, feature_sign, homotopy, working_set,
)
from likewise_methods.siso.solver.lasso import lasso
A = np.random.default_rng(0).standard_normal((30, 4)).astype(np.float32)
for solver in ("homotopy", "feature-sign", "cd"):
    codes = lasso(A, A[:3] + 0.1, alpha=0.1, solver=solver)
    lasso(A, A[:3] + 0.1, alpha=0.1, solver=solver, start=codes.x)
misses = hits = 0
for module in (
    cholesky, coordinate_descent, dictionary, feature_sign, homotopy, working_set,
):
    for thing in vars(module).values():
        if hasattr(thing, "stats"):
            misses += sum(thing.stats.cache_misses.values())
            hits += sum(thing.stats.cache_hits.values())
sys.stdout.write(f"{misses} {hits}")
"""


@pytest.mark.slow
def test_second_process_compiles_nothing(tmp_path: Path) -> None:
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    seen = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        seen.append([int(n) for n in done.stdout.split()])
    assert seen[0][0] > 10
    assert seen[1][0] == 0
    assert seen[1][1] > 5
