"""The page while the engine that answers its searches is away, and when it is back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from likewise.collection.collection import Collection
from tests.product.collection.pictures import small_scenes
from tests.product.server import browser as driving
from tests.product.server.browser import order, settle, visit
from tests.product.server.conftest import chrome as chrome
from tests.product.server.conftest import photograph

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest.importorskip("playwright.sync_api", reason="playwright is missing: 'make setup' has it")
pytest.importorskip("qdrant_edge", reason="qdrant-edge-py is not installed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(driving.chromium() is None, reason=driving.NO_BROWSER),
]
SENTENCE = "The search engine is not reachable: only new and changed pictures were searched."


def test_it_says_so_and_returns_by_itself(chrome: Browser, tmp_path: Path) -> None:
    root, shelf = tmp_path / "photos.lw", tmp_path / "engine"
    for day, (name, pixels) in enumerate(small_scenes().items(), 1):
        photograph(tmp_path / "pictures" / f"{name}.jpg", pixels, day)
    with Collection.create(root, deep=False) as col:
        col.add(tmp_path / "pictures", workers=0)
        address = f"qdrant-edge://{shelf}"
        col.engine_sync.push(address, ["holistic"])
        col.engine_sync.answer_from(address)
        col.tag(2, "late")  # waits to be sent, so that it is searched here
    gone = shelf.rename(tmp_path / "elsewhere")
    with driving.served(root) as server:
        page, wrong = visit(chrome, server)
        names = {one["name"] for one in server.ask("/api/pictures?limit=100")["items"]}
        page.goto(f"/?q={server.picture('chelsea.jpg')['id']}&by=holistic")
        said = page.get_by_text(SENTENCE)
        said.wait_for()
        assert len(order(page, 100)) < len(names) - 1
        gone.rename(shelf)
        # Nobody touches the page.
        said.wait_for(state="detached", timeout=120_000)
        settle(page)
        assert set(order(page, 100)) == names - {"chelsea.jpg"}
        page.context.close()
        assert wrong == []
