from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import harness
from benchmarks.features import report as features
from likewise.vision.holistic import colour_moments, edge_histogram, wavelet_texture
from likewise.vision.local import SIFT, DenseSIFT
from likewise_lab.evaluation.planted import scenes


def test_report_writes_markdown_and_csv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = harness.Report("toy", "A toy", "tiny", {"seed": 3})
    report.add("first", [{"method": "a", "ms": 1.23456}, {"method": "b", "ratio": 12_345.6}])
    report.left_out.append("a peer (not installed)")
    path = report.write(tmp_path)
    text = path.read_text()
    assert "| a | 1.23 |  |" in text
    assert "| b |  | 12,346 |" in text
    assert "Size: tiny." in text
    assert "Left out: a peer (not installed)." in text
    assert capsys.readouterr().out == text
    (run,) = harness.read_csv(tmp_path / harness.RUNS)
    assert (run["parameters"], run["left out"]) == ("seed 3", "a peer (not installed)")
    assert "numpy" in run["machine"]
    rows = list(csv.DictReader((tmp_path / "toy.csv").read_text().splitlines()))
    assert rows[0] == {"table": "first", "method": "a", "ms": "1.23456", "ratio": ""}


def test_rivals_are_timed_in_turn() -> None:
    calls: list[tuple[str, int]] = []
    rivals = {name: lambda i, name=name: calls.append((name, i)) for name in "ab"}
    timings = harness.cpu_times_in_turn(rivals, [1, 2, 3], block=2)
    # The first of a block runs once before, untimed.
    assert calls == [(name, i) for block in ((1, 1, 2), (3, 3)) for name in "ab" for i in block]
    assert {name: len(timing.seconds) for name, timing in timings.items()} == {"a": 3, "b": 3}


def test_cpu_times_warm_up_is_not_counted() -> None:
    calls: list[int] = []
    timing = harness.cpu_times(calls.append, [1, 2, 3], warm_up=2)
    assert calls == [1, 2, 1, 2, 3]
    assert len(timing.seconds) == 3
    assert timing.p99 >= timing.median >= 0
    assert timing.total == pytest.approx(sum(timing.seconds))


def test_threads_are_pinned_before_numpy_loads() -> None:
    code = (
        "import benchmarks.harness, threadpoolctl, numpy, scipy.linalg\n"
        "assert all(p['num_threads'] == 1 for p in threadpoolctl.threadpool_info())"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_plain_loops_compute_the_same_features() -> None:
    """A benchmark against a peer that computes something else would prove nothing."""
    photo = dict(scenes())["china"]
    found, peers = SIFT().extract(photo).descriptors, features.plain_sift(photo)
    assert abs(len(found) - len(peers)) <= len(peers) // 100
    for ours, plain in (
        (found, features.matched(found, peers)),
        (peers, features.matched(peers, found)),
        (DenseSIFT().extract(photo).descriptors, features.plain_dense(photo)),
        (colour_moments(photo), features.plain_moments(photo)),
        (wavelet_texture(photo), features.plain_texture(photo)),
        (edge_histogram(photo), features.plain_edges(photo)),
    ):
        assert np.shape(ours) == np.shape(plain)
        assert features.cosine(ours, plain) > 0.97
