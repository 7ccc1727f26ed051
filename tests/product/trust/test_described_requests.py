"""Requests drawn from the server's own description, with real ids in them: no 5xx, answers as said.

Schemathesis draws what the description allows and what it forbids; pictures, profiles, tags and
judgements are those of a real collection most of the time, since a request about nothing is refused
before it reaches anything.  Few requests a route here, many more in ``make trust``.
"""

from __future__ import annotations

import random
import string
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from likewise.collection.collection import Collection
from tests import trials
from tests.product.server.conftest import Client, client_of
from tests.product.trust.stored_cases import ROUNDS, write_small

REQUESTS = max(ROUNDS // 5, 3)
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
LEFT_OUT = {
    ("GET", "/api/events"): "never ends",
    ("POST", "/api/pictures/{picture}/reveal"): "opens a window of the desktop",
}
LAST = ("/api/pictures/remove", "/api/actions/undo", "/api/library/albums/delete")
PICTURES = {"picture", "pictures", "liked", "disliked", "shown", "anchor", "nearer", "farther"}


class Served:
    """A server, its description, and names of what it has."""

    def __init__(self, client: Client, folder: Path) -> None:
        self.client = client
        ids = client.ids()
        content = next(folder.glob("*.jpg")).read_bytes()
        upload = client.post(
            "/api/uploads", content=content, headers={"content-type": "image/jpeg"}
        )
        lines = client.get_json("/api/profiles/default/log")["items"]
        names = ["default", "other"]
        self.real: dict[str, list[Any]] = {
            **dict.fromkeys(PICTURES, ids),
            "upload": [upload.json()["upload"]],
            "profile": names,
            "by": [one["name"] for one in client.get_json("/api/similarities")["items"]],
            "tag": ["garden", "sea"],
            "tags": ["garden", "sea"],
            "add": ["garden", "meadow"],
            "judgement": [line["number"] for line in lines],
            "position": [0, *(line["number"] for line in lines)],
            # A folder that is drawn by chance may be one of this machine.
            "folder": [str(folder), str(folder / "none")],
        }
        self.description = client.get_json("/api/openapi.json")
        self.schema = schemathesis.openapi.from_dict(self.description)

    def operations(self) -> list[Any]:
        found = [one.ok() for one in self.schema.get_all_operations()]
        kept = [one for one in found if (one.method.upper(), one.path) not in LEFT_OUT]
        assert len(kept) == len(found) - len(LEFT_OUT)
        return sorted(kept, key=lambda one: one.path in LAST)

    def in_path(self, path: str, name: str) -> list[Any]:
        """Real values of a part of an address."""
        if name == "name":
            kind = path.split("/")[2]
            return {"uploads": self.real["upload"], "profiles": self.real["profile"]}.get(
                kind, ["map"]
            )
        return self.real.get(name, [])

    def made_real(self, value: Any, key: str, rng: random.Random) -> Any:
        """A drawn value with real names in it."""
        if isinstance(value, Mapping):
            return {k: self.made_real(v, k, rng) for k, v in value.items()}
        if isinstance(value, list):
            return [self.made_real(one, key, rng) for one in value]
        real = self.real.get(key)
        always = key == "folder"
        if real and isinstance(value, str | int) and (always or rng.random() < 0.8):
            return rng.choice(real)
        return value

    def send(self, case: Any, rng: random.Random) -> Any:
        """The request of a case."""
        path = case.path
        for name, value in (case.path_parameters or {}).items():
            real = self.in_path(path, name)
            chosen = rng.choice(real) if real and rng.random() < 0.8 else value
            path = path.replace(f"{{{name}}}", _quoted(chosen))
        query = self.made_real(dict(case.query or {}), "", rng)
        more: dict[str, Any] = {}
        if case.media_type == "application/json":
            more["json"] = self.made_real(case.body, "", rng)
        elif isinstance(case.body, bytes):
            more["content"] = case.body
        return self.client.request(case.method, path, params=_plain(query), **more)


def _quoted(value: Any) -> str:
    """One part of a path; what is no letter by its bytes."""
    keep = string.ascii_letters + string.digits + "-_"
    text = str(value).encode("utf-8", "surrogatepass")
    return "".join(chr(b) if chr(b) in keep else f"%{b:02X}" for b in text) or "x"


def _plain(query: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters that a query can say."""
    return {
        key: [str(one) for one in value] if isinstance(value, list) else str(value)
        for key, value in query.items()
    }


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("described")
    write_small(home / "pictures", 10)
    with Collection.create(home / "photos.lw", deep=False) as col:
        col.add(home / "pictures", workers=0)
        col.profiles.create("other")
        col.judge(1, [2], [3])
        col.judge(2, [4], [5])
        col.tag(1, "garden")
        col.tag(2, "sea")
        col.models.learn_map(space="holistic")
    with client_of(home / "photos.lw") as client:
        yield Served(client, home / "pictures")
        client.post("/api/collection/stop", json={})


def test_requests_by_the_description_are_answered_by_it(served: Served) -> None:
    answered: dict[int, int] = {}
    for operation in served.operations():

        @settings(
            max_examples=REQUESTS, deadline=None, derandomize=not ROUNDS, database=None,
            phases=[Phase.generate], suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(case=operation.as_strategy(), seed=st.integers(0, 10**6))
        def ask(case: Any, seed: int) -> None:
            answer = served.send(case, random.Random(seed))
            answered[answer.status_code // 100] = answered.get(answer.status_code // 100, 0) + 1
            case.validate_response(answer, checks=CHECKS)

        ask()
    trials.count(trials.DRAWN, sum(answered.values()))
    # Most were understood: a test that is only refused tests nothing.
    assert answered[2] > answered.get(4, 0) / 2
    assert served.client.get_json("/api/health")
    assert served.client.post_json("/api/collection/verify", {})["wrong"] == []
