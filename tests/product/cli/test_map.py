"""The map page and the commands of metrics and maps, as a person types them."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from likewise.cli.app import app
from likewise.collection.collection import Collection
from likewise.server.routes_page import PAGE
from likewise_methods.ordinal.layout import fit_to_square, place_on_grid
from tests.product.collection.model_cases import N, quick, taught, template
from tests.product.server.browser import NO_BROWSER, browser, chromium


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(template() / "c.lw", tmp_path / "photos.lw")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LIKEWISE_COLLECTION", raising=False)
    quick(monkeypatch)
    return tmp_path


def run(*arguments: object, answers: str | None = None, code: int = 0) -> Result:
    ended = CliRunner().invoke(app, [str(a) for a in arguments], input=answers)
    assert ended.exit_code == code, (ended.output, ended.exception)
    return ended


def as_json(*arguments: object, answers: str | None = None) -> object:
    return json.loads(run(*arguments, "--json", answers=answers).stdout)


def refused(*arguments: object) -> str:
    ended = CliRunner().invoke(app, [str(a) for a in arguments])
    assert ended.exit_code != 0
    # Colours and frames of the usage message aside.
    return " ".join((str(ended.exception) + ended.output).split())


def test_a_metric_from_the_log(here: Path) -> None:
    run("judge", 1, "--liked", "3,5", "--disliked", "2,4")
    said = run("learn", "--metric", "--space", "mine").output
    assert "nothing was learned" in said
    assert "--by metric" in said
    with Collection.open("photos.lw") as col:
        taught(col)
    said = run("learn", "--metric", "--space", "mine", "--name", "taste").output
    assert "held out are right" in said
    assert "duality gap" in said
    found = as_json("search", 9, "--by", "taste", "-k", 5)
    assert len(found["hits"]) == 5
    assert all(hit["score"] <= 0 for hit in found["hits"])
    listed = {row["name"]: row for row in as_json("similarity", "list")}
    figures = listed["taste"]["learned"]["figures"]
    assert figures["pairs"] > 50
    assert figures["agreement"] > figures["agreement_plain"]
    assert "taste: mine  (learned metric)" in run("similarity", "list").output
    run("judge", 1, "--liked", "7")
    assert "1 newer line in the log" in run("model", "show", "taste").output
    run("model", "relearn", "taste")
    run("model", "rename", "taste", "flavour")
    assert [row["name"] for row in as_json("model", "list")] == ["flavour", "metric"]
    run("model", "delete", "metric")
    table = run("model", "list").output
    assert "flavour" in table
    assert "metric  metric" not in table


def test_usage(here: Path) -> None:
    assert "one at a time" in refused("learn", "--metric", "--map")
    assert "learn from the log" in refused("learn", "--map", "--from", "labels")
    assert "belong to --metric or --map" in refused("learn", "--from", "log", "--name", "x")
    assert "--labels belongs" in refused("learn", "--metric", "--labels", "tags")
    assert "no learned metric or map" in refused("model", "show", "nope")


def test_the_page_is_whole_and_tells_nothing_but_names(here: Path) -> None:
    said = run("map", "out.html").output
    assert "there are no comparisons yet" in said
    assert f"{N} pictures" in said
    page = (here / "out.html").read_text(encoding="utf-8")
    assert str(template()) not in page
    assert "/pictures/" not in page
    assert "file:" not in page
    assert not re.search(r"https?://", page)
    script = re.search(r'<script type="module">(.*?)</script>', page, re.DOTALL).group(1)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    # The canvas is the served page's, word for word; a page without a server imports nothing.
    chart = (PAGE / "chart.js").read_text(encoding="utf-8")
    assert chart.replace("export class", "class") in script
    assert not re.search(r"^(import|export)\b", script, re.MULTILINE)
    data = json.loads(re.search(r'<script id="data"[^>]*>(.*?)</script>', page, re.DOTALL).group(1))
    assert sorted(data["names"]) == [f"{i:02d}.png" for i in range(1, N + 1)]
    assert len(data["places"]) == len(data["cells"]) == 2 * N
    assert len(data["sheets"]) == 1
    cells = {tuple(data["cells"][2 * i : 2 * i + 2]) for i in range(N)}
    assert len(cells) == N
    assert "made from the space itself" in page
    few = as_json("map", "few.html", "--limit", 20)
    assert (few["pictures"], few["of"], few["learned"]) == (20, N, False)
    assert f"20 pictures of {N}, drawn at random" in (here / "few.html").read_text()


def test_names_cannot_leave_the_page(here: Path) -> None:
    from likewise.cli.map_page import MapPicture, map_page

    page = map_page("</title><b>", ["<i>"], [MapPicture("/x/</script><img src=x>.png", 0.0, 0.0)])
    assert "</script><img" not in page
    assert "<i>" not in page
    assert "<b>" not in page.split("<body>")[0]
    assert '"frames":[0,0,' in page  # not there: an empty frame


def until(page: Any, true: str) -> None:
    """Wait for it; the page's own policy forbids the waiting that evaluates text in it."""
    for _ in range(600):
        if page.evaluate(true):
            return
        page.wait_for_timeout(50)
    raise AssertionError(true)


