"""Pictures that take for ever or crash their decoder: adding, serving and ending go on."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from likewise.collection import decoding
from likewise.collection.collection import Collection
from likewise.collection.decoding import CLIENT_GONE, ClientGone, Decoders
from likewise.errors import DecoderFailed
from likewise.ingest import pool
from tests.product.cli.process import Likewise, hear_ctrl_c
from tests.product.collection.pictures import small_scenes, write
from tests.product.server.conftest import Client, check_error
from tests.product.trust.attacks import empty_chunks, empty_scans, filling

pytestmark = pytest.mark.slow

ATTACKS: dict[str, Callable[[], bytes]] = {
    "scans.jpg": lambda: empty_scans(20_000),
    "filling.jpg": lambda: filling(24_000_000),
    "chunks.png": lambda: empty_chunks(3_200_000),
}
HANG = b"GIF89a hangs"
CRASH = b"GIF89a crashes"


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIKEWISE_PICTURE_SECONDS", "1")


@pytest.fixture
def choking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hurried: None) -> None:
    """Some bytes make whatever decodes them in a worker hang or crash."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        "if 'spawn_main' in ' '.join(sys.orig_argv):\n"
        "    import likewise.images.decode as images\n"
        "    recognise = images.recognise_format\n"
        "    def choke(stream, name):\n"
        "        head = stream.read(16)\n"
        "        stream.seek(0)\n"
        "        while b'hangs' in head: pass\n"
        "        if b'crashes' in head: os.kill(os.getpid(), signal.SIGSEGV)\n"
        "        return recognise(stream, name)\n"
        "    images.recognise_format = choke\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{site}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    pool.stop_idle()


@pytest.mark.parametrize("name", ATTACKS)
def test_adding_survives_and_remembers(tmp_path: Path, hurried: None, name: str) -> None:
    folder = tmp_path / "pictures"
    write(folder / "good.jpg", small_scenes()["rocket"])
    (folder / name).write_bytes(ATTACKS[name]())
    with Collection.create(tmp_path / "c.lw", deep=False) as col:
        assert col.add(folder).added == 1
        (problem,) = col.problems()
        assert Path(problem.path).name == name
        assert "takes more than" in str(problem.problem)
        again = col.add(folder)
        assert (again.added, again.known) == (0, 2)


@pytest.mark.parametrize("name", ATTACKS)
def test_the_server_survives_and_remembers(client: Client, hurried: None, name: str) -> None:
    content = ATTACKS[name]()
    for _ in range(2):
        message = check_error(client.post("/api/uploads", content=content), 415, "cannot_decode")
        assert "takes more than" in message
    assert client.get(f"/api/pictures/{client.ids()[0]}/image").status_code == 200


def test_a_crash_costs_its_request(client: Client, choking: None) -> None:
    message = check_error(client.post("/api/uploads", content=CRASH), 415, "cannot_decode")
    assert "crashes its decoder" in message
    picture = client.ids()[0]
    assert client.get(f"/api/pictures/{picture}/image").status_code == 200
    assert client.search(query={"picture": picture, "region": [0, 0, 60, 60]})["items"]


