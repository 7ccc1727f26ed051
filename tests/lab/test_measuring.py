"""evaluate: each protocol on a data set small enough to check by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.readers.tasks import read_task
from likewise.collection.collection import Collection
from likewise.errors import DatasetError, InvalidInput
from likewise.vision.deep.network import is_installed
from likewise_lab.evaluation.retrieval import Ranker, some
from tests.product.cli.process import SCENES, Likewise, few_views


@pytest.fixture
def empty(tmp_path: Path) -> Likewise:
    """A folder with nothing in it."""
    return Likewise(tmp_path)


def by_class(folder: Path, *parts: str) -> None:
    """The twelve views as CLASS/picture, or the crops in another PART."""
    for path in few_views(folder):
        scene, _, kind = path.stem.rsplit("-", 2)
        part = parts[kind == "crop"] if parts else ""
        place = folder / part / scene / path.name
        place.parent.mkdir(parents=True, exist_ok=True)
        path.rename(place)


def test_folders_leave_one_out(empty: Likewise) -> None:
    by_class(empty.pictures)
    said = empty.json("evaluate", "folders", "pictures")
    assert (said["queries"], said["pictures"]) == (12, 12)
    assert "leave one out" in said["protocol"]
    usual = {"deep", "deep-dense"} if is_installed() else {"words", "holistic", "both"}
    assert {row["by"] for row in said["results"]} == usual
    assert all(row["mAP"] > 0.8 for row in said["results"])
    assert not (empty.folder / "photos.lw").exists()


def test_query_part_and_distractors(empty: Likewise) -> None:
    by_class(empty.pictures, "database", "query")
    few_views(empty.folder / "others")
    for path in (empty.folder / "others").glob("*-00-original.jpg"):
        path.unlink()
    done = empty(
        "evaluate", "folders", "pictures", "--by", "words", "-C", "kept.lw", "--queries", 3,
        "--distractors", "others",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "3 queries over 12 pictures" in done.stdout
    assert empty.json("info", "-C", "kept.lw")["pictures"] == 12


def test_refusals(empty: Likewise) -> None:
    empty.refused("evaluate", "imagenet", "x", code=2)
    assert "is not there" in empty.refused("evaluate", "folders", "x")


@pytest.fixture(scope="module")
def oxford(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six landmarks with one query each, in Oxford's layout."""
    root = tmp_path_factory.mktemp("oxford")
    (root / "groundtruth").mkdir()
    for path in few_views(root / "images"):
        scene, number, _ = path.stem.rsplit("-", 2)
        lists = root / "groundtruth" / f"{scene}_1"
        if number == "00":
            Path(f"{lists}_query.txt").write_text(f"oxc1_{path.stem} 0 0 1000 640\n")
            Path(f"{lists}_good.txt").write_text(f"{path.stem}\n")
            Path(f"{lists}_junk.txt").write_text("")
        else:
            Path(f"{lists}_ok.txt").write_text(f"{path.stem}\n")
    return root


def test_oxford_protocols(oxford: Path, tmp_path: Path) -> None:
    task = read_task("oxford", oxford)
    assert task.protocol == "official queries, boxes"
    assert task.trapezoid
    assert len(task.queries) == len(SCENES)
    with Collection.create(tmp_path / "c.lw", deep=False) as col:
        col.add(*task.paths.values(), workers=0)
        ranker = Ranker(col, task)
        scores = ranker.score(task, "words")
        assert scores.mean > 0.8
        # The figures again, from what the ranker said.
        for query in task.queries:
            ranked = [name for name in ranker.rank(query, "words") if name != query.query]
            (other,) = query.positives - {query.query}
            place = ranked.index(other) + 1
            before = 1.0 if place == 1 else 0.0
            assert scores.average_precisions[query.name] == pytest.approx((1 / place + before) / 2)
    # Without the official photos every positive takes its turn.
    query = read_task("oxford", oxford).queries[0].query
    photo = next(oxford.rglob(f"{query}.jpg"))
    photo.rename(tmp_path / photo.name)
    try:
        assert "positives in turn" in read_task("oxford", oxford).protocol
    finally:
        (tmp_path / photo.name).rename(photo)


def test_copies_are_found_first_and_missing_are_named(tmp_path: Path) -> None:
    by_class(tmp_path / "d")
    original = next((tmp_path / "d" / "china").glob("*original.jpg"))
    (original.parent / "twin.jpg").write_bytes(original.read_bytes())
    (original.parent / "broken.jpg").write_bytes(b"\xff\xd8\xff broken")
    task = read_task("folders", tmp_path / "d")
    with Collection.create(tmp_path / "c.lw", deep=False) as col:
        col.add(*task.paths.values(), workers=0)
        ranker = Ranker(col, task)
        assert ranker.missing == ["china/broken.jpg"]
        assert len(ranker.queries) == len(task.queries) - 1
        query = next(q for q in task.queries if q.query == "china/twin.jpg")
        ranked = ranker.rank(query, "holistic")
        assert set(ranked[:2]) == {"china/twin.jpg", f"china/{original.name}"}
        assert sorted(ranked) == sorted(set(task.paths) - {"china/broken.jpg"})


def test_tasks(tmp_path: Path) -> None:
    (tmp_path / "jpg").mkdir()
    for name in ("100000", "100001", "100100", "100201", "100202"):
        (tmp_path / "jpg" / f"{name}.jpg").write_bytes(b"")
    task = read_task("holidays", tmp_path)
    # 100100 is alone, and the query of 1002 is missing.
    assert [query.query for query in task.queries] == ["100000"]
    with pytest.raises(DatasetError, match="no data set"):
        read_task("imagenet", tmp_path)
    with pytest.raises(InvalidInput, match="at least 1"):
        some(task, 0)
    whole = read_task("planted", tmp_path / "planted", n_views=2)
    few = some(whole, 5, seed=1)
    assert len(few.queries) == 5
    assert few.queries == some(whole, 5, seed=1).queries
    assert some(whole, 10_000) is whole
    assert np.all([query in whole.queries for query in few.queries])
