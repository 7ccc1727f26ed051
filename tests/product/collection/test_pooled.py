"""The spaces psc and vlad: built, asked, grown, retrained, backed up, verified; and ``both``."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from likewise.collection.collection import Collection
from likewise.errors import CollectionError, InvalidInput, UnknownPicture
from likewise.images.decode import decode
from likewise.search.similarities import fusion_partner
from likewise.spaces import base, pooled
from likewise.spaces.pooled import PooledCoder, dense_sift
from likewise_methods.coding.aggregate import VLAD
from likewise_methods.coding.pooling import MaxPooling
from likewise_methods.neighbours.container import DamagedFile
from tests.product.collection.pictures import small_scenes, write, write_pictures
from tests.product.private import store_of, views_of

PSC = {"feature": "psc", "n_words": 8, "components": 12, "step": 16}
VLAD_ = {"feature": "vlad", "n_words": 8, "components": 12, "step": 16}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 pictures with both pooled spaces."""
    root = tmp_path_factory.mktemp("pooled")
    write_pictures(root / "pictures")
    with Collection.create(root / "photos.lw", words={"n_words": 200}, deep=False) as col:
        col.add(root / "pictures", workers=0)
        col.spaces.add("psc", PSC, workers=0)
        col.spaces.add("vlad", VLAD_, workers=0)
    return root


@pytest.fixture
def own(built: Path, tmp_path: Path) -> Iterator[Collection]:
    """A copy that may be changed; the pictures stay where they are."""
    shutil.copytree(built / "photos.lw", tmp_path / "photos.lw")
    with Collection.open(tmp_path / "photos.lw") as collection:
        yield collection


def names(hits) -> list[str]:
    return [Path(hit.path).stem for hit in hits]


def test_they_find_their_scene(own: Collection, built: Path) -> None:
    assert own.verify() == []
    for space in ("psc", "vlad"):
        row = own.spaces[space]
        assert (row.row_format_name, row.width, row.generation) == ("dense", 12, 1)
        scenes = list(small_scenes())
        right = 0
        for scene in scenes:
            hit = own.search(built / "pictures" / f"{scene}-0.jpg", k=1, by=space)[0]
            right += Path(hit.path).stem.startswith(scene)
        assert right >= len(scenes) - 1, space


def test_rows_are_what_coder_and_whitening_say(own: Collection, built: Path) -> None:
    path = built / "pictures" / "coffee-0.jpg"
    for space in ("psc", "vlad"):
        coder = PooledCoder.open(own.root / own.spaces[space].files["coder"])
        assert coder.whitening is not None
        X = dense_sift(own.spaces[space].recipe).extract(decode(path)).descriptors
        raw = coder.coder.encode(X) if space == "vlad" else MaxPooling(coder.coder).pool(X)
        expected = coder.whitening.transform(raw[None])[0]
        row = views_of(own).view(space).row_of(own.id_of(path))
        assert np.allclose(row, expected, atol=1e-5)
        assert np.linalg.norm(row) == pytest.approx(1, abs=1e-5)


def test_new_pictures_get_vectors_and_pixels_are_queries(own: Collection, tmp_path: Path) -> None:
    write(tmp_path / "more" / "new.jpg", small_scenes()["rocket"][5:])
    own.add(tmp_path / "more", workers=0)
    assert own.verify() == []
    image = own.id_of(tmp_path / "more" / "new.jpg")
    for space in ("psc", "vlad"):
        assert names(own.search(image, k=1, by=space))[0].startswith("rocket")
        pixels = np.ascontiguousarray(small_scenes()["china"][4:, 6:])
        assert names(own.search(pixels, k=1, by=space))[0].startswith("china")


def test_a_picture_without_structure_is_like_nothing(own: Collection, tmp_path: Path) -> None:
    write(tmp_path / "more" / "flat.png", np.full((80, 80, 3), 128, np.uint8))
    write(tmp_path / "more" / "tiny.png", np.zeros((6, 6, 3), np.uint8))
    own.add(tmp_path / "more", workers=0)
    assert own.verify() == []
    for name in ("flat", "tiny"):
        hits = own.search(tmp_path / "more" / f"{name}.png", k=3, by="psc")
        assert [hit.score for hit in hits] == [0, 0, 0]


def test_retrain_makes_the_next_generation_and_keeps_judgements(own: Collection) -> None:
    own.judge(1, liked=[2], disliked=[9], profile="default")
    outside = np.ascontiguousarray(small_scenes()["coins"][7:, 9:])
    own.judge(outside, liked=[4], disliked=[9], profile="default")
    before = {name: own.spaces[name].files["coder"] for name in ("psc", "vlad")}
    own.retrain(workers=0, seed=1)
    for name, file in before.items():
        assert own.spaces[name].generation == 2
        assert own.spaces[name].files["coder"] != file
        assert not (own.root / file).exists()
        codes = store_of(own).all(
            "SELECT subject FROM codes WHERE space = ? AND generation = 2", (name,)
        )
        assert len(codes) >= 4  # two queries, liked and disliked pictures
    assert own.verify() == []
    assert len(own.search(1, k=5, by="psc")) == 5


def test_refresh_leaves_them_and_backups_carry_them(own: Collection, tmp_path: Path) -> None:
    own.refresh()
    assert own.spaces["psc"].generation == 1
    expected = own.search(3, k=5, by="psc")
    own.backup(tmp_path / "copy.lw")
    with Collection.restore(tmp_path / "copy.lw", tmp_path / "again.lw") as again:
        assert again.verify() == []
        assert again.search(3, k=5, by="psc") == expected


