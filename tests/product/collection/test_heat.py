"""Heat maps: what each place of a picture adds to the score that ranked, and that it adds up."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image

from likewise.collection.collection import Collection
from likewise.errors import CollectionError, NoPlaces
from likewise.images.decode import decode
from likewise.search.explain import HeatMap
from likewise.search.query import decode_in_process
from likewise.spaces import deep as deep_kind
from tests.product.collection.pictures import write_pictures
from tests.product.vision.deep_cases import needs_deep

pytestmark = needs_deep

CLOSE = 2e-5
"""Rows are float32, of unit length; a score is a sum of up to 1280 products of theirs."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 pictures; ``look`` is learned from as few."""
    root = tmp_path_factory.mktemp("heat")
    write_pictures(root / "pictures")
    with Collection.create(root / "photos.lw", deep=True) as col:
        col.add(root / "pictures", workers=0)
        col.spaces.drop("look")
        col.spaces.add("look", {"feature": "look", "first": 20, "components": 12})
    return root


@pytest.fixture
def col(built: Path, tmp_path: Path) -> Iterator[Collection]:
    """A copy that may be changed; the pictures stay where they are."""
    shutil.copytree(built / "photos.lw", tmp_path / "photos.lw")
    with Collection.open(tmp_path / "photos.lw") as collection:
        yield collection


def score_of(col: Collection, query: object, hit: int, **options: object) -> float:
    found = {one.id: one.score for one in col.search(query, k=100, **options)}  # type: ignore[arg-type]
    return found[hit]


@pytest.mark.parametrize("by", ["default", "look", "deep", "deep-dense"])
def test_the_cells_of_either_picture_add_up_to_the_score(col: Collection, by: str) -> None:
    for hit in (2, 9):
        why = col.explain(1, hit, by=by)
        assert why.space == ("look" if by == "default" else by)
        assert not why.words
        assert why.score == pytest.approx(score_of(col, 1, hit, by=by), abs=CLOSE)
        for heat in (why.in_query, why.in_hit):
            assert heat is not None
            assert heat.cells.shape == (7, 7)
            assert heat.cells.sum() == pytest.approx(why.score, abs=CLOSE)
            assert abs(heat.rest) < CLOSE
            assert np.ptp(heat.cells) > 1e-3


@pytest.mark.parametrize("by", ["default", "deep"])
def test_they_add_up_as_a_profile_has_learned(col: Collection, by: str) -> None:
    """Judgements about other queries stretch the cells; those about this one lie nowhere in it."""
    if by == "deep":
        col.similarities.use("deep")
    plain = col.explain(1, 9)
    # Views of the same scene, told to be unlike each other and like strangers.
    col.judge(2, liked=[9, 12], disliked=[3])
    col.judge(3, liked=[10, 11], disliked=[2])
    taught = col.explain(1, 9)
    assert taught.in_query is not None
    assert taught.in_hit is not None
    assert plain.in_query is not None
    assert taught.score == pytest.approx(score_of(col, 1, 9), abs=CLOSE)
    assert taught.in_query.rest == pytest.approx(0, abs=CLOSE)
    assert taught.in_query.cells.sum() == pytest.approx(taught.score, abs=CLOSE)
    assert taught.in_hit.cells.sum() == pytest.approx(taught.score, abs=CLOSE)
    assert not np.allclose(taught.in_query.cells, plain.in_query.cells, atol=1e-6)
    # Said about the very query: the liked pictures' share lies nowhere in it.
    col.judge(1, liked=[2], disliked=[20])
    told = col.explain(1, 9)
    assert told.in_query is not None
    assert told.in_hit is not None
    assert told.score == pytest.approx(score_of(col, 1, 9), abs=CLOSE)
    assert told.in_hit.total == pytest.approx(told.score, abs=CLOSE)
    assert told.in_query.total == pytest.approx(told.score, abs=CLOSE)
    assert abs(told.in_query.rest) > 1e-3


