"""What adding describes, keeps and tells: one pass a picture, one line of progress."""

from __future__ import annotations

import builtins
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise.catalog.jobs import ADDING, Pace, Progress
from likewise.catalog.thumbnails import FIRST_SIDE, thumbnail
from likewise.collection.collection import Collection
from likewise.errors import CollectionError, UnknownName
from likewise.images import decode as images
from likewise.images.decode import decode, probe
from likewise.ingest import describe, pool
from likewise.spaces import base
from likewise.vision.deep.network import is_installed
from tests.product.collection.pictures import small_scenes, write, write_pictures
from tests.product.private import store_of
from tests.product.vision.deep_cases import needs_deep


@pytest.fixture(autouse=True)
def nobody_waits() -> Iterator[None]:
    yield
    pool.stop_idle()


@needs_deep
def test_a_new_collection_has_what_one_pass_gives(tmp_path: Path) -> None:
    with Collection.create(tmp_path / "c.lw") as col:
        assert set(col.spaces) == {"deep", "deep-dense", "look"}
    with Collection.create(tmp_path / "all.lw", all_spaces=True) as col:
        assert {"words", "holistic", "look"} <= set(col.spaces)
    with Collection.create(tmp_path / "none.lw", deep=False) as col:
        assert set(col.spaces) == {"words", "holistic"}


@needs_deep
def test_words_come_when_somebody_asks(tmp_path: Path) -> None:
    write_pictures(tmp_path / "pictures", views=2)
    with Collection.create(tmp_path / "c.lw") as col:
        col.add(tmp_path / "pictures", workers=0)
        with pytest.raises(UnknownName, match="likewise admin spaces add words makes it"):
            col.search(1, by="words")
        with pytest.raises(UnknownName, match="likewise admin spaces add words makes it"):
            col.search(1, by="both")
        assert col.spaces.add_missing(workers=0) == ["words", "holistic"]
        assert col.search(1, by="words")
        assert col.search(1, by="both")
        assert col.spaces.add_missing(workers=0) == []


def test_the_last_space_cannot_be_dropped(tmp_path: Path) -> None:
    with Collection.create(tmp_path / "c.lw", deep=False) as col:
        col.spaces.drop("words")
        with pytest.raises(CollectionError, match="only space"):
            col.spaces.drop("holistic")


@pytest.mark.parametrize("sample", [2_000, 5])
def test_each_picture_counts_once_a_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sample: int
) -> None:
    """Also where words are learned from a sample, and the others are described after that."""
    monkeypatch.setattr(base, "SAMPLE_PICTURES", sample)
    write_pictures(tmp_path / "pictures", views=2)
    told: list[Progress] = []
    with Collection.create(tmp_path / "c.lw", deep=False) as col:
        col.spaces.add("own", {"feature": "own"})
        for name in ("words", "holistic"):
            col.spaces.drop(name)
        col.add(tmp_path / "pictures", workers=0)
        n = len(col)
        assert n > 2 * sample or sample > n
        col.spaces.add_missing(workers=0, report=told.append)
    for name in ("words", "holistic"):
        counts = [one.done for one in told if one.stage == f"describing pictures by {name}"]
        assert counts == sorted(counts), "no stage takes the count back"
        assert set(range(1, n + 1)) <= set(counts)
    stages = [one.stage for one in told]
    assert stages == sorted(stages, key=stages.index), "one after the other"
    assert {one.total for one in told} == {n}
    assert any("learning" in one.note for one in told)


@pytest.mark.parametrize("name", ["words", "holistic", "psc", "deep"])
def test_the_count_of_a_new_space_never_goes_back(tmp_path: Path, name: str) -> None:
    if name == "deep" and not is_installed():
        pytest.skip("the network cannot run here")
    write_pictures(tmp_path / "pictures", views=2)
    told: list[Progress] = []
    with Collection.create(tmp_path / "c.lw", deep=False) as col:
        col.spaces.add("own", {"feature": "own"})
        for one in ("words", "holistic"):
            col.spaces.drop(one)
        col.add(tmp_path / "pictures", workers=0)
        n = len(col)
        col.spaces.add(name, {"feature": name}, workers=0, report=told.append)
    assert {(one.stage, one.total) for one in told} == {(f"describing pictures by {name}", n)}
    counts = [one.done for one in told]
    assert counts == sorted(counts)
    assert set(range(1, n + 1)) <= set(counts)