def test_damage_is_named(own: Collection) -> None:
    file = own.root / own.spaces["psc"].files["coder"]
    whole = bytearray(file.read_bytes())
    whole[len(whole) // 2] ^= 1
    file.write_bytes(whole)
    assert any("checksum" in text for text in own.verify())
    with pytest.raises(DamagedFile):
        PooledCoder.open(file)
    file.unlink()
    assert any("psc" in text for text in own.verify())


@pytest.mark.slow
def test_it_learns_again_while_the_collection_is_small(
    own: Collection, built: Path, tmp_path: Path
) -> None:
    for scene, pixels in small_scenes().items():
        for i in range(3):
            write(tmp_path / "more" / f"{scene}-{i}.jpg", pixels[3 + i :, 5 + i :])
    own.add(tmp_path / "more", workers=0)
    assert own.spaces["psc"].generation == 2
    assert own.spaces["psc"].n_pictures == 48
    assert own.verify() == []


def test_whitening_from_a_sample_and_vectors_for_all(
    own: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More pictures than the sample: the last pass describes every one of them."""
    monkeypatch.setattr(base, "SAMPLE_PICTURES", 10)
    monkeypatch.setattr(pooled, "CODEBOOK_PICTURES", 5)
    own.spaces.drop("psc")
    own.spaces.add("psc", {**PSC, "components": 128}, workers=0)
    assert own.spaces["psc"].width == 9
    assert own.verify() == []
    assert len(views_of(own).view("psc")) == 24


def test_pictures_that_cannot_be_read_are_made_up_for(
    own: Collection, built: Path, tmp_path: Path
) -> None:
    gone = write(tmp_path / "more" / "late.jpg", small_scenes()["flower"][2:])
    own.add(tmp_path / "more", workers=0)
    moved = tmp_path / "elsewhere.jpg"
    gone.rename(moved)
    own.retrain(workers=0)
    assert len(views_of(own).view("psc")) == 24
    assert own.verify() == []
    # What is said to help does: nothing needs to be installed for these spaces.
    late = own.id_of(gone)
    for by in ("psc", "vlad"):
        with pytest.raises(UnknownPicture, match="add again once its file can be read") as told:
            own.search(late, by=by)
        assert "deep" not in str(told.value)
        assert "--by another space" in str(told.value)
    assert names(own.search(late, k=1, by="holistic"))[0].startswith("flower")
    moved.rename(gone)
    own.add(built / "pictures", workers=0)
    assert len(views_of(own).view("psc")) == 25
    assert own.verify() == []


def test_a_space_added_first_learns_with_the_first_pictures(built: Path, tmp_path: Path) -> None:
    with Collection.create(tmp_path / "new.lw", words={"n_words": 200}, deep=False) as col:
        col.spaces.add("vlad", VLAD_, workers=0)
        assert col.spaces["vlad"].generation == 0
        assert dict(col.similarities["both"].spaces) == {"holistic": 1.0}
        col.add(built / "pictures", workers=0)
        assert col.spaces["vlad"].generation == 1
        assert col.verify() == []
        assert set(col.similarities["both"].spaces) == {"words", "vlad"}


def test_both_takes_the_best_dense_space(own: Collection) -> None:
    assert dict(own.similarities["both"].spaces) == {"words": 1.0, "vlad": 1.0}
    own.spaces.drop("vlad")
    assert set(own.similarities["both"].spaces) == {"words", "psc"}
    own.spaces.drop("psc")
    assert set(own.similarities["both"].spaces) == {"words", "holistic"}
    own.spaces.add("fine", PSC, workers=0)
    assert set(own.similarities["both"].spaces) == {"words", "fine"}
    assert fusion_partner({"holistic": own.spaces["holistic"]}) == "holistic"


def test_too_few_pictures_leave_it_without_vectors(tmp_path: Path) -> None:
    write(tmp_path / "p" / "one.jpg", small_scenes()["china"])
    with Collection.create(tmp_path / "few.lw", deep=False) as col:
        col.add(tmp_path / "p", workers=0)
        col.spaces.add("psc", PSC, workers=0)
        assert col.spaces["psc"].generation == 0
        with pytest.raises(CollectionError, match="no vectors yet"):
            col.search(1, by="psc")


@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        ({"alpha": 0}, "alpha is 0"),
        ({"alpha": True}, "alpha is True"),
        ({"sizes": [15]}, "multiple of 4"),
        ({"sizes": 16}, "a list of patch sizes"),
        ({"step": 0}, "step is 0"),
        ({"n_words": 1}, "n_words is 1"),
        ({"intra": True}, "'intra' is no parameter of 'psc'"),
    ],
)
def test_recipes_that_make_no_sense(own: Collection, recipe: dict, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        own.spaces.add("other", {"feature": "psc", **recipe}, workers=0)
    with pytest.raises(InvalidInput, match="intra is 3"):
        own.spaces.add("other", {"feature": "vlad", "intra": 3}, workers=0)


def test_growing_stops_at_the_sample(own: Collection) -> None:
    space = own.spaces["psc"]
    assert space.has_outgrown(48)
    assert not space.has_outgrown(47)
    assert not replace(space, n_pictures=base.SAMPLE_PICTURES).has_outgrown(60_000)
    assert isinstance(PooledCoder.open(own.root / own.spaces["vlad"].files["coder"]).coder, VLAD)
