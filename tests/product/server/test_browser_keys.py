"""Keys in a real browser: made in the settings, signed in with elsewhere, offered what they may."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.product.server import browser as driving
from tests.product.server.axe import axe_script, violations
from tests.product.server.browser import PATIENCE, Served, settle, visit

pytest.importorskip("playwright.sync_api", reason="playwright is missing: 'make setup' has it")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(driving.chromium() is None, reason=driving.NO_BROWSER),
]
if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


def stranger(chrome: Browser, server: Served, **how: Any) -> Page:
    """A browser on another machine, which has been nowhere yet."""
    context = chrome.new_context(base_url=server.url, **how)
    context.set_default_timeout(PATIENCE)
    return context.new_page()


def make_key(page: Page, name: str, role: str) -> str:
    """Make a key in the open list of keys; gives it."""
    page.get_by_label("Name of the person or program").fill(name)
    page.get_by_label("What they may do").select_option(role)
    page.get_by_role("button", name="Create key").click()
    shown = page.get_by_label(f"Key of {name}", exact=True)
    shown.wait_for()
    return shown.input_value()


def test_a_key_from_the_settings_to_its_end(chrome: Browser, scenes_server: Served) -> None:
    server = scenes_server
    owner, wrong = visit(chrome, server)
    owner.goto("/")
    settle(owner)
    assert owner.locator("#who").is_hidden()
    owner.locator("#settings").click()
    owner.get_by_text("You are the owner").wait_for()
    owner.get_by_role("button", name="Keys for other people").click()
    secret = make_key(owner, "Ada", "look")
    assert secret.startswith("lwk_")
    if axe_script() is not None:
        assert violations(owner) == []
    # Elsewhere: a wrong key is told, the right one signs in, and the address stays what it was.
    ada = stranger(chrome, server)
    ada.goto("/?view=library")
    ada.get_by_label("Or sign in with a key:").fill("not a key")
    ada.get_by_role("button", name="Sign in").click()
    ada.get_by_text("This key does not work").wait_for()
    if axe_script() is not None:
        assert violations(ada) == []
    ada.get_by_label("Or sign in with a key:").fill(secret)
    ada.get_by_role("button", name="Sign in").click()
    ada.locator("#who").wait_for()
    assert "view=library" in ada.url
    assert ada.locator("#who").get_attribute("title") == "Signed in as Ada, who may look."
    # What the role may not do is not offered, and is refused by whichever way it is asked for.
    for view in ("tag", "compare"):
        assert ada.locator(f".views [data-view={view}]").is_hidden()
    ada.goto("/?view=collection")
    ada.get_by_role("heading", name="photos.lw").wait_for()
    assert ada.get_by_role("button", name="Rescan").is_hidden()
    status = ada.evaluate(
        "fetch('/api/judge', {method: 'POST', body: '{}'}).then((answer) => answer.status)"
    )
    assert status == 403
    ada.locator("#who").click()
    ada.get_by_role("heading", name="Who is signed in").wait_for()
    assert ada.get_by_role("button", name="Keys for other people").count() == 0
    # Revoked in the owner's settings: the next thing that is asked for is refused.
    owner.get_by_role("button", name="Revoke the key of Ada").click()
    owner.get_by_text("The key of Ada no longer works").wait_for()
    ada.reload()
    ada.get_by_role("heading", name="This browser is not signed in").wait_for()
    ada.context.close()
    owner.context.close()
    assert wrong == []


def test_history_names_a_key_and_takes_it_back(chrome: Browser, scenes_server: Served) -> None:
    server = scenes_server
    made = server.ask("/api/keys", {"name": "Grace", "role": "judge"})
    grace = Served(server.url, server.entrance, made["secret"], server.root)
    ids = [one["id"] for one in server.ask("/api/pictures?limit=5")["items"]]
    said = {"query": {"picture": ids[0]}, "liked": ids[1:2], "disliked": ids[2:3]}
    grace.ask("/api/judge", said)
    owner, wrong = visit(chrome, server)
    owner.goto("/?view=learned")
    line = owner.locator(".log li", has_text="by Grace")
    line.wait_for()
    owner.locator("#settings").click()
    owner.get_by_role("button", name="Keys for other people").click()
    owner.get_by_role("button", name="Undo the judgements of Grace").click()
    owner.locator("dialog.confirm").get_by_role("button", name="Undo judgements").click()
    owner.get_by_text("Undid 1 judgement and 0 tag changes by Grace.").wait_for()
    owner.goto("/?view=learned")
    owner.locator(".log li.off", has_text="by Grace").wait_for()
    owner.get_by_text("Undid 1 judgement of Grace").wait_for()
    owner.context.close()
    assert wrong == []
