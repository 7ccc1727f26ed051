"""What lies on disk: segments, generations, backups, damage, migrations."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise.catalog import changes as change
from likewise.catalog import segments as seg
from likewise.catalog import sqlite_catalog as catalog_module
from likewise.catalog.jobs import silent
from likewise.catalog.segments import open_idf
from likewise.catalog.store import Store
from likewise.collection import backups
from likewise.collection.collection import Collection
from likewise.errors import CollectionError, DamagedCollection, LikewiseError
from likewise.images.decode import ImageInfo
from likewise.ingest import generations as gen
from likewise.search import dense_view
from likewise.spaces import graphs, visual_words
from likewise.spaces import rows as space_rows
from likewise_methods.coding.bow import BagOfWords
from tests.product.collection.loop_cases import copied
from tests.product.collection.pictures import small_scenes, write, write_pictures
from tests.product.private import store_of


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("storage")
    write_pictures(root / "pictures")
    with Collection.create(root / "photos.lw", deep=False) as col:
        col.add(root / "pictures", workers=0)
    return root


@pytest.fixture
def col(built: Path, tmp_path: Path):
    shutil.copytree(built / "photos.lw", tmp_path / "photos.lw")
    with Collection.open(tmp_path / "photos.lw") as collection:
        yield collection


def answers(col: Collection) -> dict[tuple[str, int], list[tuple[int, float]]]:
    """Every ranking of the collection and its scores to the last bit, to be compared before and
    after."""
    return {
        (by, row.id): [(hit.id, hit.score) for hit in col.search(row.id, k=50, by=by)]
        for by in ("words", "holistic")
        for row in col.images()
    }


def seal_all(col: Collection, at_least: int = 1) -> None:
    for name in col.spaces:
        space_rows.seal_segment(store_of(col), name, at_least=at_least)


def test_sealing_changes_no_answer(col: Collection) -> None:
    before = answers(col)
    seal_all(col)
    info = col.info()
    assert info["spaces"]["words"]["sealed"] == info["spaces"]["holistic"]["sealed"] == 24
    assert info["spaces"]["words"]["fresh"] == 0
    assert answers(col) == before
    assert col.verify() == []
    with Collection.open(col.root) as again:
        assert answers(again) == before


def test_segments_fresh_rows_and_removals_together(
    col: Collection, tmp_path: Path, built: Path
) -> None:
    seal_all(col)
    for i in range(3):
        write(tmp_path / "more" / f"{i}.jpg", small_scenes()["flower"][i + 1 :])
    col.add(tmp_path / "more", workers=0)
    col.remove(1, 2, col.id_of(tmp_path / "more" / "0.jpg"))
    before = answers(col)
    assert all(len(hits) == 23 for hits in before.values())
    seal_all(col)
    assert answers(col) == before
    for name in col.spaces:
        assert space_rows.merge_segments(store_of(col), name, at_least=2)
    assert answers(col) == before
    assert col.verify() == []
    space_rows.tidy(store_of(col))
    names = {path.name for path in (col.root / seg.FOLDER).iterdir()}
    assert names == {Path(row.name).name for row in store_of(col).every_segment()}
    assert answers(col) == before
    with Collection.open(col.root) as again:
        assert answers(again) == before


def test_a_job_goes_on_after_one_that_died_before_it_named_its_segment(
    col: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows are still fresh, so the next job writes the same segment again."""
    before = answers(col)

    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(gen.change, "put_segment", die)
        for name in col.spaces:
            with pytest.raises(Killed):
                space_rows.seal_segment(store_of(col), name, at_least=1)
    seal_all(col)
    # The same of a segment that takes the place of another.
    gone = {
        name: space_rows.rewrite_segments(store_of(col), name, np.array([2])) for name in col.spaces
    }
    for name in col.spaces:
        again = space_rows.rewrite_segments(store_of(col), name, np.array([2]))
        assert {one.name for one in again}.isdisjoint(one.name for one in gone[name])
    assert answers(col) == before
    space_rows.tidy(store_of(col))
    names = {path.name for path in (col.root / seg.FOLDER).iterdir()}
    assert names == {Path(row.name).name for row in store_of(col).every_segment()}
    assert answers(col) == before
    assert col.verify() == []


