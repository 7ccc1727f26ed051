"""What a review found: scripts as main, dying workers, hidden folders, half-made spaces."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from likewise.catalog.jobs import silent
from likewise.catalog.segments import DenseFormat
from likewise.catalog.store import TRANSIENT
from likewise.collection.collection import Collection
from likewise.errors import CollectionError, InvalidInput
from likewise.ingest import generations as gen
from likewise.ingest import growth, new_space
from likewise.ingest.describe import describe_failure
from likewise.ingest.pool import Failure, _child_state
from likewise.search import dense_view as live
from likewise.spaces import graphs, visual_words
from likewise.spaces import rows as space_rows
from likewise.spaces.visual_words import VisualWords
from likewise_methods.neighbours.exact import Exact
from likewise_methods.neighbours.hnsw import HNSW
from tests.product.collection.pictures import small_scenes, write, write_pictures
from tests.product.private import store_of


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("robust")
    write_pictures(root / "pictures", views=2)
    with Collection.create(root / "photos.lw", deep=False) as col:
        col.add(root / "pictures", workers=0)
    return root


@pytest.fixture
def col(built: Path, tmp_path: Path):
    shutil.copytree(built / "photos.lw", tmp_path / "photos.lw")
    with Collection.open(tmp_path / "photos.lw") as collection:
        yield collection


def test_a_script_without_a_guard(tmp_path: Path) -> None:
    """Workers must not run the user's script again."""
    write_pictures(tmp_path / "pictures", views=1)
    (tmp_path / "script.py").write_text(
        "import likewise as lw\n"
        "col = lw.Collection.create('photos.lw')\n"
        "result = col.add('pictures', workers=2)\n"
        "print(result.added, len(result.skipped), __file__.endswith('script.py'))\n"
    )
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.stdout.strip() == "8 0 True", done.stderr


@pytest.mark.parametrize("in_thread", [False, True])
def test_workers_are_deaf_to_ctrl_c_from_their_first_moment(in_thread: bool) -> None:
    """Also when a server's job starts them, which has a thread of its own."""
    ask = (
        "import signal; held = signal.pthread_sigmask(signal.SIG_BLOCK, []);"
        "print(signal.SIGINT in held or signal.getsignal(signal.SIGINT) == signal.SIG_IGN)"
    )
    said: list[str] = []

    def start() -> None:
        with _child_state():
            said.append(subprocess.check_output([sys.executable, "-c", ask], text=True).strip())
        said.append(str(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])))

    if in_thread:
        thread = threading.Thread(target=start)
        thread.start()
        thread.join()
    else:
        start()
    assert said == ["True", "False"]


def test_the_first_worker_is_deaf_too() -> None:
    """Python lets Ctrl-C through once it has started a process of its own beside the first."""
    if not Path("/proc/self/status").exists():
        pytest.skip("reads the signals a process blocks in /proc")
    script = (
        "import re, signal; from pathlib import Path\n"
        "from likewise.ingest.pool import _start\n"
        "child = _start(0).process.pid\n"
        "held = re.search('SigBlk:.(.*)', Path(f'/proc/{child}/status').read_text())[1]\n"
        "print(bool(int(held, 16) >> signal.SIGINT - 1 & 1))\n"
    )
    assert subprocess.check_output([sys.executable, "-c", script], text=True) == "True\n"


def test_ctrl_c_while_workers_start_is_not_lost() -> None:
    """Nor heard too early, where another thread receives it: those of a BLAS block nothing."""
    script = (
        "import os, signal, threading, time\n"
        "from likewise.ingest.pool import _child_state\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "threading.Thread(target=time.sleep, args=[3], daemon=True).start()\n"
        "try:\n"
        "    with _child_state():\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        time.sleep(0.1)\n"
        "        print('inside')\n"
        "except KeyboardInterrupt:\n"
        "    print('heard', __file__ if '__file__' in vars() else '')\n"
    )
    said = subprocess.check_output([sys.executable, "-c", script], text=True)
    assert said.split() == ["inside", "heard"]


