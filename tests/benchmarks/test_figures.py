"""Figures: the same drawing gives the same bytes, and nothing is left open."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import figures


def test_the_same_bytes_every_time(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="figures need the extra bench")
    made = []
    for part in ("one", "two"):
        drawn, axis = figures.pyplot().subplots()
        axis.plot([1, 2], [3, 4], label="a line")
        axis.legend()
        figures.save(drawn, "toy.svg", "toy.png", folder=tmp_path / part)
        made.append([(tmp_path / part / name).read_bytes() for name in ("toy.svg", "toy.png")])
    assert made[0] == made[1]
    assert made[0][0].startswith(b"<?xml")
    assert made[0][1].startswith(b"\x89PNG")
    assert figures.pyplot().get_fignums() == []