def test_segments_of_earlier_versions_have_names_without_a_token() -> None:
    made = space_rows.segment_name("deep-words", 3, 17, 2)
    assert space_rows.number_and_serial(made) == (17, 2)
    assert space_rows.number_and_serial("segments/deep-words-3-0000000017-2") == (17, 2)
    assert space_rows.number_and_serial("segments/a-3-12345678901-10") == (12345678901, 10)
    with pytest.raises(DamagedCollection, match="no name of a segment"):
        space_rows.number_and_serial("segments/words")


def test_merge_leaves_removed_pictures_out(col: Collection) -> None:
    seal_all(col)
    col.remove(3)
    (joined,) = space_rows.rewrite_segments(store_of(col), "words", np.array([4]))
    with store_of(col).write() as c:
        space_rows.name_segment(c, col.spaces["words"], joined)
    ids = seg.read_sparse(col.root, store_of(col).segments("words", 1)[0].name).ids
    assert 3 not in ids
    assert 4 not in ids


def test_refresh_is_tf_idf_of_the_pictures_there_are(col: Collection, tmp_path: Path) -> None:
    seal_all(col)
    for i in range(4):
        write(tmp_path / "more" / f"{i}.jpg", small_scenes()["coins"][2 * i + 1 :])
    col.add(tmp_path / "more", workers=0)
    col.remove(5)
    frozen = open_idf(col.root, col.spaces["words"])
    assert frozen is not None
    assert frozen.n_pictures_ == 24
    generation = col.spaces["words"].generation
    col.refresh()
    space = col.spaces["words"]
    assert space.generation == generation + 1
    parts = list(space_rows.raw_rows(store_of(col), space))
    ids = np.concatenate([ids for ids, _ in parts])
    from scipy import sparse

    counts = sparse.vstack([raw for _, raw in parts], format="csr")
    assert len(ids) == 27
    expected = BagOfWords().fit_transform(counts)
    scores = (expected @ expected.T).toarray()
    for i, image in enumerate(ids.tolist()):
        for hit in col.search(image, k=30, by="words"):
            j = int(np.flatnonzero(ids == hit.id)[0])
            assert hit.score == pytest.approx(scores[i, j], abs=1e-5)
    assert col.verify() == []


def test_retrain_makes_new_words_and_keeps_the_pictures(col: Collection) -> None:
    old = col.spaces["words"]
    col.retrain(workers=0, seed=7)
    new = col.spaces["words"]
    assert new.generation == old.generation + 1
    assert new.files != old.files
    assert not (col.root / old.files["vocabulary"]).exists()
    assert len(col.search(1, k=50, by="words")) == 23
    assert col.verify() == []


def test_words_grow_with_the_collection(tmp_path: Path) -> None:
    write_pictures(tmp_path / "a", views=1)
    words = {"n_words": 100, "n_words_large": 400, "large_from": 20}
    with Collection.create(tmp_path / "g.lw", words=words, deep=False) as col:
        col.add(tmp_path / "a", workers=0)
        assert (col.spaces["words"].generation, col.spaces["words"].width) == (1, 100)
        write_pictures(tmp_path / "b", views=3)
        col.add(tmp_path / "b", workers=0)
        assert col.spaces["words"].width == 400
        assert len(col) == 24
        assert col.verify() == []


