"""The owner is not locked out: browser closed, server restarted, and what is said otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from likewise.server.sessions import Sessions
from tests.product.server import browser as driving
from tests.product.server.axe import axe_script, violations
from tests.product.server.browser import served

pytest.importorskip("playwright.sync_api", reason="playwright is missing: 'make setup' has it")
pytestmark = pytest.mark.skipif(driving.chromium() is None, reason=driving.NO_BROWSER)
if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Playwright


@pytest.mark.slow
def test_closing_browser_and_server_keeps_the_owner_in(root: Path, tmp_path: Path) -> None:
    def browser(playing: Playwright) -> BrowserContext:
        # A profile on disk, as a person's browser has: what lasts is kept when it is closed.
        made = playing.chromium.launch_persistent_context(
            tmp_path / "profile", executable_path=driving.chromium(), args=list(driving.ARGUMENTS)
        )
        made.set_default_timeout(driving.PATIENCE)
        return made

    with driving.driver() as playing:
        with served(root) as server:
            context = browser(playing)
            page = context.new_page()
            page.goto(server.entrance)
            page.get_by_role("heading", name="16 pictures").wait_for()
            assert "token" not in page.url
            context.close()
        with served(root) as again:
            assert again.url != server.url
            context = browser(playing)
            page = context.new_page()
            page.goto(again.url)
            page.get_by_role("heading", name="16 pictures").wait_for()
            # Signed out, the page says so, and a reload says what to do.
            Sessions(root).renew()
            page.reload()
            page.get_by_role("heading", name="This browser is not signed in").wait_for()
            if axe_script() is not None:
                assert violations(page) == []
            command = page.locator("#command").inner_text()
            assert command == f"likewise admin link -C {root}"
            context.grant_permissions(["clipboard-read", "clipboard-write"])
            page.get_by_role("button", name="Copy").click()
            page.get_by_role("button", name="Copied").wait_for()
            assert page.evaluate("navigator.clipboard.readText()") == command
            # Drawn with our own styles, which need no session.
            ground = page.evaluate("getComputedStyle(document.querySelector('.command')).display")
            assert ground == "flex"
            context.close()
