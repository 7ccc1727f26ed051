"""The benchmark of a million rows judges what engines return, and leaves sentences alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.staying import scale


def test_rows_are_of_unit_length_and_the_same_for_one_seed() -> None:
    rows, questions = scale.generate(1200, 3)
    assert rows.shape == (1200, scale.WIDTH)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    again, asked = scale.generate(1200, 3)
    assert rows.tobytes() == again.tobytes()
    assert questions.tobytes() == asked.tobytes()
    assert rows.tobytes() != scale.generate(1200, 4)[0].tobytes()


def test_the_judge_sorts_all_float64_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "_CHUNK", 170)
    rows, questions = scale.generate(1000, 0)
    values = questions.astype(float) @ rows.astype(float).T
    expected = np.argsort(-values, axis=1)[:, : scale.K]
    assert scale.best_by_definition(rows, questions).tolist() == expected.tolist()


@pytest.mark.parametrize("engine", ["ours", "faiss flat"])
def test_an_exact_engine_finds_what_the_judge_finds(engine: str, tmp_path: Path) -> None:
    rows, questions = scale.generate(1500, 1)
    rows.tofile(tmp_path / "rows.f32")
    scale.collection_of(tmp_path / "rows.lw", rows)
    name = "rows.lw" if engine == "ours" else "rows.f32"
    search = scale.ENGINES[engine](tmp_path, name, len(rows))
    found = [np.asarray(search(question)).tolist() for question in questions[:10]]
    assert found == scale.best_by_definition(rows, questions[:10]).tolist()


def test_the_peer_is_a_multiple_of_ours() -> None:
    ours: scale.Row = {"CPU ms": 10.0, "added MB": 100.0}
    peer: scale.Row = {"CPU ms": 25.0, "added MB": 50.0}
    first, second = scale.compare("a", ours, "b", peer)
    assert first == {"engine": "a", **ours}
    assert second == {"engine": "b", **peer, "times its CPU": "2.50", "times its MB": "0.50"}


def test_sentences_of_the_page_stay(tmp_path: Path) -> None:
    page = tmp_path / "staying.md"
    page.write_text("# Title\n\nBy hand.\n\n<!-- table: scale -->\nold\n<!-- end -->\n\nBelow.\n")
    scale.write([{"engine": "x", "CPU ms": 1.5}], "small", tmp_path)
    text = page.read_text()
    assert text.startswith("# Title\n\nBy hand.\n")
    assert text.endswith("<!-- end -->\n\nBelow.\n")
    assert "| x | 1.5 |" in text
    assert "old" not in text
    lines = (tmp_path / "staying-scale.csv").read_text().splitlines()
    assert lines == ["table,engine,CPU ms", "scale,x,1.5"]
