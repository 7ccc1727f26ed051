"""Misuse of named keys: what is kept of one, who it opens for, and until when."""

from __future__ import annotations

import hmac
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from likewise.catalog.key_table import Actor, acting
from likewise.collection.collection import Collection
from likewise.collection.keys import PREFIX, digest_of
from likewise.errors import CollectionError, InvalidInput
from likewise.server.roles import LEAST
from tests.product.collection.loop_cases import SPACES, copied, weights
from tests.product.server.conftest import Client, check_error, client_of


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return copied(tmp_path)


@pytest.fixture
def server(root: Path) -> Iterator[Client]:
    with client_of(root) as made:
        yield made


def bearer(secret: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"}


def holds(folder: Path, secret: str) -> list[Path]:
    """Files below a folder in which a text stands."""
    said = secret.encode()
    return [path for path in folder.rglob("*") if path.is_file() and said in path.read_bytes()]


def test_only_a_hash_is_at_rest(
    server: Client, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """In the catalog, its journal, a backup, the list, the repr of what is given, the log."""
    caplog.set_level(0)
    col: Collection = server.inner.state.service.collection
    made = col.keys.add("ada", "manage")
    headers = bearer(made.secret)
    assert server.get("/api/me", headers=headers).json()["name"] == "ada"
    server.post("/sign-in", json={"key": made.secret}, headers={"origin": "http://127.0.0.1:8700"})
    check_error(server.post("/api/judge", content=b"{", headers=headers), 422, "invalid")
    col.backup(root.parent / "backup")
    for secret in (made.secret, made.secret.removeprefix(PREFIX)):
        assert holds(root.parent, secret) == []
        assert secret not in caplog.text
        assert secret not in repr(made) + repr(list(col.keys)) + str(vars(col.keys))
    # What is kept is there: the search above would have found it.
    assert holds(root, "ada")
    assert digest_of(made.secret) in b"".join(
        path.read_bytes() for path in root.glob("catalog.sqlite*")
    )


def test_a_key_of_another_collection_opens_nothing(server: Client, root: Path) -> None:
    other = root.with_name("other.lw")
    shutil.copytree(root, other)
    with Collection.open(other) as col:
        secret = col.keys.add("ada", "manage").secret
    check_error(server.get("/api/me", headers=bearer(secret)), 401, "not_let_in")


def test_every_wrong_key_gets_one_answer_in_one_way(
    server: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing tells a guess that is nearly right from one that is not: same words, and each key
    compared whole, whatever is offered."""
    col: Collection = server.inner.state.service.collection
    working, gone = col.keys.add("ada", "look").secret, col.keys.add("bob", "look").secret
    col.keys.add("eve", "judge")
    col.keys.revoke("bob")
    compared: list[int] = []
    plain = hmac.compare_digest

    def compare(one: Any, other: Any) -> bool:
        compared.append(len(one))
        return plain(one, other)

    monkeypatch.setattr("likewise.collection.keys.hmac.compare_digest", compare)
    answers = set()
    for guess in (working[:-1], working + "A", working.swapcase(), gone, PREFIX, "x" * 5000):
        compared.clear()
        assert col.keys.of_secret(guess) is None
        assert compared == [32, 32], "every working key, and none twice"
        answers.add(server.get("/api/me", headers=bearer(guess)).text)
    compared.clear()
    assert col.keys.of_secret(working) is not None
    assert compared == [32, 32], "not fewer when it was found"
    assert len(answers) == 1


def test_a_key_in_an_address_opens_nothing(server: Client) -> None:
    col: Collection = server.inner.state.service.collection
    secret = col.keys.add("ada", "manage").secret
    server.headers.pop("authorization")
    for place in (f"/?token={secret}", f"/?key={secret}", f"/api/me?key={secret}",
                  f"/api/me?token={secret}", f"/api/me?access_token={secret}"):  # fmt: skip
        answer = server.get(place)
        check_error(answer, 401, "not_let_in")
        assert secret not in answer.text
        assert "set-cookie" not in answer.headers
    told = server.get(f"/?token={secret}", headers={"accept": "text/html"})
    assert told.status_code == 401
    assert "Do not put a key into an address" in told.text
    # Nor does a cookie that is the key itself.
    name = server.inner.state.access.sessions.cookie
    check_error(server.get("/api/me", headers={"cookie": f"{name}={secret}"}), 401, "not_let_in")


def test_a_look_key_changes_nothing(server: Client, root: Path) -> None:
    """Every route that changes something, with bodies that would: all refused, no byte moved."""
    col: Collection = server.inner.state.service.collection
    secret = col.keys.add("ada", "look").secret
    ids = server.ids()
    # Counted first: that it was used is noted once, beside the requests.
    assert server.get("/api/health", headers=bearer(secret)).status_code == 200
    server.inner.state.service._notes.submit(lambda: None).result()
    before = col.revision
    body = {
        "query": {"picture": ids[0]}, "liked": ids[1:2], "pictures": ids[:2], "add": ["x"],
        "picture": ids[0], "tag": "x", "name": "eve", "role": "manage", "album": "a", "stars": 1,
        "folder": str(root.parent), "kind": "map", "position": 0, "action": 1, "job": 1,
    }  # fmt: skip
    tried = 0
    for pattern, methods in LEAST.items():
        for method, least in methods.items():
            if least == "look":
                continue
            path = pattern.replace("{picture}", ids[0]).replace("{key}", "1")
            path = path.replace("{name}", "default")
            answer = server.request(method, path, json=body, headers=bearer(secret))
            check_error(answer, 403, "role")
            tried += 1
    assert tried > 35
    assert col.revision == before
    assert [key.name for key in col.keys] == ["ada"]


@pytest.mark.parametrize(
    "name", ["", "  ", "x" * 41, "a\0b", "a\x1b]0;b\x07", "a\rb", "\u2066a", "7", "OWNER"]
)
def test_a_name_that_could_mislead_makes_no_key(root: Path, name: str) -> None:
    with Collection.open(root) as col:
        with pytest.raises(InvalidInput):
            col.keys.add(name, "look")
        assert list(col.keys) == []


def test_revoked_here_is_refused_there_at_the_next_request(server: Client, root: Path) -> None:
    """Two processes: when the command that revokes has ended, the server next door knows."""
    command = [sys.executable, "-m", "likewise", "keys"]
    made = subprocess.run(
        [*command, "add", "ada", "--role", "judge", "-C", str(root)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    secret = made.stdout.strip()
    assert secret.startswith(PREFIX)
    assert secret not in made.stderr
    assert server.get("/api/me", headers=bearer(secret)).json()["role"] == "judge"
    subprocess.run([*command, "revoke", "ada", "-C", str(root)], capture_output=True, check=True)
    check_error(server.get("/api/me", headers=bearer(secret)), 401, "not_let_in")


def test_a_restored_backup_lets_nobody_in(root: Path, tmp_path: Path) -> None:
    """Keys are in a backup as hashes.  What is restored revokes them: one that was revoked since
    the backup was made must not open it."""
    with Collection.open(root) as col:
        made = col.keys.add("ada", "manage")
        with acting(Actor(made.key.id, "ada")):
            col.judge(1, [2], [3])
        col.backup(tmp_path / "backup")
    with Collection.restore(tmp_path / "backup", tmp_path / "again.lw") as again:
        assert again.keys.of_secret(made.secret) is None
        assert again.keys.of_id(made.key.id) is None
        assert len(again.keys) == 0
        # Who said what is known all the same, and can be taken back.
        assert again.log.entries()[-1].who == "ada"
        assert again.keys.take_back("ada").judgements == 1
        assert again.verify() == []


def test_a_restored_backup_has_no_link_for_guests(root: Path, tmp_path: Path) -> None:
    """A link that was closed after the backup was made must not open what is restored."""
    with Collection.open(root) as col:
        token = col.shares.create("Grandpa")
        col.backup(tmp_path / "backup")
        col.shares.revoke("Grandpa")
    with Collection.restore(tmp_path / "backup", tmp_path / "again.lw") as again:
        assert again.shares.of_token(token) is None
        assert len(again.shares) == 0
        # The name is free: a new link is another door.
        assert again.shares.of_token(again.shares.create("Grandpa")) is not None
        assert again.verify() == []


def test_a_new_key_of_a_former_name_is_another(root: Path) -> None:
    with Collection.open(root) as col:
        former = col.keys.add("ada", "judge").key
        with acting(Actor(former.id, "ada")):
            line = col.judge(1, [2], [3]).number
        col.keys.revoke("ada")
        later = col.keys.add("ada", "judge").key
        with pytest.raises(CollectionError, match="not written with your key"):
            col.keys.check_wrote(later, [line])
        with pytest.raises(CollectionError, match="nothing"):
            col.keys.take_back("ada")  # the one that works
        assert col.keys.take_back(former.id).judgements == 1


def test_taken_back_whatever_was_said_in_between(root: Path) -> None:
    """After any order of judgements by two people, undos, copies and tags, taking one back gives
    what the other alone would have given; undoing that gives what there was."""
    twin = root.with_name("alone.lw")
    shutil.copytree(root, twin)
    script: list[tuple[str, Any]] = [
        ("ada", ("judge", 1, [2], [3])), ("bob", ("judge", 1, [3], [2])),
        ("bob", ("tag", 5, "sea")), ("ada", ("untag", 5, "sea")), ("bob", ("judge", 4, [5], [6])),
        ("ada", ("judge", 4, [6], [5])), ("bob", ("copy", "taste")), ("ada", ("tag", 6, "sea")),
        ("bob", ("judge", 7, [8], [1])), ("ada", ("judge", 7, [1], [8])), ("bob", ("undo",)),
        ("bob", ("tag", 6, "sky")),
    ]  # fmt: skip

    def say(col: Collection, what: tuple[Any, ...]) -> None:
        if what[0] == "judge":
            col.judge(what[1], what[2], what[3])
        elif what[0] == "copy":
            col.profiles.copy("default", what[1])
        elif what[0] == "undo":
            col.undo(col.judge(2, [3], [4]))
        else:
            {"tag": col.tag, "untag": col.untag}[what[0]](what[1], what[2])

    def state(col: Collection) -> list[Any]:
        learned = [weights(col, p, s).tolist() for p in ("default", "taste") for s in SPACES]
        return [*learned, [col.tags.of(i) for i in range(1, 9)]]

    with Collection.open(root) as both, Collection.open(twin) as alone:
        ada = both.keys.add("ada", "judge").key
        for who, what in script:
            with acting(Actor(ada.id, "ada") if who == "ada" else None):
                say(both, what)
            if who == "bob":
                say(alone, what)
        before = state(both)
        done = both.keys.take_back("ada")
        assert [both.tags.of(i) for i in range(1, 9)] == [alone.tags.of(i) for i in range(1, 9)]
        for profile in ("default", "taste"):
            for space in SPACES:
                got, due = weights(both, profile, space), weights(alone, profile, space)
                assert got == pytest.approx(due, abs=1e-12), (profile, space)
        assert both.verify() == []
        both.actions.undo(done.action)
        assert state(both) == before
        assert both.verify() == []
