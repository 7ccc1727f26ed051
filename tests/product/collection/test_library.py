"""The library: moments and their sources, months, folders, marks, albums, places, duplicates."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageOps

from likewise.catalog import listing
from likewise.catalog.moments import bound_of, moment_of_name
from likewise.collection.collection import Collection
from likewise.errors import CollectionError, InvalidInput, UnknownName
from likewise.images.shots import Shot, read_shot
from tests.product.collection.pictures import small_scenes, write
from tests.product.private import store_of

LENS, EXPOSURE, APERTURE, ISO, FOCAL = 0xA434, 0x829A, 0x829D, 0x8827, 0x920A


def photograph(
    path: Path,
    scene: str,
    *,
    taken: str | None = None,
    place: tuple[float, float] | None = None,
    rating: int | None = None,
    xmp: bytes | None = None,
) -> Path:
    """A JPEG with a camera's metadata."""
    path.parent.mkdir(parents=True, exist_ok=True)
    exif = Image.Exif()
    inner = exif.get_ifd(0x8769)
    if taken is not None:
        inner[0x9003] = taken
        inner[LENS], inner[EXPOSURE], inner[APERTURE] = "EF 50mm\x00", 0.004, 2.8
        inner[ISO], inner[FOCAL] = 400, 50.0
    if place is not None:
        gps = exif.get_ifd(0x8825)
        for key, value, sides in ((1, place[0], "NS"), (3, place[1], "EW")):
            gps[key] = sides[value < 0]
            gps[key + 1] = (float(int(abs(value))), (abs(value) % 1) * 60, 0.0)
    if rating is not None:
        exif[0x4746] = rating
    more: dict[str, Any] = {} if xmp is None else {"xmp": xmp}
    Image.fromarray(small_scenes()[scene]).save(path, "JPEG", quality=90, exif=exif, **more)
    return path


def set_time(path: Path, when: str) -> None:
    stamp = time.mktime(time.strptime(when, "%Y-%m-%d"))
    os.utime(path, (stamp, stamp))


XMP = (
    b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF '
    b'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description '
    b'xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmp:Rating="3"/></rdf:RDF></x:xmpmeta>'
)


@pytest.fixture
def col(tmp_path: Path) -> Collection:
    """Six pictures in nested folders, dated in three ways."""
    top = tmp_path / "pictures"
    photograph(
        top / "a" / "astronaut.jpg", "astronaut", taken="2019:07:04 23:30:00", place=(48.14, 11.58)
    )
    photograph(top / "a" / "deep" / "IMG_20190705_101500.jpg", "chelsea", rating=4)
    photograph(top / "a" / "deep" / "china.jpg", "china", place=(-33.87, 151.21), xmp=XMP)
    set_time(top / "a" / "deep" / "china.jpg", "2020-02-29")
    photograph(top / "b" / "coffee.jpg", "coffee", taken="2019:07:01 08:00:00")
    photograph(top / "b" / "IMG-20210311-WA0007.jpg", "coins")
    photograph(top / "b" / "flower.jpg", "flower", taken="2018:01:01 00:00:00")
    made = Collection.create(tmp_path / "photos.lw", deep=False)
    made.add(top, workers=0)
    return made


def names(col: Collection, ids: Any) -> list[str]:
    return [Path(col.image(i).path).stem for i in ids]


def id_of(col: Collection, stem: str) -> int:
    return next(row.id for row in col.images() if Path(row.path).stem == stem)


@pytest.mark.parametrize(
    ("name", "moment"),
    [
        ("IMG_20190704_153012.jpg", "2019-07-04T15:30:12"),
        ("PXL_20210102_030405678.MP.jpg", "2021-01-02T03:04:05"),
        ("20190704153012.jpg", "2019-07-04T15:30:12"),
        ("IMG-20190704-WA0001.jpg", "2019-07-04T00:00:00"),
        ("WhatsApp Image 2019-07-04 at 15.30.12.jpeg", "2019-07-04T15:30:12"),
        ("Screenshot_20190704-153012_Chrome.png", "2019-07-04T15:30:12"),
        ("Screenshot from 2019-07-04 15-30-12.png", "2019-07-04T15:30:12"),
        ("2019-07-04 beach.jpg", "2019-07-04T00:00:00"),
        ("photo_2019-07-04_15-30-12.jpg", "2019-07-04T15:30:12"),
        ("scan 20190230, 20190301.jpg", "2019-03-01T00:00:00"),
        ("DSC_0042.jpg", None),
        ("52001020304.jpg", None),
        ("21990704.jpg", None),
        ("20191304.jpg", None),
        ("2019-0704.jpg", None),
    ],
)
def test_names_tell_moments(name: str, moment: str | None) -> None:
    assert moment_of_name(name) == moment


