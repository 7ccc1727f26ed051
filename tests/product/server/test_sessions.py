"""Sessions outlive browser and server, end when they are revoked, and keep no secret loosely."""

from __future__ import annotations

import os
import re
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from likewise.collection.collection import Collection
from likewise.server import replies, sessions
from likewise.server.access import OPEN_PARTS, Access, allowed_hosts
from likewise.server.app import make_app
from likewise.server.routes_page import PAGE
from likewise.server.run import own_addresses
from likewise.server.sessions import (
    FILE,
    FOLDER,
    LASTS,
    RENEWED_AFTER,
    TICKET_LASTS,
    Sessions,
    announce,
    base_url,
    running_servers,
    this_server,
)
from tests.product.cli.process import Likewise
from tests.product.server.conftest import HOST, KEY, Client, Process, check_error

OWN = f"http://{HOST}"
Start = Callable[..., Process]


class Clock:
    """A time that tests may move."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(sessions, "time", made)
    return made


@contextmanager
def server_of(root: Path, ticket: str | None = "first") -> Iterator[tuple[Client, Access]]:
    """A server as ``serve`` makes it, and a browser that has been nowhere yet."""
    access = Access(
        allowed_hosts("127.0.0.1", 8700), KEY, ticket, sessions=Sessions(root), run="this-run",
        collection=root,
    )  # fmt: skip
    guarded, _ = make_app(root, access)
    with Client(
        guarded, base_url=OWN, headers={"accept": "text/html,*/*"}, follow_redirects=False
    ) as browser:
        yield browser, access


def test_a_session_outlives_the_server_and_the_browser(root: Path) -> None:
    with server_of(root) as (browser, _):
        assert browser.get("/").status_code == 401
        answer = browser.get("/?token=first")
        assert answer.status_code == 303
        cookie = answer.headers["set-cookie"]
    # It is kept when the browser is closed, which a cookie without an age is not.
    assert re.search(rf"; HttpOnly; SameSite=Strict; Max-Age={LASTS}$", cookie)
    jar = {"cookie": cookie.split(";")[0]}
    with server_of(root) as (browser, _):
        assert browser.get("/", headers=jar).status_code == 200
        assert browser.get("/api/health", headers=jar).status_code == 200
        # As before: a change by cookie must say where it comes from.
        check_error(browser.post("/api/undo", json={}, headers=jar), 403, "wrong_origin")
        changed = browser.post("/api/undo", json={}, headers={**jar, "origin": OWN})
        check_error(changed, 409, "refused")


def test_a_new_secret_ends_every_session_at_once(root: Path) -> None:
    with server_of(root) as (browser, access):
        name, value = access.sessions.cookie, access.sessions.issue()
        jar = {"cookie": f"{name}={value}"}
        assert browser.get("/", headers=jar).status_code == 200
        waiting = access.sessions.ticket("this-run")
        token = Collection.open(root).shares.create("Ada")
        guest = {"cookie": f"guest-likewise-8700={token}"}
        assert browser.get("/", headers=guest).status_code == 200
        Sessions(root).renew()  # another process does it
        assert browser.get("/", headers=jar).status_code == 401
        # Nor do addresses that nobody opened yet, the server's own included.
        for ticket in (waiting, "first"):
            assert browser.get(f"/?token={ticket}").status_code == 401
        # Guests have tokens of their own, and programs the key.
        assert browser.get("/", headers=guest).status_code == 200
        key = {"authorization": f"Bearer {KEY}"}
        assert browser.get("/api/health", headers=key).status_code == 200
        fresh = Sessions(root).ticket("this-run")
        assert browser.get(f"/?token={fresh}").status_code == 303
        # A secret that was deleted ends them too, and the next one signs new sessions.
        kept = {"cookie": f"{access.sessions.cookie}={access.sessions.issue()}"}
        (root / FILE).unlink()
        browser.cookies.clear()
        assert browser.get("/", headers=kept).status_code == 401
        assert browser.get(f"/?token={Sessions(root).ticket('this-run')}").status_code == 303


def test_a_signed_address_works_once_soon_and_at_one_server(root: Path, clock: Clock) -> None:
    with server_of(root, None) as (browser, _):
        cli = Sessions(root)
        ticket = cli.ticket("this-run")
        late = cli.ticket("this-run")
        broken = f"{int(clock.now):x}.{'0' * 32}.{'0' * 48}"
        for bad in (cli.ticket("another-run"), cli.issue(), broken, ticket[:-1], f"{ticket}0"):
            assert browser.get(f"/?token={bad}").status_code == 401
        assert browser.get(f"/?token={ticket}").status_code == 303
        browser.cookies.clear()
        assert browser.get(f"/?token={ticket}").status_code == 401
        clock.now += TICKET_LASTS - 1
        assert browser.get(f"/?token={ticket}").status_code == 401
        clock.now += 2
        assert browser.get(f"/?token={late}").status_code == 401


def test_a_session_lasts_a_year_from_the_last_visit(root: Path, clock: Clock) -> None:
    with server_of(root) as (browser, access):
        jar = {"cookie": f"{access.sessions.cookie}={access.sessions.issue()}"}
        clock.now += RENEWED_AFTER - 1
        assert "set-cookie" not in browser.get("/", headers=jar).headers
        clock.now += 2
        assert "set-cookie" not in browser.get("/api/health", headers=jar).headers
        renewed = browser.get("/", headers=jar).headers["set-cookie"]
        assert f"Max-Age={LASTS}" in renewed
        browser.cookies.clear()
        clock.now += LASTS - RENEWED_AFTER
        assert browser.get("/", headers=jar).status_code == 401
        again = {"cookie": renewed.split(";")[0]}
        assert browser.get("/", headers=again).status_code == 200
        # A clock that is set back signs nobody out.
        clock.now -= 2 * LASTS
        assert browser.get("/", headers=again).status_code == 200


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_the_secret_is_its_owners_alone(root: Path, tmp_path: Path) -> None:
    mask = os.umask(0)
    try:
        Sessions(root)
    finally:
        os.umask(mask)
    place = root / FILE
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert [p for p in root.iterdir() if p.name.endswith(".part")] == []
    first = place.read_bytes()
    assert len(bytes.fromhex(first.decode())) == 32
    # Opening it again changes nothing; one that others could read is theirs no longer.
    place.chmod(0o644)
    assert Sessions(root).cookie == Sessions(root).cookie
    assert (place.read_bytes(), stat.S_IMODE(place.stat().st_mode)) == (first, 0o600)
    # Neither a backup nor what is restored from it has it.
    with Collection.open(root) as col:
        col.backup(tmp_path / "backup")
    assert not (tmp_path / "backup" / FILE).exists()
    (tmp_path / "backup" / FILE).write_bytes(first)  # somebody put one there
    Collection.restore(tmp_path / "backup", tmp_path / "again.lw").close()
    assert not (tmp_path / "again.lw" / FILE).exists()
    # What is no secret is replaced.
    place.write_bytes(b"x\n")
    assert Sessions(root).age(Sessions(root).issue()) is not None
    assert len(place.read_bytes()) == 65


def test_without_a_place_for_it_sessions_end_with_the_server(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr(sessions, "write_whole", refuse)
    made = Sessions(root)
    assert not made.lasting
    assert made.age(made.issue()) is not None
    access = Access(frozenset({HOST}), KEY, sessions=made)
    assert "Max-Age" not in access.session_cookie()
    page = replies.not_let_in(root, lasting=made.lasting).decode()
    assert "likewise admin link" not in page
    assert "start it again" in page


def test_who_is_not_let_in_reads_what_to_do(root: Path) -> None:
    with server_of(root) as (browser, access):
        for place, title in (("/", "not signed in"), ("/?token=old", "no longer works")):
            answer = browser.get(place)
            assert answer.status_code == 401
            assert answer.headers["content-type"] == "text/html; charset=utf-8"
            assert title in answer.text
            assert f"likewise admin link -C {root}</code>" in answer.text
            for tool in ("style=", "onclick", "<style", "<script>"):
                assert tool not in answer.text, "the content security policy forbids it"
        # What the page is drawn with is open, and nothing else of the page is.
        used = set(re.findall(r'(?:href|src)="(/page/[^"]+)"', browser.get("/").text))
        assert used == OPEN_PARTS
        for part in used:
            assert browser.get(part).status_code == 200
            assert browser.post(part, headers={"origin": OWN}).status_code == 401
        for other in sorted(PAGE.iterdir()):
            if other.name not in replies.PARTS:
                assert browser.get(f"/page/{other.name}").status_code == 401
        # Programs read JSON as before.
        check_error(browser.get("/", headers={"accept": "*/*"}), 401, "not_let_in")
        # Where strangers may look, the path is nobody's business.
        access.collection = None
        assert "likewise admin link</code>" in browser.get("/").text
        assert str(root) not in browser.get("/").text
        wrong = browser.get("/", headers={"host": "<b>evil</b>:8700"})
        assert wrong.status_code == 421
        assert "does not answer to this name" in wrong.text
        assert "&lt;b&gt;evil" in wrong.text


def test_a_hostile_name_of_a_folder_stays_text() -> None:
    page = replies.not_let_in(Path("/a b/<script>'x'\udcff.lw")).decode()
    assert "<script>'" not in page
    assert "&lt;script&gt;" in page


# -- which servers run ----------------------------------------------------------------------


def test_a_server_leaves_word_and_what_is_left_over_is_swept(root: Path) -> None:
    first, second = this_server("127.0.0.1", 8700, ()), this_server("0.0.0.0", 8701, ("a.lan",))
    assert running_servers(root) == []
    with announce(root, first) as said, announce(root, second):
        assert said
        assert running_servers(root) == [second, first]
        # Two who look at once find the same.
        seen: list[Any] = []
        lookers = [
            threading.Thread(target=lambda: seen.append(running_servers(root))) for _ in range(4)
        ]
        for one in lookers:
            one.start()
        for one in lookers:
            one.join()
        assert seen == [[second, first]] * 4
        place = root / FOLDER / f"{first.run}.json"
        if os.name != "nt":
            assert stat.S_IMODE(place.stat().st_mode) == 0o600
        left = place.with_name("left.json")
        left.write_bytes(place.read_bytes())  # as after a kill: nobody holds it
        assert running_servers(root) == [second, first]
        assert not left.exists()
    assert list((root / FOLDER).iterdir()) == []
    with Collection.open(root) as col:
        assert col.verify() == []


def test_addresses_a_browser_takes() -> None:
    assert base_url("0.0.0.0", 80) == "http://127.0.0.1:80"
    assert base_url("::", 80) == "http://[::1]:80"
    assert base_url("photos.lan", 80) == "http://photos.lan:80"
    assert own_addresses("127.0.0.1") == ()
    assert own_addresses("192.168.7.7") == ("192.168.7.7",)
    assert "127.0.0.1" not in own_addresses("0.0.0.0")


def browser_at(server: Process) -> httpx.Client:
    return httpx.Client(
        base_url=server.base, trust_env=False, headers={"accept": "text/html"}, timeout=60
    )


@pytest.mark.slow
def test_link_lets_in_after_a_restart_and_revoke_ends_it(start: Start, root: Path) -> None:
    """The whole of it with processes: sign in, restart on another port, link, kill, revoke."""
    shell = Likewise(root.parent)
    none = shell("link", "-C", root)
    assert none.returncode == 1
    assert f"no server of {root} runs" in none.stderr
    server = start("serve", "-C", root, "--port", 0)
    with browser_at(server) as browser:
        assert browser.get(server.said["url"]).status_code == 303
        assert browser.get("/").status_code == 200
        cookies = dict(browser.cookies)
    said = shell.json("link", "-C", root)
    assert said == {
        "collection": str(root), "url": said["url"], "phone": None, "port": server.said["port"],
        "pid": server.process.pid, "revoked": False,
    }  # fmt: skip
    with browser_at(server) as another:
        assert another.get(said["url"]).status_code == 303
        assert another.get("/").status_code == 200
    with browser_at(server) as late:
        assert late.get(said["url"]).status_code == 401
    server.process.kill()  # without a word
    server.process.wait(15)
    assert shell("link", "-C", root).returncode == 1, "a server that was killed is none"
    assert list((root / FOLDER).iterdir()) == []
    again = start("serve", "-C", root, "--port", 0)
    with browser_at(again) as browser:
        browser.cookies.update(cookies)
        assert browser.get("/").status_code == 200
        told = shell("link", "--revoke", "-C", root)
        assert told.returncode == 0
        assert "Every browser is signed out" in told.stdout
        answer = browser.get("/")
        assert answer.status_code == 401
        assert "likewise admin link -C" in answer.text
        fresh = re.findall(r"^Open (\S+)$", told.stdout, re.MULTILINE)
        assert browser.get(fresh[0]).status_code == 303
        assert browser.get("/").status_code == 200
    assert "█" not in told.stdout, "a code is for phones, and they cannot get here"
    assert again.ended() == 0
    assert list((root / FOLDER).iterdir()) == []


def test_link_draws_a_code_where_the_server_listens_for_others(root: Path) -> None:
    shell = Likewise(root.parent)
    with announce(root, this_server("0.0.0.0", 8700, ("photos.lan",))):
        said = shell("link", "-C", root)
    assert said.returncode == 0, said.stderr
    assert "http://127.0.0.1:8700/?token=" in said.stdout
    assert "http://photos.lan:8700/?token=" in said.stdout
    rows = [line for line in said.stdout.splitlines() if set(line) <= set(" █▀▄") and line]
    assert len(rows) > 20
    assert len({len(row) for row in rows}) == 1
