"""axe-core on a page: everything it finds that keeps people out, in lines one can read."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

NO_AXE = "no axe-core here: pip install axe-playwright-python (part of the extra test)"
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def axe_script() -> Path | None:
    """The file of axe-core, where the package that carries it is installed."""
    found = find_spec("axe_playwright_python")
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / "axe.min.js"


def violations(page: Page) -> list[str]:
    """One line for each element that breaks a rule: the rule, the element, and what is wrong."""
    script = axe_script()
    assert script is not None
    # Evaluated by the protocol: the page's own policy lets no foreign script in, and stays so.
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(script.read_text(encoding="utf-8") + "; null")
    found = page.evaluate(
        """async (tags) => (await axe.run(document, {
             runOnly: { type: 'tag', values: tags }, resultTypes: ['violations'],
           })).violations.flatMap((one) => one.nodes.map((node) => [
             one.id, node.target.join(' '), node.html.slice(0, 160), node.failureSummary]))""",
        _RULES,
    )
    return [" | ".join(str(part).replace("\n", " ") for part in one) for one in found]