def test_a_moment_comes_from_exif_then_the_name_then_the_file(
    col: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = col.library
    assert library.moment(id_of(col, "astronaut")) == ("2019-07-04T23:30:00", "exif")
    assert library.moment(id_of(col, "IMG_20190705_101500")) == ("2019-07-05T10:15:00", "name")
    assert library.moment(id_of(col, "china")) == ("2020-02-29T00:00:00", "file")
    found = [tuple(one) for one in library.months()]
    assert found == [
        ("2021-03", 1, 1, 0, ()), ("2020-02", 1, 0, 1, ()), ("2019-07", 3, 1, 0, ()),
        ("2018-01", 1, 0, 0, ()),
    ]  # fmt: skip
    monkeypatch.setattr(listing, "BIG_MONTH", 3)
    assert library.months()[2].days == ((5, 1), (4, 1), (1, 1))
    july = library.month("2019-07")
    assert names(col, [one.image for one in july]) == ["IMG_20190705_101500", "astronaut", "coffee"]
    assert [one.image for one in library.month("2019-07", offset=1, limit=1)] == [july[1].image]
    with pytest.raises(InvalidInput, match="2019-07 expected"):
        library.month("July")


def test_every_question_about_dates_means_the_same_moments(col: Collection) -> None:
    def stems(rows: Any) -> list[str]:
        return names(col, [row.id for row in rows])

    newest = [
        "IMG-20210311-WA0007",
        "china",
        "IMG_20190705_101500",
        "astronaut",
        "coffee",
        "flower",
    ]
    assert stems(col.pictures.page()[1]) == newest
    assert stems(col.pictures.page(descending=False)[1]) == newest[::-1]
    assert stems(col.pictures.page(where={"after": "2019-07-05"})[1]) == newest[:3]
    assert stems(col.pictures.page(where={"after": "2019", "before": "2020"})[1]) == newest[2:5]
    assert stems(col.search(id_of(col, "flower"), k=9, where={"before": "2019-07-02"})) == [
        "coffee"
    ]
    assert set(stems(col.search(text="july 2019"))) == set(newest[2:5])
    assert stems(col.search(text="February", k=9)) == ["china"]
    row = col.image(id_of(col, "china"))
    assert (row.date, row.date_source) == ("2020-02-29T00:00:00", "file")
    assert col.pictures.dates([row.id]) == {row.id: row.date}


@pytest.mark.parametrize(
    ("said", "bound"),
    [
        ("2019", "2019"), (2019, "2019"), ("2019-07", "2019-07"), ("2019-07-04", "2019-07-04"),
        ("2019-07-04 15:30", "2019-07-04T15:30"),
        ("2019-07-04T15:30:12.5Z", "2019-07-04T15:30:12"),
        ("2019-07-04T15:30+02:00", "2019-07-04T15:30"),
        ("abc", None), ("", None), ("2019-7", None), ("2019-02-30", None),
        ("2019-07-04T25:00", None),
        ("20190704", None), (True, None), ("٢٠١٩-07", None),
    ],
)  # fmt: skip
def test_dates_of_filters(said: Any, bound: str | None) -> None:
    if bound is None:
        with pytest.raises(InvalidInput, match=r"before is .* 2019-07-04 expected"):
            bound_of("before", said)
    else:
        assert bound_of("before", said) == bound


def test_folders_are_listed_as_people_would(tmp_path: Path) -> None:
    for folder in ("Zoo", "apes", "Zoo/b", "trip 10", "trip 9", "Zoo/B2", "Ärger"):
        photograph(tmp_path / "p" / folder / "copy.jpg", "coffee")
    with Collection.create(tmp_path / "photos.lw", deep=False) as col:
        col.spaces.drop("words")
        col.add(tmp_path / "p", workers=0)
        listed = [one.name for one in col.library.folders()]
        assert {(one.pictures, one.all) for one in col.library.folders()[1:]} == {(1, 1)}
        # One picture, listed once, by the first of its files.
        for descending in (True, False):
            total, rows = col.pictures.page(sort="name", descending=descending)
            assert (total, [row.id for row in rows]) == (1, [1])
        with store_of(col).write() as c:
            c.execute("DELETE FROM moments")
        assert [row.id for row in col.pictures.page()[1]] == [1], "without a moment at the end"
        assert col.pictures.page(offset=1)[1] == []
    assert listed == ["p", "apes", "trip 9", "trip 10", "Zoo", "b", "B2", "Ärger"]


def test_moments_follow_their_files(col: Collection, tmp_path: Path) -> None:
    old = tmp_path / "pictures" / "a" / "deep" / "china.jpg"
    old.rename(old.with_name("IMG_20220101_000000.jpg"))
    col.sync(workers=0)
    assert col.library.moment(id_of(col, "IMG_20220101_000000")) == (
        "2022-01-01T00:00:00", "name",
    )  # fmt: skip
    assert len(col) == 6
    assert col.verify() == []


def test_folders_are_a_tree_with_counts(col: Collection, tmp_path: Path) -> None:
    top = tmp_path / "pictures"
    # The same bytes in two folders are one picture above them.
    (top / "a" / "again.jpg").write_bytes((top / "a" / "deep" / "china.jpg").read_bytes())
    (top / "c" / "d").mkdir(parents=True)
    (top / "c" / "d" / "again.jpg").write_bytes((top / "b" / "coffee.jpg").read_bytes())
    col.sync(workers=0)
    found = [(one.name, one.depth, one.pictures, one.all) for one in col.library.folders()]
    assert found == [
        ("pictures", 0, 0, 6), ("a", 1, 2, 3), ("deep", 2, 2, 2), ("b", 1, 3, 3),
        ("c", 1, 0, 1), ("d", 2, 1, 1),
    ]  # fmt: skip
    deep = {"folder": top / "a" / "deep"}
    assert sum(one.pictures for one in col.library.months(deep)) == 2
    assert sum(one.pictures for one in col.library.months({"folder": top / "a"})) == 3


def test_a_single_file_has_its_folder_for_a_tree(tmp_path: Path) -> None:
    one = photograph(tmp_path / "x" / "one.jpg", "coins")
    with Collection.create(tmp_path / "photos.lw", deep=False) as made:
        made.add(one, workers=0)
        assert [(f.path, f.depth, f.all) for f in made.library.folders()] == [
            (str(tmp_path / "x"), 0, 1)
        ]


def test_places_and_shots_are_read(col: Collection) -> None:
    found = {names(col, [p.image])[0]: (p.latitude, p.longitude) for p in col.library.places()}
    assert found.keys() == {"astronaut", "china"}
    # Minutes are stored as fractions of small whole numbers.
    assert found["astronaut"] == pytest.approx((48.14, 11.58), abs=1e-4)
    assert found["china"] == pytest.approx((-33.87, 151.21), abs=1e-4)
    shot = col.library.shot(id_of(col, "coffee"))
    assert shot is not None
    assert (shot.lens, shot.iso, shot.focal) == ("EF 50mm", 400, 50.0)
    assert shot.exposure == pytest.approx(0.004)
    inside = {"box": "-40,150,-30,152"}
    assert sum(one.pictures for one in col.library.months(inside)) == 1
    across = {"box": "-90,140,90,20"}
    assert sum(one.pictures for one in col.library.months(across)) == 2, "over the date line"
    with pytest.raises(InvalidInput, match="south,west,north,east"):
        col.library.months({"box": "here"})


class OddExif(dict[int, Any]):
    def __init__(self, gps: Any, taken: Any) -> None:
        super().__init__({1: 1})
        self.ifds = {0x8825: gps, 0x8769: taken}

    def get_ifd(self, tag: int) -> Any:
        return self.ifds[tag]


@pytest.mark.parametrize(
    ("gps", "taken"),
    [
        ({2: (0.0, 0.0, 0.0), 4: (0.0, 0.0, 0.0)}, {}),
        ({2: (91.0, 0.0, 0.0), 4: (10.0, 0.0, 0.0)}, {}),
        ({2: "48 N", 4: (10.0,)}, {EXPOSURE: 0, APERTURE: float("nan"), ISO: "many", LENS: b"x"}),
        ({2: (float("nan"), 1.0, 1.0), 4: (1.0, 1.0, 1.0)}, {FOCAL: (), LENS: "\x00 "}),
    ],
)
def test_odd_metadata_is_left_out(gps: Any, taken: Any) -> None:
    assert read_shot(OddExif(gps, taken)) is None


def test_pictures_of_an_earlier_version_get_their_shots(col: Collection) -> None:
    expected = {p.image: (p.latitude, p.longitude) for p in col.library.places()}
    with col._store.write() as c:
        c.execute("DELETE FROM shots")
        c.execute("INSERT INTO unread_shots SELECT id FROM images")
    assert col.library.places() == []
    col.sync(workers=0)
    assert {p.image: (p.latitude, p.longitude) for p in col.library.places()} == expected
    assert col._store.one("SELECT count(*) FROM unread_shots") == 0


def test_ratings_inside_files_become_stars_until_a_person_speaks(
    col: Collection, tmp_path: Path
) -> None:
    rated, tagged = id_of(col, "IMG_20190705_101500"), id_of(col, "china")
    assert {i: m.stars for i, m in col.library.marks([rated, tagged, 1]).items()} == {
        rated: 4, tagged: 3,
    }  # fmt: skip
    col.library.star([rated], 1)
    path = col.image(rated).path
    col.remove(rated)
    col.add(path, workers=0)
    assert col.library.marks([col.id_of(path)])[col.id_of(path)].stars == 1


def test_marks_are_told_as_they_were_and_can_be_restored(col: Collection) -> None:
    library = col.library
    ids = [row.id for row in col.images()]
    rated = id_of(col, "IMG_20190705_101500")
    done = library.star(ids, 4)
    assert rated not in done.before, "it had four stars"
    assert len(done.before) == 5
    assert {m.stars for m in library.marks(ids).values()} == {4}
    library.favour(ids[:2])
    assert sum(m.favourite for m in library.marks(ids).values()) == 2
    assert {m.stars for m in library.marks(ids).values()} == {4}, "other marks stay"
    library.restore(done)
    assert library.marks(ids)[rated].stars == 4
    assert library.favour(ids[:2], False).before.keys() <= set(ids[:2])
    with pytest.raises(InvalidInput, match="0 to 5"):
        library.star(ids, 6)
    with pytest.raises(InvalidInput, match="nothing to mark"):
        library.mark(ids)


def test_hidden_pictures_are_left_out_unless_asked_for(col: Collection) -> None:
    query, out = id_of(col, "astronaut"), id_of(col, "coffee")
    assert out in {hit.id for hit in col.search(query, k=10)}
    assert out in {hit.id for hit in col.search(text="coffee", k=10)}
    done = col.library.hide([out])
    for shown in (
        {hit.id for hit in col.search(query, k=10)},
        {hit.id for hit in col.search(query, k=10, where={"format": "jpeg"})},
        {row.id for row in col.pictures.page()[1]},
        {e.image for m in col.library.months() for e in col.library.month(m.month)},
    ):
        assert shown
        assert out not in shown
    assert col.search(text="coffee", k=10) == []
    assert col.pictures.page()[0] == 5
    assert col.library.folders()[0].all == 5
    assert {hit.id for hit in col.search(query, k=10, where={"hidden": True})} == {out}
    assert len(col.search(query, k=10, where={"hidden": "any"})) == 5
    assert col.search(out, k=2), "one may ask about it"
    col.library.restore(done)
    assert col.pictures.page()[0] == 6


def test_filters_by_marks_and_albums(col: Collection) -> None:
    ids = [row.id for row in col.images()]
    col.library.favour(ids[3:])
    col.library.add_to_album("Summer 19", ids[:3])

    def passing(**where: Any) -> set[int]:
        return {row.id for row in col.pictures.page(where=where)[1]}

    assert passing(favourite=True) == set(ids[3:])
    assert passing(favourite=False) == set(ids[:3])
    assert passing(album="Summer 19") == set(ids[:3])
    assert passing(album="nothing") == set()
    assert passing(stars=3) == {id_of(col, "china"), id_of(col, "IMG_20190705_101500")}
    assert passing(stars=4) == {id_of(col, "IMG_20190705_101500")}
    assert passing(stars=0) == set(ids)
    with pytest.raises(InvalidInput, match="stars"):
        passing(stars="many")


def test_albums(col: Collection) -> None:
    library = col.library
    done = library.add_to_album("  The   sea ", [1, 2])
    assert (done.album, done.pictures, done.made) == ("The sea", (1, 2), True)
    assert library.add_to_album("The sea", [2, 3]).pictures == (3,)
    assert library.albums_of(2) == ["The sea"]
    library.hide([3])
    assert [tuple(one) for one in library.albums()] == [("The sea", 2, 2)]
    assert library.take_from_album("The sea", [1, 4]).pictures == (1,)
    library.add_to_album("Empty")
    with pytest.raises(CollectionError, match="already"):
        library.rename_album("Empty", "The sea")
    library.rename_album("Empty", "Later")
    assert library.delete_album("The sea").pictures == (2, 3)
    assert [one.name for one in library.albums()] == ["Later"]
    with pytest.raises(UnknownName, match="'Later'"):
        library.delete_album("The sea")
    for bad in ("", "  ", "x" * 101, "a\x07b"):
        with pytest.raises(InvalidInput, match="no album name"):
            library.add_to_album(bad)
    assert col.verify() == []


def test_marks_survive_leaving_backup_and_export(col: Collection, tmp_path: Path) -> None:
    one = id_of(col, "coffee")
    path = col.image(one).path
    col.library.mark([one], stars=5, favourite=True)
    col.library.add_to_album("Kept", [one])
    col.remove(one)
    assert col.library.albums()[0].pictures == 0
    col.add(path, workers=0)
    back = col.id_of(path)
    assert col.library.marks([back])[back] == (5, True, False)
    assert col.library.albums_of(back) == ["Kept"]
    with Collection.restore(col.backup(tmp_path / "backup"), tmp_path / "again.lw") as again:
        assert again.library.marks([back])[back].stars == 5
    records = json.loads(json.dumps(col.library.export()))
    with Collection.create(tmp_path / "other.lw", deep=False) as other:
        other.add(tmp_path / "pictures" / "b", workers=0)
        assert other.library.take_in(records) == 1
        there = other.id_of(path)
        assert other.library.marks([there])[there] == (5, True, False)
        assert other.library.albums_of(there) == ["Kept"]
        with pytest.raises(InvalidInput, match="no record of an export"):
            other.library.take_in([{"stars": 3}])


def test_a_map_leaves_hidden_pictures_out(col: Collection) -> None:
    col.models.learn_map()
    assert len(col.models.map_points().ids) == 6
    col.library.hide([2])
    points = col.models.map_points()
    assert sorted(points.ids.tolist()) == [1, 3, 4, 5, 6]
    assert len(points.places) == 5


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """Eight scenes; of three of them every sort of copy; of a fourth one with something moved."""
    folder = tmp_path_factory.mktemp("copies") / "pictures"
    for name, pixels in small_scenes().items():
        write(folder / f"{name}.jpg", pixels)
    for name in ("astronaut", "coffee", "rocket"):
        image = Image.fromarray(small_scenes()[name])
        width, height = image.size
        left, top = round(0.03 * width), round(0.05 * height)
        cut = (left, top, left + round(0.95 * width), top + round(0.95 * height))
        image.save(folder / f"{name}-saved.jpg", quality=45)
        image.resize((width * 3 // 5, height * 3 // 5)).save(folder / f"{name}-small.jpg")
        image.crop(cut).save(folder / f"{name}-crop.jpg")
        ImageOps.mirror(image).save(folder / f"{name}-mirror.jpg")
        ImageOps.mirror(image).crop(cut).save(folder / f"{name}-mirror-crop.jpg")
    moved = small_scenes()["chelsea"].copy()
    height, width = moved.shape[:2]
    piece = np.s_[height // 2 : height // 2 + height // 4, width // 2 : width // 2 + width // 4]
    moved[: height // 4, : width // 4] = moved[piece]
    write(folder / "chelsea-moved.jpg", moved)
    made = Collection.create(folder.parent / "photos.lw", deep=False)
    made.add(folder, workers=0)
    return made


def test_copies_are_found_and_look_alikes_are_not(copies: Collection) -> None:
    groups = copies.library.duplicates()
    found = {
        Path(group.pictures[0].row.path).stem: {Path(one.row.path).stem for one in group.pictures}
        for group in groups
    }
    sorts = ("", "-saved", "-small", "-crop", "-mirror", "-mirror-crop")
    assert found == {
        name: {f"{name}{sort}" for sort in sorts} for name in ("astronaut", "coffee", "rocket")
    }, "the whole one is kept, of every sort of copy; what moved is another picture"
    for group in groups:
        for one in group.pictures:
            assert one.mirrored == ("mirror" in one.row.path)
            assert 0.9 < one.score <= 1.0


def test_duplicates_of_a_collection_are_a_hit_a_file(copies: Collection, tmp_path: Path) -> None:
    again = tmp_path / "again.jpg"
    again.write_bytes(Path(copies.image(id_of(copies, "coins")).path).read_bytes())
    copies.add(again, workers=0)
    groups = copies.duplicates()
    assert [len(group) for group in groups] == [6, 6, 6, 2]
    assert {Path(hit.path).stem for hit in groups[-1]} == {"coins", "again"}
    assert len({hit.id for hit in groups[-1]}) == 1
    rest = [hit.id for group in groups[:3] for hit in group[1:]]
    done = copies.library.hide(rest)
    assert copies.library.duplicates() == [], "what was dealt with is not found again"
    copies.library.restore(done)
    assert len(copies.library.duplicates()) == 3


def test_shot_says_nothing_by_default() -> None:
    assert read_shot(None) is None
    assert read_shot(OddExif({}, {ISO: (200, 0)})) == Shot(iso=200)
