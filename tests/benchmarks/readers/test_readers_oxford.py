"""Oxford and Paris: official lists over whatever photos are there."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from benchmarks.readers.oxford import read_oxford
from benchmarks.readers.records import data_root
from likewise_methods.evaluation.protocols import evaluate
from tests.benchmarks.readers.test_readers_support import development, grow, refusal

PRESENT = {
    "radcliffe_camera": 45,
    "christ_church": 18,
    "all_souls": 14,
    "hertford": 14,
    "magdalen": 8,
    "ashmolean": 7,
    "balliol": 4,
    "bodleian": 2,
    "cornmarket": 2,
    "keble": 0,
    "pitt_rivers": 0,
}
LISTS = {
    "gt_files_170407/keble_1_query.txt": "oxc1_keble_000001 100 200 300 400\n",
    "gt_files_170407/keble_1_good.txt": "keble_000001\nkeble_000002\nkeble_000009\n",
    "gt_files_170407/keble_1_ok.txt": "keble_000003\n",
    "gt_files_170407/keble_1_junk.txt": "keble_000004\nkeble_000010\n",
}


def photo(path: Path, size: tuple[int, int] = (512, 384)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size).save(path)


@pytest.fixture
def keble(tmp_path: Path) -> Path:
    for i in range(1, 6):
        photo(tmp_path / "images" / f"keble_00000{i}.jpg")
    return grow(tmp_path, dict(LISTS))


@pytest.mark.data
def test_oxford1k() -> None:
    data = read_oxford(development("oxford1k"))
    assert len(data) == 1008
    assert len(data.queries) == 55
    assert sum(query.present for query in data.queries) == 10
    assert {query.group for query in data.queries} == set(PRESENT)
    for query in data.queries:
        assert len(query.positives) == PRESENT[query.group], query.name
        assert query.positives <= data.paths.keys()
        assert not query.positives & query.junk
        if query.present and query.box:
            assert max(query.box) <= 576
    present = {query.group for query in data.queries if query.present}
    assert not present & {"radcliffe_camera", "hertford"}
    assert data.left_out > 1000


def test_oxford_layout(keble: Path) -> None:
    data = read_oxford(keble, name="oxford5k")
    (query,) = data.queries
    assert data.name == "oxford5k"
    assert (query.name, query.query, query.group) == ("keble_1", "keble_000001", "keble")
    assert query.present
    # The query's own picture is in the good list and stays; removing it is the protocol's job.
    assert query.positives == {"keble_000001", "keble_000002", "keble_000003"}
    assert query.junk == {"keble_000004"}
    assert data.left_out == 2
    # 512 pixels here against 1024: half.
    assert query.box == (50, 100, 150, 200)


def test_a_photo_of_full_size_keeps_its_box_and_an_overhang_is_cut(keble: Path) -> None:
    photo(keble / "images" / "keble_000001.jpg", (1024, 768))
    assert read_oxford(keble).queries[0].box == (100, 200, 300, 400)
    photo(keble / "images" / "keble_000001.jpg", (295, 1024))
    assert read_oxford(keble).queries[0].box == (100, 200, 295, 400)
    assert read_oxford(keble, original_longer_side=2048).queries[0].box == (50, 100, 150, 200)


def test_a_missing_query_photo_keeps_lists_and_box(keble: Path) -> None:
    (keble / "images" / "keble_000001.jpg").unlink()
    data = read_oxford(keble)
    assert not data.queries[0].present
    assert data.queries[0].box == (100, 200, 300, 400)
    assert data.queries[0].positives == {"keble_000002", "keble_000003"}
    assert data.left_out == 3


def test_paris_layout(tmp_path: Path) -> None:
    for landmark in ("defense", "eiffel"):
        photo(tmp_path / "paris" / landmark / f"paris_{landmark}_000000.jpg", (1024, 768))
    lists = {f"lists/defense_1_{kind}.txt": "" for kind in ("ok", "junk")}
    lists["lists/defense_1_good.txt"] = "paris_defense_000000\n"
    lists["lists/defense_1_query.txt"] = "paris_defense_000000 1 2 3.5 4\n"
    data = read_oxford(grow(tmp_path, dict(lists)), images=tmp_path / "paris")
    assert set(data.paths) == {"paris_defense_000000", "paris_eiffel_000000"}
    assert data.queries[0].query == "paris_defense_000000"
    assert data.queries[0].box == (1, 2, 3.5, 4)
    assert data.queries[0].junk == frozenset()
    assert data.left_out == 0
    assert read_oxford(tmp_path).queries == data.queries


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("oxc1_keble_000001 1 2 3\n", "line 1"),
        ("oxc1_keble_000001 1 2 3 x\n", "'NAME x1 y1 x2 y2' was expected"),
        ("oxc1_keble_000001 1 2 nan 9\n", "'NAME x1 y1 x2 y2' was expected"),
        ("oxc1_keble_000001 5 2 3 4\n", "'NAME x1 y1 x2 y2' was expected"),
        ("oxc1_keble_000001 1100 2 1200 4\n", "outside the 512 x 384 photo"),
        ("", "0 lines where one query was expected"),
        (b"\xff\n", "not UTF-8"),
    ],
)
def test_a_bad_query_line(keble: Path, line: str | bytes, expected: str) -> None:
    grow(keble, {"gt_files_170407/keble_1_query.txt": line})
    message = refusal(read_oxford, keble)
    assert expected in message
    assert "keble" in message


def test_what_is_missing_is_named(keble: Path, tmp_path: Path) -> None:
    (keble / "gt_files_170407/keble_1_junk.txt").unlink()
    assert "keble_1_junk.txt is not there" in refusal(read_oxford, keble)
    grow(keble, {"gt_files_170407/keble_1_junk.txt": "two names\n"})
    assert "keble_1_junk.txt, line 1: 'two names'" in refusal(read_oxford, keble)
    grow(keble, {"other/keble_1_query.txt": ""})
    assert "say which with lists=" in refusal(read_oxford, keble)
    assert "no *_query.txt" in refusal(read_oxford, keble, lists=keble / "images")
    assert "no photos below" in refusal(read_oxford, keble, images=keble / "other")
    assert "no *_query.txt anywhere" in refusal(read_oxford, keble / "images")


def test_a_query_photo_that_is_none(keble: Path) -> None:
    (keble / "images" / "keble_000001.jpg").write_bytes(b"not a photo")
    assert "the query picture cannot be measured" in refusal(read_oxford, keble)


@pytest.mark.data
def test_the_official_queries_of_a_partial_oxford() -> None:
    root = data_root()
    if root is None or not (root / "oxford1k").is_dir():
        pytest.skip("oxford1k is not there")
    data = read_oxford(root / "oxford1k")
    scores = evaluate(data.queries, lambda q: sorted(data.paths), keep_query=True)
    assert len(scores.average_precisions) + len(scores.skipped) == 55
    assert 0 < len(scores.average_precisions) <= 10
