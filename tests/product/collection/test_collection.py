"""A folder of pictures becomes searchable, and follows what happens to the folder."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image
from scipy import sparse

from likewise.catalog.jobs import Progress, lease, running
from likewise.collection.collection import Collection
from likewise.errors import (
    CollectionBusy,
    CollectionError,
    ImageError,
    InvalidInput,
    UnknownPicture,
)
from likewise.images.decode import decode
from tests.product.collection.pictures import small_scenes, write, write_pictures
from tests.product.corpus import BROKEN


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection of 24 pictures, made once; tests that change it work on a copy."""
    root = tmp_path_factory.mktemp("built")
    write_pictures(root / "pictures")
    with Collection.create(root / "photos.lw", deep=False) as col:
        col.add(root / "pictures", workers=0)
    return root


@pytest.fixture
def col(built: Path):
    """The shared collection, for tests that only read."""
    with Collection.open(built / "photos.lw") as collection:
        yield collection


@pytest.fixture
def own(built: Path, tmp_path: Path):
    """A copy of the collection and its pictures, for tests that change something."""
    shutil.copytree(built / "pictures", tmp_path / "pictures", copy_function=shutil.copy2)
    with Collection.create(tmp_path / "photos.lw", deep=False) as collection:
        collection.add(tmp_path / "pictures", workers=0)
        yield collection


def names(hits) -> list[str]:
    return [Path(hit.path).stem for hit in hits]


def test_add_then_search_by_every_similarity(col: Collection, built: Path) -> None:
    assert len(col) == 24
    for by in ("words", "holistic", "both", "default"):
        found = names(col.search(built / "pictures" / "china-1.jpg", k=2, by=by))
        assert set(found) == {"china-0", "china-2"}, by


def test_scores_fall_and_k_is_kept(col: Collection) -> None:
    hits = col.search(1, k=10, by="words")
    assert len(hits) == 10
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert len(col.search(1, k=1000)) == 23  # all but the picture itself


def test_every_kind_of_query_finds_the_same(col: Collection, built: Path) -> None:
    path = built / "pictures" / "coins-1.jpg"
    image = col.id_of(path)
    by_id = names(col.search(image, k=3, by="words"))
    assert names(col.search(path, k=3, by="words")) == by_id
    assert names(col.search(str(path), k=3, by="words")) == by_id
    assert names(col.search(path.read_bytes(), k=3, by="words")) == by_id
    # Pixels are not recognised as the picture they came from, so it comes first itself.
    pixels = decode(path).pixels
    assert names(col.search(pixels, k=4, by="words")) == ["coins-1", *by_id]
    assert names(col.search(decode(path), k=4, by="words")) == ["coins-1", *by_id]
    vector = np.zeros(428, np.float32)
    vector[0] = 1
    assert len(col.search(vector, k=3, by="holistic")) == 3


def test_a_stranger_as_query(col: Collection, tmp_path: Path) -> None:
    turned = write(tmp_path / "new.png", small_scenes()["rocket"][:, 10:])
    assert names(col.search(turned, k=1))[0].startswith("rocket")
    assert len(col) == 24


def test_region(col: Collection, built: Path) -> None:
    """A picture of two scenes side by side: the region decides which is meant."""
    left, right = small_scenes()["china"], small_scenes()["coffee"]
    height = min(len(left), len(right))
    both = np.concatenate([left[:height], right[:height]], axis=1)
    width = left.shape[1]
    for region, wanted in (
        ((0, 0, width, height), "china"),
        ((width, 0, right.shape[1], height), "coffee"),
    ):
        found = names(col.search(both, k=3, by="words", region=region))
        assert {name.split("-")[0] for name in found} == {wanted}
    with pytest.raises(InvalidInput, match="has no pixel of the"):
        col.search(both, region=(10_000, 0, 5, 5))
    by_id = col.search(col.id_of(built / "pictures" / "china-0.jpg"), k=2, region=(0, 0, 150, 140))
    assert "china-0" in names(by_id)


