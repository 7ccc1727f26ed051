"""Sidecars of other programs: what is theirs stays; an export that is killed; links that dangle."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

from likewise.catalog.jobs import lease
from likewise.collection.collection import Collection
from likewise.errors import CollectionBusy
from likewise.library import sidecars, xmp
from tests.product.collection.tag_cases import inside, picture
from tests.product.collection.test_tags_files import DC, RDF, saved, subjects

HEAD = (
    "<x:xmpmeta xmlns:x='adobe:ns:meta/'>"
    "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>"
)
TAIL = "</rdf:RDF></x:xmpmeta>"
NAMES = (
    "xmlns:dc='http://purl.org/dc/elements/1.1/' xmlns:xmpMM='http://ns.adobe.com/xap/1.0/mm/' "
    "xmlns:e='urn:e'"
)
PANTRY = (
    "<xmpMM:Pantry><rdf:Bag><rdf:li><rdf:Description xmpMM:InstanceID='i'>"
    "<dc:subject><rdf:Bag><rdf:li>of another</rdf:li></rdf:Bag></dc:subject>"
    "</rdf:Description></rdf:li></rdf:Bag></xmpMM:Pantry>"
)


def packet(inner: str, attributes: str = "", first: str = "") -> bytes:
    about = f"<rdf:Description rdf:about='' {NAMES} {attributes}>"
    return f"{first}{HEAD}{about}{inner}</rdf:Description>{TAIL}".encode()


def own(content: bytes) -> list[str]:
    """Keywords of the picture itself, by the tree of the standard library."""
    tree = ElementTree.fromstring(content)
    found = tree.findall(f".//{RDF}RDF/{RDF}Description/{DC}subject")
    return [li.text or "" for subject in found for li in subject.iter(f"{RDF}li")]


def by_exiv2(content: bytes, folder: Path) -> list[str]:
    """The keywords as Exiv2 reads them, where it is there."""
    pyexiv2 = pytest.importorskip("pyexiv2")
    path = folder / "asked.xmp"
    path.write_bytes(content)
    with pyexiv2.Image(str(path)) as image:
        said = image.read_xmp().get("Xmp.dc.subject", [])
    return list(said)


# -- packets --------------------------------------------------------------------------------


def test_keywords_of_ingredients_are_not_touched() -> None:
    plain = "<dc:subject><rdf:Bag><rdf:li>sea</rdf:li></rdf:Bag></dc:subject>"
    for inner in (PANTRY, PANTRY + plain, plain + PANTRY):
        content = packet(inner)
        assert xmp.keywords(content) == (["sea"] if plain in inner else [])
        merged = xmp.merge_keywords(content, ["new"])
        assert PANTRY.encode() in merged
        assert own(merged) == ["new"]
        assert xmp.keywords(xmp.merge_keywords(merged, [])) == []
        assert PANTRY.encode() in xmp.merge_keywords(merged, [])
    # Anywhere else but below a description below rdf:RDF it is not the picture's.
    for stray in (
        packet(f"<e:part><rdf:Description>{plain}</rdf:Description></e:part>"),
        packet(f"<e:part rdf:parseType='Resource'>{plain}</e:part>"),
        f"{HEAD}<e:Kind {NAMES}>{plain}</e:Kind>{TAIL}".encode(),
        f"<a {NAMES} xmlns:rdf='urn:no'>{plain}</a>".encode(),
    ):
        assert xmp.keywords(stray) == []


def test_keywords_in_short_form() -> None:
    content = packet(
        "<e:x/>", "e:note=' dc:subject=\"no\" ' dc:subject = 'sea, sun &amp; sand' e:y=\"1\""
    )
    assert xmp.keywords(content) == ["sea", "sun & sand"]
    merged = xmp.merge_keywords(content, ["sea", "new"])
    assert own(merged) == ["sea", "new"]
    assert merged.count(b"dc:subject") == 3  # a part of the note, and a new element
    assert b'e:note=\' dc:subject="no" \' e:y="1"' in merged
    gone = xmp.merge_keywords(content, [])
    assert xmp.keywords(gone) == []
    assert gone == content.replace(b" dc:subject = 'sea, sun &amp; sand'", b"")
    # Both forms at once, under a prefix of one's own.
    both = packet(
        "<d:subject><rdf:Bag><rdf:li>b</rdf:li></rdf:Bag></d:subject>",
        "d:subject='a' xmlns:d='http://purl.org/dc/elements/1.1/'",
    )
    assert xmp.keywords(both) == ["a", "b"]
    merged = xmp.merge_keywords(both, ["only"])
    assert own(merged) == ["only"]
    assert b"d:subject='a'" not in merged


@pytest.mark.parametrize("name", ["ISO-8859-1", "windows-1252", "US-ASCII", "iso-8859-15"])
def test_declared_encodings_are_kept(name: str) -> None:
    first = f"<?xml version='1.0' encoding='{name}'?>"
    narrow = "" if name == "US-ASCII" else "Zürich"
    content = packet(f"<e:title>{narrow}</e:title>", first=first).decode().encode(name)
    merged = xmp.merge_keywords(content, ["é", "日本", "plain"])
    # The reader of the standard library goes by what is declared.
    assert own(merged) == xmp.keywords(merged) == ["é", "日本", "plain"]
    at = content.index(b"</rdf:RDF>")
    assert merged.startswith(content[:at])
    assert merged.endswith(content[at:])
    assert xmp.merge_keywords(merged, []).startswith(content[:at])


def test_unknown_encodings_are_refused() -> None:
    for name in ("EUC-JP", "no-such", "utf-7", "UTF-16"):
        content = packet("", first=f"<?xml version='1.0' encoding='{name}'?>")
        with pytest.raises(xmp.UnusableXmp, match=name):
            xmp.merge_keywords(content, ["é"])
    assert xmp.keywords(packet("", first="<?xml version='1.0' encoding='utf-8'?>")) == []


def test_keywords_with_qualifiers_are_read_and_left_alone() -> None:
    content = packet(
        "<dc:subject><rdf:Bag><rdf:li rdf:parseType='Resource'><rdf:value>sea</rdf:value>"
        "<e:who>me</e:who></rdf:li><rdf:li>boat</rdf:li></rdf:Bag></dc:subject>"
    )
    assert xmp.keywords(content) == ["sea", "boat"]
    assert xmp.merge_keywords(content, ["sea", "boat"]) == content
    with pytest.raises(xmp.UnusableXmp, match="qualifiers"):
        xmp.merge_keywords(content, ["sea"])


def test_a_packet_of_many_places_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    one = "<dc:subject/>"
    assert xmp.keywords(packet(one * xmp.MAX_PLACES)) == []
    assert own(xmp.merge_keywords(packet(one * 900), ["a"])) == ["a"]
    with pytest.raises(xmp.UnusableXmp, match="places"):
        xmp.keywords(packet(one * (xmp.MAX_PLACES + 1)))


def test_another_reader_agrees(tmp_path: Path) -> None:
    narrow = "<?xml version='1.0' encoding='ISO-8859-1'?>"
    closed = f"{HEAD[:-1]}/></x:xmpmeta>".encode()
    for content in (
        packet(PANTRY),
        packet("", "dc:subject='a, b'"),
        packet("<e:x/>", first=narrow),
        closed,
    ):
        assert by_exiv2(xmp.merge_keywords(content, ["sea", "é"]), tmp_path) == ["sea", "é"]


# -- files ----------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures"
    folder.mkdir()
    for number in range(4):
        shutil.copy(inside("blue", number), folder / f"{number}.png")
    return folder


@pytest.fixture
def col(tmp_path: Path, home: Path) -> Iterator[Collection]:
    with Collection.create(tmp_path / "c.lw", words={"n_words": 5}, deep=False) as made:
        made.add(home, workers=0)
        yield made
        assert made.verify() == []


def late_png(path: Path, words: list[str]) -> None:
    """A PNG with its XMP behind the pixels, as some programs append it."""
    import struct
    import zlib

    Image.fromarray(picture("green", 70)).save(path)
    whole = path.read_bytes()
    body = b"XML:com.adobe.xmp\0\0\0\0\0" + xmp.new_packet(words)
    chunk = b"iTXt" + body
    made = struct.pack(">I", len(body)) + chunk + struct.pack(">I", zlib.crc32(chunk))
    end = whole.rindex(b"IEND") - 4
    path.write_bytes(whole[:end] + made + whole[end:])


def test_reading_again_keeps_keywords_behind_the_pixels(col: Collection, home: Path) -> None:
    late_png(home / "late.png", ["sea"])
    (home / "one.jpg").write_bytes(saved("JPEG", xmp=xmp.new_packet(["inside"])))
    (home / "one.jpg.xmp").write_bytes(xmp.new_packet(["inside", "beside"]))
    col.sync(workers=0)
    assert col.tags.sources(home / "late.png") == {"sea": ["xmp"]}
    found = col.tags.read_files()
    assert col.tags.sources(home / "late.png") == {"sea": ["xmp"]}
    # Each keyword of a picture counts once, however many say it.
    assert (found.pictures, found.tags, found.problems) == (2, 3, [])


def test_one_dangling_link_hides_no_sidecar(col: Collection, home: Path) -> None:
    (home / "0.png.xmp").write_bytes(xmp.new_packet(["sea"]))
    os.symlink(home / "nowhere", home / "1.png.xmp")
    os.symlink(home / "round.xmp", home / "round.xmp")
    col.sync(workers=0)
    assert col.tags.of(home / "0.png") == ["sea"]
    (home / "0.png.xmp").unlink()
    col.sync(workers=0)
    assert col.tags.of(home / "0.png") == []


def test_our_words_in_a_broken_sidecar_stay_ours(col: Collection, home: Path) -> None:
    col.tag(home / "0.png", "mine")
    col.tags.export_xmp()
    whole = (home / "0.png.xmp").read_bytes()
    (home / "0.png.xmp").write_bytes(whole[:100])
    col.sync(workers=0)
    assert col.tags.sources(home / "0.png") == {"mine": ["user"]}
    (home / "0.png.xmp").write_bytes(whole)
    col.sync(workers=0)
    assert col.tags.sources(home / "0.png") == {"mine": ["user"]}


def test_export_keeps_others_out(col: Collection) -> None:
    with lease(col.root, "other"), pytest.raises(CollectionBusy):
        col.tags.export_xmp()


def ready(col: Collection, home: Path) -> dict[Path, list[str]]:
    """Two with sidecars of others, two without, one of ours that is to change."""
    for number in (0, 1):
        (home / f"{number}.png.xmp").write_bytes(xmp.new_packet([f"theirs {number}"]))
    col.tag(home / "2.png", "old")
    col.sync(workers=0)
    col.tags.export_xmp()
    for number in range(4):
        col.tag(home / f"{number}.png", f"mine {number}")
    col.untag(home / "2.png", "old")
    return {
        home / f"{i}.png.xmp": [*([f"theirs {i}"] if i < 2 else []), f"mine {i}"] for i in range(4)
    }


def check_after(col: Collection, home: Path, wanted: dict[Path, list[str]]) -> None:
    """Whatever was written, our words are nobody else's; and the next export ends it."""
    col.sync(workers=0)
    for number in range(4):
        said = col.tags.sources(home / f"{number}.png")
        assert said.pop(f"mine {number}") == ["user"]
        assert said == ({f"theirs {number}": ["sidecar"]} if number < 2 else {})
    col.tags.export_xmp()
    assert {path: subjects(path) for path in wanted} == wanted
    assert col.tags.export_xmp().written == 0
    for number in range(4):
        col.untag(home / f"{number}.png", f"mine {number}")
    col.tags.export_xmp()
    assert [subjects(home / f"{i}.png.xmp") for i in range(4)] == [
        ["theirs 0"],
        ["theirs 1"],
        [],
        [],
    ]


