"""Look over the built site: links inside it lead somewhere, nothing comes from elsewhere, and every
public name has its place.  ``python tools/docs/check_site.py build/site``"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.util.inventory import InventoryFile

sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "_ext"))
from made_pages import OWN, homes

# What a browser loads by itself, and in which attribute it is named.
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "audio": "src"}


class Page(HTMLParser):
    """The places of a page that a link can name, its links, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value for name, value in attrs if value is not None}
        self.places |= {said[name] for name in ("id", "name") if name in said}
        if tag == "a" and "href" in said:
            self.links.add(said["href"])
        elif tag == "link" and said.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.add(said.get("href", ""))
        elif tag in LOADED and LOADED[tag] in said:
            self.loaded.add(said[LOADED[tag]])


def wrong_links(site: Path) -> Iterator[str]:
    pages = {path: Page(path.read_text()) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        here = path.relative_to(site)
        for address in sorted(page.links | page.loaded):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                if address in page.loaded and parts.scheme != "data":
                    yield f"{here}: loads {address} from elsewhere"
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                yield f"{here}: {address} leads nowhere"
            elif (
                parts.fragment
                and target in pages
                and (unquote(parts.fragment) not in pages[target].places)
            ):
                yield f"{here}: {address} names a place that is not there"


def lacking_names(site: Path) -> Iterator[str]:
    """Public names that the reference does not describe."""
    with (site / "objects.inv").open("rb") as file:
        kinds = InventoryFile.load(file, "", lambda _, uri: uri)
    described = {name for kind in kinds if kind.startswith("py:") for name in kinds[kind]}
    for (room, name), where in homes().items():
        if where not in described and name not in OWN:
            yield f"{room}.{name} is not in the reference (it should be {where})"


def main() -> int:
    site = Path(sys.argv[1]).resolve()
    wrong = [*wrong_links(site), *lacking_names(site)]
    for line in wrong:
        sys.stderr.write(f"{line}\n")
    pages = len(list(site.rglob("*.html")))
    sys.stdout.write(f"{pages} pages looked over, {len(wrong)} things wrong\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
