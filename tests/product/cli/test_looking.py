"""Commands that read a collection: info, search, duplicates, export, verify, problems."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

from likewise.collection.collection import Collection
from tests.product.cli.process import Likewise


class Page(HTMLParser):
    """Tags of a page, and whether they were closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]

    def pictures(self) -> list[bytes]:
        """Every embedded picture; nothing may come from anywhere else."""
        sources = [a.get("src") for a in self.all("img")]
        sources += [a.get("href") for a in self.all("image")]
        found = []
        for source in sources:
            assert source is not None
            head, _, text = source.partition(",")
            assert head == "data:image/jpeg;base64"
            found.append(base64.b64decode(text, validate=True))
        return found


def check_pictures(page: Page, at_least: int) -> None:
    from PIL import Image

    from likewise.images.decode import decode

    pictures = page.pictures()
    assert len(pictures) >= at_least
    for content in pictures:
        assert max(decode(content).pixels.shape) > 100
        assert not Image.open(io.BytesIO(content)).getexif()
        assert b"http://" not in content


def test_info(built: Likewise) -> None:
    said = built.json("info")
    assert said["pictures"] == 12
    assert said["default"] == "both"
    assert said["spaces"]["words"]["generation"] == 1
    text = built("info", "-C", built.folder / "photos.lw").stdout
    assert "12 pictures" in text
    assert str(built.pictures) in text


def test_info_says_what_a_space_still_needs(empty: Likewise) -> None:
    with Collection.create(empty.folder / "photos.lw", deep=False) as col:
        col.spaces.add("given", {"feature": "own"})
        col.spaces.add("fit", {"feature": "fitted", "source": "given", "first": 300})
    assert "  fit needs 300 pictures to start\n" in empty("info").stdout
    assert empty.json("info")["spaces"]["fit"]["learned_from"] == 300
    assert empty.json("info")["spaces"]["given"]["learned_from"] is None


def test_collection_from_the_environment(built: Likewise, tmp_path: Path) -> None:
    elsewhere = Likewise(tmp_path)
    done = elsewhere("problems", LIKEWISE_COLLECTION=str(built.folder / "photos.lw"))
    assert (done.returncode, done.stdout) == (0, "No problems.\n")
    absent = elsewhere("info")
    assert absent.returncode == 1
    assert absent.stderr.startswith("likewise: there is no collection here;")
    assert len(absent.stderr.splitlines()) == 1
    assert "not a collection" in elsewhere.refused("info", "-C", tmp_path)


def test_search_finds_the_other_view(built: Likewise) -> None:
    said = built.json("search", "pictures/china-01-crop.jpg", "-k", 3)
    assert said["by"] == "both"
    assert len(said["hits"]) == 3
    first = said["hits"][0]
    assert Path(first["path"]).name == "china-00-original.jpg"
    # The same by id, in text.
    by_id = built("search", first["id"], "-k", 1, "--by", "words").stdout
    assert "china-01-crop.jpg" in by_id
    assert len(by_id.splitlines()) == 2


def test_search_filters(built: Likewise) -> None:
    here = built.json("search", "pictures/china-01-crop.jpg", "--where", "folder=pictures")
    assert len(here["hits"]) == 11
    none = built(
        "search", "pictures/china-01-crop.jpg", "--where", "format=png", "--where", "after=2001"
    )
    assert none.stdout == "No hits.\n"
    high = built.json("search", "pictures/china-01-crop.jpg", "--by", "holistic", "--above", 0.999)
    assert high["hits"] == []


def test_search_with_several_pictures_and_by_colour(built: Likewise) -> None:
    one, other = "pictures/china-00-original.jpg", "pictures/coffee-00-original.jpg"
    said = built.json("search", one, "--also", other, "-k", 2)
    found = [Path(hit["path"]).name for hit in said["hits"]]
    assert {name.split("-")[0] for name in found} == {"china", "coffee"}
    assert Path(one).name not in found
    assert Path(other).name not in found
    text = built("search", one, "--also", other, "-k", 2, "--by", "words").stdout
    assert len(text.splitlines()) == 2
    red = built.json("search", "--colour", "#a03010", "-k", 1)
    assert Path(red["hits"][0]["path"]).name.startswith("coffee")
    assert "#rrggbb" in built.refused("search", "--colour", "red")


