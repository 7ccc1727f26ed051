"""A picture's own pixels, facts and file: for the owner, and safe."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from likewise.collection.collection import Collection
from likewise.server import routes_pictures
from tests.product.server.conftest import Client, check_error, client_of, photograph


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("viewer")
    noise = np.random.default_rng(3).integers(0, 255, (60, 80, 3), dtype=np.uint8)
    photograph(made / "pictures" / "one.jpg", noise, 4)
    Image.fromarray(noise[::-1]).save(made / "pictures" / "flat.png")
    turned = Image.Exif()
    turned[0x0112] = 6
    Image.fromarray(noise[:, ::-1]).save(made / "pictures" / "turned.png", exif=turned)
    Image.fromarray(noise[:40]).save(made / "pictures" / "scan.tif")
    with Collection.create(made / "photos.lw", words={"n_words": 20}, deep=False) as col:
        col.add(made / "pictures", workers=0)
    return made


@pytest.fixture(scope="module")
def owner(folder: Path) -> Iterator[Client]:
    with client_of(folder / "photos.lw") as made:
        yield made


def picture(client: Client, name: str) -> str:
    listed = client.get_json("/api/pictures")["items"]
    return next(str(one["id"]) for one in listed if one["name"] == name)


@pytest.mark.parametrize(("name", "kind"), [("one.jpg", "image/jpeg"), ("flat.png", "image/png")])
def test_what_a_browser_shows_is_sent_as_it_is(
    owner: Client, folder: Path, name: str, kind: str
) -> None:
    answer = owner.get(f"/api/pictures/{picture(owner, name)}/original")
    assert answer.content == (folder / "pictures" / name).read_bytes()
    assert answer.headers["content-type"] == kind
    assert answer.headers["x-content-type-options"] == "nosniff"
    again = owner.get(
        f"/api/pictures/{picture(owner, name)}/original",
        headers={"if-none-match": answer.headers["etag"]},
    )
    assert again.status_code == 304


@pytest.mark.parametrize(("name", "size"), [("scan.tif", (80, 40)), ("turned.png", (60, 80))])
def test_other_formats_are_converted_upright(
    owner: Client, name: str, size: tuple[int, int]
) -> None:
    answer = owner.get(f"/api/pictures/{picture(owner, name)}/original")
    assert answer.headers["content-type"] == "image/jpeg"
    with Image.open(io.BytesIO(answer.content)) as shown:
        assert shown.size == size
        assert not shown.getexif()


def test_facts_are_read_from_the_file(owner: Client, folder: Path) -> None:
    found = owner.get_json(f"/api/pictures/{picture(owner, 'one.jpg')}/facts")
    assert found["camera"] == "SECRET CAMERA"
    assert found["taken"] == "2021-05-04T10:00:00"
    assert found["n_bytes"] == (folder / "pictures" / "one.jpg").stat().st_size
    assert found["path"] == str(folder / "pictures" / "one.jpg")
    assert found["latitude"] is None, "a latitude without a longitude is no place"


def test_a_file_is_handed_out_under_its_name(owner: Client, folder: Path) -> None:
    answer = owner.get(f"/api/pictures/{picture(owner, 'scan.tif')}/download")
    assert answer.content == (folder / "pictures" / "scan.tif").read_bytes()
    assert answer.headers["content-disposition"] == 'attachment; filename="scan.tif"'
    assert answer.headers["content-type"] == "application/octet-stream"


def test_nobody_can_make_up_a_picture(owner: Client) -> None:
    for part in ("original", "facts", "download"):
        check_error(owner.get(f"/api/pictures/1-000000000000/{part}"), 404, "unknown_picture")


def test_only_this_machine_opens_folders(
    owner: Client, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[tuple[list[str], Path]] = []
    monkeypatch.setattr(routes_pictures, "_opener", lambda: ["/usr/bin/files"])
    monkeypatch.setattr(
        routes_pictures, "show_in_folder", lambda command, path: opened.append((command, path))
    )
    place = f"/api/pictures/{picture(owner, 'one.jpg')}/reveal"
    # The test client is "testclient", no address of this machine.
    check_error(owner.post(place), 409, "refused")
    here = ("testclient", "127.0.0.1")
    monkeypatch.setattr(routes_pictures, "_is_loopback", lambda host: host in here)
    passed_on = owner.post(place, headers={"x-forwarded-for": "192.0.2.1"})
    check_error(passed_on, 409, "refused")
    assert opened == []
    answer = owner.post(place)
    assert answer.json() == {"folder": str(folder / "pictures")}
    assert opened == [(["/usr/bin/files"], folder / "pictures" / "one.jpg")]


def test_the_file_manager_gets_a_path_and_no_shell(tmp_path: Path) -> None:
    program = tmp_path / "files"
    program.write_text('#!/bin/sh\nprintf "%s|%s" "$#" "$1" > "$0.said"\n')
    program.chmod(0o755)
    inside = tmp_path / "a; touch owned" / "p.jpg"
    inside.parent.mkdir()
    routes_pictures.show_in_folder([str(program)], inside).wait()
    assert (tmp_path / "files.said").read_text() == f"1|{inside.parent}"
    assert not (tmp_path / "owned").exists()
