"""The terminal says what ranked: places in words, heat maps on the sheet; answers are taken in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from likewise.collection.collection import Collection
from tests.product.cli.process import Likewise
from tests.product.cli.test_looking import Page, check_pictures
from tests.product.collection.pictures import write_pictures
from tests.product.vision.deep_cases import needs_deep

pytestmark = needs_deep


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Likewise:
    """Eight pictures, described by the network alone; three answers of Ann's."""
    folder: Path = tmp_path_factory.mktemp("explained")
    write_pictures(folder / "pictures", views=1)
    with Collection.create(folder / "photos.lw", deep=True) as col:
        col.add(folder / "pictures", workers=0)
        for ask in col.comparisons.suggest(3, seed=0):
            col.compare(*ask, person="Ann")
    return Likewise(folder)


def test_places_are_said_in_words_and_drawn_on_the_sheet(built: Likewise, tmp_path: Path) -> None:
    asked = ("search", "pictures/china-0.jpg", "-k", 3, "--explain")
    hits = built.json(*asked)["hits"]
    for hit in hits:
        assert hit["explained_by"] == "deep"
        assert hit["explained_score"] == pytest.approx(hit["score"], abs=1e-5)
        for side in ("in_query", "in_hit"):
            assert np.sum(hit[side]["cells"]) == pytest.approx(hit["score"], abs=1e-5)
    said = built(*asked).stdout
    assert "alike where (query | hit)" in said
    area, share = next(iter(hits[0]["in_query"]["areas"].items()))
    assert f"{area} {share:.0%}" in said
    out = tmp_path / "sheet.html"
    built(*asked, "--sheet", out)
    page = Page(out.read_text())
    check_pictures(page, 5)
    shades = [float(str(one["fill-opacity"])) for one in page.all("rect")]
    # Two grids of 49 cells a hit, of which the warmest are left clear.
    assert 3 * 49 < len(shades) < 3 * 98
    assert max(shades) <= 0.74
    assert "add up to the score" in out.read_text()


def test_answers_wait_and_are_taken_in(built: Likewise) -> None:
    before = built.json("search", 1)["hits"]
    assert built.json("comparisons", "waiting") == [
        {"profile": "ann-answers", "by": "Ann", "answers": 3}
    ]
    listed = built("profile", "list").stdout
    assert "answers from Ann, until default takes them in" in listed
    taken = built("comparisons", "take-in", "ann-answers").stdout
    assert "default took in 3 answers of Ann" in taken
    assert "No answers are waiting." in built("comparisons", "waiting").stdout
    assert "took in 3 answers of Ann" in built("log").stdout
    assert "no pending answers" in built.refused("comparisons", "take-in")
    built("profile", "rollback", 0)
    assert built.json("search", 1)["hits"] == before
    assert "more are needed" in built("profile", "show", "ann-answers").stdout