def test_workers_do_not_outlive_a_killed_parent(tmp_path: Path) -> None:
    write_pictures(tmp_path / "pictures", views=3)
    script = (
        "import sys; from likewise.collection.collection import Collection\n"
        "Collection.create(sys.argv[1]).add(sys.argv[2], workers=2)"
    )
    for delay in (0.2, 1.5):
        root = tmp_path / f"{delay}.lw"
        parent = subprocess.Popen(
            [sys.executable, "-c", script, str(root), str(tmp_path / "pictures")],
            start_new_session=True,
        )
        deadline = time.monotonic() + 60
        while len(_group(parent.pid)) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(delay)
        parent.kill()
        parent.wait()
        deadline = time.monotonic() + 60
        while _group(parent.pid) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert _group(parent.pid) == []


def _group(leader: int) -> list[int]:
    """Living processes of a session, from /proc."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[3]) == leader and fields[0] != "Z":
                found.append(int(entry.name))
    return found


def test_what_was_not_the_pictures_fault_is_tried_again(
    col: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "more" / "a.jpg", small_scenes()["rocket"][2:])
    with monkeypatch.context() as patch:
        killed = Failure("killed")
        patch.setattr("likewise.ingest.add.describe", lambda task: describe_failure(task, killed))
        result = col.add(tmp_path / "more", workers=0)
    assert result.skipped[0][1].startswith(TRANSIENT)
    assert col.problems()[0].problem.startswith(TRANSIENT)
    assert col.add(tmp_path / "more", workers=0).added == 1
    assert col.problems() == []


def test_a_vocabulary_is_never_another_under_the_same_name(
    col: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupted retrain, then another in the same process: pixels still find themselves."""
    monkeypatch.setattr(visual_words, "KEEP_PICTURES", 0)

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(gen, "_weigh_and_switch", interrupt)
        with pytest.raises(KeyboardInterrupt):
            col.retrain(workers=0, seed=0)
    col.retrain(workers=0, seed=1)
    from likewise.images.decode import decode

    row = next(iter(col.images()))
    best = col.search(decode(row.path).pixels, k=1, by="words")[0]
    assert best.id == row.id
    assert best.score == pytest.approx(1.0, abs=1e-4)


