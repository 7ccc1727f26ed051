"""Tags in and out of files: XMP, IPTC, sidecars, folders, CSV, JSON; hostile and broken ones."""

from __future__ import annotations

import io
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from likewise.collection.collection import Collection
from likewise.errors import CollectionError, InvalidInput
from likewise.images import decode as images
from likewise.library import embedded, xmp
from likewise.library.embedded import embedded_keywords
from likewise.library.folder_tags import folder_names
from tests.product.collection.tag_cases import copied, inside, picture
from tests.product.private import store_of

RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
DC = "{http://purl.org/dc/elements/1.1/}"
THEIRS = b"""<?xpacket begin='' id='W5M0MpCehiHzreSzNTczkc9d'?>
<!-- made by somebody else -->
<x:xmpmeta xmlns:x='adobe:ns:meta/'><r:RDF xmlns:r='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>
 <r:Description r:about='uuid:1' xmlns:xmp='http://ns.adobe.com/xap/1.0/' xmp:Rating='4'
   xmlns:d='http://purl.org/dc/elements/1.1/'>
  <d:subject><r:Bag><r:li>sea &amp; sand</r:li><r:li>boat</r:li></r:Bag></d:subject>
  <d:title><r:Alt><r:li xml:lang='x-default'>A title, with &lt;signs&gt;</r:li></r:Alt></d:title>
 </r:Description>
</r:RDF></x:xmpmeta>
<?xpacket end='w'?>"""


def subjects(packet: bytes | Path) -> list[str]:
    """The keywords by another reader: the tree of the standard library."""
    content = packet.read_bytes() if isinstance(packet, Path) else packet
    root = ElementTree.fromstring(content)
    return [
        li.text or "" for subject in root.iter(f"{DC}subject") for li in subject.iter(f"{RDF}li")
    ]


