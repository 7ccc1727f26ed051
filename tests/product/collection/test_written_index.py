"""The index of what people wrote: what the tables say, whatever happened; typed text is data."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from PIL import Image

from likewise.catalog import changes, tag_tables, word_index
from likewise.catalog.schema import MIGRATIONS
from likewise.catalog.sqlite_catalog import put_documents
from likewise.catalog.store import Store
from likewise.catalog.word_index import FIELDS, refresh_written
from likewise.collection.collection import Collection
from likewise.errors import CollectionError
from likewise.images.decode import ImageInfo, probe
from tests.product.collection.tag_cases import copied
from tests.product.private import store_of

TAGS = ("garden", "Garden Party", "crème", 'a "quoted" tag', "x* OR y")


def index_of(store: Store) -> list[tuple[object, ...]]:
    return [tuple(row) for row in store.all("SELECT rowid, * FROM written ORDER BY rowid")]


class Index(RuleBasedStateMachine):
    """Everything that changes what is written about pictures, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(mkdtemp(prefix="likewise-written-"))
        self.store = Store.create(self.home / "catalog.sqlite", {})
        self.n = 0

    @rule(folder=st.sampled_from(["/p/a", "/p/beachHouse", "/q"]), camera=st.booleans())
    def add(self, folder: str, camera: bool) -> None:
        self.n += 1
        maker = "Canon EOS" if camera else None
        info = ImageInfo("", "JPEG", 1, 1, "RGB", 1, None, 1, maker)
        with self.store.write() as c:
            image, _ = changes.put_image(c, bytes([self.n % 256]) * 20, info)
            changes.put_file(c, f"{folder}/IMG_{self.n}.jpg", 1, self.n, image=image)

    @rule(root=st.sampled_from(["/p", "/p/a", "/q"]))
    def root(self, root: str) -> None:
        with self.store.write() as c:
            changes.put_root(c, root)

    @rule(
        at=st.integers(0, 9),
        tag=st.sampled_from(TAGS),
        source=st.sampled_from(["user", "suggested"]),
    )
    def tag(self, at: int, tag: str, source: str) -> None:
        self._each(at, lambda c, i: tag_tables.put_sources(c, source, [(i, tag)]))

    @rule(
        at=st.integers(0, 9),
        tag=st.sampled_from(TAGS),
        source=st.sampled_from(["user", "suggested"]),
    )
    def untag(self, at: int, tag: str, source: str) -> None:
        self._each(at, lambda c, i: tag_tables.drop_sources(c, source, [(i, tag)]))

    @rule(at=st.integers(0, 9), camera=st.sampled_from(["Leica", 7, None]))
    def describe(self, at: int, camera: object) -> None:
        self._each(at, lambda c, i: changes.merge_metadata(c, i, {"camera": camera}))

    @rule(at=st.integers(0, 9), to=st.integers(0, 9))
    def move(self, at: int, to: int) -> None:
        """A path comes to hold another picture, as after an edit."""
        paths = [row[0] for row in self.store.all("SELECT path FROM files ORDER BY path")]
        ids = sorted(self.store.ids())
        if paths and ids:
            with self.store.write() as c:
                path, image = paths[at % len(paths)], ids[to % len(ids)]
                changes.put_file(c, path, 2, 2, image=image)

    @rule(at=st.integers(0, 9))
    def forget(self, at: int) -> None:
        paths = [row[0] for row in self.store.all("SELECT path FROM files ORDER BY path")]
        if paths:
            with self.store.write() as c:
                changes.forget_files(c, [paths[at % len(paths)]])

    @rule(at=st.integers(0, 9))
    def take_out(self, at: int) -> None:
        self._each(at, lambda c, i: changes.take_out(c, [i]))

    @rule(at=st.integers(0, 9))
    def fail(self, at: int) -> None:
        """A transaction that fails leaves no trace in the index either."""
        with suppress(ZeroDivisionError), self.store.write() as c:
            for image in sorted(self.store.ids())[: at + 1]:
                tag_tables.put_sources(c, "user", [(image, "never")])
            refresh_written(c, put_documents)
            raise ZeroDivisionError
        assert word_index.find_word(self.store, "tags", ["never"], beginnings=False).tolist() == []

    def _each(self, at: int, change) -> None:  # type: ignore[no-untyped-def]
        ids = sorted(self.store.ids())
        if ids:
            with self.store.write() as c:
                change(c, ids[at % len(ids)])

    @invariant()
    def is_what_the_tables_say(self) -> None:
        assert word_index.loose_words(self.store) == []
        before = index_of(self.store)
        with self.store.write() as c:
            c.execute("DELETE FROM written")
            c.execute("INSERT INTO written_stale SELECT id FROM images")
        assert index_of(self.store) == before

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.home, ignore_errors=True)


