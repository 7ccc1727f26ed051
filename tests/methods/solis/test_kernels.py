"""Kernels are compiled once for all processes, and the door is right about rows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from likewise_methods.errors import InvalidInput
from likewise_methods.kernels import kernel
from likewise_methods.solis import margin_kernels
from likewise_methods.solis.margin_kernels import find_margin, margins, new_work
from likewise_methods.solis.rows import as_rows


@kernel(cache=False)
def at_margin(rows, triplets, t, work):  # type: ignore[no-untyped-def]
    return find_margin(rows, triplets, t, work)


SCRIPT = """
import sys
import numpy as np
from likewise_methods.solis import margin_kernels, qpao, rival_kernels, rows, solis_kernels
from likewise_methods.solis.lego import LEGO
from likewise_methods.solis.oasis import OASIS
from likewise_methods.solis.qpao import QPAO
from likewise_methods.solis.solis import SOLIS
X = np.random.default_rng(0).random((5, 4))
T = [[0, 1, 2], [3, 4, 1]]
for method in ("tg", "da", "afb", "ada"):
    SOLIS(method).fit(X, T).score(X, T)
for form in ("diagonal", "full"):
    OASIS(form=form).fit(X, T)
    LEGO(form=form).fit(X, T)
QPAO().fit(X, T)
misses = hits = 0
for module in (margin_kernels, qpao, rival_kernels, rows, solis_kernels):
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
    assert seen[1][1] > 10


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_margin_vector_is_the_formula(dtype: type) -> None:
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(15, 500)) * (rng.random((15, 500)) < 0.3)).astype(dtype)
    X[3, 7] = X[4, 7] = X[5, 7] = 1  # an exact zero of x+ - x-
    rows = as_rows(sp.csr_array(X))
    triplets = np.concatenate([[[3, 4, 5]], rng.integers(0, 15, (60, 3))])
    triplets[20:30, 0] = 2  # the anchor repeats
    work = new_work(rows, len(triplets))
    wide = X.astype(np.float64)
    for t, (a, p, n) in enumerate(triplets):
        at, end = at_margin(rows, triplets, t, work)
        z = np.zeros(500)
        words = work.words[at:end]
        assert len(np.unique(words)) == end - at
        z[words] = work.z[at:end]
        assert (work.z[at:end] != 0).all()
        np.testing.assert_array_equal(z, wide[a] * (wide[p] - wide[n]))
        assert not work.gap.any()


def test_windows_that_end_or_have_no_room_give_the_same_margins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Windows of 7 triplets, then of what fits; room for a few z only, the rest built when due."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 60)) * (rng.random((3000, 60)) < 0.3)
    rows = as_rows(sp.csr_array(X))
    triplets = rng.integers(0, 3000, (400, 3))
    weights = rng.normal(size=60)
    whole = np.empty(len(triplets))
    margins(rows, triplets, weights, new_work(rows, len(triplets)), whole)
    a, p, n = (X[triplets[:, c]] for c in range(3))
    # Sums of at most 60 products in another order.
    np.testing.assert_allclose(whole, (a * (p - n)) @ weights, rtol=1e-12, atol=1e-12)
    for first, room in ((7, 1 << 21), (1000, 600), (1000, 0)):
        monkeypatch.setattr(margin_kernels, "_FIRST", first)
        monkeypatch.setattr(margin_kernels, "_ROOM", room)
        pieces = np.empty(len(triplets))
        margins(rows, triplets, weights, new_work(rows, len(triplets)), pieces)
        np.testing.assert_array_equal(pieces, whole)


def test_rows_are_canonical() -> None:
    messy = sp.csr_array(
        (np.array([1.0, 2, 3, -3, 0]), np.array([4, 0, 2, 2, 1]), np.array([0, 2, 5])), shape=(2, 5)
    )
    before = messy.indices.copy()
    rows = as_rows(messy)
    assert rows.ends.tolist() == [0, 2, 2]
    assert rows.words.tolist() == [0, 4]
    assert rows.values.tolist() == [2, 1]
    np.testing.assert_array_equal(messy.indices, before)
    assert as_rows(np.eye(3, dtype=np.float32)).values.dtype == np.float32
    assert as_rows(np.eye(3, dtype=np.int8)).values.dtype == np.float64
    assert as_rows(sp.csr_array((0, 4))).ends.tolist() == [0]
    with pytest.raises(InvalidInput, match="0 columns"):
        as_rows(np.zeros((3, 0)))
    # Halves that are fine, whose sum is not.
    huge = sp.csr_array((np.array([8e49, 8e49]), np.array([0, 0]), np.array([0, 2])), shape=(1, 2))
    with pytest.raises(InvalidInput, match="beyond"):
        as_rows(huge)


def test_rows_longer_than_the_usual_places() -> None:
    """Rows of more than 65,535 words: places beyond what two bytes count."""
    X = np.random.default_rng(0).normal(size=(3, 70_000))
    rows = as_rows(X)
    work = new_work(rows, 1)
    at, end = at_margin(rows, np.array([[0, 1, 2]]), 0, work)
    z = np.zeros(70_000)
    z[work.words[at:end]] = work.z[at:end]
    np.testing.assert_array_equal(z, X[0] * (X[1] - X[2]))