def test_sync_keeps_what_it_cannot_see(built: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    shutil.copytree(built / "pictures", folder / "sub")
    with Collection.create(tmp_path / "p.lw", deep=False) as col:
        col.add(folder, workers=0)
        # An empty mount point: the folder is there, nothing in it is.
        os.rename(folder / "sub", tmp_path / "elsewhere")
        result = col.sync(workers=0)
        assert result.removed == 0
        assert "has lost every picture" in result.skipped[0][1]
        assert len(col) == 16
        os.rename(tmp_path / "elsewhere", folder / "sub")
        # A file that was added by its own name and deleted is followed.
        single = write(tmp_path / "single.jpg", small_scenes()["coffee"][9:])
        col.add(single, workers=0)
        single.unlink()
        assert col.sync(workers=0).removed == 1


def test_folders_that_cannot_be_entered_are_listed_and_kept(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "pictures"
    shutil.copytree(built / "pictures", folder / "sub")
    write(folder / "top.jpg", small_scenes()["flower"][3:])
    with Collection.create(tmp_path / "p.lw", deep=False) as col:
        col.add(folder, workers=0)
        scandir, lexists = os.scandir, os.path.lexists

        def closed(path):
            if str(path).endswith("sub"):
                raise PermissionError(13, "Permission denied", str(path))
            return scandir(path)

        monkeypatch.setattr(os, "scandir", closed)
        monkeypatch.setattr(os.path, "lexists", lambda p: "/sub/" not in str(p) and lexists(p))
        result = col.sync(workers=0)
        assert result.removed == 0
        assert any("cannot be entered" in reason for _, reason in result.skipped)
        assert len(col) == 17


def test_dropping_the_default_space_leaves_a_default(col: Collection) -> None:
    ids = [row.id for row in col.images()]
    col.spaces.add("mine", {"feature": "own"})
    col.spaces.add_vectors("mine", ids, np.eye(len(ids), dtype=np.float32))
    col.use("mine")
    col.spaces.drop("mine")
    assert dict(col.similarities["default"].spaces) == dict(col.similarities["both"].spaces)
    assert len(col.search(1, k=3)) == 3


@pytest.mark.parametrize(
    "recipe",
    [
        {"n_words": "abc"},
        {"max_features": 0},
        {"n_words": -1},
        {"upright": "yes"},
        {"max_side": 2.5},
    ],
)
def test_bad_recipes_are_refused_before_anything_is_written(col: Collection, recipe) -> None:
    with pytest.raises(InvalidInput, match=next(iter(recipe))):
        col.spaces.add("bad", {"feature": "words", **recipe})
    assert "bad" not in col.spaces


def test_a_space_that_cannot_be_filled_is_dropped(
    col: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(VisualWords, "learn", fail)
    with pytest.raises(RuntimeError):
        col.spaces.add("other", {"feature": "words"}, workers=0)
    assert "other" not in col.spaces


def test_an_interrupted_backfill_is_finished_by_the_next_add(
    col: Collection, built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(new_space, "describe_all", interrupt)
        with pytest.raises(KeyboardInterrupt):
            col.spaces.add("again", {"feature": "holistic"}, workers=0)
    # A gap that the next add fills is no damage.
    assert col.verify() == []
    assert store_of(col).images_without("again", 1)
    col.add(built / "pictures", workers=0)
    assert not store_of(col).images_without("again", 1)
    assert col.verify() == []


def test_an_add_with_nothing_to_do_reads_no_segment(
    col: Collection, built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a million pictures dense segments are gigabytes; looking for gaps must not read them."""
    space_rows.seal_segment(store_of(col), "holistic", at_least=1)

    def read(*_: object) -> None:
        raise AssertionError("a segment was read")

    for name in ("read_dense", "read_sparse", "open_dense", "open_sparse"):
        monkeypatch.setattr(f"likewise.catalog.segments.{name}", read)
    assert col.add(built / "pictures", workers=0).known == 16


def test_search_many_is_search_for_each(col: Collection) -> None:
    found = col.search_many([1, 2, 3], k=4, by="words")
    assert found == [col.search(i, k=4, by="words") for i in (1, 2, 3)]
    assert col.search_many([]) == []


def test_own_vectors_change_in_one_transaction(
    col: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [row.id for row in col.images()]
    X = np.random.default_rng(0).normal(size=(len(ids), 6)).astype(np.float32)
    col.spaces.add("mine", {"feature": "own"})
    col.spaces.add_vectors("mine", ids, X)
    space_rows.seal_segment(store_of(col), "mine", at_least=1)
    before = col.search(X[0], k=50, by="mine")

    def fail(*_: object) -> bytes:
        raise RuntimeError("in the middle")

    with monkeypatch.context() as patch:
        patch.setattr(DenseFormat, "row_at", fail)
        with pytest.raises(RuntimeError):
            col.spaces.add_vectors("mine", ids[:5], -X[:5])
    assert col.search(X[0], k=50, by="mine") == before
    assert col.verify() == []


def test_exact_copies_are_duplicates(col: Collection, built: Path, tmp_path: Path) -> None:
    shutil.copy(built / "pictures" / "coins-0.jpg", tmp_path / "copy.jpg")
    col.add(tmp_path / "copy.jpg", workers=0)
    group = next(g for g in col.duplicates(threshold=0.9999) if any("copy" in h.path for h in g))
    assert {Path(hit.path).name for hit in group} >= {"copy.jpg", "coins-0.jpg"}
    assert group[0].score == pytest.approx(1.0)
    with pytest.raises(CollectionError, match="'both' is no space"):
        col.duplicates(space="both")


@pytest.mark.parametrize("metadata", [{"n": float("nan")}, {"n": {1, 2}}, {3: "x"}])
def test_metadata_must_be_plain(col: Collection, built: Path, metadata) -> None:
    with pytest.raises(InvalidInput, match="metadata"):
        col.add(built / "pictures", metadata=metadata, workers=0)


@pytest.mark.parametrize("where", [{"n": [1]}, {"n": 2**70}, {'a"b': 1}])
def test_conditions_must_be_plain(col: Collection, where) -> None:
    with pytest.raises(InvalidInput, match="where"):
        col.search(1, where=where)


def test_long_answers_of_a_graph() -> None:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(50, 32))
    X = (centres[rng.integers(0, 50, 5000)] + 0.7 * rng.normal(size=(5000, 32))).astype(np.float32)
    walk, exact = HNSW("ip").build(X), Exact("ip").build(X)
    for k in (20, 400):
        found, truth = walk.search(X[:20], k)[0], exact.search(X[:20], k)[0]
        recall = np.mean([len(set(a) & set(b)) / k for a, b in zip(found, truth, strict=True)])
        assert recall > 0.95, k


def test_filters_find_everything_behind_a_graph(
    col: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "EXACT_BEYOND", 3)
    graphs.grow_graphs(store_of(col), silent, above=2)
    col.tag(16, "rare")
    query = np.asarray(live.DenseView(store_of(col), col.spaces["holistic"]).row_of(1))
    assert [h.id for h in col.search(-query, k=5, by="holistic", where={"tag": "rare"})] == [16]
    assert len(col.search(1, k=100, by="holistic")) == 15
    col.remove(3)
    assert 3 not in [h.id for h in col.search(1, k=100, by="holistic")]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("DELETE FROM files WHERE image = 1", "picture 1 has no file"),
        ("UPDATE files SET image = NULL WHERE image = 1", "neither a picture nor a problem"),
        ("INSERT INTO tombstones (image) VALUES (2)", "picture 2 is there and removed"),
        ("UPDATE images SET metadata = '{' WHERE id = 3", "metadata that is no JSON"),
        ("DELETE FROM generations WHERE space = 'words'", "a generation that is not there"),
        ("UPDATE generations SET files = '{}' WHERE space = 'words'", "is not named"),
        ("DELETE FROM vectors WHERE image = 4 AND space = 'words'", "picture 4 has no vector"),
        ("UPDATE segments SET n_bytes = 1 WHERE space = 'holistic'", "as the catalog says"),
    ],
)
def test_verify_finds_contradictions(col: Collection, sql: str, said: str) -> None:
    space_rows.seal_segment(store_of(col), "holistic", at_least=1)
    assert col.verify() == []
    with store_of(col).write() as c:
        c.execute("PRAGMA defer_foreign_keys = ON")
        c.execute(sql)
    assert any(said in text for text in col.verify()), col.verify()


def test_nan_in_a_fresh_vector_is_noticed(col: Collection) -> None:
    blob = np.full(428, np.nan, np.float32).tobytes()
    with store_of(col).write() as c:
        c.execute("UPDATE vectors SET vector = ? WHERE image = 1 AND space = 'holistic'", (blob,))
    assert any("picture 1" in text or "vectors" in text for text in col.verify())


def test_words_keep_up_during_one_long_add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """First words, a new idf at twice the size, more words when large: all inside one add."""
    monkeypatch.setattr(visual_words, "FIRST_WORDS_AT", 4)
    monkeypatch.setattr(growth, "_STRETCH", 1)
    write_pictures(tmp_path / "p", views=3)
    words = {"n_words": 60, "n_words_large": 200, "large_from": 16}
    seen: list[tuple[int, int]] = []
    with Collection.create(tmp_path / "g.lw", words=words, deep=False) as col:

        def watch(_: object) -> None:
            space = col.spaces["words"]
            if not seen or seen[-1] != (space.generation, space.width):
                seen.append((space.generation, space.width))

        col.add(tmp_path / "p", workers=0, report=watch)
        assert seen[:4] == [(0, 0), (1, 60), (2, 60), (3, 200)]
        assert len(col) == 24
        assert col.verify() == []


def test_the_first_error_is_the_one_to_see(col: Collection) -> None:
    """On a full disk SQLite rolls back by itself; a second rollback must not hide why."""

    def fill() -> None:
        with store_of(col).write() as c:
            c.execute("ROLLBACK")
            raise OSError(28, "disk is full")

    with pytest.raises(OSError, match="disk is full"):
        fill()
    assert len(col) == 16
