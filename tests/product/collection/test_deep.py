"""Deep spaces in a collection: by default, opt-in, of a user's network, and without the extra."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from likewise.catalog.changes import UNREACHED, Backfill, backfill_of
from likewise.collection.collection import Collection
from likewise.errors import CollectionError, DamagedCollection, InvalidInput, UnknownPicture
from likewise.images.decode import decode
from likewise.ingest import describe
from likewise.spaces import base, deep_words, onnx
from likewise.spaces import deep as deep_kind
from likewise.spaces import rows as space_rows
from likewise.spaces.registry import validate_recipe
from likewise.spaces.visual_words import nearest_words, open_projection, open_vocabulary
from likewise.vision.deep import network as deep_network
from likewise.vision.deep import onnx_model as deep_onnx
from likewise.vision.deep import recipes as deep
from likewise.vision.deep.libraries import DamagedWeights, DeepMissing, UnusableModel
from tests.product.collection.pictures import small_scenes, write, write_pictures
from tests.product.private import store_of, views_of
from tests.product.vision.deep_cases import needs_deep
from tests.product.vision.test_deep_onnx import small_model, weighted_model

pytestmark = needs_deep


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 pictures with the spaces a collection has by default."""
    root = tmp_path_factory.mktemp("deep")
    write_pictures(root / "pictures")
    with Collection.create(root / "photos.lw", words={"n_words": 300}) as col:
        col.add(root / "pictures", workers=0)
    return root


