"""The benchmark of suggested tags, small: figures are what they say, and the product is asked."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from benchmarks.siso.data import enlarged
from benchmarks.tags import look
from benchmarks.tags import scale as tags_scale
from benchmarks.tags.collection import balanced, collection_of, tag_as_listed
from benchmarks.tags.figure import draw
from benchmarks.tags.machines import compared, machine_row
from benchmarks.tags.quality import (
    Quality,
    Said,
    Setting,
    calibration_error,
    cause_row,
    error_by_chance,
    measured,
    quality_row,
    reliability,
    time_row,
    trust_row,
)
from benchmarks.tags.weights import ALPHAS, weight_rows
from likewise.collection.collection import Collection
from tests.product.private import views_of


def setting(spread: float = 0.6, n: int = 90) -> Setting:
    """Three classes around centres of their own."""
    rng = np.random.default_rng(5)
    labels = np.arange(n) % 3
    rows = rng.standard_normal((3, 16))[labels] + spread * rng.standard_normal((n, 16))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return Setting("clusters", "deep-dense", rows.astype(np.float32), labels, 20)


@pytest.fixture(scope="module")
def quality(tmp_path_factory: pytest.TempPathFactory) -> Quality:
    return measured(setting(), [0, 1], tmp_path_factory.mktemp("tags"))


def test_a_split_is_balanced_and_whole() -> None:
    labels = np.array([0, 1, 1, 0, 2, 2, 1, 0])
    tagged, held_out = balanced(labels, 2, 0)
    assert sorted(tagged + held_out) == list(range(1, 9))
    assert np.bincount(labels[np.array(tagged) - 1]).tolist() == [2, 2, 2]
    assert balanced(labels, 2, 0) == (tagged, held_out)
    assert any(balanced(labels, 2, seed)[0] != tagged for seed in range(1, 9))


@pytest.mark.parametrize("space", ["deep-dense", "holistic"])
def test_a_collection_of_rows_is_a_sound_collection(space: str, tmp_path: Path) -> None:
    rows = setting().rows
    if space == "holistic":
        rows = np.pad(rows, ((0, 0), (0, 428 - rows.shape[1])))
    collection_of(tmp_path / "c.lw", space, rows)
    with Collection.open(tmp_path / "c.lw") as col:
        tag_as_listed(col, {1: ["a"], 2: ["b", "c"]})
        assert col.tags.sources(2) == {"b": ["file"], "c": ["file"]}
        found, kept = col.tags.suggester.evidence((space,)).rows_of(views_of(col), [1, 2, 90])
        assert found == [1, 2, 90]
        np.testing.assert_allclose(kept, rows[[0, 1, 89]], atol=1e-6)
        assert col.suggest_tags(4)[0].because
        # A collection always has a space holistic; where that is not the one, it stays empty.
        wrong = [line for line in col.verify() if not line.startswith("space holistic: picture")]
        assert wrong == []


def test_calibration_error_by_the_definition() -> None:
    rng = np.random.default_rng(0)
    confidence = np.concatenate([rng.random(500), [0.0, 1.0, 1.0]])
    right = rng.random(503) < confidence**2
    total = 0.0
    for low in np.arange(10) / 10:
        here = (confidence >= low) & ((confidence < low + 0.1) | (low == 0.9))
        total += here.sum() * abs(confidence[here].mean() - right[here].mean())
    said = Said(confidence, right)
    assert calibration_error(said) == pytest.approx(total / 503)
    assert sum(n for n, _, _ in reliability(said)) == 503
    assert calibration_error(said) > 2 * error_by_chance(said, 0) > 0
    sure = Said(np.ones(9), np.ones(9, bool))
    assert calibration_error(sure) == error_by_chance(sure, 0) == 0
    assert calibration_error(Said(np.zeros(0), np.zeros(0, bool))) == 0


@pytest.mark.slow
def test_held_out_pictures_are_asked_about(quality: Quality) -> None:
    for split in quality.splits:
        assert (split.tagged, split.held_out) == (60, 30)
        assert len(split.top.right) == 30
        assert len(split.top.right) <= len(split.every.right)
        assert split.bulk_right + split.bulk_wrong + split.bulk_none >= 30
        np.testing.assert_array_equal(split.alone.right, split.top.right)
        # Sixty tagged pictures leave one by one anyway: the curves are the same.
        np.testing.assert_allclose(split.alone.confidence, split.top.confidence, atol=1e-6)
    row = quality_row(quality)
    assert row["tagged"] == 60
    assert float(str(row["top right %"])) > 90
    assert float(str(row["bulk precision %"])) > 90
    assert len(quality.said("top").right) == 60
    trust = trust_row(quality, 0)
    assert trust["leave together"] == 1
    assert float(str(trust["error, top"])) < 0.2
    assert float(str(time_row(quality)["suggestion ms"])) > 0


def test_causes_are_told_apart(quality: Quality) -> None:
    row = cause_row(quality)
    for split in quality.splits:
        np.testing.assert_array_equal(split.firsts.right, split.top.right)
        np.testing.assert_array_equal(split.hindsight.right, split.top.right)
        assert sum(rank == 0 for rank, _, _ in split.ranked) == 30
        # Fitted to firsts among others, so no curve of its own: but it rises with the score.
        scores = [score for rank, score, _ in split.ranked if rank == 0]
        assert (np.diff(split.hindsight.confidence[np.argsort(scores)]) >= 0).all()
    mean = np.mean([s.top.confidence.mean() - s.top.right.mean() for s in quality.splits])
    assert row["as it is"] == pytest.approx(float(mean), abs=6e-4)
    assert "later ones of score 0.2 to 0.4 right" in row


def test_classes_that_cannot_be_told_apart_are_not_called_sure(tmp_path: Path) -> None:
    one = setting(spread=50.0)
    mixed = measured(one, [0], tmp_path)
    row = quality_row(mixed)
    assert float(str(row["top right %"])) < 70
    assert float(str(row["bulk recall %"])) < 40
    assert not list(tmp_path.iterdir())


def test_weights() -> None:
    rows = weight_rows([setting()], 10, 0)
    assert len(rows) == 2 * len(ALPHAS)
    behind = {(row["shares"], row["alpha"]): float(str(row["pictures behind"])) for row in rows}
    assert behind["any sign", 0.002] > behind["any sign", 0.3]
    assert all(float(str(row["top right %"])) > 80 for row in rows)


def test_machines_are_compared(tmp_path: Path) -> None:
    """Rows in which neighbours mislead and a line tells apart; figures are of one split."""
    rng = np.random.default_rng(3)
    labels = np.arange(240) % 2
    rows = 0.6 * rng.standard_normal((240, 16))
    rows[:, 0] += np.where(labels == 0, 0.6, -0.6)
    one = Setting("line", "look", rows.astype(np.float32), labels, 60)
    made = compared(one, [0, 1], tmp_path)
    assert not list(tmp_path.iterdir())
    for split in made.splits:
        assert (split.tagged, split.asked) == (120, 120)
        assert split.mix == pytest.approx(100 * split.said.right.mean())
        assert 0 < split.weight <= 1
        assert min(split.linear, split.logistic) > 70
    row = machine_row(made, 0)
    better = max(float(str(row["SISO %"])), float(str(row["linear %"])))
    assert float(str(row["mix less better"])) == pytest.approx(
        float(str(row["mix %"])) - better, abs=0.11
    )


def test_rows_of_look_are_fitted_to_the_set() -> None:
    activations = np.maximum(setting(n=90).rows, 0)
    rows = look.fitted(activations)
    assert rows.shape == (90, 16)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


@pytest.mark.slow
def test_scale_on_few(tmp_path: Path) -> None:
    data = tags_scale.clusters(16, 0, n=200)
    assert np.allclose(np.linalg.norm(data.X, axis=1), 1)
    more = enlarged(data, 260, 0)
    root = tmp_path / "c.lw"
    tags_scale.build(root, "deep-dense", more, 0)
    said = tags_scale.measure(str(root), "deep-dense", "260")
    assert set(said) >= {"build s", "calibration s", "accepted to next ms", "peak MB"}
    # What is held may shrink meanwhile: other things are let go.
    assert all(value >= 0 for name, value in said.items() if name != "held MB")
    with Collection.open(root) as col:
        assert len(col.tags.suggester.evidence(("deep-dense",))) == 260 + tags_scale.ASKED


def test_the_figure(quality: Quality, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    few = dataclasses.replace(quality, setting=quality.setting._replace(space="holistic"))
    draw([quality, few], tmp_path)
    assert (tmp_path / "tags.png").read_bytes()[:4] == b"\x89PNG"