@pytest.mark.skipif(chromium() is None, reason=NO_BROWSER)
def test_the_page_in_a_browser(here: Path) -> None:
    run("map", "out.html")
    with browser() as started:
        page = started.new_page(viewport={"width": 900, "height": 700})
        wrong: list[str] = []
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto((here / "out.html").as_uri())
        until(page, "!!window.likewiseMap")
        until(page, f"document.getElementById('map').dataset.seen === '{N}'")
        page.mouse.move(450, 350)
        page.mouse.wheel(0, -300)
        until(page, "likewiseMap.chart.window.zoom > 1")
        page.keyboard.press("0")
        until(page, "likewiseMap.chart.window.zoom === 1 && !likewiseMap.chart.goal")
        place = page.evaluate(
            """() => { for (let y = 5; y < 700; y += 3) for (let x = 260; x < 640; x += 3)
                 if (likewiseMap.chart.find(x, y) >= 0) return [x, y]; }"""
        )
        page.mouse.click(*place)
        name = page.locator("#name").inner_text()
        assert re.fullmatch(r"\d\d\.png", name)
        assert page.locator("#near button").count() == 8
        page.keyboard.press("Escape")
        assert page.locator("#card").is_hidden()
        page.keyboard.press("g")
        assert page.evaluate("likewiseMap.tidied") is False
        until(page, "!likewiseMap.chart.way")
        page.keyboard.press("/")
        page.keyboard.type("07")
        assert page.locator("#found").inner_text() == f"1 of {N}"
        page.keyboard.press("Enter")
        assert page.locator("#name").inner_text() == "07.png"
        until(page, "!likewiseMap.chart.goal")
        found = page.evaluate("likewiseMap.chart.find(450, 350)")
        assert page.evaluate("likewiseMap.chart.chosen") == found, "it was brought to the middle"
        assert wrong == []


def test_the_layout_gives_each_a_cell_near_its_place() -> None:
    rng = np.random.default_rng(0)
    crowds = np.concatenate([rng.normal(c, 0.05, (60, 2)) for c in ((0, 0), (1, 0), (0, 1))])
    places = fit_to_square(np.concatenate([crowds, [[40.0, 40.0]]]))
    assert places.min() >= -1e-9
    assert places.max() <= 1 + 1e-9
    assert np.ptp(places[:180], axis=0).min() > 0.5  # the stray has not made the others small
    cells, columns, high = place_on_grid(places)
    assert len({tuple(cell) for cell in cells.tolist()}) == 181
    assert (cells >= 0).all()
    assert (cells < [columns, high]).all()
    kind = np.repeat([0, 1, 2], 60)
    middle = np.array([cells[:180][kind == k].mean(axis=0) for k in range(3)])
    nearest = ((cells[:180, None] - middle) ** 2).sum(axis=2).argmin(axis=1)
    assert np.mean(nearest == kind) > 0.95
    for n in (1, 2):
        assert len(place_on_grid(fit_to_square(np.zeros((n, 2))))[0]) == n