@pytest.fixture
def own(built: Path, tmp_path: Path) -> Iterator[Collection]:
    """A copy that may be changed; the pictures stay where they are."""
    shutil.copytree(built / "photos.lw", tmp_path / "photos.lw")
    with Collection.open(tmp_path / "photos.lw") as collection:
        yield collection


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without the extra."""
    monkeypatch.setattr(deep_kind, "is_installed", lambda: False)
    monkeypatch.setattr(deep_network, "is_installed", lambda: False)
    deep_network.network.cache_clear()


def names(hits) -> list[str]:
    return [Path(hit.path).stem for hit in hits]


def test_deep_is_there_and_the_default(own: Collection, built: Path) -> None:
    assert set(own.spaces) == {"words", "holistic", "deep", "deep-dense", "look"}
    # Fitted to the collection once there are pictures enough; deep ranks until then.
    assert own.spaces["look"].generation == 0
    assert dict(own.similarities["default"].spaces) == {"deep": 1.0}
    assert own.verify() == []
    query = built / "pictures" / "china-1.jpg"
    for by in ("default", "deep", "deep-dense", "both"):
        assert set(names(own.search(query, k=2, by=by))) == {"china-0", "china-2"}, by


def test_look_is_learned_and_becomes_the_default(own: Collection, built: Path) -> None:
    own.spaces.drop("look")
    own.spaces.add("look", {"feature": "look", "first": 20})
    space = own.spaces["look"]
    assert (space.generation, space.n_pictures) == (1, 24)
    assert dict(own.similarities["default"].spaces) == {"look": 1.0}
    hits = own.search(built / "pictures" / "china-1.jpg", k=2)
    assert set(names(hits)) == {"china-0", "china-2"}
    # A picture from outside is placed by the fit there is, as near as its copy inside.
    outside = own.search((built / "pictures" / "china-1.jpg").read_bytes() + b" ", k=1)
    assert names(outside) == ["china-1"]
    assert outside[0].score == pytest.approx(1.0, abs=1e-4)
    china, other = own.id_of(built / "pictures" / "china-1.jpg"), hits[0].id
    own.judge(china, [other], profile="default")
    again = own.search(china, k=2)
    assert again[0].id == other
    own.tag(china, "china")
    suggested = own.suggest_tags(other, k=1)
    assert suggested[0].tag == "china"
    assert own.verify() == []


def test_rows_are_what_the_features_say(own: Collection, built: Path) -> None:
    path = built / "pictures" / "coffee-0.jpg"
    pooled = deep.activations(decode(path))
    image = own.id_of(path)
    row = views_of(own).view("deep").row_of(image)
    words, weights = deep.strongest(pooled, 128)
    assert row.indices.tolist() == words.tolist()
    assert np.allclose(row.data, weights, atol=1e-6)
    dense = views_of(own).view("deep-dense").row_of(image)
    assert np.allclose(dense, pooled / np.linalg.norm(pooled), atol=1e-5)


def test_one_forward_pass_serves_both_spaces(
    own: Collection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls = []

    def counting(picture: object) -> np.ndarray:
        calls.append(1)
        return deep.activations(picture)  # type: ignore[arg-type]

    monkeypatch.setattr(deep_kind, "activations", counting)
    write(tmp_path / "more" / "new.jpg", small_scenes()["rocket"][5:])
    own.add(tmp_path / "more", workers=0)
    assert len(calls) == 1


def test_pictures_regions_bytes_and_vectors_as_queries(own: Collection, built: Path) -> None:
    pixels = np.ascontiguousarray(small_scenes()["astronaut"][10:, 12:])
    assert names(own.search(pixels, k=1))[0].startswith("astronaut")
    path = built / "pictures" / "flower-0.jpg"
    height, width = decode(path).pixels.shape[:2]
    region = (width * 0.1, height * 0.1, width * 0.8, height * 0.8)
    assert names(own.search(path, k=1, region=region))[0].startswith("flower")
    row = views_of(own).view("deep").row_of(own.id_of(path))
    assert names(own.search(row, k=1, by="deep")) == ["flower-0"]


def test_a_new_collection_without_the_extra_is_as_before(missing: None, tmp_path: Path) -> None:
    with Collection.create(tmp_path / "plain.lw") as col:
        assert set(col.spaces) == {"words", "holistic"}
        assert dict(col.similarities["default"].spaces) == dict(col.similarities["both"].spaces)
        with pytest.raises(DeepMissing, match="pip install"):
            col.spaces.add("deep", {"feature": "deep"})
        assert set(col.spaces) == {"words", "holistic"}
    with pytest.raises(DeepMissing, match="pip install"):
        Collection.create(tmp_path / "other.lw", deep=True)


def test_a_deep_collection_where_the_extra_is_missing(
    own: Collection, built: Path, tmp_path: Path, missing: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    pixels = np.ascontiguousarray(small_scenes()["rocket"][6:, 6:])
    with pytest.raises(CollectionError, match=r"space 'deep' cannot.*pip install.*both"):
        own.search(pixels)
    assert names(own.search(pixels, k=1, by="both"))[0].startswith("rocket")
    # What is in the collection has its vectors.
    known = built / "pictures" / "coins-1.jpg"
    assert set(names(own.search(known, k=2))) == {"coins-0", "coins-2"}
    # New pictures come in without, and get them where they can be made.
    write(tmp_path / "more" / "late.jpg", pixels)
    result = own.add(tmp_path / "more", workers=0)
    assert (result.added, result.unmade) == (1, ["deep", "deep-dense"])
    assert own.verify() == []
    late = own.id_of(tmp_path / "more" / "late.jpg")
    assert views_of(own).view("deep").row_of(late) is None
    with pytest.raises(
        UnknownPicture, match=r"add again once the network runs.*--by another space"
    ):
        own.search(late, by="deep")
    monkeypatch.undo()
    result = own.add(tmp_path / "more", workers=0)
    assert (result.added, result.unmade) == (0, [])
    for by in ("deep", "deep-dense"):
        assert names(own.search(late, k=1, by=by))[0].startswith("rocket")
    assert backfill_of(store_of(own), "deep") is None
    assert own.verify() == []


def test_damaged_weights_stop_an_add_with_their_own_error(
    own: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = tmp_path / "weights.pth"
    bad.write_bytes(b"not weights")
    monkeypatch.setattr(deep_network, "_packaged_weights", lambda: bad)
    # A graph that was built of the right weights would do without them.
    monkeypatch.setenv("LIKEWISE_CACHE", str(tmp_path / "nothing"))
    deep_network.network.cache_clear()
    write(tmp_path / "more" / "new.jpg", small_scenes()["rocket"][7:])
    with pytest.raises(DamagedWeights, match="force-reinstall"):
        own.add(tmp_path / "more", workers=0)
    assert len(own) == 24
    assert own.problems() == []


def test_who_writes_the_catalog_loads_no_network(
    own: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be memory and half a second for nothing: a worker says what is wrong with it."""

    def refuse() -> None:
        raise AssertionError("loaded here")

    with monkeypatch.context() as patch:
        patch.setattr("likewise.spaces.deep.network", refuse)
        write(tmp_path / "more" / "new.jpg", small_scenes()["rocket"][7:])
        assert own.add(tmp_path / "more", workers=1).added == 1
    error = DamagedWeights("they are no weights")
    monkeypatch.setattr(describe, "run", lambda *_, **__: [error])
    write(tmp_path / "more" / "newer.jpg", small_scenes()["rocket"][8:])
    with pytest.raises(DamagedWeights, match="no weights"):
        own.add(tmp_path / "more", workers=1)
    assert own.problems() == []