def test_where_and_above(own: Collection, tmp_path: Path) -> None:
    new = write(tmp_path / "more" / "deep" / "rocket-9.jpg", small_scenes()["rocket"][5:])
    exif = Image.Exif()
    exif[0x0132] = "2021:03:04 05:06:07"
    Image.open(new).save(new, exif=exif, quality=90)
    own.add(tmp_path / "more", metadata={"camera": "box", "stars": 5}, workers=0)
    query = tmp_path / "pictures" / "rocket-0.jpg"
    for where in (
        {"folder": tmp_path / "more"},
        {"folder": str(tmp_path / "more") + "/"},
        {"after": "2021-01-01", "before": "2022"},
        {"after": "2021-03-04", "before": "2021-03-05"},
        {"camera": "box"},
        {"stars": 5, "format": "jpeg"},
    ):
        assert names(own.search(query, k=5, where=where)) == ["rocket-9"], where
    assert own.search(query, where={"camera": "other"}) == []
    # The others have no date in EXIF: the time of their files is now.
    assert own.search(query, where={"after": "2022-01-01", "before": "2023"}) == []
    assert len(own.search(query, k=100, where={"after": "2022-01-01"})) == len(own) - 2
    # A folder whose name begins alike is another folder.
    assert own.search(query, where={"folder": tmp_path / "mor"}) == []
    own.tag(new, "space", "noise")
    assert own.tags.of(new) == ["noise", "space"]
    assert names(own.search(query, k=5, where={"tag": "space"})) == ["rocket-9"]
    everything = own.search(query, k=100, by="holistic")
    cut = everything[4].score
    assert own.search(query, k=100, by="holistic", above=cut) == everything[:5]
    assert own.image(new).metadata == {"camera": "box", "stars": 5}
    assert own.image(new).date == "2021-03-04T05:06:07"


def test_a_second_add_knows_everything(own: Collection, tmp_path: Path) -> None:
    result = own.add(tmp_path / "pictures", workers=0)
    assert (result.added, result.known, result.skipped) == (0, 24, [])


