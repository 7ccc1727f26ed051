"""Waiting for work in the background to end, without a stream of events."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pydantic import TypeAdapter

from likewise.server.schemas import EventsOut
from tests.product.server.conftest import Client

DONE: TypeAdapter[Any] = TypeAdapter(EventsOut.model_fields["done"].annotation)
PATIENCE = 120.0
"""Seconds: a busy machine is slow, not wrong."""


@contextmanager
def ended(client: Client) -> Iterator[dict[str, Any]]:
    """What a job told when it was done, after the block that started it."""
    events = client.inner.state.events
    told: dict[str, Any] = {}
    over = threading.Event()
    tell = events.tell

    def listen(name: str, data: Any) -> None:
        tell(name, data)
        if name in ("done", "failed"):
            told.update(data, event=name)
            over.set()

    events.tell = listen
    try:
        yield told
        assert over.wait(PATIENCE), "the job did not end"
    finally:
        events.tell = tell
    if told["event"] == "failed":
        pytest.fail(str(told["message"]))
    # The page's types are made from the description: what is told must be what is described.
    said = {key: value for key, value in told.items() if key != "event"}
    assert DONE.validate_python(said).model_dump() == said