def test_an_older_collection_gets_deep_on_request(built: Path, tmp_path: Path) -> None:
    with Collection.create(tmp_path / "old.lw", deep=False) as col:
        col.add(built / "pictures", workers=0)
        assert dict(col.similarities["default"].spaces).keys() == {"words", "holistic"}
        col.spaces.add("deep", {"feature": "deep", "keep": 64}, workers=0)
        assert dict(col.similarities["default"].spaces) == {"deep": 1.0}
        row = views_of(col).view("deep").row_of(1)
        assert row.nnz == 64
        assert set(names(col.search(built / "pictures" / "china-1.jpg", k=2))) == {
            "china-0",
            "china-2",
        }
        assert col.verify() == []
        col.spaces.drop("deep")
        assert dict(col.similarities["default"].spaces).keys() == {"words", "holistic"}


@pytest.fixture(scope="module")
def worded(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("worded")
    shutil.copytree(built / "photos.lw", root / "photos.lw")
    with Collection.open(root / "photos.lw") as col:
        col.spaces.add("deep-words", {"feature": "deep-words"}, workers=0)
    return root / "photos.lw"


def test_deep_words_are_learned_from_the_collection(worded: Path, built: Path) -> None:
    with Collection.open(worded) as col:
        space = col.spaces["deep-words"]
        assert space.generation == 1
        # 24 pictures of 100 cells: five times the root of 2,400.
        assert space.width == round(5 * 2400**0.5)
        assert set(space.files) == {"projection", "vocabulary", "bag"}
        query = built / "pictures" / "china-1.jpg"
        assert set(names(col.search(query, k=2, by="deep-words"))) == {"china-0", "china-2"}
        assert col.verify() == []
        # Counts hold soft words: 100 cells, five words each, shares of 1.
        (row,) = (raw for ids, raw in space_rows.raw_rows(store_of(col), space) if len(ids))
        assert np.allclose(row.sum(axis=1), 100, atol=1e-2)


def test_deep_words_explain_and_search_by_region(worded: Path, built: Path) -> None:
    path = built / "pictures" / "motorcycle_left-0.jpg"
    height, width = decode(path).pixels.shape[:2]
    with Collection.open(worded) as col:
        hit = col.search(path, k=1, by="deep-words")[0]
        assert names([hit])[0].startswith("motorcycle")
        why = col.explain(path, hit.id, by="deep-words")
        assert why.score == pytest.approx(hit.score, abs=1e-4)
        for word in why.words:
            assert len(word.in_query)
            assert len(word.in_hit)
            assert (word.in_query >= 0).all()
            assert (word.in_query <= (width, height)).all()
        part = (0.2 * width, 0.2 * height, 0.6 * width, 0.6 * height)
        found = col.search(path, k=1, by="deep-words", region=part)
        assert names(found)[0].startswith("motorcycle")


def test_deep_words_follow_the_collection(
    worded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(worded, tmp_path / "photos.lw")
    with Collection.open(tmp_path / "photos.lw") as col:
        before = col.spaces["deep-words"]
        write(tmp_path / "more" / "new.jpg", small_scenes()["rocket"][4:])
        col.add(tmp_path / "more", workers=0)
        hits = col.search(tmp_path / "more" / "new.jpg", k=2, by="deep-words")
        assert all(name.startswith("rocket") for name in names(hits))
        col.refresh()
        after = col.spaces["deep-words"]
        assert after.generation == before.generation + 1
        assert after.files["projection"] == before.files["projection"]
        assert after.files["bag"] != before.files["bag"]
        # A projection that saw only some of the pictures serves all of them.
        monkeypatch.setattr(deep_words, "PROJECTION_PICTURES", 10)
        col.retrain(workers=0, seed=1)
        newest = col.spaces["deep-words"]
        assert newest.files["projection"] != before.files["projection"]
        assert names(col.search(tmp_path / "more" / "new.jpg", k=1, by="deep-words"))[0].startswith(
            "rocket"
        )
        assert col.verify() == []
    assert after.has_outgrown(25) is False
    assert after.has_outgrown(200) is True


def test_words_of_two_projections_are_comparable(worded: Path, tmp_path: Path) -> None:
    """The same words seen through another projection of the same cells find themselves again."""
    with Collection.open(worded) as col:
        files = dict(col.spaces["deep-words"].files)
    same = nearest_words(worded, files, files)
    assert same.tolist() == list(range(len(same)))
    turned = open_projection(str(worded / files["projection"]))
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(128, 128)))[0]
    other = type(turned)(turned.mean, (rotation @ turned.directions).astype(np.float32))
    other.save(tmp_path / "turned.lwp")
    vocabulary = open_vocabulary(str(worded / files["vocabulary"]))
    moved = type(vocabulary).from_words(vocabulary.words_ @ rotation.T.astype(np.float32))
    moved.save(tmp_path / "moved.lwv")
    for name in ("turned.lwp", "moved.lwv"):
        shutil.copy(tmp_path / name, worded / "words" / name)
    among = {"projection": "words/turned.lwp", "vocabulary": "words/moved.lwv"}
    assert (nearest_words(worded, among, files) == np.arange(len(same))).mean() > 0.95


