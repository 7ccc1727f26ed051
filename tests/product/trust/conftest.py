"""A served collection, as the tests of the server have it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from likewise.ingest import pool
from tests.product.server.conftest import client as client
from tests.product.server.conftest import home as home
from tests.product.server.conftest import root as root
from tests.product.server.conftest import start as start


@pytest.fixture(autouse=True)
def nobody_waits() -> Iterator[None]:
    yield
    pool.stop_idle()
