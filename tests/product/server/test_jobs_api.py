"""Long work over HTTP: how far it is for who joins late, stopping it, words made on request."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from likewise.catalog.jobs import ADDING, Progress, Report
from likewise.collection.collection import Collection
from likewise.ingest.add import AddResult
from likewise.server.jobs import Events, JobStopped, Work
from likewise.server.schemas import FailedEvent, ProgressEvent
from tests.product.server.conftest import Client, N
from tests.product.server.waiting import PATIENCE, ended


class Heard(Events):
    """Remembers what was told, and when it was over."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[str, Any]] = []
        self.over = threading.Event()

    def tell(self, name: str, data: Any) -> None:
        self.told.append((name, data))
        if name in ("done", "failed"):
            self.over.set()


@pytest.fixture
def heard() -> Heard:
    return Heard()


def test_who_joins_late_is_told_how_far_it_is(root: Path, heard: Heard) -> None:
    work, told, go_on = Work(heard), threading.Event(), threading.Event()

    def job(_: Collection, report: Report) -> AddResult:
        report(Progress(ADDING, 10, 40, problems=1, rate=5.0, note="learning"))
        # Too soon after the last to be told as an event.
        report(Progress(ADDING, 11, 40, problems=1, rate=5.0, note="learning"))
        told.set()
        assert go_on.wait(PATIENCE)
        return AddResult()

    assert work.running is None
    number = work.start("add", Collection.open(root), job)
    assert told.wait(PATIENCE)
    running = work.running
    assert running is not None
    progress = ProgressEvent.model_validate(running["progress"])
    assert (progress.job, progress.done, progress.total) == (number, 11, 40)
    assert progress.left == pytest.approx(29 / 5)
    assert progress.note == "learning"
    assert [data["done"] for name, data in heard.told if name == "progress"] == [10]
    go_on.set()
    assert heard.over.wait(PATIENCE)
    assert work.running is None


def test_one_job_is_stopped_and_the_next_runs(root: Path, heard: Heard) -> None:
    work, begun, stopped = Work(heard), threading.Event(), threading.Event()

    def endless(_: Collection, report: Report) -> AddResult:
        try:
            while True:
                report(Progress(ADDING, 1, 2))
                begun.set()
        except JobStopped:
            stopped.set()
            raise

    number = work.start("add", Collection.open(root), endless)
    assert begun.wait(PATIENCE)
    assert not work.cancel(number + 1), "another job's number"
    assert not stopped.is_set()
    assert work.cancel(number)
    assert heard.over.wait(PATIENCE)
    name, data = heard.told[-1]
    assert name == "failed"
    end = FailedEvent.model_validate(data)
    assert (end.stopped, end.what) == (True, "add")
    assert "are kept" in end.message
    assert not work.cancel(number), "it is over"

    heard.over.clear()
    work.start("add", Collection.open(root), lambda col, _: AddResult(added=len(col)))
    assert heard.over.wait(PATIENCE)
    assert heard.told[-1][0] == "done"
    assert heard.told[-1][1]["added"] == N


def test_stopping_what_is_not_running_says_so(client: Client) -> None:
    assert client.post_json("/api/collection/stop", {"job": 7}) == {"stopping": False}
    client.refused("/api/collection/stop", {"job": 0}, 422, "invalid")


def test_words_are_made_on_request(client: Client) -> None:
    client.inner.state.service.collection.spaces.drop("words")
    names = {one["name"] for one in client.get_json("/api/collection")["spaces"]}
    assert names == {"holistic"}
    told: list[dict[str, Any]] = []
    tell = client.inner.state.events.tell

    def listen(name: str, data: Any) -> None:
        if name == "progress":
            told.append(data)
        tell(name, data)

    client.inner.state.events.tell = listen
    with ended(client) as end:
        assert client.post("/api/collection/describe").status_code == 202
    assert (end["what"], end["pictures"], end["spaces"]) == ("describe", N, "words")
    spaces = {one["name"]: one for one in client.get_json("/api/collection")["spaces"]}
    assert spaces["words"]["pictures"] == N
    assert {one["stage"] for one in told} == {"describing pictures by words"}
    counts = [one["done"] for one in told]
    assert counts == sorted(counts), "no stage takes the count back"
    assert {one["total"] for one in told} == {N}
    assert counts[-1] == N
    assert any("learning" in one["note"] for one in told)
    # Nothing is missing any more: nothing is done.
    with ended(client) as end:
        client.post("/api/collection/describe")
    assert end["spaces"] == ""


def test_words_that_were_stopped_trouble_no_later_add(client: Client) -> None:
    client.inner.state.service.collection.spaces.drop("words")
    work, events = client.inner.state.work, client.inner.state.events
    over, tell = threading.Event(), events.tell
    heard: list[tuple[str, Any]] = []

    def listen(name: str, data: Any) -> None:
        heard.append((name, data))
        if name == "progress":
            work.cancel(data["job"])  # at the very first report
        elif name in ("done", "failed"):
            over.set()
        tell(name, data)

    events.tell = listen
    client.post("/api/collection/describe")
    assert over.wait(PATIENCE)
    assert heard[-1][0] == "failed"
    assert heard[-1][1]["stopped"]
    about = client.get_json("/api/collection")
    assert [one["name"] for one in about["spaces"]] == ["holistic"]
    assert about["pictures"] == N