def test_explain_and_sheet(built: Likewise, tmp_path: Path) -> None:
    out = tmp_path / "sheet.html"
    said = built.json("search", "pictures/coffee-01-crop.jpg", "-k", 4, "--explain", "--sheet", out)
    best = said["hits"][0]
    assert best["shared_words"] > 20
    assert len(best["words"]) == 10
    assert best["words"][0]["contribution"] >= best["words"][-1]["contribution"] > 0
    assert all(word["in_query"] and word["in_hit"] for word in best["words"])
    text = out.read_text()
    page = Page(text)
    # The query alone, the query for all pairs, and four hits.
    check_pictures(page, 6)
    assert len(page.all("circle")) > 40
    assert "script" not in {tag for tag, _ in page.tags}
    assert "prefers-color-scheme: dark" in text
    assert "coffee-00-original.jpg" in text
    # Rings lie on the drawing.
    boxes = [a["viewbox"] for a in page.all("svg") if a.get("viewbox")]
    assert len(boxes) == 4
    width = max(float(str(box).split()[2]) for box in boxes)
    for ring in page.all("circle"):
        assert -1 <= float(str(ring["cx"])) <= width + 1
        assert -1 <= float(str(ring["cy"])) <= 301


def test_an_explanation_counts_what_a_profile_learned(built: Likewise, tmp_path: Path) -> None:
    """The words that are said to matter add up to the score that ranked, for files and for ids."""
    from likewise.collection.collection import Collection

    shutil.copytree(built.folder / "photos.lw", tmp_path / "photos.lw")
    query = built.pictures / "coffee-01-crop.jpg"
    with Collection.open(tmp_path / "photos.lw") as col:
        col.profiles.create("taste", "words")
        number = col.id_of(query)
        plain = col.search(number, by="words")
        col.judge(number, [plain[1].id], [plain[0].id], profile="taste")
    unlearned = {hit.id: hit.score for hit in plain}
    for asked in (query, number):
        hits = Likewise(tmp_path).json("search", asked, "--by", "taste", "--explain")["hits"]
        # The disliked one comes last whatever its words, with the score of the one before it.
        *others, last = hits
        assert last["id"] == plain[0].id
        assert len(others) > 5
        for hit in others:
            assert hit["words_score"] == pytest.approx(hit["score"], abs=1e-5)
        assert any(abs(h["words_score"] - unlearned[h["id"]]) > 0.05 for h in others)


def test_places_of_a_region_are_those_of_the_file(built: Likewise) -> None:
    asked = ("search", built.pictures / "coffee-01-crop.jpg", "--by", "words", "--explain", "-k", 3)
    for hit in built.json(*asked, "--region", "90,60,150,120")["hits"]:
        for word in hit["words"]:
            for x, y in word["in_query"]:
                assert 90 <= x <= 240
                assert 60 <= y <= 180


def test_sheet_of_a_region_with_a_hostile_name(built: Likewise, tmp_path: Path) -> None:
    name = "<b onload=x>&'\".jpg"
    shutil.copy(built.pictures / "china-00-original.jpg", tmp_path / name)
    out = tmp_path / "sheet.html"
    done = built("search", tmp_path / name, "--region", "10,10,300,200", "--sheet", out, "-k", 2)
    assert done.returncode == 0, done.stderr
    assert f"Open {out}" in done.stdout
    text = out.read_text()
    page = Page(text)
    check_pictures(page, 3)
    assert len(page.all("rect")) == 2
    assert "onload" not in {key for _, attrs in page.tags for key in attrs}
    assert not page.all("b") or "<b onload" not in text