def test_a_space_that_was_interrupted_says_what_goes_on(tmp_path: Path) -> None:
    write_pictures(tmp_path / "pictures", views=2)

    def interrupt(progress: Progress) -> None:
        if progress.done > 3:
            with (
                Collection.open(tmp_path / "c.lw") as other,
                pytest.raises(CollectionError, match="yet; wait for them: space add runs in"),
            ):
                other.search(1, by="words")
            raise KeyboardInterrupt

    with Collection.create(tmp_path / "c.lw", deep=False) as col:
        col.spaces.drop("words")
        col.add(tmp_path / "pictures", workers=0)
        with pytest.raises(KeyboardInterrupt):
            col.spaces.add("words", {"feature": "words"}, workers=0, report=interrupt)
        with pytest.raises(CollectionError, match="was interrupted: likewise add, or the same com"):
            col.search(1, by="words")
        col.add(tmp_path / "pictures", workers=0)
        assert col.search(1, by="words")


@needs_deep
def test_near_duplicates_need_nothing_else(tmp_path: Path) -> None:
    """A copy saved smaller, a crop and the mirrored picture."""
    scenes = small_scenes()
    for name, pixels in scenes.items():
        write(tmp_path / "pictures" / f"{name}.jpg", pixels)
    pixels = scenes["rocket"]
    height, width = pixels.shape[:2]
    write(tmp_path / "pictures" / "crop.jpg", pixels[height // 20 :, width // 20 :])
    write(tmp_path / "pictures" / "mirror.jpg", np.ascontiguousarray(pixels[:, ::-1]))
    with Collection.create(tmp_path / "c.lw") as col:
        col.add(tmp_path / "pictures", workers=0)
        groups = [{Path(hit.path).stem for hit in group} for group in col.duplicates()]
    assert {"rocket", "crop", "mirror"} in groups


def test_a_file_is_read_and_decoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "pictures" / "a.jpg", small_scenes()["rocket"])
    opened: list[str] = []
    decoded: list[str] = []
    really_open = io.open

    def count_and_open(path: Any, *given: Any, **named: Any) -> Any:
        opened.append(os.path.basename(os.fspath(path)) if not isinstance(path, int) else "")
        return really_open(path, *given, **named)

    def counted(name: str) -> None:
        decoder = getattr(images, name)

        def decode_and_count(*given: object) -> object:
            found = decoder(*given)
            decoded.extend([name] if found is not None else [])
            return found

        monkeypatch.setattr(images, name, decode_and_count)

    with Collection.create(tmp_path / "c.lw") as col:
        # By whatever way: pathlib opens by the one name, others by the other.
        monkeypatch.setattr(io, "open", count_and_open)
        monkeypatch.setattr(builtins, "open", count_and_open)
        counted("_load")
        counted("plain_pixels")
        assert col.add(tmp_path / "pictures", workers=0).added == 1
    assert opened.count("a.jpg") == 1
    assert len(decoded) == 1


def test_a_thumbnail_is_kept_from_the_same_pixels(tmp_path: Path) -> None:
    write(
        tmp_path / "pictures" / "a.jpg",
        np.kron(small_scenes()["rocket"], np.ones((3, 3, 1), np.uint8)),
    )
    with Collection.create(tmp_path / "c.lw", deep=False) as col:
        col.add(tmp_path / "pictures", workers=0)
        key, path = col.pictures.content_key(1), col.image(1).path
        assert path is not None
        pixels = decode(path, max_side=FIRST_SIDE).pixels
        os.unlink(path)
        large = thumbnail(col.root, key, lambda: path, FIRST_SIDE)
        small = thumbnail(col.root, key, lambda: path, FIRST_SIDE // 2)
    assert max(probe(large).width, probe(large).height) == FIRST_SIDE
    assert max(probe(small).width, probe(small).height) == FIRST_SIDE // 2
    difference = np.abs(decode(large).pixels.astype(int) - pixels)
    assert difference.mean() < 8


@needs_deep
@pytest.mark.parametrize("companions", [False, True])
def test_a_row_does_not_depend_on_what_else_is_described(tmp_path: Path, companions: bool) -> None:
    """Decoded large for words, the network still sees its own size."""
    pixels = np.kron(small_scenes()["rocket"], np.ones((4, 4, 1), np.uint8))
    write(tmp_path / "pictures" / "a.jpg", pixels)
    with Collection.create(tmp_path / "c.lw", all_spaces=companions) as col:
        col.add(tmp_path / "pictures", workers=0)
        hits = col.search(decode(tmp_path / "pictures" / "a.jpg").pixels, by="deep-dense")
    assert hits[0].score > 0.99


@pytest.fixture
def choking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pictures named *hang* or *crash* do that to whatever decodes them in a worker."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        "if 'spawn_main' in ' '.join(sys.orig_argv):\n"
        "    import likewise.ingest.describe as workers\n"
        "    read = workers.read_content\n"
        "    def choke(path):\n"
        "        if 'hang' in os.path.basename(path):\n"
        "            while True: pass\n"
        "        if 'crash' in os.path.basename(path): os.kill(os.getpid(), signal.SIGSEGV)\n"
        "        return read(path)\n"
        "    workers.read_content = choke\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{site}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.setenv("LIKEWISE_PICTURE_SECONDS", "1")
    pool.stop_idle()  # workers of a test before this one know nothing of it
    return tmp_path / "pictures"


@pytest.mark.slow
@pytest.mark.parametrize("count", [3, 24])
def test_hanging_and_crashing_pictures_are_remembered(
    choking: Path, tmp_path: Path, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few files and many alike; the second add does not try them again, naming one does."""
    for number in range(count):
        write(choking / f"{number:02d}.jpg", small_scenes()["rocket"][number:])
    write(choking / "crash.jpg", small_scenes()["rocket"][50:])
    write(choking / "hang.jpg", small_scenes()["rocket"][60:])
    with Collection.create(tmp_path / "c.lw", deep=False) as col:
        result = col.add(choking)
        assert result.added == count
        why = {Path(path).stem: reason for path, reason in result.skipped}
        assert "crashes its decoder" in why["crash"]
        assert "takes more than" in why["hang"]
        again = col.add(choking)
        assert (again.added, again.known) == (0, count + 2)
        assert len(col.problems()) == 2
        pool.stop_idle()
        monkeypatch.delenv("PYTHONPATH")
        assert col.add(choking / "hang.jpg").added == 1
        assert [Path(row.path).stem for row in col.problems()] == ["crash"]


def test_progress_never_goes_back(tmp_path: Path) -> None:
    write_pictures(tmp_path / "pictures", views=9)
    told: list[Progress] = []
    with Collection.create(tmp_path / "c.lw", words={"n_words": 20}, deep=False) as col:
        col.add(tmp_path / "pictures", workers=0, report=told.append)
        total = store_of(col).n_images()
    adding = [one for one in told if one.total]
    assert {one.stage for one in adding} == {ADDING}
    assert [one.done for one in adding] == sorted(one.done for one in adding)
    assert {one.total for one in adding} == {total}
    assert adding[-1].done == total
    assert any("words" in one.note for one in adding), "learning is told beside the count"


@pytest.mark.parametrize("step", ["read_content", "make_thumbnail", "embedded_keywords"])
def test_a_picture_that_memory_does_not_suffice_for_costs_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    write_pictures(tmp_path / "pictures", views=1)
    really, asked = getattr(describe, step), []

    def greedy(*given: Any) -> Any:
        asked.append(given)
        if len(asked) == 2:
            raise MemoryError
        return really(*given)

    monkeypatch.setattr(describe, step, greedy)
    with Collection.create(tmp_path / "c.lw", deep=False) as col:
        result = col.add(tmp_path / "pictures", workers=0)
        assert result.added == 7
        assert [reason for _, reason in result.skipped] == [
            "for now: cannot be described here (MemoryError)"
        ]


def test_what_is_skipped_is_not_counted_as_searchable(tmp_path: Path) -> None:
    for number, pixels in enumerate(small_scenes().values()):
        path = write(tmp_path / "pictures" / f"{number}.jpg", pixels)
        if number % 2:
            path.write_bytes(path.read_bytes()[:200])
    told: list[Progress] = []
    with Collection.create(tmp_path / "c.lw", deep=False) as col:
        result = col.add(tmp_path / "pictures", workers=0, report=told.append)
        there = len(col)
    adding = [one for one in told if one.stage == ADDING and not one.note]
    assert result.skipped
    assert adding[0].total == there + len(result.skipped)
    assert (adding[-1].done, adding[-1].total) == (there, there)
    assert adding[-1].problems == len(result.skipped)


def test_a_pace_is_that_of_the_last_half_minute() -> None:
    pace = Pace()
    assert pace.rate(0, now=0.0) == 0.0
    assert pace.rate(5, now=0.5) == 0.0, "too early to tell"
    assert pace.rate(40, now=4.0) == pytest.approx(10.0)
    for second in range(5, 200):
        found = pace.rate(40 + 2 * (second - 4), now=float(second))
    assert found == pytest.approx(2.0, rel=0.05)


@pytest.mark.parametrize(
    ("progress", "line"),
    [
        (Progress("replaying judgements", 3, 0), "replaying judgements: 3"),
        (
            Progress(ADDING, 12, 50, rate=95.4),
            "12 of 50 searchable, 1 sec left, 95 per second",
        ),
        (
            Progress(ADDING, 0, 90_000, rate=5.0, note="learning words"),
            "0 of 90,000 searchable, 5.0 hr left, 5.0 per second (learning words)",
        ),
    ],
)
def test_the_line_of_progress(progress: Progress, line: str) -> None:
    assert str(progress) == line
