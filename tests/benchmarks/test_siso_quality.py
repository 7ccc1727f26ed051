"""The SISO benchmark of quality on small data: rows, choices, figures and what is said of them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.metrics import label_map
from benchmarks.readers.records import FeatureTable
from benchmarks.siso import features as siso_features
from benchmarks.siso import report as siso
from benchmarks.siso import runs as siso_runs
from benchmarks.siso import sets as siso_sets
from benchmarks.siso.methods import METHODS, N_SETTINGS, said
from benchmarks.siso.results import Results, by_share, scorings, with_all, write_runs
from benchmarks.siso.runs import SEEDS, SHARES, chosen, rows_of, run, scored, tune, tuning_size
from benchmarks.siso.sets import Task
from tests.benchmarks.readers.test_readers_ilsvrc import write_meta, write_sbow


def task_of(n: int = 80, q: int = 3, seed: int = 0) -> Task:
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((q, 10))
    kinds = [np.arange(m) % q for m in (n, 24)]
    X, Q = (siso_sets.unit(centres[k] + 0.7 * rng.standard_normal((len(k), 10))) for k in kinds)
    Y, T = (np.eye(q)[k] for k in kinds)
    return Task("toy", X, sp.csr_array(Y), Q, T.astype(np.uint8), True, "a toy")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIKEWISE_CACHE", str(tmp_path / "cache"))


def test_every_method_has_as_many_settings() -> None:
    assert [len(m.grid) for m in METHODS if not m.like] == [N_SETTINGS] * (len(METHODS) - 1)
    assert {m.name for m in METHODS} >= {
        "SISO", "hash-SISO", "SVM", "KNN", "LNP", "EGSSC", "ridge (RRML)", "LSMP-like",
    }  # fmt: skip
    assert all(m.like in {o.name for o in METHODS} for m in METHODS if m.like)


def test_shares_are_nested_and_drawn_by_seed() -> None:
    task = task_of()
    some, more = rows_of(task, 0.1, 1), rows_of(task, 0.5, 1)
    assert len(some) == 8
    assert set(some) < set(more)
    assert set(some) != set(rows_of(task, 0.1, 2))
    assert len(rows_of(task, 1.0, 0)) == 80


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_a_run_says_what_the_model_did(
    method: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    task, settings = task_of(), (method.grid or METHODS[0].grid)[0]
    row = run(task, method, 1.0, 0, settings)
    model = method.make(settings, 0)
    if method.kind == "graph":
        scores = model.fit(task.X, task.Y, task.Q).unlabelled_scores_
    else:
        scores = model.fit(task.X, task.Y).predict_scores(task.Q)
    assert row["MAP"] == pytest.approx(label_map(scores, task.T), abs=1e-9)
    assert row["rows"] == 80
    assert 0 <= row["top-5 flat cost"] <= row["top-1 flat cost"] <= 1
    if method.kind == "sparse":
        positive = method.make({**settings, "scores": "positive"}, 0).fit(task.X, task.Y)
        assert row["MAP positive"] == pytest.approx(
            label_map(positive.predict_scores(task.Q), task.T), abs=1e-9
        )
    # A run that was done is read again, not done again.
    monkeypatch.setattr(siso_runs, "_run", lambda *_: pytest.fail("ran again"))
    assert run(task, method, 1.0, 0, settings) == row
    with pytest.raises(pytest.fail.Exception, match="ran again"):
        run(task, method, 1.0, 1, settings)
    capsys.readouterr()


def test_settings_are_chosen_on_training_pictures_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    task = task_of()
    knn = next(m for m in METHODS if m.name == "KNN")
    assert tuning_size(task, 1.0) == 64
    assert tuning_size(task, 0.1) == 8
    tried = tune(task, knn, 64)
    blind = Task(task.name, task.X, task.Y, 0 * task.Q, 0 * task.T, True, "other queries")
    assert tune(blind, knn, 64) == tried
    assert chosen(tried) == max(tried, key=lambda r: r["MAP"])["settings"]
    assert chosen([{"settings": {"a": i}, "MAP": 0.5} for i in range(2)]) == {"a": 0}
    capsys.readouterr()


def test_figures_by_kind_of_truth() -> None:
    rng = np.random.default_rng(0)
    scores, T = rng.random((9, 12)), (rng.random((9, 12)) < 0.4).astype(np.uint8)
    many = Task("many", *[np.zeros(0)] * 3, T, False, "")  # type: ignore[arg-type]
    assert set(scored(many, scores, T)) == {"MAP", "P@5", "R@5", "N+"}
    assert set(scored(many, scores[:, :6], T[:, :6])) == {"MAP"}


def made_up(**maps: tuple[float, ...]) -> Results:
    """Runs with the MAP given at each share, the same for all seeds."""
    rows = []
    for method, values in maps.items():
        for share, value in zip(SHARES, values, strict=True):
            for seed in SEEDS:
                row = {
                    "task": "toy", "method": method.replace("_", "-"), "share": share,
                    "seed": seed, "settings": {"alpha": 0.1}, "MAP": value, "rows": 1000 * share,
                    "construction s": 1.0, "prediction ms": 10 * share**0.5, "gap": 1e-5,
                    "MAP positive": value - 0.02, "MAP by length": value,
                    "top-5 flat cost": 1 - value, "top-1 flat cost": 1.0,
                }  # fmt: skip
                rows.append(row)
    return Results(rows)


def test_tables(tmp_path: Path) -> None:
    results = made_up(SISO=(0.1, 0.2, 0.3, 0.4, 0.5))
    results.rows[0]["MAP"] = 0.13
    row = by_share(results, "toy")[0]
    assert row["10%"] == "11.0 ± 1.7"
    assert row["100%"] == "50.0 ± 0.0"
    assert row["settings at 100%"] == said({"alpha": 0.1}) == "alpha 0.1"
    whole = with_all(results, "toy")[0]
    assert whole["MAP %"] == "50.0"
    assert whole["s for 1,000"] == pytest.approx(11.0)
    assert [r["scores"] for r in scorings(results)] == ["signed", "positive", "signed / l1 norm"]
    write_runs(results, tmp_path / "runs.csv")
    with (tmp_path / "runs.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 15
    assert lines[0]["MAP"] == "0.13"


def test_settings_at_an_end_are_named() -> None:
    results = made_up(SISO=(0.1, 0.2, 0.3, 0.4, 0.5))
    assert siso.at_edges(results) == []
    for row in results.rows:
        row["settings"] = {"alpha": 0.4}
    edge = {"data": "toy", "method": "SISO", "setting": "alpha", "value": 0.4}
    assert siso.at_edges(results) == [edge]


def test_the_whole_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    few = Task(*[getattr(task_of(), f) for f in ("name", "X", "Y", "Q", "T")], True, "", ("SISO",
               "hash-SISO", "KNN", "LNP"))  # fmt: skip

    def only(full: bool, missing: list[str]) -> Any:
        missing.append("nothing at all")
        yield few

    monkeypatch.setattr(siso, "tasks", only)
    monkeypatch.setattr(siso.harness, "RESULTS", tmp_path)
    monkeypatch.setattr("sys.argv", ["siso"])
    siso.main()
    text = (tmp_path / "siso.md").read_text()
    for part in ("toy", "Signed against positive", "joined"):
        assert part in text
    assert "Left out: nothing at all." in text
    files = {path.name for path in tmp_path.iterdir()}
    assert files >= {"siso.md", "siso.csv", "siso-runs.csv", "siso.svg"}
    capsys.readouterr()


def test_bags_are_unit_and_learned_from_the_first() -> None:
    rng = np.random.default_rng(0)
    pictures = list(rng.integers(0, 256, (6, 32, 32, 3), dtype=np.uint8))
    rows = siso_features.bags(pictures, 4, n_words=20)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    other = [*pictures[:4], *reversed(pictures[4:])]
    np.testing.assert_array_equal(siso_features.bags(other, 4, n_words=20)[:4], rows[:4])
    whole = siso_features.described("holistic", pictures[:2], 1)
    assert whole.shape == (2, 428)


def test_missing_sets_are_named_with_their_place(tmp_path: Path) -> None:
    missing: list[str] = []
    assert list(siso_sets.large(tmp_path, missing)) == []
    assert [text.split(":")[0] for text in missing] == ["nuswide-lite", "nuswide", "ilsvrc2010"]
    assert "LIKEWISE_DATA/nuswide" in missing[1]
    (tmp_path / "nuswide").mkdir()
    again: list[str] = []
    assert list(siso_sets.large(tmp_path, again)) == []
    assert "Concepts81.txt" in again[1]


def test_tables_become_tasks() -> None:
    X = np.array([[3.0, 4], [0, 0], [1, 0], [0, 2], [1, 1]], np.float32)
    Y = np.array([[1, 0], [1, 1], [0, 1], [1, 0], [0, 1]])
    table = FeatureTable("t", X, Y, split=["train", "train", "test", "test", "test"])
    task = siso_sets.from_table("t", table, "two numbers", most_test=2)
    np.testing.assert_allclose(task.X, [[0.6, 0.8]], atol=1e-6)
    assert task.Q.shape == (2, 2)
    assert task.T.shape == (2, 2)


def test_official_layouts(tmp_path: Path) -> None:
    """NUS-WIDE-LITE and ILSVRC2010 in little, in files named as theirs."""
    lite = tmp_path / "nuswide-lite"
    lite.mkdir()
    (lite / "Concepts81.txt").write_text("sky\nsea\n")
    rng = np.random.default_rng(0)
    for part in ("Train", "Test"):
        for block, width in (("CM55", 4), ("WT", 3), ("EDH", 2)):
            lines = [" ".join(f"{v:.4f}" for v in row) for row in rng.random((5, width))]
            (lite / f"Normalized_{block}_Lite_{part}.dat").write_text("\n".join(lines) + "\n")
        for concept in ("sky", "sea"):
            (lite / f"Lite_Labels_{concept}_{part}.txt").write_text("1\n0\n1\n0\n1\n")
    kit = tmp_path / "ilsvrc2010"
    kit.mkdir()
    write_meta(kit / "meta.mat", {1: "n00000001", 2: "n00000002"})
    for synset in ("n00000001", "n00000002"):
        write_sbow(kit / f"{synset}.sbow.mat", {f"{synset}_{i}": [i, 7] for i in range(3)})
    write_sbow(kit / "val.0001.sbow.mat", {"v1": [1, 2], "v2": [3]})
    (kit / "ILSVRC2010_validation_ground_truth.txt").write_text("2\n1\n")
    missing: list[str] = []
    wide, words = siso_sets.large(tmp_path, missing)
    assert len(missing) == 1
    assert wide.X.shape == wide.Q.shape == (5, 9)
    blocks = [np.linalg.norm(wide.X[:, s], axis=1) for s in (slice(4), slice(4, 7), slice(7, 9))]
    np.testing.assert_allclose(blocks, 3**-0.5, atol=1e-6)
    assert words.X.shape == (6, 1000)
    assert words.T.argmax(axis=1).tolist() == [1, 0]
    assert words.one_class
    assert [m.name for m in siso.part_in(words)] == list(siso_sets.SCALABLE)
