"""The benchmark of unknown territory: its measures, its pictures, its page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from benchmarks import harness
from benchmarks.staying import territory
from benchmarks.staying.pictures import KINDS, copy_of, page
from benchmarks.staying.territory import Pictures, precision
from likewise_methods.evaluation.metrics import average_precision


def drawn(n: int = 60, seed: int = 0) -> Pictures:
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 4 - 1
    X = rng.random((n, 200)).astype(np.float32)
    X[np.arange(n), labels + 1] += 6
    return Pictures(X, labels)


def test_precision_is_that_of_the_package() -> None:
    some = drawn()
    Z = territory.deep(some.X)
    expected = []
    for i in np.flatnonzero(some.labels >= 0):
        scores = Z @ Z[i]
        scores[i] = -np.inf
        order = np.argsort(-scores, kind="stable")[:-1]
        expected.append(average_precision(some.labels[order] == some.labels[i]))
    # Scores are compared in single precision there: near ties may change places.
    assert precision(Z, some.labels) == pytest.approx(100 * np.mean(expected), abs=0.2)
    assert np.isnan(precision(Z[:2], np.array([0, 1])))


def test_the_rows_compared() -> None:
    found = dict(territory.compared(drawn().X))
    assert list(found) == ["deep", "PCA", "unshrunk", "fitted"]
    for rows in found.values():
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    assert (np.count_nonzero(found["deep"], axis=1) == 128).all()


def test_overlap_and_classes_of_two_sets() -> None:
    Z = np.asarray(territory.deep(drawn().X), np.float32)
    assert territory._overlap(Z, Z) == 1
    assert territory._overlap(Z, Z[::-1]) < 0.6
    both = territory._joined(drawn(), drawn(seed=1))
    assert np.unique(both.labels).tolist() == [-1, 0, 1, 2, 3, 4, 5]
    assert (both.labels == -1).sum() == 30


def test_pages_of_a_kind_differ_and_are_drawn_again_alike() -> None:
    for kind in KINDS:
        one, again, other = (page(kind, np.random.default_rng(seed)) for seed in (0, 0, 1))
        np.testing.assert_array_equal(one, again)
        assert one.shape == (640, 480, 3)
        assert one.dtype == np.uint8
        assert np.abs(one.astype(int) - other).max() > 100
        assert one.mean() > 150  # Paper, mostly.


def test_a_copy_is_nearly_the_picture(tmp_path: Path) -> None:
    x = np.linspace(0, 255, 300)
    picture = np.stack([np.tile(x, (200, 1))] * 3, axis=2).astype(np.uint8)
    Image.fromarray(picture).save(tmp_path / "a.png")
    made = copy_of(tmp_path / "a.png", np.random.default_rng(0))
    assert 0.9 * 300 < made.shape[1] < 300
    assert 0.9 * 200 < made.shape[0] < 200
    # Lighter or darker by a tenth at most.
    assert 0.85 < made.mean() / picture.mean() < 1.15


def test_only_its_own_tables_are_updated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    old = "# T\n\n<!-- run: staying -->\nothers\n<!-- end -->\n\n"
    (tmp_path / "staying.md").write_text(old + "<!-- table: sizes -->\n1\n<!-- end -->\n")
    territory.write({"sizes": [{"set": "toy", "fitted": 93.25}]}, ["cifar10"])
    text = (tmp_path / "staying.md").read_text()
    assert text.startswith(old)
    assert "| toy | 93.2 |" in text
    assert "sizes,toy,93.25" in (tmp_path / "staying-territory.csv").read_text()
    (run,) = harness.read_csv(tmp_path / harness.RUNS)
    assert run["left out"] == "cifar10, not on this machine"
