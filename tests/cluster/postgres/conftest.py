"""One PostgreSQL for all tests of a session; where there is none they say so and are skipped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cluster.postgres.server import Server


def start_server() -> Iterator[Server]:
    pytest.importorskip("psycopg", reason="psycopg is not installed (likewise-cluster[postgres])")
    from tests.cluster.postgres.server import Server, missing

    why = missing()
    if why is not None:
        pytest.skip(why)
    server = Server()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A server that every test of the session shares; each takes a schema of its own."""
    yield from start_server()


@pytest.fixture
def own_server() -> Iterator[Server]:
    """A server of one test, to be killed."""
    yield from start_server()
