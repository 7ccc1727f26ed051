"""p-stable LSH against its formulas, and its kernels against a plain Python version."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from likewise_methods.errors import InvalidInput
from likewise_methods.neighbours.lsh import LSH, collision_probability, recall


@pytest.mark.parametrize("distance", [0.2, 0.7, 1.0, 1.41, 3.0])
def test_collision_probability_against_simulation(distance: float) -> None:
    """Over random hashes the share of collisions is p(c) (siso.md section 4)."""
    width, n, rng = 1.3, 400_000, np.random.default_rng(0)
    # a.(v - u) is N(0, c^2); one point sits at a uniform place of its cell.
    place = rng.random(n) * width
    other = place + distance * rng.standard_normal(n)
    share = np.mean(np.floor(place / width) == np.floor(other / width))
    assert share == pytest.approx(float(collision_probability(distance, width)), abs=4e-3)


def test_collision_probability_at_the_ends() -> None:
    p = collision_probability([0.0, 1e-12, 1e6], 1.0)
    assert p[0] == 1.0
    assert p[1] == pytest.approx(1.0)
    assert 0 <= p[2] < 1e-5
    falling = collision_probability(np.linspace(0.01, 5, 200), 1.0)
    assert (np.diff(falling) < 0).all()


@pytest.mark.parametrize("distance", [0.4, 0.8])
def test_recall_of_tables_against_the_formula(distance: float) -> None:
    """Real tables find a planted neighbour as often as 1 - (1 - p^B)^K says."""
    rng = np.random.default_rng(1)
    Q = rng.normal(size=(1500, 16)) * 50
    step = rng.normal(size=Q.shape)
    X = Q + distance * step / np.linalg.norm(step, axis=1, keepdims=True)
    hits = []
    for seed in range(4):
        index = LSH(n_hashes=4, n_tables=5, n_probes=0, random_state=seed).build(X)
        hits.append(index.search(Q, 1)[0][:, 0] == np.arange(len(X)))
    expected = float(recall(distance, 1.0, 4, 5))
    assert np.mean(hits) == pytest.approx(expected, abs=0.025)


def python_candidates(index: LSH, q: NDArray[Any]) -> set[int]:
    """The reference: dictionaries of cells, the probes spelled out."""
    B, found = index.n_hashes, set()
    for t in range(index.n_tables):
        A = index._directions[t * B : (t + 1) * B].astype(np.float64)
        b = index._shifts[t * B : (t + 1) * B]
        table: dict[tuple[int, ...], list[int]] = {}
        for row, x in enumerate(index._X):
            table.setdefault(tuple(np.floor(A @ x + b).astype(int)), []).append(row)
        p = A @ q + b
        cell = np.floor(p).astype(int)
        borders = [(p[j] - cell[j], j, -1) for j in range(B)]
        borders += [(1 - (p[j] - cell[j]), j, 1) for j in range(B)]
        probes = [cell]
        for _, j, side in sorted(borders)[: index.n_probes]:
            moved = cell.copy()
            moved[j] += side
            probes.append(moved)
        for probe in probes:
            found.update(table.get(tuple(probe), []))
    return found


@pytest.mark.parametrize("n_probes", [0, 3, 8])
def test_candidates_are_those_of_the_plain_version(n_probes: int) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 6)).astype(np.float32)
    Q = rng.normal(size=(25, 6)).astype(np.float32)
    index = LSH(n_hashes=4, n_tables=3, n_probes=n_probes, hash_width=1.5).build(X[:200])
    index.add(X[200:])
    ids, values = index.search(Q, 300)
    for q, row_ids, row_values in zip(Q, ids, values, strict=True):
        expected = python_candidates(index, q)
        kept = row_ids[row_ids >= 0]
        assert set(kept.tolist()) == expected
        np.testing.assert_allclose(
            row_values[: len(kept)], ((X[kept] - q) ** 2).sum(1), rtol=1e-5, atol=1e-6
        )
        assert all(math.isinf(v) for v in row_values[len(kept) :])


def test_more_probes_find_more_and_a_cap_stops_them() -> None:
    rng = np.random.default_rng(3)
    X, Q = rng.normal(size=(2000, 12)), rng.normal(size=(30, 12))
    index = LSH(hash_width=2.0, n_hashes=6, n_tables=4).build(X)
    sizes = []
    for n_probes in (0, 4, 12, 99):
        index.n_probes = n_probes
        sizes.append(int((index.search(Q, 2000)[0] >= 0).sum()))
    assert sizes[0] < sizes[1] < sizes[2] == sizes[3]
    index.max_candidates = 10
    assert (index.search(Q, 50)[0] >= 0).sum(axis=1).max() == 10
    index.max_candidates = 0
    assert (index.search(Q, 5)[0] == -1).all()


def test_minus_q_has_its_own_keys() -> None:
    """The shift b breaks the antisymmetry: -q must be hashed, not negated."""
    X = np.array([[1.0, 0.0], [-1.0, 0.0]])
    index = LSH(metric="ip", n_tables=8, n_hashes=2).build(X)
    ids, values = index.search([[1.0, 0.0], [-1.0, 0.0]], 1)
    assert ids.tolist() == [[0], [1]]
    assert values.tolist() == [[1.0], [1.0]]


@pytest.mark.parametrize("width", [1e-300, 1e-38, 1e-19])
def test_a_width_that_leaves_no_cells_is_refused(width: float) -> None:
    with pytest.raises(InvalidInput, match="too small for rows"):
        LSH(hash_width=width, random_state=0).build(np.eye(4))
    found, _ = LSH(hash_width=1e-12, random_state=0).build(np.eye(4)).search(np.eye(4), 1)
    assert found[:, 0].tolist() == [0, 1, 2, 3]


@pytest.mark.slow
def test_a_second_process_compiles_nothing() -> None:
    code = (
        "import sys, numpy as np\n"
        "from likewise_methods.neighbours.lsh import LSH\n"
        "for metric in ('l2', 'ip'):\n"
        "    i = LSH(metric).build(np.eye(4)).add(np.eye(4))\n"
        "    i.search(np.eye(4), 2)\n"
        "misses = hits = 0\n"
        "for name, module in list(sys.modules.items()):\n"
        "    if name.startswith('likewise_methods.neighbours'):\n"
        "        for thing in vars(module).values():\n"
        "            if hasattr(thing, 'py_func') and hasattr(thing, 'stats'):\n"
        "                misses += sum(thing.stats.cache_misses.values())\n"
        "                hits += sum(thing.stats.cache_hits.values())\n"
        "sys.stdout.write(f'{hits} {misses}')\n"
    )
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
    hits, misses = map(int, done.stdout.split())
    assert hits >= 2
    assert misses == 0
