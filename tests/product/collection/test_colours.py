"""Search by colour, and with several pictures at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from likewise import Collection
from likewise.catalog.thumbnails import FOLDER
from likewise.errors import InvalidInput
from likewise.search import colours as colouring
from likewise.search.colours import GRID, grid_of, to_lab
from tests.product.collection.pictures import small_scenes

RED, BLUE, GREEN = (208, 32, 32), (32, 48, 200), (30, 160, 60)


def halves(left: tuple[int, int, int], right: tuple[int, int, int], share: float) -> Image.Image:
    pixels = np.empty((96, 128, 3), np.uint8)
    pixels[:, : round(128 * share)] = left
    pixels[:, round(128 * share) :] = right
    noise = np.random.default_rng(sum(left) + sum(right)).integers(-6, 6, pixels.shape)
    return Image.fromarray(np.clip(pixels + noise, 0, 255).astype(np.uint8))


@pytest.fixture(scope="module")
def col(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    folder = tmp_path_factory.mktemp("colours")
    (folder / "pictures").mkdir()
    for name, picture in {
        "red": halves(RED, RED, 1.0),
        "mostly-red": halves(RED, BLUE, 0.75),
        "mostly-blue": halves(RED, BLUE, 0.25),
        "green": halves(GREEN, GREEN, 1.0),
        "red-green": halves(RED, GREEN, 0.5),
    }.items():
        picture.save(folder / "pictures" / f"{name}.png")
    with Collection.create(folder / "photos.lw", words={"n_words": 20}, deep=False) as made:
        made.add(folder / "pictures", workers=0)
        yield made


def names(hits: list[object]) -> list[str]:
    return [Path(hit.path).stem for hit in hits]  # type: ignore[attr-defined]


def test_most_of_a_colour_comes_first(col: Collection) -> None:
    hits = col.colours.search(["#d02020"])
    assert names(list(hits))[:2] == ["red", "mostly-red"]
    assert names(list(hits))[-1] == "green"
    scores = {Path(hit.path).stem: hit.score for hit in hits}
    assert scores["red"] == pytest.approx(1, abs=0.05)
    assert scores["mostly-red"] == pytest.approx(0.75, abs=0.05)
    assert scores["green"] < 0.01


def test_of_several_colours_all_are_wanted(col: Collection) -> None:
    assert names(list(col.colours.search(["#d02020", "#1ea03c"], 1))) == ["red-green"]
    assert set(names(list(col.colours.search(["#d02020", "#2030c8"], 2)))) == {
        "mostly-red",
        "mostly-blue",
    }


def test_filters_hold(col: Collection) -> None:
    green = col.colours.search(["#1ea03c"], 1)[0].id
    col.tag(green, "leaf")
    found = col.colours.search(["#d02020"], where={"tag": "leaf"})
    assert [hit.id for hit in found] == [green]


def test_grids_are_kept_and_follow_the_collection(
    col: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    col.colours.search(["#d02020"])
    kept = col.root / FOLDER / "colours.npy"
    assert len(np.load(kept, allow_pickle=False)) == 5
    with Collection.open(col.root) as again:
        monkeypatch.setattr(colouring, "decode", None)  # nothing is looked at a second time
        assert names(list(again.colours.search(["#1ea03c"], 1))) == ["green"]
        monkeypatch.undo()
        halves(BLUE, BLUE, 1.0).save(tmp_path / "blue.png")
        again.add(tmp_path, workers=0)
        assert names(list(again.colours.search(["#2030c8"], 1))) == ["blue"]
        again.remove(again.colours.search(["#2030c8"], 1)[0].id)
        assert names(list(again.colours.search(["#2030c8"], 1))) == ["mostly-blue"]
    kept.write_bytes(kept.read_bytes()[:100])
    with Collection.open(col.root) as again:
        assert names(list(again.colours.search(["#1ea03c"], 1))) == ["green"], "made again"


@pytest.mark.parametrize("wrong", [[], ["red"], ["#12"], ["#000000"] * 6, [7]])
def test_what_is_no_colour_is_refused(col: Collection, wrong: list[str]) -> None:
    with pytest.raises(InvalidInput, match="colour"):
        col.colours.search(wrong)


def test_lab_is_the_one_of_the_books() -> None:
    # Values of the CIE formulas under D65, as tables of sRGB primaries print them.
    for rgb, lab in {
        (255, 0, 0): (53.24, 80.09, 67.20),
        (0, 255, 0): (87.73, -86.18, 83.18),
        (0, 0, 255): (32.30, 79.19, -107.86),
        (128, 128, 128): (53.59, 0.0, 0.0),
    }.items():
        assert to_lab(np.array(rgb)) == pytest.approx(lab, abs=0.05)


def test_a_grid_of_a_tiny_picture() -> None:
    made = grid_of(np.full((1, 3, 3), 255, np.uint8))
    assert made.shape == (GRID * GRID, 3)
    assert (made == made[0]).all()
    assert made[0].tolist() == [50, 0, 0]


# -- several pictures -----------------------------------------------------------------------------


def id_of(col: Collection, name: str) -> int:
    return next(hit.id for hit in col.colours.search(["#d02020"], 9) if name == Path(hit.path).stem)


def test_several_pictures_rank_by_the_mean_of_their_scores(col: Collection) -> None:
    pair = [id_of(col, "red"), id_of(col, "green")]
    found = col.search(pair, 9, by="holistic")
    assert not {hit.id for hit in found} & set(pair), "what is asked about is no answer"
    each = [{h.id: h.score for h in col.search(one, 9, by="holistic")} for one in pair]
    mean = {hit.id: (each[0][hit.id] + each[1][hit.id]) / 2 for hit in found}
    assert [hit.id for hit in found] == sorted(mean, key=lambda i: -mean[i])


def test_several_pictures_in_every_kind_of_space(tmp_path: Path) -> None:
    for name, pixels in list(small_scenes().items())[:5]:
        Image.fromarray(pixels).save(tmp_path / f"{name}.png")
        Image.fromarray(pixels[8:, 8:]).save(tmp_path / f"{name}-part.png")
    with Collection.create(tmp_path / "s.lw", words={"n_words": 30}, deep=False) as col:
        col.add(tmp_path, workers=0)
        rows = {Path(row.path).stem: row.id for row in col.pictures.rows(range(1, 11)).values()}
        first, second = [name for name in rows if not name.endswith("-part")][:2]
        for by in ("words", "both", "default"):
            found = col.search([rows[first], rows[second]], 2, by=by)
            swapped = col.search((rows[second], rows[first]), 2, by=by)
            parts = {rows[f"{first}-part"], rows[f"{second}-part"]}
            assert {hit.id for hit in found} == parts, by
            assert [hit.id for hit in found] == [hit.id for hit in swapped]


def test_files_from_outside_join(col: Collection, tmp_path: Path) -> None:
    halves(GREEN, GREEN, 0.9).save(tmp_path / "leaf.png")
    found = col.search([id_of(col, "red"), tmp_path / "leaf.png"], 1, by="holistic")
    assert found[0].id != id_of(col, "red")


def test_several_are_not_judged_and_have_no_region(col: Collection) -> None:
    pair = [id_of(col, "red"), id_of(col, "green")]
    with pytest.raises(InvalidInput, match="several pictures cannot be judged"):
        col.judge(pair, liked=[id_of(col, "mostly-red")])
    with pytest.raises(InvalidInput, match="no region"):
        col.search(pair, region=(0, 0, 4, 4))
    with pytest.raises(InvalidInput, match="0 pictures"):
        col.search([])
