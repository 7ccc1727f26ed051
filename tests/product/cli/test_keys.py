"""``likewise admin keys``: made and shown once, listed, revoked, and all of one taken back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from likewise.catalog.key_table import Actor, acting
from likewise.cli.app import app
from likewise.collection.collection import Collection
from tests.product.collection.loop_cases import copied


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("LIKEWISE_COLLECTION", raising=False)
    return copied(tmp_path)


def run(root: Path, *arguments: str, code: int = 0) -> Any:
    done = CliRunner().invoke(app, ["keys", *arguments, "-C", str(root)])
    assert done.exit_code == code, (arguments, done.output, done.exception)
    if code:
        return f"{done.output} {done.exception}"
    return json.loads(done.stdout) if "--json" in arguments else done.stdout


def test_a_key_from_beginning_to_end(root: Path) -> None:
    assert "no keys" in run(root, "list")
    secret = run(root, "add", "Ada", "--role", "judge").strip()
    with Collection.open(root) as col:
        key = col.keys.of_secret(secret)
        assert key is not None
        assert (key.name, key.role, key.maker) == ("Ada", "judge", "the command line")
        with acting(Actor(key.id, key.name)):
            col.judge(1, [2], [3])
            col.tag(4, "sea")
    made = run(root, "add", "Bob", "--role", "look", "--json")
    assert made["key"].startswith("lwk_")
    assert (made["name"], made["role"], made["revoked"]) == ("Bob", "look", None)
    listed = run(root, "list")
    assert [line.split()[1:3] for line in listed.splitlines()[1:]] == [
        ["Ada", "judge"], ["Bob", "look"],
    ]  # fmt: skip
    assert "never" in listed
    assert secret not in listed
    log = CliRunner().invoke(app, ["log", "-C", str(root)])
    assert "by Ada" in log.stdout
    assert "no longer works" in run(root, "revoke", "ada")
    assert "revoked already" in run(root, "revoke", "Ada", code=1)
    assert [one["name"] for one in run(root, "list", "--json")] == ["Bob"]
    assert [bool(one["revoked"]) for one in run(root, "list", "--all", "--json")] == [True, False]
    done = run(root, "take-back", "Ada", "--json")
    assert (done["judgements"], done["tags"]) == (1, 1)
    undone = CliRunner().invoke(app, ["actions", "undo", "-C", str(root)])
    assert "2 lines restored" in undone.stdout
    assert "Undid 1 judgement and 1 tag change of Ada" in run(root, "take-back", "1")
    log = CliRunner().invoke(app, ["log", "-C", str(root)])
    assert "took back 1 judgement of Ada" in log.stdout


def test_what_makes_no_key(root: Path) -> None:
    run(root, "add", "Ada", "--role", "look")
    assert "already" in run(root, "add", "ADA", "--role", "look", code=1)
    assert "no name" in run(root, "add", "a\x1b[0m", "--role", "look", code=1)
    run(root, "add", "Eve", "--role", "owner", code=2)
    run(root, "add", "Eve", code=2)
    assert "there is no key 'Eve'; there are 'Ada'" in run(root, "revoke", "Eve", code=1)
    assert "nothing" in run(root, "take-back", "Ada", code=1)