def test_the_file_of_a_picture_that_hangs_is_tried_once(
    client: Client, choking: None, tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And again when the file is another."""
    decoders: Decoders = client.inner.state.service.decoders
    tried: list[object] = []
    run = decoding.run

    def counted(*given: object, **more: object) -> object:
        tried.append(1)
        return run(*given, **more)

    monkeypatch.setattr(decoding, "run", counted)
    path = tmp_path / "a.gif"
    path.write_bytes(HANG)
    for _ in range(3):
        with pytest.raises(DecoderFailed, match="takes more than"):
            decoders.small_copy(path, 160)
    assert len(tried) == 1
    write(tmp_path / "b.jpg", small_scenes()["rocket"])
    shutil.copy(tmp_path / "b.jpg", path)
    assert decoders.small_copy(path, 160)
    assert len(tried) == 2


def test_pictures_are_shown_while_uploads_hang(client: Client, choking: None) -> None:
    """As many uploads as there are places, and more; the collection has one of its own."""
    names = client.ids()
    shutil.rmtree(client.inner.state.service.collection.root / "thumbnails")
    ended: list[int] = []

    def upload(number: int) -> None:
        client.post("/api/uploads", content=HANG + bytes([number]))
        ended.append(number)

    hanging = [threading.Thread(target=upload, args=(i,)) for i in range(8)]
    for one in hanging:
        one.start()
    for name in names[:4]:
        assert client.get(f"/api/pictures/{name}/thumbnail").status_code == 200
    assert len(ended) < 8, "the uploads were over before anything was shown"
    for one in hanging:
        one.join()


def test_nothing_is_decoded_for_somebody_who_left(choking: None) -> None:
    left = threading.Event()
    token = CLIENT_GONE.set(left)
    threading.Timer(0.3, left.set).start()
    try:
        with pytest.raises(ClientGone):
            Decoders(2).size(HANG)
    finally:
        CLIENT_GONE.reset(token)


def test_five_regions_of_one_upload_wait_for_each_other(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is decoded at one time is bounded, however many ask."""
    at_once, most = 0, 0
    lock = threading.Lock()
    run = decoding.run

    def counted(*given: object, **more: object) -> object:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        try:
            yield from run(*given, **more)
        finally:
            with lock:
                at_once -= 1

    picture = client.get(f"/api/pictures/{client.ids()[0]}/image").content
    monkeypatch.setattr(decoding, "run", counted)
    name = client.post("/api/uploads", content=picture).json()["upload"]
    found = []

    def search(number: int) -> None:
        query = {"upload": name, "region": [number, 0, 60, 60]}
        found.append(client.search(query=query)["items"])

    asking = [threading.Thread(target=search, args=(i,)) for i in range(5)]
    for one in asking:
        one.start()
    for one in asking:
        one.join()
    assert len(found) == 5
    assert all(found)
    from likewise.server.service import DRAWERS

    assert most <= max(1, DRAWERS - 1)


def test_commands_that_look_at_files_go_on(tmp_path: Path, choking: None) -> None:
    """One hangs and one crashes; both are told, and the others are looked at."""
    from likewise.cli.pages import thumbnail

    folder = tmp_path / "pictures"
    write(folder / "c.jpg", small_scenes()["rocket"])
    (folder / "a.gif").write_bytes(HANG)
    (folder / "b.gif").write_bytes(CRASH)
    done = Likewise(tmp_path)("check", folder)
    assert done.returncode == 1
    told = done.stdout
    assert "takes more than" in told
    assert "crashes its decoder" in told
    assert "1 usable, 2 refused" in told
    # Exported pages show the reason in the place of the picture, without trying once more.
    assert "crashes its decoder" in thumbnail(str(folder / "b.gif"), 60).problem
    assert thumbnail(str(folder / "c.jpg"), 60).uri


@pytest.mark.parametrize("command", ["add", "open"])
def test_ctrl_c_ends_whatever_is_decoded(
    tmp_path: Path, choking: None, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("LIKEWISE_PICTURE_SECONDS", "600")
    folder = tmp_path / "pictures"
    write(folder / "a.jpg", np.zeros((64, 64, 3), np.uint8))
    for number in range(4):
        (folder / f"{number}.gif").write_bytes(HANG + bytes([number]))
    line = {
        "add": ["add", str(folder), "-C", str(tmp_path / "c.lw")],
        "open": ["open", str(folder), "-C", str(tmp_path / "c.lw"), "--no-browser", "--json"],
    }[command]
    with Collection.create(tmp_path / "c.lw", deep=False):
        pass
    process = subprocess.Popen(
        [sys.executable, "-m", "likewise", *line],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=hear_ctrl_c,
    )
    try:
        # It hangs once a worker is at work: its processor time says so.
        group = process.pid
        while not any(busy(pid) for pid in children(group)):
            assert process.poll() is None, "it ended before anything hung"
            threading.Event().wait(0.1)
        process.send_signal(signal.SIGINT)
        process.wait(30)
        for pid in children(group):
            wait_until_gone(pid)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def test_ctrl_c_ends_a_search_whatever_decodes(tmp_path: Path) -> None:
    with Collection.create(tmp_path / "c.lw", deep=False):
        pass
    (tmp_path / "slow.jpg").write_bytes(empty_scans(2_000_000))
    process = subprocess.Popen(
        [sys.executable, "-m", "likewise", "search", "slow.jpg", "-C", "c.lw"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not busy(process.pid):
            assert process.poll() is None, "it ended before anything hung"
            threading.Event().wait(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == -signal.SIGINT
    finally:
        process.kill()


def children(session: int) -> list[int]:
    """Worker processes of a session."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdecimal() and int(place.name) != session:
            try:
                fields = (place / "stat").read_text().rpartition(")")[2].split()
                line = (place / "cmdline").read_bytes()
            except OSError:
                continue
            if int(fields[3]) == session and b"spawn_main" in line and fields[0] != "Z":
                found.append(int(place.name))
    return found


def busy(pid: int) -> bool:
    """Whether a process has used so much time that it must be hanging."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") > 4


def wait_until_gone(pid: int) -> None:
    for _ in range(100):
        if not Path(f"/proc/{pid}").exists():
            return
        threading.Event().wait(0.1)
    pytest.fail(f"worker {pid} lives on")