# -- a network of the user's ----------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_users_network_is_a_space(
    own: Collection, built: Path, tmp_path: Path, kind: str
) -> None:
    path = small_model(tmp_path / "net.onnx")
    recipe = {
        "feature": "onnx",
        "path": str(path),
        "size": 16,
        "mean": [0.1, 0.2, 0.3],
        "std": 0.5,
        "layer": "vector",
        "kind": kind,
        "licence": "MIT",
    }
    own.spaces.add("mine", recipe, workers=0)
    # The copy in the collection is what counts from now on.
    path.unlink()
    space = own.spaces["mine"]
    assert (space.width, space.row_format_name) == (3, kind)
    pixels = decode(built / "pictures" / "coins-0.jpg").pixels
    model = onnx.open_network(space.recipe, str(own.root / space.files["model"]))
    values = model.activations(pixels)
    row = views_of(own).view("mine").row_of(own.id_of(built / "pictures" / "coins-0.jpg"))
    if kind == "dense":
        assert np.allclose(row, values / np.linalg.norm(values), atol=1e-5)
    else:
        words, weights = deep.strongest(values, 128)
        assert row.indices.tolist() == words.tolist()
        assert np.allclose(row.data, weights, atol=1e-6)
    assert len(own.search(pixels, k=3, by="mine")) == 3
    card = space.card()
    assert card is not None
    assert card["licence"] == "MIT"
    assert card["sha256"] == space.recipe["sha256"]
    assert card["preprocessing"]["mean"] == [0.1, 0.2, 0.3]
    assert json.loads((own.root / space.files["card"]).read_text()) == card
    assert own.verify() == []

    own.backup(tmp_path / "copy")
    with Collection.restore(tmp_path / "copy", tmp_path / "again.lw") as again:
        assert len(again.search(pixels, k=3, by="mine")) == 3
    model_file = own.root / space.files["model"]
    model_file.write_bytes(model_file.read_bytes()[:-3])
    assert any("is damaged" in text for text in own.verify())
    write(tmp_path / "more" / "new.jpg", small_scenes()["rocket"][9:])
    with pytest.raises(DamagedCollection, match="drop space 'mine'"):
        own.add(tmp_path / "more", workers=0)
    own.spaces.drop("mine")
    assert not model_file.exists()
    assert own.verify() == []