def saved(format_: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(picture("red", 50)).save(buffer, format_, **options)
    return buffer.getvalue()


def with_iptc(words: list[bytes]) -> bytes:
    """A JPEG with an IPTC block, as Photoshop puts it there."""
    block = b"".join(bytes([28, 2, 25]) + len(w).to_bytes(2, "big") + w for w in words)
    block += b"\0" * (len(block) % 2)
    resource = b"8BIM\x04\x04\0\0" + len(block).to_bytes(4, "big") + block
    segment = b"Photoshop 3.0\0" + resource
    jpeg = saved("JPEG")
    return jpeg[:2] + b"\xff\xed" + (len(segment) + 2).to_bytes(2, "big") + segment + jpeg[2:]


# -- packets --------------------------------------------------------------------------------


def test_packets_are_read_from_every_format() -> None:
    packet = xmp.new_packet(["sea", "two words"])
    text = PngImagePlugin.PngInfo()
    text.add_itxt("XML:com.adobe.xmp", packet.decode())
    made = {
        "JPEG": saved("JPEG", xmp=packet),
        "WEBP": saved("WEBP", xmp=packet),
        "PNG": saved("PNG", pnginfo=text),
        "TIFF": saved("TIFF", tiffinfo={700: packet}),
        "AVIF": saved("AVIF", xmp=packet),
    }
    for name, content in made.items():
        assert embedded_keywords(images.decode(content).embedded) == (
            {"xmp": ["sea", "two words"]},
            None,
        )
        assert images.embedded_metadata(content) == images.decode(content).embedded, name
    for content in (
        with_iptc([b"sea", "Zürich".encode(), "Zürich".encode("cp1252"), b"sea", b""]),
        saved("TIFF", tiffinfo={33723: bytes([28, 2, 25, 0, 3]) + b"sea"}),
    ):
        found = embedded.iptc_keywords(images.decode(content).embedded.iptc)
        assert found in (["sea", "Zürich"], ["sea"])
    assert embedded_keywords(images.decode(saved("BMP")).embedded) == ({}, None)


@pytest.mark.parametrize("cut", range(0, 40, 3))
def test_broken_iptc_is_read_as_far_as_it_goes(cut: int) -> None:
    block = b"".join(bytes([28, 2, 25, 0, 4]) + w for w in (b"one ", b"two ", b"long"))
    assert set(embedded.iptc_keywords(block[:cut])) <= {"one", "two", "long"}
    assert embedded.iptc_keywords(bytes([28, 2, 25, 0x80, 9]) + block) == []
    assert embedded.iptc_keywords(bytes([28, 2, 25, 0x80, 2, 0, 3]) + b"sea") == ["sea"]


HOSTILE = {
    "entities": b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><x>&b;</x>',
    "outside": b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><x/>',
    "deep": b"<a>" * 5000 + b"</a>" * 5000,
    "no xml": b"hello",
    "empty": b"",
    "cut": THEIRS[:300],
    "utf-16 entities": '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]><x/>'.encode("utf-16"),
    "no text": b"\xff\xfe\x00\xd8",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_packets_are_refused(name: str) -> None:
    with pytest.raises(xmp.UnusableXmp):
        xmp.keywords(HOSTILE[name])
    with pytest.raises(xmp.UnusableXmp):
        xmp.merge_keywords(HOSTILE[name], ["a"])


def test_limits_of_packets(monkeypatch: pytest.MonkeyPatch) -> None:
    packet = xmp.new_packet(["sea"])
    monkeypatch.setattr(xmp, "MAX_BYTES", 10)
    with pytest.raises(xmp.UnusableXmp, match="bytes"):
        xmp.keywords(packet)
    monkeypatch.undo()
    monkeypatch.setattr(xmp, "MAX_KEYWORDS", 2)
    with pytest.raises(xmp.UnusableXmp, match="keywords"):
        xmp.keywords(xmp.new_packet(["a", "b", "c"]))


def test_round_trip_with_an_independent_reader() -> None:
    words = ["sea & sand", "<b>", 'quo"te', "Zürich", "日本", "a]]>b"]
    for packet in (
        xmp.new_packet(words),
        xmp.merge_keywords(THEIRS, words),
        xmp.merge_keywords(xmp.new_packet([]), words),
    ):
        assert subjects(packet) == words
        assert xmp.keywords(packet) == words
    jpeg = saved("JPEG", xmp=xmp.new_packet(words))
    with Image.open(io.BytesIO(jpeg)) as opened:
        assert subjects(opened.info["xmp"]) == words


def test_a_merge_touches_nothing_else() -> None:
    merged = xmp.merge_keywords(THEIRS, ["sea & sand", "boat", "new"])
    start, end = THEIRS.index(b"<d:subject>"), THEIRS.index(b"</d:subject>") + len(b"</d:subject>")
    assert merged.startswith(THEIRS[:start])
    assert merged.endswith(THEIRS[end:])
    assert xmp.merge_keywords(THEIRS, ["sea & sand", "boat"]) == THEIRS
    none = xmp.merge_keywords(THEIRS, [])
    assert none == THEIRS[:start] + THEIRS[end:]
    # Into a packet without keywords, under the same subject as the rest.
    again = xmp.merge_keywords(none, ["x"])
    assert subjects(again) == ["x"]
    assert b'rdf:about="uuid:1"' in again
    for odd in (
        THEIRS.replace(THEIRS[start:end], b"<d:subject/>"),
        THEIRS.replace(THEIRS[start:end], b"<d:subject e='a>b' xmlns:e='e'/>"),
        THEIRS.replace(THEIRS[start:end], b"<d:subject>one, two</d:subject>"),
        THEIRS.replace(THEIRS[start:end], THEIRS[start:end] * 2),
    ):
        assert subjects(xmp.merge_keywords(odd, ["only"])) == ["only"]
    for encoding in ("utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be"):
        wide = xmp.merge_keywords(THEIRS.decode().encode(encoding), ["é"])
        assert wide.decode(encoding) == xmp.merge_keywords(THEIRS, ["é"]).decode()
    with pytest.raises(xmp.UnusableXmp, match="RDF"):
        xmp.merge_keywords(b"<x/>", ["a"])
    closed = b"<x><r:RDF xmlns:r='http://www.w3.org/1999/02/22-rdf-syntax-ns#'/></x>"
    assert subjects(opened := xmp.merge_keywords(closed, ["a"])) == ["a"]
    assert opened.startswith(closed[:-6] + b"><")
    assert opened.endswith(b"</r:RDF></x>")
    assert xmp.merge_keywords(closed, []) == closed


# -- pictures and sidecars ------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures"
    (folder / "animals" / "cats").mkdir(parents=True)
    (folder / "DCIM").mkdir()
    (folder / "one.jpg").write_bytes(saved("JPEG", xmp=xmp.new_packet(["inside"])))
    (folder / "two.jpg").write_bytes(with_iptc([b"press"]))
    shutil.copy(inside("blue", 0), folder / "animals" / "cats" / "tom.png")
    shutil.copy(inside("blue", 1), folder / "DCIM" / "1.png")
    (folder / "animals" / "cats" / "tom.xmp").write_bytes(THEIRS)
    return folder


@pytest.fixture
def col(tmp_path: Path, home: Path) -> Iterator[Collection]:
    with Collection.create(tmp_path / "c.lw", words={"n_words": 5}, deep=False) as made:
        result = made.add(home, workers=0)
        assert (result.added, result.remarks) == (4, [])
        yield made
        assert made.verify() == []


def test_keywords_are_there_after_add(col: Collection, home: Path) -> None:
    assert col.tags.sources(home / "one.jpg") == {"inside": ["xmp"]}
    assert col.tags.sources(home / "two.jpg") == {"press": ["iptc"]}
    tom = home / "animals" / "cats" / "tom.png"
    assert col.tags.sources(tom) == {"boat": ["sidecar"], "sea & sand": ["sidecar"]}
    # A person says no; the next sync reads the sidecar again, and the person still counts.
    col.tags.reject(tom, "boat")
    (home / "animals" / "cats" / "tom.xmp").write_bytes(xmp.merge_keywords(THEIRS, ["boat", "fur"]))
    (home / "one.jpg.xmp").write_bytes(xmp.new_packet(["beside"]))
    col.sync(workers=0)
    assert col.tags.of(tom) == ["fur"]
    assert col.tags.of(home / "one.jpg") == ["beside", "inside"]
    (home / "one.jpg.xmp").unlink()
    col.sync(workers=0)
    assert col.tags.of(home / "one.jpg") == ["inside"]


def test_a_broken_sidecar_stops_nothing(col: Collection, home: Path) -> None:
    tom = home / "animals" / "cats" / "tom.png"
    for name, content in HOSTILE.items():
        (home / "animals" / "cats" / "tom.xmp").write_bytes(content)
        result = col.sync(workers=0)
        assert [path for path, _ in result.remarks] == [str(tom.with_suffix(".xmp"))], name
        assert "boat" in col.tags.of(tom)  # half a file takes nothing back
    bad = home / "bad.jpg"
    bad.write_bytes(saved("JPEG", xmp=HOSTILE["entities"]))
    result = col.sync(workers=0)
    assert result.added == 1
    assert any(path == str(bad) and "document type" in why for path, why in result.remarks)
    assert col.tags.of(bad) == []


def test_read_again_finds_what_was_there_before(col: Collection, home: Path) -> None:
    from likewise.catalog import tag_tables

    with store_of(col).write() as c:
        tag_tables.replace_source(c, "xmp", {col.id_of(home / "one.jpg"): []})
    assert col.tags.of(home / "one.jpg") == []
    found = col.tags.read_files()
    assert (found.pictures, found.problems) == (3, [])
    assert col.tags.of(home / "one.jpg") == ["inside"]
    os.rename(home, home.with_name("away"))  # a disk that is not plugged in
    assert len(col.tags.read_files().problems) == 4
    os.rename(home.with_name("away"), home)
    assert col.tags.of(home / "one.jpg") == ["inside"]
    assert "boat" in col.tags.of(home / "animals" / "cats" / "tom.png")


def test_folder_names_are_tags_when_asked(col: Collection, home: Path) -> None:
    assert not any("folder" in row.sources for row in col.tags.all())
    assert col.tags.from_folders() == 1
    tom = home / "animals" / "cats" / "tom.png"
    assert col.tags.sources(tom)["cats"] == ["folder"]
    assert col.tags.of(home / "DCIM" / "1.png") == []
    assert "pictures" not in {row.tag for row in col.tags.all()}
    assert col.tags.from_folders(2) == 1
    assert {"animals", "cats"} <= set(col.tags.of(tom))
    (home / "dogs").mkdir()
    os.rename(tom, home / "dogs" / "rex.png")
    col.sync(workers=0)
    assert {"dogs"} == set(col.tags.of(home / "dogs" / "rex.png"))
    assert col.tags.from_folders(None) == 1
    assert col.tags.of(home / "dogs" / "rex.png") == []
    with pytest.raises(InvalidInput, match="levels"):
        col.tags.from_folders(0)
    assert folder_names("/a/cats", {"/a/cats": True}, 1) == ["cats"]
    assert folder_names("/a/2024", {"/a": False}, 1) == []


# -- sidecars out ---------------------------------------------------------------------------


def test_export_beside_merges_and_comes_back(col: Collection, home: Path) -> None:
    tom = home / "animals" / "cats" / "tom.png"
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    col.tag(tom, "mine")
    col.tags.reject(tom, "boat")
    done = col.tags.export_xmp()
    assert (done.written, done.problems) == (3, [])
    # Never into the pictures.
    assert all(p.read_bytes() == b for p, b in before.items() if p.suffix != ".xmp")
    sidecar = tom.with_suffix(".xmp")
    assert subjects(sidecar) == ["sea & sand", "mine"]
    assert b"A title, with" in sidecar.read_bytes()
    assert subjects(home / "one.jpg.xmp") == ["inside"]
    assert not (home / "DCIM" / "1.png.xmp").exists()
    assert not list(home.rglob("*.part"))
    # What we wrote is not somebody else's word: taking it back takes it out of the file.
    col.sync(workers=0)
    assert col.tags.sources(tom) == {"mine": ["user"], "sea & sand": ["sidecar"]}
    assert col.tags.export_xmp().written == 0
    col.tags.undo(col.tags.log()[0].number)
    assert col.tags.export_xmp().written == 1
    assert subjects(sidecar) == ["sea & sand"]
    # Another collection reads them as anybody's.
    with Collection.create(home.parent / "d.lw", words={"n_words": 5}, deep=False) as other:
        other.add(home, workers=0)
        assert other.tags.sources(home / "one.jpg") == {"inside": ["sidecar", "xmp"]}


def test_export_to_a_folder_and_problems(col: Collection, home: Path, tmp_path: Path) -> None:
    target = tmp_path / "out"
    (target / "animals" / "cats").mkdir(parents=True)
    (target / "animals" / "cats" / "tom.png.xmp").write_bytes(b"not ours to touch")
    (target / "one.jpg.xmp").mkdir()
    done = col.tags.export_xmp(target)
    assert done.written == 1
    assert len(done.problems) == 2
    assert subjects(target / "two.jpg.xmp") == ["press"]
    assert (target / "animals" / "cats" / "tom.png.xmp").read_bytes() == b"not ours to touch"
    with pytest.raises(CollectionError, match="is a file"):
        col.tags.export_xmp(home / "one.jpg")


def test_export_leaves_suggestions_out(tmp_path: Path) -> None:
    from tests.product.collection.tag_cases import tag_some

    with Collection.open(copied(tmp_path)) as col:
        tag_some(col)
        col.tags.suggest_for_all(above=0.6)
        plain = col.tags.export_xmp(tmp_path / "plain")
        more = col.tags.export_xmp(tmp_path / "more", suggested=True)
        assert plain.written == 24
        assert more.written > plain.written


def test_two_pictures_of_one_name_share_no_sidecar(col: Collection, home: Path) -> None:
    shutil.copy(inside("green", 0), home / "one.png")
    (home / "one.xmp").write_bytes(THEIRS)
    col.sync(workers=0)
    assert "boat" in col.tags.of(home / "one.png")
    col.tag(home / "one.png", "png")
    col.tag(home / "one.jpg", "jpg")
    col.tags.export_xmp()
    assert (home / "one.xmp").read_bytes() == THEIRS
    assert "png" in subjects(home / "one.png.xmp")
    assert "jpg" in subjects(home / "one.jpg.xmp")


# -- CSV and JSON ---------------------------------------------------------------------------

GOOD = {
    "a.csv": "path,tag\none.jpg,sea\none.jpg,boat\n",
    "b.csv": "one.jpg;sea;boat\n",
    "c.csv": "\ufefffile\tkeywords\none.jpg\tsea; boat\n",
    "d.csv": 'path,tags\n"one.jpg","[""sea"", ""boat""]"\n',
    "e.csv": "id,tags\n1,sea|boat\n",
    "f.json": '{"one.jpg": ["sea", "boat"]}',
    "g.json": '[{"path": "one.jpg", "tags": ["sea"]}, {"path": "one.jpg", "tags": "boat"}]',
    "h.json": '{"pictures/one.jpg": "sea; boat"}',
    "i.txt": "one.jpg | sea | boat\n",
}


@pytest.mark.parametrize("name", GOOD)
def test_import_is_forgiving(
    col: Collection, home: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    if name.startswith("e"):
        GOOD[name] = f"id,tags\n{col.id_of(home / 'one.jpg')},sea|boat\n"
    (tmp_path / name).write_text(GOOD[name], encoding="utf-8")
    done = col.tags.import_file(tmp_path / name)
    assert (done.pictures, done.tags, done.unknown) == (1, 2, [])
    assert set(col.tags.of(home / "one.jpg")) == {"inside", "sea", "boat"}
    col.tags.import_file(tmp_path / name)
    assert col.tags.sources(home / "one.jpg")["sea"] == ["file"]


BAD = {
    "a.csv": ("path,tag\none.jpg,sea\n,boat\n", "line 3: it names no picture"),
    "b.csv": ("one.jpg\n", "line 1: one column"),
    "c.csv": ("path,tag\none.jpg," + "x" * 300, "line 2: the tag"),
    "d.json": ('{"one.jpg": ["sea",}', "line 1: no JSON"),
    "e.json": ("3", "expected"),
    "f.json": ("[3]", "entry 1"),
    "g.json": ('[{"tags": ["a"]}]', 'entry 1: no "path"'),
    "h.json": ('{"one.jpg": 3}', "a list of names"),
    "i.csv": ("id,tag\nabc,sea\n", "line 2: 'abc' is no id"),
    "j.json": ("[" * 100_000, "JSON|deeply"),
}


@pytest.mark.parametrize("name", BAD)
def test_import_says_where_it_is_wrong(col: Collection, tmp_path: Path, name: str) -> None:
    text, message = BAD[name]
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInput, match=message):
        col.tags.import_file(tmp_path / name)
    assert not any("file" in row.sources for row in col.tags.all())


def test_import_lists_unknown_pictures_and_keeps_refusals(
    col: Collection, home: Path, tmp_path: Path
) -> None:
    (home / "b").mkdir()
    shutil.copy(inside("red", 0), home / "b" / "same.png")
    shutil.copy(inside("red", 1), home / "same.png")
    col.sync(workers=0)
    col.tags.reject(home / "one.jpg", "no")
    file = tmp_path / "tags.json"
    said = {"one.jpg": ["no", "yes"], "gone.jpg": ["a"], "same.png": ["b"], "b/same.png": ["c"]}
    file.write_text(json.dumps(said))
    done = col.tags.import_file(file)
    assert (done.pictures, done.refused) == (2, 1)
    assert [where for where, _ in done.unknown] == ["entry 'gone.jpg'", "entry 'same.png'"]
    assert "2 pictures" in done.unknown[1][1]
    assert col.tags.of(home / "b" / "same.png") == ["c"]
    assert col.tags.of(home / "one.jpg") == ["inside", "yes"]
    file.write_text(json.dumps({"one.jpg": ["other"]}))
    col.tags.import_file(file, replace=True)
    assert col.tags.of(home / "one.jpg") == ["inside", "other"]
    latin = tmp_path / "latin.csv"
    latin.write_bytes("path,tag\none.jpg,sea\none.jpg,Z\xfcrich\n".encode("latin-1"))
    with pytest.raises(InvalidInput, match="line 3: not UTF-8"):
        col.tags.import_file(latin)
    with pytest.raises(CollectionError, match="cannot be read"):
        col.tags.import_file(tmp_path / "nothing.csv")


def test_random_packets_never_crash() -> None:
    rng = np.random.default_rng(0)
    whole = np.frombuffer(THEIRS, np.uint8)
    for _ in range(300):
        broken = whole.copy()
        at = rng.integers(0, len(broken), 3)
        broken[at] = rng.integers(0, 256, 3)
        content = broken.tobytes()
        try:
            merged = xmp.merge_keywords(content, ["a", "b"])
        except xmp.UnusableXmp:
            continue
        assert subjects(merged) == ["a", "b"]