Index.TestCase.settings = settings(
    max_examples=25, stateful_step_count=20, deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
TestIndex = Index.TestCase


def test_a_catalog_of_before_gets_its_index(tmp_path: Path) -> None:
    number = next(i for i, text in enumerate(MIGRATIONS) if "CREATE VIRTUAL TABLE written" in text)
    path = tmp_path / "catalog.sqlite"
    with closing(sqlite3.connect(path)) as c:
        for text in MIGRATIONS[:number]:
            c.executescript(text)
        # More than one chunk of them.
        for i in range(1, 701):
            c.execute(
                "INSERT INTO images (hash, format, width, height, n_bytes) VALUES (?, '', 1, 1, 1)",
                (i.to_bytes(20, "big"),),
            )
            c.execute("INSERT INTO files VALUES (?, '/p', 1, 1, ?, NULL)", (f"/p/cat{i}.jpg", i))
        c.execute("INSERT INTO tags VALUES (7, 'old garden', 'user')")
        c.execute(f"PRAGMA user_version = {number}")
        c.commit()
    for _ in range(2):
        store = Store.open(path)
        assert word_index.loose_words(store) == []
        assert word_index.find_word(store, "files", ["cat"], beginnings=False).tolist() == [
            *range(1, 701)
        ]
        assert word_index.find_word(store, "tags", ["GARDEN"], beginnings=False).tolist() == [7]
        store.close()


def test_a_python_without_full_text_search_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from likewise.catalog import sqlite_catalog

    lacking = tuple(text.replace("USING fts5", "USING no_fts5") for text in MIGRATIONS)
    monkeypatch.setattr(sqlite_catalog, "MIGRATIONS", lacking)
    with pytest.raises(CollectionError, match="built without FTS5"):
        Store.create(tmp_path / "catalog.sqlite", {})


@pytest.mark.parametrize(
    "word",
    ['"', '""', "garden OR red", "NEAR(a b)", "tags : garden", "*", "a*", "-a", "^a", "(", "')--",
     "'; DROP TABLE images; --", "{tags}", "AND", "NOT", "\\", "%", "\U0001d524arden", "🙂"],
)  # fmt: skip
@pytest.mark.parametrize("beginnings", [False, True])
def test_operators_are_data(tmp_path: Path, word: str, beginnings: bool) -> None:
    with Collection.open(copied(tmp_path)) as col:
        store = store_of(col)
        for field in FIELDS:
            found = word_index.find_word(store, field, [word], beginnings=beginnings)
            assert found.tolist() == []
        assert len(col) == 33


def test_accents_case_and_the_field_count(tmp_path: Path) -> None:
    with Collection.open(copied(tmp_path)) as col:
        col.tag(1, "Crème Brûlée")
        store = store_of(col)
        for word in ("creme", "BRULEE", "brûlée"):
            assert word_index.find_word(store, "tags", [word], beginnings=False).tolist() == [1]
        assert word_index.find_word(store, "files", ["creme"], beginnings=False).tolist() == []
        assert word_index.find_word(store, "tags", ["bru"], beginnings=True).tolist() == [1]
        assert word_index.find_word(store, "tags", ["bru"], beginnings=False).tolist() == []


def test_the_camera_is_read_from_a_picture(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x010F], exif[0x0110] = "Canon\0 ", "Canon EOS\n5D"
    path = tmp_path / "p" / "one.jpg"
    path.parent.mkdir()
    pixels = np.random.default_rng(0).integers(0, 255, (40, 60, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path, exif=exif)
    assert probe(path).camera == "Canon EOS 5D"
    with Collection.create(tmp_path / "c.lw", words={"n_words": 10}, deep=False) as col:
        col.add(path.parent, workers=0)
        hit = col.search(text="eos")[0]
        assert [str(reason) for reason in hit.reasons] == ["camera Canon EOS 5D"]
        col.remove(hit.id)
        assert col.search(text="eos") == []
        assert col.verify() == []


def test_verify_finds_an_index_that_says_otherwise(tmp_path: Path) -> None:
    with Collection.open(copied(tmp_path)) as col:
        assert col.verify() == []
        with store_of(col).write() as c:
            c.execute("UPDATE written SET tags = 'made up' WHERE rowid = 3")
        assert col.verify() == [
            "words: picture 3 is not in the index of words as it is written about"
        ]
