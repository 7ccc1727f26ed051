"""A small collection of photographs with dates and places in them, and a server around it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fastapi import FastAPI
from PIL import Image

from likewise.collection.collection import Collection
from likewise.server.access import Access, allowed_hosts
from likewise.server.app import make_app
from likewise.server.sessions import Sessions
from tests.product.collection.pictures import small_scenes, write_pictures
from tests.product.server import browser as driving

if TYPE_CHECKING:
    from playwright.sync_api import Browser

with warnings.catch_warnings():
    # Newer versions would rather have httpx2; this one works with both.
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

HOST = "127.0.0.1:8700"
KEY = "a key of more than sixteen letters"
TICKET = "one ticket"
SESSIONS = Sessions()
N = 16


def photograph(path: Path, pixels: Any, day: int | None) -> Path:
    """A JPEG with a camera's metadata: a place, and a date where there is a day."""
    path.parent.mkdir(parents=True, exist_ok=True)
    exif = Image.Exif()
    exif[0x010F] = "SECRET CAMERA"
    exif.get_ifd(0x8825)[1] = "N"
    exif.get_ifd(0x8825)[2] = (52.0, 13.0, 7.0)
    if day is not None:
        exif.get_ifd(0x8769)[0x9003] = f"2021:05:{day:02d} 10:00:00"
    Image.fromarray(pixels).save(path, "JPEG", quality=88, exif=exif)
    return path


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``pictures`` (16, two folders), ``outside`` (2 more), ``photos.lw``."""
    folder = tmp_path_factory.mktemp("server")
    for i, (name, pixels) in enumerate(small_scenes().items()):
        part = "even" if i % 2 == 0 else "odd"
        photograph(folder / "pictures" / part / f"{name}-0.jpg", pixels, i + 1)
        photograph(folder / "pictures" / part / f"{name}-1.jpg", pixels[:-24, 16:], None)
        if i < 2:
            photograph(folder / "outside" / f"{name}.jpg", pixels[12:, :-20], 20)
    (folder / "pictures" / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 no more than this")
    with Collection.create(folder / "photos.lw", words={"n_words": 60}, deep=False) as col:
        col.add(folder / "pictures", workers=0)
        col.tag(1, "first")
        assert len(col) == N
    return folder


@pytest.fixture
def root(home: Path, tmp_path: Path) -> Path:
    """The collection again, to be changed; its pictures stay where they are."""
    shutil.copytree(home / "photos.lw", tmp_path / "photos.lw")
    return tmp_path / "photos.lw"


class Client(TestClient):
    """Somebody who has the key."""

    inner: FastAPI

    def get_json(self, place: str, **more: Any) -> Any:
        answer = self.get(place, **more)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post_json(self, place: str, said: Any, status: int = 200) -> Any:
        answer = self.post(place, json=said)
        assert answer.status_code == status, answer.text
        return answer.json()

    def refused(self, place: str, said: Any, status: int, kind: str) -> str:
        answer = self.post(place, json=said)
        return check_error(answer, status, kind)

    def ids(self) -> list[str]:
        """Names of all pictures, in the order they were added."""
        found = self.get_json("/api/pictures?sort=added&order=asc&limit=1000")
        return [item["id"] for item in found["items"]]

    def search(self, picture: str | None = None, **more: Any) -> Any:
        query = more.pop("query", {"picture": picture})
        return self.post_json("/api/search", {"query": query, **more})

    def order(self, picture: str, **more: Any) -> list[str]:
        return [item["id"] for item in self.search(picture, **more)["items"]]


def check_error(answer: Any, status: int, kind: str) -> str:
    """The one shape of an error; gives its message."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    if answer.request.method == "HEAD":
        return ""
    said = answer.json()
    assert set(said) == {"error"}
    assert set(said["error"]) == {"kind", "message"}
    assert said["error"]["kind"] == kind, said
    message = said["error"]["message"]
    assert isinstance(message, str)
    assert len(message) > 10
    return message


def client_of(root: Path, **headers: str) -> Client:
    """A client with the key (unless headers say otherwise) of a server of its own."""
    access = Access(allowed_hosts("127.0.0.1", 8700), KEY, TICKET, sessions=SESSIONS)
    guarded, app = make_app(root, access)
    made = Client(
        guarded,
        base_url=f"http://{HOST}",
        headers=headers or {"authorization": f"Bearer {KEY}"},
        raise_server_exceptions=False,
        follow_redirects=False,
    )
    made.inner = app
    return made


@pytest.fixture
def client(root: Path) -> Iterator[Client]:
    """On a collection that may be changed."""
    with client_of(root) as made:
        yield made


@pytest.fixture(scope="session")
def reader(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """On a collection that everybody only reads."""
    copied = tmp_path_factory.mktemp("reading") / "photos.lw"
    shutil.copytree(home / "photos.lw", copied)
    with client_of(copied) as made:
        yield made


@pytest.fixture(scope="session")
def chrome() -> Iterator[Browser]:
    """One browser for all tests of a process; each visitor is a context of their own."""
    with driving.browser() as started:
        yield started


SCENES = 24


@pytest.fixture(scope="session")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``pictures``: three views of eight scenes, the first of each tagged with it; ``photos.lw``
    with a map of them.  A module that changes the collection serves a copy of it."""
    folder = tmp_path_factory.mktemp("scenes")
    write_pictures(folder / "pictures", views=3)
    with Collection.create(folder / "photos.lw", deep=False) as col:
        col.spaces.drop("words")
        col.add(folder / "pictures", workers=0)
        for row in col.pictures.rows(range(1, SCENES + 1)).values():
            scene, _, view = Path(row.path).stem.rpartition("-")
            if view == "0":
                col.tag(row.id, scene)
        col.models.learn_map()
    return folder


@pytest.fixture(scope="module")
def scenes_server(
    scenes: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[driving.Served]:
    """A server of a module's own on a copy of the scenes, whose pictures stay where they are."""
    copied = tmp_path_factory.mktemp("copy") / "photos.lw"
    shutil.copytree(scenes / "photos.lw", copied)
    with driving.served(copied) as started:
        yield started


_UNSET = ("LIKEWISE_COLLECTION", "LIKEWISE_KEY")


class Process:
    """``likewise`` as a server in a process of its own."""

    def __init__(self, *arguments: object, cwd: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "likewise", *map(str, arguments), "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd,
            env={k: v for k, v in os.environ.items() if k not in _UNSET}
            | {"LIKEWISE_STATE": str(cwd / ".state")},
        )
        assert self.process.stdout is not None
        try:
            # It goes on running, so there is no end of file to wait for.
            lines = takewhile(lambda line: line != "}\n", self.process.stdout)
            self.said = json.loads("".join([*lines, "}"]))
        except ValueError:
            self.process.kill()
            raise AssertionError(self.process.communicate()[1]) from None
        self.base = f"http://127.0.0.1:{self.said['port']}"
        self.headers = {"authorization": f"Bearer {self.said['key']}"}
        self.to_close: list[Any] = []

    def ended(self, sign: int = signal.SIGINT) -> int:
        """Its exit code after a signal; it must end, however long a busy machine takes."""
        self.process.send_signal(sign)
        return self.process.wait(60)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    """Starts servers that are gone when the test is."""
    started: list[Process] = []

    def begin(*arguments: object) -> Process:
        started.append(Process(*arguments, cwd=tmp_path))
        return started[-1]

    yield begin
    for one in started:
        for line in one.to_close:
            line.close()
        if one.process.poll() is None:
            one.process.kill()
        one.process.communicate()