def test_pictures_that_taught_the_words_are_described_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether all of them taught or some; and their words are those of describing them again."""
    from likewise.images.decode import decode
    from likewise.spaces import base
    from likewise.vision.local import SIFT

    write_pictures(tmp_path / "p", views=2)
    described: list[int] = []
    extract = SIFT.extract

    def counting(self: SIFT, picture: Any) -> Any:
        described.append(1)
        return extract(self, picture)

    with Collection.create(tmp_path / "c.lw", words={"n_words": 50}, deep=False) as col:
        col.add(tmp_path / "p", workers=0)
        monkeypatch.setattr(SIFT, "extract", counting)
        for teachers in (len(col), 5):
            monkeypatch.setattr(base, "SAMPLE_PICTURES", teachers)
            described.clear()
            col.retrain(workers=0)
            assert len(described) == len(col)
            for row in col.images():
                best = col.search(decode(row.path).pixels, k=1, by="words")[0]
                assert best.id == row.id
                assert best.score > 0.99
        assert col.verify() == []


def test_searchable_while_adding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first stretch there are words, and a reader finds pictures with them."""
    from likewise.ingest import add as adding
    from likewise.ingest import growth

    monkeypatch.setattr(visual_words, "FIRST_WORDS_AT", 10)
    monkeypatch.setattr(adding, "_BATCH", 4)
    monkeypatch.setattr(growth, "_STRETCH", 1)
    paths = write_pictures(tmp_path / "p")
    seen: list[int] = []
    with (
        Collection.create(tmp_path / "s.lw", deep=False) as col,
        Collection.open(tmp_path / "s.lw") as reader,
    ):

        def watch(progress) -> None:
            if progress.stage == "adding pictures" and reader.spaces["words"].generation:
                seen.append(len(reader.search(paths[0], k=100, by="words")))

        col.add(tmp_path / "p", workers=0, report=watch)
        assert col.verify() == []
    assert seen
    assert seen[0] >= 9
    assert seen[-1] > seen[0]