def test_search_refusals(built: Likewise, tmp_path: Path) -> None:
    picture = "pictures/china-01-crop.jpg"
    assert "no picture with id 999" in built.refused("search", 999)
    assert "No such file" in built.refused("search", "absent.jpg")
    assert "no similarity 'taste'" in built.refused("search", picture, "--by", "taste")
    assert "no pixel" in built.refused("search", picture, "--region", "9000,0,5,5")
    refused = built.refused("search", picture, "--by", "holistic", "--explain")
    assert "has no places to explain by" in refused
    refused = built.refused("search", picture, "--sheet", tmp_path / "no" / "folder.html")
    assert "cannot be written" in refused


@pytest.mark.parametrize(
    "arguments",
    [
        ("-k", 0),
        ("--region", "1,2,3"),
        ("--where", "folder"),
        ("--where", "after=yesterday"),
        ("--where", "a=1", "--where", "a=2"),
        ("--colour", "#a03010"),
        ("--also", "y.jpg", "--text", "red"),
    ],
)
def test_search_usage(empty: Likewise, arguments: tuple[object, ...]) -> None:
    empty.refused("search", "x.jpg", *arguments, code=2)


def test_tracebacks_only_with_debug(built: Likewise) -> None:
    done = built("--debug", "search", 999)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "UnknownPicture" in done.stderr


def test_duplicates(built: Likewise) -> None:
    groups = built.json("duplicates", "--threshold", 0.7)
    assert groups
    assert all(len(group) >= 2 for group in groups)
    assert {"id", "path", "score"} == set(groups[0][0])
    assert built("duplicates", "--threshold", 1.1).stdout == "No near-duplicates.\n"


def test_export(built: Likewise, tmp_path: Path) -> None:
    rows = json.loads(built("export", "--format", "json").stdout)
    assert len(rows) == 12
    out = tmp_path / "pictures.csv"
    done = built("export", "-o", out)
    assert done.returncode == 0
    assert "12 pictures" in done.stderr
    with out.open(newline="") as file:
        table = list(csv.DictReader(file))
    assert [int(row["id"]) for row in table] == [row["id"] for row in rows]
    assert [row["path"] for row in table] == [row["path"] for row in rows]
    assert json.loads(table[0]["tags"]) == []
    assert re.fullmatch(r"\d+", table[0]["width"])
    built.refused("export", "--format", "xml", code=2)


def test_verify_says_what_is_wrong(built: Likewise, tmp_path: Path) -> None:
    assert built("verify").stdout == "No damage found: 12 pictures.\n"
    broken = tmp_path / "broken.lw"
    shutil.copytree(built.folder / "photos.lw", broken)
    (words,) = (broken / "words").glob("*.lwv")
    content = bytearray(words.read_bytes())
    content[len(content) // 2] ^= 0xFF
    words.write_bytes(content)
    done = built("verify", "-C", broken, "--json")
    assert done.returncode == 1
    said = json.loads(done.stdout)
    assert said["ok"] is False
    assert any("words" in text for text in said["wrong"])


def test_similarity(built: Likewise) -> None:
    rows = built.json("similarity", "list")
    assert {row["name"] for row in rows} == {"both", "holistic", "words"}
    assert [row["name"] for row in rows if row["default"]] == ["both"]
    assert built("similarity", "use", "holistic").returncode == 0
    try:
        assert "holistic: holistic  (default)" in built("similarity", "list").stdout
    finally:
        assert built.json("similarity", "use", "both") == {"default": "both"}
    assert "no similarity" in built.refused("similarity", "use", "taste")


@pytest.mark.slow
def test_in_a_process_of_its_own(built: Likewise) -> None:
    """Other tests call the entry point; here a shell's way gives the same output and codes."""
    here, alone = (run("search", 1, "-k", 3) for run in (built, built.alone))
    assert (alone.returncode, alone.stdout) == (0, here.stdout)
    wrong = built.alone("search", 999)
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert wrong.stderr == built.refused("search", 999)
    assert built.alone("search", "--no-such-option").returncode == 2
    assert "Traceback" in built.alone("--debug", "search", 999).stderr