@pytest.mark.parametrize("at", range(5))
@pytest.mark.parametrize("synced", [True, False])
def test_an_export_that_is_stopped_anywhere(
    col: Collection, home: Path, monkeypatch: pytest.MonkeyPatch, at: int, synced: bool
) -> None:
    wanted = ready(col, home)
    plain, done = sidecars._replace, 0

    def stops(*some: object) -> None:
        nonlocal done
        if done == at:
            raise KeyboardInterrupt
        plain(*some)  # type: ignore[arg-type]
        done += 1

    monkeypatch.setattr(sidecars, "_replace", stops)
    if at < 4:
        with pytest.raises(KeyboardInterrupt):
            col.tags.export_xmp()
    else:
        col.tags.export_xmp()
    monkeypatch.undo()
    if not synced:
        col.tags.export_xmp()
    check_after(col, home, wanted)


KILLED = """
import os, signal, sys
from likewise.library import sidecars
from likewise.collection.collection import Collection
plain, done = sidecars._replace, 0
def dies(*some):
    global done
    plain(*some)
    done += 1
    if done == 2:
        os.kill(os.getpid(), signal.SIGKILL)
sidecars._replace = dies
with Collection.open(sys.argv[1]) as col:
    col.tags.export_xmp()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kills by a signal of POSIX")
def test_an_export_that_is_killed(col: Collection, home: Path) -> None:
    wanted = ready(col, home)
    done = subprocess.run([sys.executable, "-c", KILLED, str(col.root)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert sum("mine" in "".join(subjects(p)) for p in wanted if p.exists()) == 2
    check_after(col, home, wanted)


def test_a_sidecar_that_cannot_be_written_leaves_what_was_known(
    col: Collection, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    col.tag(home / "0.png", "sea")

    def busy(*_: object) -> None:
        raise OSError(None, "another program has just created it; try again")

    monkeypatch.setattr(sidecars, "_replace", busy)
    assert len(col.tags.export_xmp().problems) == 1
    monkeypatch.undo()
    # That other program says the same word: it is theirs.
    (home / "0.png.xmp").write_bytes(xmp.new_packet(["sea"]))
    col.sync(workers=0)
    assert col.tags.sources(home / "0.png") == {"sea": ["user", "sidecar"]}