def test_a_graph_over_many_dense_vectors(
    col: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Grown by a job, opened by readers, in step with what comes and goes."""
    ids = [row.id for row in col.images()]
    X = np.random.default_rng(0).normal(size=(24, 8)).astype(np.float32)
    col.spaces.add("mine", {"feature": "own", "metric": "l2"})
    col.spaces.add_vectors("mine", ids, X)
    before = answers(col)
    mine = [col.search(i, k=30, by="mine") for i in ids]
    seal_all(col)
    graphs.grow_graphs(store_of(col), silent, above=10)
    for name in ("holistic", "mine"):
        assert (col.root / col.spaces[name].files["graph"]).is_file()
    # Two dozen rows: a walk over the graph sees them all, so the answers are the same.
    assert answers(col) == before
    assert [col.search(i, k=30, by="mine") for i in ids] == mine
    # So they are where an answer is so long that the rows of the graph are all compared.
    monkeypatch.setattr(dense_view, "EXACT_BEYOND", 5)
    assert answers(col) == before
    assert [col.search(i, k=30, by="mine") for i in ids] == mine
    monkeypatch.undo()
    assert col.verify() == []
    with Collection.open(col.root) as reader:
        assert answers(reader) == before
        write(tmp_path / "more" / "new.jpg", small_scenes()["rocket"][1:])
        col.add(tmp_path / "more", workers=0)
        col.remove(2)
        for one in (col, reader):
            hits = one.search(1, k=50, by="holistic")
            assert len(hits) == 23
            assert 2 not in [hit.id for hit in hits]
            assert col.id_of(tmp_path / "more" / "new.jpg") in [hit.id for hit in hits]
    # A replaced vector must not be found by the graph of the old one.
    col.spaces.add_vectors("mine", [ids[3]], X[[3]] + 100)
    assert "graph" not in col.spaces["mine"].files
    assert col.search(X[3] + 100, k=1, by="mine")[0].id == ids[3]
    assert col.search(X[3], k=30, by="mine")[-1].id == ids[3]
    space_rows.tidy(store_of(col))
    assert col.verify() == []
    graph = col.root / col.spaces["holistic"].files["graph"]
    graph.write_bytes(graph.read_bytes()[:-1])
    assert any("graph" in text for text in col.verify())


def test_unfinished_generations_and_stray_files_are_swept(col: Collection) -> None:
    before = answers(col)
    space = col.spaces["words"]
    with store_of(col).write() as c:
        change.put_vector(c, "words", space.generation + 1, 1, b"")
    stray = col.root / seg.FOLDER / "words-9-0000000001-0.part"
    stray.mkdir(parents=True)
    (stray / "x").write_text("x")
    (col.root / "words" / "words-9.lwv").write_bytes(b"x")
    col.refresh()
    assert not stray.exists()
    assert not (col.root / "words" / "words-9.lwv").exists()
    # The same pictures and the same words, so the same idf: only the generation moved.
    assert answers(col) == before


def test_backup_and_restore(col: Collection, tmp_path: Path) -> None:
    seal_all(col)
    col.tag(1, "kept")
    before = answers(col)
    copy = col.backup(tmp_path / "copy")
    col.remove(1, 2, 3)
    with Collection.restore(copy, tmp_path / "restored.lw") as restored:
        assert answers(restored) == before
        assert restored.tags.of(1) == ["kept"]
        assert restored.verify() == []
    with pytest.raises(CollectionError, match="exists already"):
        col.backup(copy)
    with pytest.raises(CollectionError, match="inside the collection"):
        col.backup(col.root / "inside")
    with pytest.raises(CollectionError, match="not a backup"):
        Collection.restore(tmp_path / "photos.lw" / "words", tmp_path / "x.lw")
    victim = next((copy / seg.FOLDER).rglob("*.lwa"))
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 1
    victim.write_bytes(content)
    with pytest.raises(DamagedCollection, match="was not restored"):
        Collection.restore(copy, tmp_path / "y.lw")
    assert not (tmp_path / "y.lw").exists()


def test_backup_while_others_write(col: Collection, tmp_path: Path) -> None:
    stop = threading.Event()
    failures: list[BaseException] = []

    def churn() -> None:
        try:
            with Collection.open(col.root) as other:
                turn = 0
                while not stop.is_set():
                    turn += 1
                    other.tag(2, f"t{turn}")
                    seal_all(other)
                    other.refresh()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for i in range(4):
            copy = col.backup(tmp_path / f"copy{i}")
            with Collection.open(copy) as backup:
                assert backup.verify() == []
                assert len(backup) == 24
    finally:
        stop.set()
        thread.join()
    assert failures == []


def test_backup_copies_no_file_twice(
    col: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that goes during the copy costs another look at the catalog, not another copy."""
    seal_all(col)
    copied: list[str] = []
    real = backups._copy

    def copy(source: Path, target: Path) -> None:
        name = source.relative_to(col.root).as_posix()
        if len(copied) == 2:
            with Collection.open(col.root) as other:
                other.refresh()
        copied.append(name)
        real(source, target)

    monkeypatch.setattr(backups, "_copy", copy)
    made = col.backup(tmp_path / "copy")
    assert len(copied) == len(set(copied))
    assert any("words-1-" in name for name in copied), "the state that was begun with"
    with Collection.open(made) as backup:
        assert backup.verify() == []
        assert backup.spaces["words"].generation == 2
        assert {p.name for p in made.iterdir()} <= {"catalog.sqlite", "segments", "words",
            "catalog.sqlite-wal", "catalog.sqlite-shm"}  # fmt: skip
        named = store_of(backup).named_files()
        assert all((made / name).exists() for name in named)
        assert {p.name for p in (made / "words").iterdir()} == {
            Path(name).name for name in named if name.startswith("words/")
        }


@pytest.mark.parametrize("whole_folder", [True, False])
def test_backup_names_what_is_wrong_with_its_place(
    col: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole_folder: bool
) -> None:
    seal_all(col)

    def full(source: Path, target: Path) -> None:
        if whole_folder:
            raise shutil.Error([(str(source), str(target), "[Errno 28] No space left on device")])
        raise OSError(28, "No space left on device", str(target))

    monkeypatch.setattr(backups, "_copy", full)
    with pytest.raises(CollectionError, match=r"cannot be written.*No space left") as failure:
        col.backup(tmp_path / "copy")
    assert not isinstance(failure.value, DamagedCollection)
    assert list(tmp_path.glob("copy*")) == []


def test_a_folder_is_swept_at_once(col: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under its name it is whole or not there, also for who copies it just now."""
    seal_all(col)
    stray = col.root / seg.FOLDER / "words-9-0000000001-0"
    shutil.copytree(col.root / store_of(col).segments("words", 1)[0].name, stray)
    seen = []

    def slowly(path: Path) -> None:
        seen.append((stray.exists(), Path(path).exists()))

    with monkeypatch.context() as patch:
        patch.setattr(seg.shutil, "rmtree", slowly)
        seg.sweep(col.root, store_of(col).named_files())
    assert seen == [(False, True)]
    seg.sweep(col.root, store_of(col).named_files())
    assert {p.name for p in (col.root / seg.FOLDER).iterdir()} == {
        Path(row.name).name for row in store_of(col).every_segment()
    }


def test_searches_in_threads_while_a_job_runs(col: Collection) -> None:
    stop = threading.Event()
    failures: list[BaseException] = []
    done = [0]

    def search() -> None:
        try:
            while not stop.is_set():
                for by in ("words", "holistic", "both"):
                    assert len(col.search(1 + done[0] % 24, k=50, by=by)) == 23
                    done[0] += 1
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    with Collection.open(col.root) as writer:
        for _ in range(3):
            seal_all(writer)
            writer.refresh()
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert done[0] > 10


@pytest.mark.parametrize("part", ["words/*.lwv", "words/*.bag", "segments/**/*.lw*"])
def test_every_damaged_file_is_noticed(col: Collection, part: str) -> None:
    seal_all(col)
    files = [path for path in col.root.glob(part) if path.is_file()]
    assert files
    for path in files:
        whole = path.read_bytes()
        for damaged in (whole[:-1], whole[: len(whole) // 2], _flipped(whole)):
            path.write_bytes(damaged)
            with Collection.open(col.root) as again:
                gen_cache_clear()
                assert again.verify() != [], path
                for by in ("words", "holistic"):
                    try:
                        again.search(1, k=5, by=by)
                    except (LikewiseError, OSError) as error:
                        assert str(error)  # noqa: PT017 - right answers are fine too
        path.unlink()
        with Collection.open(col.root) as again:
            gen_cache_clear()
            assert again.verify() != [], path
        path.write_bytes(whole)
    gen_cache_clear()
    assert col.verify() == []


def gen_cache_clear() -> None:
    from likewise.spaces.visual_words import open_vocabulary

    open_vocabulary.cache_clear()


def _flipped(whole: bytes) -> bytes:
    content = bytearray(whole)
    content[2 * len(content) // 3] ^= 0x40
    return bytes(content)


def test_a_damaged_catalog_is_a_typed_error(col: Collection, tmp_path: Path) -> None:
    col.close()
    path = col.root / catalog_module.FILE
    for content in (b"", b"not a database, certainly not one", path.read_bytes()[:100]):
        folder = tmp_path / f"broken{len(content)}"
        folder.mkdir()
        (folder / catalog_module.FILE).write_bytes(content)
        with pytest.raises(CollectionError):
            Collection.open(folder)


def test_migrations(col: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalog of an older schema is brought up to date once; a newer one is refused."""
    monkeypatch.setattr(
        catalog_module,
        "MIGRATIONS",
        (*catalog_module.MIGRATIONS, "CREATE TABLE later (x INTEGER);"),
    )
    for _ in range(2):
        with Collection.open(col.root) as newer:
            assert store_of(newer).all("SELECT * FROM later") == []
            assert len(newer) == 24
    monkeypatch.undo()
    known = len(catalog_module.MIGRATIONS)
    with pytest.raises(CollectionError, match=f"schema {known + 1}; this Likewise knows {known}"):
        Collection.open(col.root)


def test_a_catalog_of_the_first_schema_learns_to_judge(tmp_path: Path, built: Path) -> None:
    """Pictures, words and tags of a collection that was made before there was a loop."""
    old = tmp_path / "old.lw"
    shutil.copytree(built / "photos.lw", old)
    with sqlite3.connect(old / catalog_module.FILE) as c:
        c.execute("ALTER TABLE vectors DROP COLUMN sum")
        # Sorted: an index of words goes before the tables it keeps its own rows in.
        for table in sorted(_tables(c) - _tables_of(catalog_module.MIGRATIONS[:1])):
            c.execute(f"DROP TABLE IF EXISTS {table}")
        c.execute("PRAGMA user_version = 1")
    c.close()
    failures: list[BaseException] = []

    def open_it() -> None:
        try:
            with Collection.open(old) as one:
                assert one.log.entries() == []
        except BaseException as error:
            failures.append(error)

    # Several processes may be the first to open it.
    threads = [threading.Thread(target=open_it) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with Collection.open(old) as col:
        answers_then = answers(col)
        assert col.profiles.version().profile == "default"
        assert col.profiles.version().position == 0
        assert len(col) == 24
        before = [hit.id for hit in col.search(1, k=30)]
        number = col.judge(1, [before[5]], [before[0]]).number
        assert [hit.id for hit in col.search(1, k=30)][-1] == before[0]
        assert [line.number for line in col.log.entries()] == [number]
        assert answers(col) == answers_then
        assert col.verify() == []


def _tables(c: sqlite3.Connection) -> set[str]:
    rows = c.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return {name for (name,) in rows if not name.startswith("sqlite_")}


def _tables_of(scripts: tuple[str, ...]) -> set[str]:
    with closing(sqlite3.connect(":memory:")) as c:
        for script in scripts:
            c.executescript(script)
        return _tables(c)


def test_a_failed_migration_leaves_the_old_schema(
    col: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        catalog_module,
        "MIGRATIONS",
        (*catalog_module.MIGRATIONS, "CREATE TABLE good (x INTEGER); CREATE TABLE bad ("),
    )
    with pytest.raises(DamagedCollection):
        Collection.open(col.root)
    monkeypatch.undo()
    with Collection.open(col.root) as old:
        assert len(old) == 24
        tables = [row[0] for row in store_of(old).all("SELECT name FROM sqlite_master")]
        assert "good" not in tables


def test_a_transaction_that_fails_leaves_nothing(col: Collection) -> None:

    revision = store_of(col).revision
    with pytest.raises(sqlite3.Error), store_of(col).write() as c:
        change.remove_images(c, [1, 2, None, object()])  # type: ignore[list-item]
    assert len(col) == 24
    assert store_of(col).revision == revision


def test_full_disk_while_sealing_loses_nothing(
    col: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = answers(col)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    for where in ("os.fsync", "os.replace"):
        with monkeypatch.context() as patch:
            patch.setattr(where, full)
            with pytest.raises(OSError, match="No space left"):
                seal_all(col)
        assert answers(col) == before
        assert col.verify() == []
    space_rows.tidy(store_of(col))
    assert not list(col.root.rglob("*.part"))


def test_catalog_connections_are_per_thread(col: Collection) -> None:
    seen: list[int] = []
    thread = threading.Thread(target=lambda: seen.append(store_of(col).n_images()))
    thread.start()
    thread.join()
    assert seen == [24]
    assert isinstance(store_of(col), Store)
    assert os.path.getsize(col.root / catalog_module.FILE) > 0
    with pytest.raises(sqlite3.IntegrityError), store_of(col).write() as c:
        c.execute("INSERT INTO tags VALUES (9999, 'x', 'y')")


def test_rows_written_together_are_those_written_one_by_one(tmp_path: Path) -> None:
    """A gap is closed by its row, whichever way that is written."""

    def tables(name: str, together: bool) -> list[list[tuple[object, ...]]]:
        with Collection.create(tmp_path / name) as col:
            store = col._store
            with store.write() as c:
                for number in range(3):
                    info = ImageInfo(str(number), "JPEG", 6, 4, "RGB", 1, None, 8)
                    change.put_image(c, bytes([number]) * 20, info)
                change.put_gap(c, "deep", 1, 2)
            rows = [(1, b"aaaa"), (2, b"bbbb"), (1, b"cccc")]
            with store.write() as c:
                if together:
                    change.put_vectors(c, "deep", 1, iter(rows))
                else:
                    for image, blob in rows:
                        change.put_vector(c, "deep", 1, image, blob)
            return [
                [tuple(row) for row in store.all(f"SELECT {columns} FROM {table} ORDER BY 1, 2")]
                for columns, table in (("image, vector, sum", "vectors"), ("image, space", "gaps"))
            ]

    assert tables("a.lw", together=True) == tables("b.lw", together=False)
    (vectors, gaps) = tables("c.lw", together=True)
    assert [row[:2] for row in vectors] == [(1, b"cccc"), (2, b"bbbb")]
    assert gaps == []


# -- segments of an earlier format ------------------------------------------------------------

OLD_INDEX = Path(__file__).parents[2] / "methods" / "index" / "version1" / "uint8"
"""What the first release saved, of other rows: whatever is made of it must come from the rows."""


@pytest.fixture
def sealed(tmp_path: Path) -> Iterator[Collection]:
    """A collection whose sparse rows are in a segment with an index of the first format."""
    with Collection.open(copied(tmp_path)) as col:
        store = store_of(col)
        assert space_rows.seal_segment(store, "mine", at_least=1)
        (row,) = store.segments("mine", store.spaces()["mine"].generation)
        index = store.root / row.name / "index"
        shutil.rmtree(index)
        shutil.copytree(OLD_INDEX, index)
    with Collection.open(tmp_path / "c.lw") as col:
        yield col


def segment_of(col: Collection) -> str:
    store = store_of(col)
    (row,) = store.segments("mine", store.spaces()["mine"].generation)
    return row.name


def test_segments_of_an_earlier_format_are_written_once_more(sealed: Collection) -> None:
    store = store_of(sealed)
    old = segment_of(sealed)
    assert not seg.is_current(store.root, old)
    raw = seg.read_sparse(store.root, old)
    space_rows.tidy(store)
    new = segment_of(sealed)
    assert new != old
    assert seg.is_current(store.root, new)
    assert not (store.root / old).exists()
    made = seg.read_sparse(store.root, new)
    assert made.ids.tolist() == raw.ids.tolist()
    assert (made.rows != raw.rows).nnz == 0
    assert sealed.verify() == []
    space_rows.tidy(store)
    assert segment_of(sealed) == new


def test_what_a_crash_leaves_of_that_is_the_old_segment(
    sealed: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, old = store_of(sealed), segment_of(sealed)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(change, "put_segment", die)
        with pytest.raises(KeyboardInterrupt):
            space_rows.tidy(store)
    assert segment_of(sealed) == old
    space_rows.tidy(store)
    assert segment_of(sealed) != old
    assert sealed.verify() == []


def test_rows_that_cannot_be_read_stop_no_job(sealed: Collection) -> None:
    store, old = store_of(sealed), segment_of(sealed)
    (store.root / old / "rows.lwa").write_bytes(b"no rows")
    space_rows.tidy(store)
    assert segment_of(sealed) == old
    assert sealed.verify() != []
