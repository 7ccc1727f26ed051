"""The ordinal kernels against plain versions: gradients, lazy steps, passes, and the cache."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from likewise_methods.ordinal.losses import CKL, GNMDS, STE, TSTE
from likewise_methods.ordinal.objective import Problem, pad
from likewise_methods.ordinal.solver.online import stride_of
from tests.methods.ordinal.data import gradient_of_one, mean_gradient, quadruplets, triplets, truth

ALL: list[Any] = [GNMDS(), STE(), TSTE(4.0), CKL(0.05)]
N, P = 12, 5


def problem_of(loss: Any, m: int = 60, four: bool = False, p: int = P) -> tuple[Problem, Any]:
    points = truth(N, p)
    rows = (quadruplets if four else triplets)(points, m).astype(np.int32)
    return Problem(rows, N, loss), np.random.default_rng(5).random((N, p))


@pytest.mark.parametrize("four", [False, True], ids=["triplets", "quadruplets"])
@pytest.mark.parametrize("loss", ALL, ids=lambda loss: loss.name)
def test_gradient_is_the_mean_of_single_ones(loss: Any, four: bool) -> None:
    problem, X = problem_of(loss, four=four)
    out = np.full_like(pad(X), 7.0)
    F = problem.gradient(pad(X), out)
    value, expected = mean_gradient(loss, X, problem.rows)
    assert pytest.approx(value, rel=1e-12) == F
    assert problem.value(pad(X)) == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(out[:, :P], expected, rtol=1e-9, atol=1e-12)
    assert not out[:, P:].any()  # padding stays zero


@pytest.mark.parametrize("loss", ALL, ids=lambda loss: loss.name)
def test_gradient_is_the_derivative(loss: Any) -> None:
    """Central differences in every coordinate, also where a quadruplet's pairs share objects."""
    problem, X = problem_of(loss, 20)
    rows = np.array([[0, 1, 0, 2], [0, 1, 1, 2], [3, 4, 5, 3], [6, 7, 8, 9]], np.int32)
    problem = Problem(rows, N, loss)
    out = pad(X)
    problem.gradient(pad(X), out)
    h = 1e-6
    for r in range(N):
        for c in range(P):
            up, down = pad(X), pad(X)
            up[r, c] += h
            down[r, c] -= h
            slope = (problem.value(up) - problem.value(down)) / (2 * h)
            assert out[r, c] == pytest.approx(slope, rel=1e-5, abs=1e-8)


def drawn(seed: int, n: int, count: int) -> list[int]:
    """The comparisons a kernel draws: splitmix64 in Python's integers."""
    mask, state, found = (1 << 64) - 1, seed, []
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        z ^= z >> 31
        found.append(((z >> 32) * n) >> 32)
    return found


@pytest.mark.parametrize(("loss", "batch"), [(STE(), 1), (STE(), 4), (CKL(0.05), 3)], ids=str)
def test_lazy_steps_are_eager_steps(loss: Any, batch: int) -> None:
    """Every row moved in every step, as printed, against rows moved when they are named."""
    problem, start = problem_of(loss, 40, four=batch == 4)
    steps, step, seed = 50, 0.03, 1234
    S, slope = pad(start), np.empty_like(pad(start))
    problem.gradient(S, slope)
    X, done = S.copy(), np.zeros(N, np.int64)
    room = np.empty((batch, 2, S.shape[1]))
    loss.kernels.svrg(
        X, S, slope, done, problem.rows, loss.parameter, step, steps, np.uint64(seed), room
    )
    eager = S.copy()
    picks = drawn(seed, problem.size, steps * batch)
    for t in range(steps):
        chosen = [problem.rows[r] for r in picks[t * batch : (t + 1) * batch]]
        here = np.mean([gradient_of_one(loss, eager, row)[1] for row in chosen], axis=0)
        there = np.mean([gradient_of_one(loss, S, row)[1] for row in chosen], axis=0)
        eager = eager - step * (here - there + slope)
    np.testing.assert_allclose(X, eager, rtol=0, atol=1e-12)
    assert (done == steps).all()
    assert np.abs(X - S).max() > 0.01  # something moved


@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("adaptive", [False, True], ids=["sgd", "adagrad"])
def test_a_pass_is_the_plain_loop(adaptive: bool, batch: int) -> None:
    loss = STE()
    problem, start = problem_of(loss, 40)
    X = pad(start)
    squares = np.zeros(N if adaptive else 0)
    room = np.empty((batch, 2, X.shape[1]))
    loss.kernels.online(X, squares, problem.rows, 0.0, 0.1, 5, 13, room)
    plain, seen = pad(start), np.zeros(N)
    order = [(5 + 13 * t) % 40 for t in range(40)]
    for at in range(0, 40, batch):
        part = order[at : at + batch]
        grads = [gradient_of_one(loss, plain, problem.rows[r])[1] / len(part) for r in part]
        for g in grads:
            if adaptive:
                seen += (g**2).sum(axis=1)
                scale = np.where(seen > 0, 1 / np.sqrt(np.maximum(seen, 1e-300)), 0)
                plain = plain - 0.1 * scale[:, None] * g
            else:
                plain = plain - 0.1 * g
    np.testing.assert_allclose(X, plain, rtol=0, atol=1e-12)


def test_a_stride_meets_every_comparison_once() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 12, 97, 1000):
        stride = stride_of(n, rng)
        assert sorted((stride * t) % n for t in range(n)) == list(range(n))


def test_a_second_process_compiles_nothing() -> None:
    """Kernels are cached although their loops take the loss as an argument."""
    problem, start = problem_of(STE())
    X = pad(start)
    STE().kernels.sweep(X, problem.rows, 0.0, X.copy())
    code = (
        "import json, numpy as np\n"
        "from likewise_methods.ordinal import STE\n"
        "k = STE().kernels\n"
        "X = np.zeros((4, 4)); rows = np.array([[0, 1, 2]], np.int32)\n"
        "k.sweep(X, rows, 0.0, X.copy())\n"
        "print(json.dumps([sum(k.sweep.stats.cache_hits.values()),"
        " sum(k.sweep.stats.cache_misses.values())]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    assert json.loads(done.stdout) == [1, 0]
