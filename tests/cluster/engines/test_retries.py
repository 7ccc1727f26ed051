"""A server that is slow, cuts its answers, fails or refuses: asked again, or told at once."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from likewise.engines.breaker import Breaker
from likewise.engines.errors import EngineAway, EngineRefused
from likewise.engines.protocol import RowKind
from likewise.errors import InvalidInput
from likewise_cluster.engines.addresses import KEY
from likewise_cluster.engines.addresses import open_qdrant as open_engine
from likewise_cluster.engines.retries import Retries
from likewise_cluster.engines.server import ServerPoints

pytest.importorskip("qdrant_client", reason="qdrant-client is not installed")

SPARSE = RowKind(is_sparse=True, width=10)


class Stub(BaseHTTPRequestHandler):
    """Says that there is no collection, after failing as often as ``failures`` lists."""

    failures: ClassVar[list[str]] = []
    asked: ClassVar[list[dict[str, str]]] = []
    ready = threading.Event()

    def do_GET(self) -> None:
        self.asked.append(dict(self.headers))
        failure = self.failures.pop(0) if self.failures else ""
        body = json.dumps({"result": {"exists": False}, "status": "ok", "time": 0.0}).encode()
        body = {"nonsense": b"[]", "nothing": b"{}"}.get(failure, body)
        if failure == "slow":
            self.ready.wait(20)
        if failure == "hang up":
            self.connection.close()
            return
        code = int(failure) if failure.isdecimal() else 200
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        if code == 429:
            self.send_header("Retry-After", "1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:5] if failure == "cut" else body)
        if failure == "cut":
            self.close_connection = True

    def log_message(self, *_: Any) -> None:
        """Tests print nothing."""


class Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """A client that gave up is what is tested."""


@pytest.fixture
def stub() -> Iterator[str]:
    Stub.failures, Stub.asked = [], []
    Stub.ready.clear()
    server = Quiet(("127.0.0.1", 0), Stub)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"127.0.0.1:{server.server_address[1]}"
    Stub.ready.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("failure", ["500", "503", "429", "cut", "hang up"])
def test_a_failure_that_passes_is_not_seen(stub: str, failure: str) -> None:
    pauses: list[float] = []
    Stub.failures = [failure] * 3
    retries = Retries(sleep=pauses.append, draw=lambda: 1.0)
    with open_engine(f"qdrant://{stub}/photos", retries=retries) as engine:
        assert engine.names() == {}
    assert len(Stub.asked) == 4
    assert pauses == [0.25, 0.5, 1.0]


def test_a_slow_answer_is_given_up_and_asked_for_again(stub: str) -> None:
    Stub.failures = ["slow"]
    retries = Retries(sleep=lambda _: None)
    with open_engine(f"qdrant://{stub}/photos?timeout=1", retries=retries) as engine:
        assert engine.names() == {}
    assert len(Stub.asked) == 2


@pytest.mark.parametrize("failure", ["500", "cut", "nonsense", "nothing"])
def test_a_server_that_stays_away_is_named(stub: str, failure: str) -> None:
    Stub.failures = [failure] * 9
    retries = Retries(times=3, sleep=lambda _: None)
    with (
        open_engine(f"qdrant://{stub}/photos", retries=retries) as engine,
        pytest.raises(EngineAway, match=rf"qdrant://{stub}/photos is away \(.*; asked 3 times\)"),
    ):
        engine.store("words-1", SPARSE)
    assert len(Stub.asked) == 3


def test_nobody_listens() -> None:
    retries = Retries(times=2, sleep=lambda _: None)
    with (
        # Port 9 (discard) is nobody's here.
        open_engine("qdrant://127.0.0.1:9/photos", retries=retries) as engine,
        pytest.raises(EngineAway, match="ConnectError"),
    ):
        engine.names()


@pytest.mark.parametrize(
    ("failure", "said"), [("401", "API key"), ("403", "API key"), ("400", "answered 400")]
)
def test_a_refusal_is_told_at_once(stub: str, failure: str, said: str) -> None:
    Stub.failures = [failure] * 9
    with (
        open_engine(f"qdrant://{stub}/photos", retries=Retries(sleep=_never)) as engine,
        pytest.raises(EngineRefused, match=said),
    ):
        engine.names()
    assert len(Stub.asked) == 1


def test_what_was_made_by_a_try_whose_answer_was_lost_is_made(stub: str) -> None:
    """Made, then refused as there already: that is success, and only that."""
    retries = Retries(sleep=_never)
    points = open_engine(f"qdrant://{stub}/photos", retries=retries)._points
    assert isinstance(points, ServerPoints)
    Stub.failures = ["409", "409"]
    points._make(points._client.collection_exists, lambda: True)
    with pytest.raises(EngineRefused, match="answered 409"):
        points._make(points._client.collection_exists, lambda: False)
    points.close()


def _never(_: float) -> None:
    raise AssertionError("there was nothing to wait for")


def test_pauses_double_up_to_a_limit_and_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    drawn = iter([1.0, 0.5, 0.25, 1.0, 1.0, 0.1])
    retries = Retries(
        times=7, first=1.0, longest=6.0, sleep=pauses.append, draw=lambda: next(drawn)
    )

    def ask() -> None:
        raise TimeoutError

    with pytest.raises(EngineAway):
        retries.call("somewhere", ask, lambda error: "a time-out")
    assert pauses == pytest.approx([1.0, 1.0, 1.0, 6.0, 6.0, 0.6])


def test_what_failed_is_left_alone_for_a_while() -> None:
    now = [0.0]
    breaker = Breaker(first=1.0, longest=3.0, clock=lambda: now[0], draw=lambda: 1.0)
    assert breaker.reason_to_wait() is None
    for pause in (1.0, 2.0, 3.0, 3.0):
        breaker.failed("a time-out")
        assert breaker.reason_to_wait() == "a time-out"
        now[0] += pause
        # One may try; whoever comes meanwhile goes without.
        assert breaker.reason_to_wait() is None
        assert breaker.reason_to_wait() == "a time-out"
    breaker.worked()
    assert breaker.reason_to_wait() is None
    breaker.failed("again")
    now[0] += 1.0
    assert breaker.reason_to_wait() is None


def test_what_is_no_failure_of_the_server_is_not_repeated() -> None:
    calls = []

    def ask() -> None:
        calls.append(time.monotonic())
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        Retries(sleep=_never).call("somewhere", ask, lambda error: None)
    assert len(calls) == 1


def test_the_key_travels_in_a_header(stub: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "a secret")
    with open_engine(f"qdrant://{stub}/photos") as engine:
        engine.names()
        assert "a secret" not in engine.address
    assert Stub.asked[0]["api-key"] == "a secret"


def test_a_key_does_not_leave_this_machine_readable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "a secret")
    with pytest.raises(InvalidInput, match="qdrants://"):
        open_engine("qdrant://192.0.2.1:6333/photos")
    open_engine("qdrants://192.0.2.1:6333/photos").close()


def test_tls_is_asked_for(stub: str) -> None:
    """A server without TLS is no server for qdrants://."""
    retries = Retries(times=1)
    with (
        open_engine(f"qdrants://{stub}/photos", retries=retries) as engine,
        pytest.raises(EngineAway, match="SSL"),
    ):
        engine.names()
    assert Stub.asked == []


@pytest.mark.parametrize(
    "address",
    [
        "localhost:6333/x",
        "http://localhost:6333/x",
        "qdrant://localhost:6333",
        "qdrant://localhost:6333/a/b",
        "qdrant://me:key@localhost:6333/x",
        "qdrant://localhost:6333/x?speed=9",
        "qdrant://localhost:6333/x?timeout=soon",
        "qdrant-edge://folder",
        "qdrant-edge:///",
    ],
)
def test_addresses_that_make_no_sense(address: str) -> None:
    with pytest.raises(InvalidInput):
        open_engine(address)