def test_a_picture_a_network_fails_on_is_listed(
    own: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(small_model(tmp_path / "net.onnx"))
    own.spaces.add("mine", {"feature": "onnx", "path": path, "size": 16}, workers=0)

    def fails(*_: object) -> None:
        raise UnusableModel("gives NaN")

    write(tmp_path / "more" / "new.jpg", small_scenes()["rocket"][8:])
    with monkeypatch.context() as patch:
        patch.setattr(onnx, "open_network", fails)
        result = own.add(tmp_path / "more", workers=0)
    assert (result.added, len(result.skipped)) == (0, 1)
    assert "cannot be described here (gives NaN)" in result.skipped[0][1]
    assert own.add(tmp_path / "more", workers=0).added == 1


def test_networks_that_cannot_be_a_space(own: Collection, tmp_path: Path) -> None:
    path = str(small_model(tmp_path / "net.onnx"))
    parted = str(weighted_model(tmp_path / "parted.onnx", outside=True))
    (tmp_path / "bad.onnx").write_bytes(b"junk")
    for wrong, error, says in (
        ({"path": None}, InvalidInput, "path of an .onnx file"),
        ({"path": str(tmp_path / "none.onnx")}, UnusableModel, "cannot be read"),
        ({"path": str(tmp_path / "bad.onnx")}, UnusableModel, "cannot be opened"),
        ({"path": path, "mean": [1, 2]}, InvalidInput, "mean"),
        ({"path": path, "std": 0}, InvalidInput, "std"),
        ({"path": path, "size": 16, "layer": "x"}, InvalidInput, "no layer 'x'"),
        ({"path": path, "pool": "max"}, InvalidInput, "pool"),
        ({"path": path, "kind": "wide"}, InvalidInput, "kind"),
        ({"path": path, "size": 64}, UnusableModel, "does not run"),
        ({"path": path, "scale": "abc"}, InvalidInput, "scale"),
        ({"path": path, "scale": None}, InvalidInput, "scale"),
        ({"path": path, "layer": ["vector"]}, InvalidInput, "layer"),
        ({"path": path, "mean": "123"}, InvalidInput, "mean"),
        ({"path": path, "mean": True}, InvalidInput, "mean"),
        ({"path": parted, "size": 16}, UnusableModel, "self-contained"),
    ):
        with pytest.raises(error, match=says):
            own.spaces.add("mine", {"feature": "onnx", **wrong}, workers=0)
    assert "mine" not in own.spaces
    own.spaces.add("ok", {"feature": "holistic"}, workers=0)
    assert own.verify() == []


def test_what_runs_is_what_was_hashed(own: Collection, tmp_path: Path) -> None:
    """Another network under the same path is another network."""
    path = tmp_path / "net.onnx"
    for output, width in (("vector", 3), ("tokens", 16)):
        small_model(path, out=output)
        own.spaces.add(output, {"feature": "onnx", "path": str(path), "size": 16}, workers=0)
        space = own.spaces[output]
        card = space.card()
        assert card is not None
        assert (space.width, card["layer"]) == (width, output)
    assert own.verify() == []


def test_a_search_refuses_a_model_that_changed(own: Collection, tmp_path: Path) -> None:
    path = weighted_model(tmp_path / "net.onnx", outside=False)
    own.spaces.add("mine", {"feature": "onnx", "path": str(path), "size": 16}, workers=0)
    weighted_model(own.root / own.spaces["mine"].files["model"], outside=False, factor=3.0)
    deep_onnx._open.clear()  # as in a new process
    with pytest.raises(DamagedCollection, match=r"backup, or drop space 'mine'"):
        own.search(small_scenes()["rocket"], by="mine")


def test_verify_looks_at_cards(own: Collection, tmp_path: Path) -> None:
    path = str(small_model(tmp_path / "net.onnx"))
    own.spaces.add("mine", {"feature": "onnx", "path": path, "size": 16}, workers=0)
    file = own.root / own.spaces["mine"].files["card"]
    card = json.loads(file.read_text())
    lacking = {key: value for key, value in card.items() if key != "layer"}
    for wrong, says in (
        ("[1, 2]", "no record"),
        ("{", "card of space 'mine'"),
        (json.dumps(lacking), "does not say layer"),
        (json.dumps({**card, "sha256": "0" * 64}), "another model"),
    ):
        file.write_text(wrong)
        assert any(says in text for text in own.verify()), wrong


def test_verify_looks_at_the_files(worded: Path, tmp_path: Path) -> None:
    """Not at what this process keeps of them."""
    shutil.copytree(worded, tmp_path / "photos.lw")
    with Collection.open(tmp_path / "photos.lw") as col:
        col.search(small_scenes()["rocket"], by="deep-words")
        for key in ("projection", "vocabulary"):
            file = col.root / col.spaces["deep-words"].files[key]
            sound = file.read_bytes()
            file.write_bytes(sound[:-9])
            assert len(col.verify()) == 1, key
            file.write_bytes(sound)
        assert col.verify() == []


def test_an_inner_layer_needs_onnx(
    own: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(small_model(tmp_path / "net.onnx"))
    for name, layer in (("plain", None), ("output", "vector"), ("inner", "doubled")):
        recipe = {"feature": "onnx", "path": path, "size": 16, "layer": layer}
        own.spaces.add(name, recipe, workers=0)
    there = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "onnx" else there(name)
    )
    made = {name: own.spaces[name].is_available() for name in own.spaces}
    assert made["plain"]
    assert made["output"]
    assert not made["inner"]


def test_files_out_of_reach_get_their_vectors_later(built: Path, tmp_path: Path) -> None:
    """Only they are tried again, and only once they are there."""
    write_pictures(tmp_path / "pictures", views=1)
    away = tmp_path / "away"
    with Collection.create(tmp_path / "photos.lw", deep=False) as col:
        col.add(tmp_path / "pictures", workers=0)
        hidden = tmp_path / "pictures" / "coins-0.jpg"
        image = col.id_of(hidden)
        hidden.rename(away)
        col.spaces.add("deep", {"feature": "deep"}, workers=0)
        assert backfill_of(store_of(col), "deep") == Backfill(UNREACHED, frozenset({image}))
        assert col.verify() == []
        # Still away: nothing is described, and it is remembered.
        col.add(tmp_path / "pictures" / "rocket-0.jpg", workers=0)
        assert backfill_of(store_of(col), "deep") == Backfill(UNREACHED, frozenset({image}))
        assert views_of(col).view("deep").row_of(image) is None
        away.rename(hidden)
        col.add(tmp_path / "pictures" / "rocket-0.jpg", workers=0)
        assert backfill_of(store_of(col), "deep") is None
        assert views_of(col).view("deep").row_of(image).nnz == 128
        assert col.verify() == []


@pytest.mark.parametrize("size", [32, 64, 640])
def test_an_idle_add_learns_no_words_again(worded: Path, size: int) -> None:
    """Whatever the cells of a picture are: words learned from n pictures are enough for n."""
    with Collection.open(worded) as col:
        space = col.spaces["deep-words"]
    recipe = {**space.recipe, "size": size}
    for n in (24, 1_000, 50_000):
        cells = min(n, base.SAMPLE_PICTURES) * (size // 32) ** 2
        width = replace(space, recipe=recipe).n_words(n, cells)
        made = replace(space, recipe=recipe, width=width, n_pictures=n)
        assert not made.has_outgrown(n)
        assert made.has_outgrown(5 * n) is (width < 8_000 and 5 * n < 20_000)


def test_cards_of_built_in_spaces(own: Collection) -> None:
    card = own.spaces["deep"].card()
    assert card is not None
    assert card["model"] == "efficientnet-lite0"
    assert own.spaces["words"].card() is None


def test_recipes_are_checked() -> None:
    for recipe, says in (
        ({"feature": "deep", "keep": 0}, "keep is 0"),
        ({"feature": "deep", "keep": 1281}, "keep is 1281"),
        ({"feature": "deep", "model": "resnet"}, "model is 'resnet'"),
        ({"feature": "deep-words", "size": 100}, "multiple of 32"),
        ({"feature": "deep-words", "n_words": 1}, "n_words is 1"),
        ({"feature": "deep-dense", "keep": 3}, "'keep' is no parameter"),
    ):
        with pytest.raises(InvalidInput, match=says):
            validate_recipe(recipe)


def test_workers_use_the_network_too(tmp_path: Path) -> None:
    write_pictures(tmp_path / "pictures", views=2)
    with Collection.create(tmp_path / "photos.lw", deep=True) as col:
        assert col.add(tmp_path / "pictures", workers=2).added == 16
        here = views_of(col).view("deep").row_of(1)
        path = col.image(1).path
        again = deep.DeepSparse().extract(decode(path))
        assert here.indices.tolist() == again[0].tolist()
        assert np.array_equal(here.data, again[1])