def test_moved_copied_and_changed_files(own: Collection, tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    image = own.id_of(folder / "china-0.jpg")
    shutil.move(folder / "china-0.jpg", folder / "renamed.jpg")
    shutil.copy(folder / "coffee-0.jpg", folder / "copy.jpg")
    result = own.add(folder, workers=0)
    assert (result.added, result.duplicates) == (0, 2)
    assert own.id_of(folder / "renamed.jpg") == image
    assert own.image(image).path == str(folder / "renamed.jpg")
    assert own.id_of(folder / "copy.jpg") == own.id_of(folder / "coffee-0.jpg")
    assert len(own) == 24
    # Other content under a known name is another picture.
    write(folder / "renamed.jpg", small_scenes()["rocket"][20:])
    result = own.add(folder, workers=0)
    assert result.added == 1
    assert own.id_of(folder / "renamed.jpg") != image
    with pytest.raises(UnknownPicture):
        own.image(image)
    assert own.verify() == []
    assert len(own) == 24


def test_sync_follows_deletions(own: Collection, tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    gone = own.id_of(folder / "china-0.jpg")
    (folder / "china-0.jpg").unlink()
    write(folder / "new.jpg", small_scenes()["chelsea"][:, 9:])
    result = own.sync(workers=0)
    assert (result.added, result.removed) == (1, 1)
    assert len(own) == 24
    for by in ("words", "holistic"):
        hits = own.search(folder / "china-1.jpg", k=100, by=by)
        assert gone not in [hit.id for hit in hits]
        assert len(hits) == 23
    assert own.verify() == []
    # A folder that is gone as a whole is a disk that is not plugged in.
    os.rename(folder, tmp_path / "unplugged")
    result = own.sync(workers=0)
    assert result.removed == 0
    assert "not there" in result.skipped[0][1]
    assert len(own) == 24


def test_remove(own: Collection, tmp_path: Path) -> None:
    path = tmp_path / "pictures" / "coins-0.jpg"
    image = own.id_of(path)
    assert own.remove(path, own.id_of(tmp_path / "pictures" / "coins-1.jpg")) == 2
    assert len(own) == 22
    assert image not in [hit.id for hit in own.search(1, k=100)]
    assert path.exists()
    with pytest.raises(UnknownPicture):
        own.remove(path)
    assert own.verify() == []
    # It stays out, whatever is synced or added around it; named itself, it comes back.
    assert own.sync(workers=0).added == 0
    assert own.add(tmp_path / "pictures", workers=0).added == 0
    assert own.problems() == []
    assert len(own) == 22
    assert own.add(path, workers=0).added == 1
    assert own.id_of(path) != image
    assert len(own) == 23
    assert own.verify() == []


def test_names_that_are_no_text(own: Collection, tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path / "pictures")
    shutil.copy(tmp_path / "pictures" / "coins-0.jpg", os.path.join(folder, b"caf\xe9.jpg"))
    result = own.add(tmp_path / "pictures", workers=0)
    assert result.skipped[0][0].endswith("caf\\udce9.jpg")
    assert "not valid UTF-8" in result.skipped[0][1]
    strange = os.fsdecode(os.path.join(folder, b"caf\xe9.jpg"))
    # As a query it is a picture like any other.
    assert names(own.search(strange, k=1, by="holistic")) == ["coins-0"]
    with pytest.raises(UnknownPicture):
        own.id_of(strange)


def test_places_are_in_the_pixels_of_the_file(own: Collection, tmp_path: Path) -> None:
    """A large query from outside is shrunk to be searched, but explained at its own size."""
    scene = small_scenes()["china"]
    large = cv2.resize(scene, None, fx=8, fy=8, interpolation=cv2.INTER_CUBIC)
    path = write(tmp_path / "large.png", large)
    why = own.explain(path, own.id_of(tmp_path / "pictures" / "china-0.jpg"), top=200)
    assert max(word.in_query[:, 0].max() for word in why.words) > 1100


def test_bad_files_never_stop_a_run(own: Collection, tmp_path: Path) -> None:
    folder = tmp_path / "broken"
    folder.mkdir()
    for name, (make, _) in BROKEN.items():
        (folder / name).write_bytes(make())
    (folder / "notes.txt").write_text("not a picture, and not named like one")
    (folder / ".hidden.jpg").write_bytes(b"x")
    write(folder / "zz-good.jpg", small_scenes()["flower"][7:])
    (folder / "link.jpg").symlink_to(folder / "nowhere.jpg")
    result = own.add(folder, workers=0)
    assert result.added == 1
    skipped = {Path(path).name: reason for path, reason in result.skipped}
    pictures = {name for name in BROKEN if not name.endswith(".txt")}
    assert set(skipped) == pictures | {"link.jpg"}
    assert "truncated or corrupt JPEG" in skipped["half.jpg"]
    assert [Path(row.path).name for row in own.problems()] == sorted(skipped)
    again = own.add(folder, workers=0)
    assert (again.added, len(again.skipped)) == (0, 1)  # only the dangling link is tried again
    assert own.verify() == []


def test_workers_give_the_same_as_none(own: Collection, tmp_path: Path) -> None:
    with Collection.create(tmp_path / "other.lw", deep=False) as other:
        result = other.add(tmp_path / "pictures", workers=2)
        assert result.added == 24
        asked = tmp_path / "pictures" / "coffee-1.jpg"
        mine, theirs = (col.search(asked, k=2, by="holistic") for col in (own, other))
        assert sorted(names(mine)) == sorted(names(theirs))
        # Words are learned from pictures in the order they came in, which differs.
        assert names(other.search(asked, k=1, by="words"))[0].startswith("coffee")


def test_progress_is_reported(tmp_path: Path) -> None:
    write_pictures(tmp_path / "pictures", views=1)
    said: list[Progress] = []
    with Collection.create(tmp_path / "p.lw", deep=False) as col:
        col.add(tmp_path / "pictures", workers=0, report=said.append)
    assert {p.stage for p in said} == {"adding pictures"}
    notes = list(dict.fromkeys(p.note.split()[0] for p in said if p.note))
    assert notes == ["descriptors", "learning", "counting"]
    assert said[-1].done == said[-1].total == 8


def test_own_vectors(own: Collection) -> None:
    ids = [row.id for row in own.images()]
    X = np.random.default_rng(0).normal(size=(len(ids), 16)).astype(np.float32)
    own.spaces.add("mine", {"feature": "own"})
    with pytest.raises(CollectionError, match="no vectors yet"):
        own.search(ids[0], by="mine")
    assert own.spaces.add_vectors("mine", ids, X) == 24
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    order = [ids[i] for i in np.argsort(-(unit @ unit[3]))]
    assert [hit.id for hit in own.search(ids[3], k=5, by="mine")] == order[1:6]
    hits = own.search(X[3], k=3, by="mine")
    assert hits[0].id == ids[3]
    assert hits[0].score == pytest.approx(1, abs=1e-5)
    # A picture that has a vector gets the new one.
    own.spaces.add_vectors("mine", [ids[3]], -X[[3]])
    assert own.search(X[3], k=24, by="mine")[-1].id == ids[3]
    assert own.verify() == []
    for metric in ("l2", "ip"):
        own.spaces.add(metric, {"feature": "own", "metric": metric})
        own.spaces.add_vectors(metric, ids, X)
    by_distance = [ids[i] for i in np.argsort(np.linalg.norm(X - X[5], axis=1))]
    found = own.search(ids[5], k=23, by="l2")
    assert [hit.id for hit in found] == by_distance[1:]
    assert found[0].score == pytest.approx(-np.sort(np.linalg.norm(X - X[5], axis=1))[1], rel=1e-4)
    own.spaces.drop("l2")
    assert "l2" not in own.similarities


def test_own_sparse_vectors(own: Collection) -> None:
    ids = [row.id for row in own.images()]
    X = sparse.random(len(ids), 500, density=0.05, random_state=0, format="csr", dtype=np.float32)
    own.spaces.add("tags", {"feature": "own", "kind": "sparse"})
    own.spaces.add_vectors("tags", ids, X)
    scores = (X @ X[2].T).toarray().ravel()
    best = [i for i in np.argsort(-scores, kind="stable") if i != 2][:3]
    assert [hit.id for hit in own.search(ids[2], k=3, by="tags")] == [ids[i] for i in best]


@pytest.mark.parametrize(
    ("ids", "X", "message"),
    [
        ([1, 1], np.ones((2, 4)), "twice"),
        ([1, 2], np.ones((3, 4)), "3 rows for 2 ids"),
        ([1], np.full((1, 4), np.nan), "NaN"),
        ([1], np.ones((1, 5)), "5 columns; 4 expected"),
        ([1], np.ones(4), "shape"),
        ([999], np.ones((1, 4)), "no picture with id 999"),
    ],
)
def test_bad_vectors_change_nothing(built: Path, tmp_path: Path, ids, X, message: str) -> None:
    shutil.copytree(built / "photos.lw", tmp_path / "c.lw")
    with Collection.open(tmp_path / "c.lw") as col:
        col.spaces.add("mine", {"feature": "own"})
        col.spaces.add_vectors("mine", [2, 3], np.ones((2, 4)))
        before = col.info()
        with pytest.raises((InvalidInput, UnknownPicture), match=message):
            col.spaces.add_vectors("mine", ids, X)
        assert col.info() == before


def test_another_words_space_is_backfilled(own: Collection, tmp_path: Path) -> None:
    own.spaces.add("upright", {"feature": "words", "upright": True, "n_words": 200}, workers=0)
    assert own.spaces["upright"].width == 200
    query = tmp_path / "pictures" / "astronaut-0.jpg"
    assert names(own.search(query, k=1, by="upright"))[0].startswith("astronaut")
    write(tmp_path / "pictures" / "new.jpg", small_scenes()["astronaut"][4:])
    own.add(tmp_path / "pictures", workers=0)
    assert "new" in names(own.search(query, k=3, by="upright"))
    assert own.verify() == []


def test_spaces_that_cannot_be(own: Collection) -> None:
    for recipe, message in (
        ({"feature": "depp"}, "feature is 'depp'"),
        ({"feature": "words", "n_word": 3}, "'n_word' is no parameter"),
        ({"feature": "own", "metric": "l7"}, "metric 'l7'"),
    ):
        with pytest.raises(InvalidInput, match=message):
            own.spaces.add("x", recipe)
    for name in ("../x", "", "a b"):
        with pytest.raises(InvalidInput, match="no name for a space"):
            own.spaces.add(name, {"feature": "own"})
    for name in ("words", "both", "default"):
        with pytest.raises(CollectionError, match="already"):
            own.spaces.add(name, {"feature": "own"})
    with pytest.raises(CollectionError, match="makes its own vectors"):
        own.spaces.add_vectors("words", [1], np.ones((1, 3)))


def test_default_similarity_can_be_chosen(own: Collection) -> None:
    own.use("holistic")
    assert own.search(1, k=5) == own.search(1, k=5, by="holistic")
    with pytest.raises(CollectionError, match="no similarity 'nope'; there are both, default"):
        own.search(1, by="nope")
    with Collection.open(own.root) as other:
        assert dict(other.similarities["default"].spaces) == {"holistic": 1.0}


def test_explain_names_shared_words_and_places(col: Collection, built: Path) -> None:
    query, hit = (col.id_of(built / "pictures" / f"china-{i}.jpg") for i in (0, 1))
    why = col.explain(query, hit, top=5)
    assert len(why.words) == 5
    contributions = [word.contribution for word in why.words]
    assert contributions == sorted(contributions, reverse=True)
    score = next(h.score for h in col.search(query, k=23, by="words") if h.id == hit)
    assert why.score == pytest.approx(score, abs=1e-5)
    height, width = decode(built / "pictures" / "china-0.jpg").pixels.shape[:2]
    for word in why.words:
        assert len(word.in_query) > 0
        assert len(word.in_hit) > 0
        assert (word.in_query <= [width, height]).all()
    with pytest.raises(CollectionError, match="no places to explain by"):
        col.explain(query, hit, by="holistic")
    with pytest.raises(UnknownPicture):
        col.explain(query, 999)


def test_near_duplicates(own: Collection, tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    for i, quality in enumerate((95, 60)):
        Image.open(folder / "coffee-0.jpg").save(folder / f"again-{i}.jpg", quality=quality)
    own.add(folder, workers=0)
    groups = own.duplicates(threshold=0.99)
    coffee = next(g for g in groups if any("again" in hit.path for hit in g))
    assert {"coffee-0", "again-0", "again-1"} <= set(names(coffee))
    assert own.duplicates(threshold=1.01) == []


def test_one_job_at_a_time(own: Collection, tmp_path: Path) -> None:
    with lease(own.root, "retrain"):
        assert "retrain runs in process" in (running(own.root) or "")
        with pytest.raises(CollectionBusy, match=r"busy: retrain runs in process \d+"):
            own.add(tmp_path / "pictures")
        for job in (own.sync, own.refresh, own.retrain):
            with pytest.raises(CollectionBusy):
                job()
        # Searching and short writes go on.
        assert own.search(1, k=1)
        own.tag(1, "still")
    assert running(own.root) is None
    own.add(tmp_path / "pictures", workers=0)


def test_readers_notice_what_others_write(own: Collection, tmp_path: Path) -> None:
    query = tmp_path / "pictures" / "rocket-0.jpg"
    with Collection.open(own.root) as reader:
        before = len(reader.search(query, k=100))
        write(tmp_path / "pictures" / "rocket-8.jpg", small_scenes()["rocket"][3:, 3:])
        own.add(tmp_path / "pictures", workers=0)
        for by in ("words", "holistic", "both"):
            assert "rocket-8" in names(reader.search(query, k=3, by=by)), by
        assert len(reader.search(query, k=100)) == before + 1
        own.remove(tmp_path / "pictures" / "rocket-8.jpg")
        assert len(reader.search(query, k=100)) == before
        own.retrain(workers=0)
        assert len(reader.search(query, k=100, by="words")) == before
        own.refresh()
        assert len(reader.search(query, k=100, by="words")) == before


def test_empty_and_tiny_collections(tmp_path: Path) -> None:
    with Collection.create(tmp_path / "e.lw", all_spaces=True) as col:
        assert len(col) == 0
        picture = write(tmp_path / "one" / "a.jpg", small_scenes()["coins"])
        assert col.search(picture) == []
        col.refresh()
        col.retrain()
        assert col.verify() == []
        (tmp_path / "none").mkdir()
        assert col.add(tmp_path / "none", workers=0).added == 0
        assert col.add(tmp_path / "one", workers=0).added == 1
        assert col.search(picture) == []  # nothing but itself
        flat = write(tmp_path / "two" / "flat.png", np.full((40, 40, 3), 9, np.uint8))
        col.add(flat, workers=0)
        assert len(col.search(picture, by="words")) == 1
        assert col.verify() == []


def test_only_flat_pictures_have_no_words_and_still_work(tmp_path: Path) -> None:
    for i in range(3):
        write(tmp_path / "flat" / f"{i}.png", np.full((40, 40, 3), 80 * i, np.uint8))
    with Collection.create(tmp_path / "f.lw", all_spaces=True) as col:
        col.add(tmp_path / "flat", workers=0)
        assert col.spaces["words"].generation == 0
        assert len(col.search(1, k=5)) == 2
        with pytest.raises(CollectionError, match="no vectors yet"):
            col.search(1, by="words")
        assert col.verify() == []


def test_create_and_open_refuse_clearly(tmp_path: Path, built: Path) -> None:
    with pytest.raises(CollectionError, match="is a collection already"):
        Collection.create(built / "photos.lw")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("x")
    with pytest.raises(CollectionError, match="not empty"):
        Collection.create(tmp_path / "full")
    with pytest.raises(CollectionError, match="not a collection"):
        Collection.open(tmp_path / "full")
    with pytest.raises(CollectionError, match="not there"):
        Collection.open(tmp_path / "absent")
    with pytest.raises(InvalidInput, match="no parameter"):
        Collection.create(tmp_path / "c.lw", words={"n_wrods": 3})


def test_bad_questions(col: Collection, tmp_path: Path) -> None:
    for call, error, message in (
        (lambda: col.search(999), UnknownPicture, "no picture with id 999"),
        (lambda: col.search(True), InvalidInput, "bool"),
        (lambda: col.search(1, k=0), InvalidInput, "k is 0"),
        (lambda: col.search(3.5), InvalidInput, "got float"),  # type: ignore[arg-type]
        (lambda: col.search(tmp_path / "absent.jpg"), ImageError, "No such file"),
        (lambda: col.search(b"not a picture"), ImageError, "not a picture"),
        (lambda: col.search(np.ones(3, np.float32), by="holistic"), InvalidInput, "428 numbers"),
        (lambda: col.add(), InvalidInput, "nothing to add"),
        (lambda: col.add(tmp_path / "absent"), CollectionError, "is not there"),
        (lambda: col.id_of(tmp_path / "absent.jpg"), UnknownPicture, "not in the collection"),
    ):
        with pytest.raises(error, match=message):
            call()


def test_a_collection_inside_an_added_folder_is_not_entered(tmp_path: Path) -> None:
    write_pictures(tmp_path / "all" / "pictures", views=1)
    with Collection.create(tmp_path / "all" / "photos.lw") as col:
        assert col.add(tmp_path / "all", workers=0).added == 8
        assert col.add(tmp_path / "all", workers=0).known == 8