def test_heat_lies_where_the_pictures_are_alike(col: Collection, tmp_path: Path) -> None:
    """Half of a picture of the collection beside noise: the half makes the likeness."""
    whole = cv2.imread(col.image(1).path)
    side = cv2.resize(whole, (224, 448))
    noise = np.random.default_rng(0).integers(90, 160, (448, 224, 3)).astype(np.uint8)
    for name, halves in (("left", (side, noise)), ("right", (noise, side))):
        path = tmp_path / f"{name}.png"
        cv2.imwrite(str(path), np.hstack(halves))
        why = col.explain(path, 1, by="deep-dense")
        assert why.in_query is not None
        left, right = why.in_query.cells[:, :3].sum(), why.in_query.cells[:, 4:].sum()
        assert (left > 1.5 * right) if name == "left" else (right > 1.5 * left)
        assert why.in_query.box == (0, 0, 448, 448)
        best = why.in_query.areas()[0]
        assert name in best.name
        assert 0 < best.share <= 1


def test_a_region_is_explained_where_it_lies(col: Collection) -> None:
    row = col.image(1)
    region = (20.0, 10.0, row.width / 2, row.height / 2)
    why = col.explain(1, 2, by="look", region=region)
    assert why.in_query is not None
    assert why.in_hit is not None
    assert why.in_query.box[:2] == (20, 10)
    assert why.in_query.box[2] == pytest.approx(row.width / 2, abs=1)
    assert why.in_hit.box == (0, 0, col.image(2).width, col.image(2).height)
    score = score_of(col, 1, 2, by="look", region=region)
    assert why.in_query.total == pytest.approx(score, abs=CLOSE)


def test_what_did_not_rank_explains_nothing(
    col: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    col.spaces.add("words", {"feature": "words", "n_words": 100})
    assert col.explain(1, 2).space == "look"
    assert col.explain(1, 2, by="words").words
    # Without the network nobody can say where; words that did not rank are not shown instead.
    monkeypatch.setattr(deep_kind, "is_installed", lambda: False)
    assert col.similarities.explaining_space() is None
    with pytest.raises(NoPlaces, match="as a whole"):
        col.explain(1, 2)
    with pytest.raises(CollectionError, match="vector has no places"):
        col.explain(np.ones(12, np.float32), 2, by="words")


@pytest.mark.parametrize("part", [None, (0.0, 0.0, 9.0, 9.0)])
def test_a_query_is_decoded_once_and_each_hit_once(
    col: Collection, tmp_path: Path, part: tuple[float, float, float, float] | None
) -> None:
    """A picture from outside is read for the search; its explanations share those pixels."""
    outside, sources = tmp_path / "outside.png", list[Any]()
    Image.fromarray(decode(col.image(1).path).pixels).save(outside)

    def counted(source: Any, side: int | None, region: Any) -> Any:
        sources.append(source)
        return decode_in_process(source, side, region)

    col.searcher.decode_with(counted)
    resolved = col.searcher.resolve(outside, region=part)
    hits = col.search(resolved, 3, by="look")
    explainer = col.searcher.explainer(outside, "look", part, resolved)
    whys = [explainer.explain(hit.id) for hit in hits]
    assert sources == [str(outside), *(hit.path for hit in hits)]
    for hit, why in zip(hits, whys, strict=True):
        alone = col.explain(outside, hit.id, by="look", region=part)
        assert alone.in_query is not None
        assert why.in_query is not None
        assert why.score == alone.score
        assert np.array_equal(why.in_query.cells, alone.in_query.cells)


def test_areas_are_ninths_of_what_speaks_for_it() -> None:
    cells = np.zeros((7, 7))
    cells[6, 6], cells[0, 0] = 1.0, -5.0
    (only,) = HeatMap(cells, (0, 0, 10, 10)).areas()
    assert only == ("bottom right", pytest.approx(1.0))
    assert HeatMap(-np.abs(cells), (0, 0, 10, 10)).areas() == []
