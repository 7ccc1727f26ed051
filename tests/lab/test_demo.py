"""The demo: figures that can be recomputed, a page with every picture inside, a second run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from likewise.vision.deep.network import is_installed
from likewise.vision.text import text_model_status
from likewise_lab.commands.demo import demo_page
from likewise_lab.demo.demo import run
from likewise_lab.demo.themes import THEMES, scene_of, theme_of
from likewise_lab.demo.typed import WORDS
from likewise_lab.evaluation.planted import scenes
from likewise_methods.evaluation.metrics import average_precision
from tests.product.cli.process import Likewise, few_views
from tests.product.cli.test_looking import Page, check_pictures

EXPECTED = {"deep"} if is_installed() else {"words", "holistic", "both"}
"""Of so few pictures no space is fitted."""


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "demo"


def test_planted_views(out: Path) -> None:
    said: list[str] = []
    result = run(out, n_views=2, say=said.append)
    assert (result.pictures, result.added) == (46, 46)
    assert set(result.means) == EXPECTED
    assert all(0.6 < value <= 1 for value in result.means.values())
    assert set(result.by_kind) == {"original", "crop"}
    for by, mean in result.means.items():
        halves = [values[by] for values in result.by_kind.values()]
        assert sum(halves) / 2 == pytest.approx(mean)
    # With two views there is one right answer, and what is shown says where it was.
    for asked in result.asked:
        (shown,) = asked.found.values()
        marks = [found.right for found in shown]
        if any(marks):
            assert asked.average_precision == pytest.approx(average_precision(marks))
    text = demo_page(result)
    check_pictures(Page(text), 100)
    assert "✓" in text
    if not text_model_status().available or not is_installed():
        assert result.hint
        return
    assert [one.query.text for one in result.typed] == list(WORDS)
    for one in result.typed:
        query = one.query
        rest = query.right - set(query.liked)
        ranked = [hit.id for hit in query.after if hit.id not in query.liked][: len(rest)]
        assert query.found[1] == pytest.approx(len(rest & set(ranked)) / max(len(rest), 1))
        said = f"“{query.text}”: {query.found[0]:.0%} right"
        # What was right at once says nothing of likes.
        taught = query.found[0] < 1 and query.liked
        assert f"{said}, after" in text if taught else f"{said}</h3>" in text
    at_once = [one.query for one in result.typed if one.query.text in ("a cat", "temple")]
    assert all(one.hits[0].id in one.right for one in at_once)


def test_nothing_that_was_clicked_is_shown_as_found(out: Path) -> None:
    result = run(out, n_views=2)
    lesson = result.lesson
    assert lesson is not None
    assert set(lesson.groups) <= set(THEMES)
    assert [group.name for group in result.taught] == lesson.groups
    text = demo_page(result)
    for one in (*result.gained, *filter(None, [result.lost])):
        scene = scene_of(one.other.query.query)
        for found in (*one.before, *one.after):
            assert found.hit.id not in lesson.clicked
            assert scene_of(Path(found.row.path).stem) != scene
            assert found.right == (
                theme_of(Path(found.row.path).stem) == theme_of(one.other.query.query)
            )
    assert not {one.other.image for one in result.gained} & lesson.clicked
    gains = [one.other.gain for one in result.gained]
    assert gains == sorted(gains, reverse=True)
    assert all(gain > 0 for gain in gains)
    # No frame is called by a colour: it depends on the light.
    assert "blue" not in text
    assert 'style="border-color:var(--accent)"></span>the query' in text
    if result.gained:
        assert text.index("It learns what you mean") < text.index(
            "Queries that were not judged get"
        )


def test_every_theme_is_of_photographs_that_are_there() -> None:
    names = [name for name, _ in scenes()]
    used = [scene for group in THEMES.values() for scene in group]
    assert len(used) == len(set(used))
    assert set(used) <= set(names)
    assert {scene for group in WORDS.values() for scene in group} <= set(names)
    assert not any(word in name for text in WORDS for word in text.split()[-1:] for name in names)


@pytest.mark.slow
@pytest.mark.skipif(not is_installed(), reason="the network is not there")
def test_queries_nobody_judged_improve(tmp_path: Path) -> None:
    """What the demo says of learning, with half of its views."""
    lesson = run(tmp_path / "demo", n_views=8).lesson
    assert lesson is not None
    assert len(lesson.judged) == sum(map(len, THEMES.values()))
    for gain in (lesson.gain(), lesson.unseen):
        assert gain.queries >= 40
        assert gain.after > gain.before + 0.03
    assert lesson.elsewhere.after > lesson.elsewhere.before - 0.005


def test_a_second_run_says_that_it_uses_the_first(out: Path) -> None:
    if not (out / "planted.lw").exists():
        run(out, n_views=2)
    done = Likewise(out.parent)("demo", "--views", 2, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "used again" in done.stdout
    assert "all added by an earlier run" in done.stdout
    assert "mAP, same photograph, by kind of query" in done.stdout
    assert "What to do next:" in done.stdout
    Page((out / "index.html").read_text())


def test_own_folder(tmp_path: Path) -> None:
    few_views(tmp_path / "mine")
    likewise = Likewise(tmp_path)
    done = likewise("demo", "mine", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["pictures"], said["added"], said["mAP"]) == (12, 12, {})
    assert set(said["search_ms"]) == EXPECTED
    text = (tmp_path / "demo" / "index.html").read_text()
    check_pictures(Page(text), 50)
    assert text.count("<b>query</b>") >= 6
    # Another folder: the collection of the first is not mixed with it.
    (tmp_path / "other").mkdir()
    for path in sorted((tmp_path / "mine").iterdir())[:3]:
        path.rename(tmp_path / "other" / path.name)
    result = run(tmp_path / "demo", folder=tmp_path / "other")
    assert result.pictures == 3


def test_refusals(tmp_path: Path) -> None:
    likewise = Likewise(tmp_path)
    assert "is not there" in likewise.refused("demo", "absent")
    likewise.refused("demo", "--views", 1, code=2)
