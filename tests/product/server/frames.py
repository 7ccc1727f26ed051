"""How smooth the page is: a map of 50,000 pictures and a grid of 10,000 results (``make frames``).

The pictures are small files drawn here, each of a colour and shape of its own, with a vector that
follows them; they, the collection and its map are real and kept in the cache.  Measured in the
browser: what painting one frame costs, and how long it is from one frame to the next while one
zooms and drags without a pause.  Chromium runs without a graphics card, so everything is painted by
the processor: on a machine with one it is faster.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import harness
from likewise.catalog import changes as change
from likewise.collection.collection import Collection
from likewise.images.decode import ImageInfo, small_jpeg
from tests.product.private import store_of
from tests.product.server import browser as driving
from tests.product.server.browser import Served, settle, visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PICTURES = 50_000
RESULTS = 10_000
FRAMES = 240
SIDE = 48
KINDS = 24
SPACE = "drawn"

# Moves as a person would without a pause: closer and away again, always dragging a little.
MAP_FRAMES = """async (frames) => {
  const chart = window.likewise.map.chart;
  const costs = [], gaps = [];
  let last = await new Promise(requestAnimationFrame);
  for (let f = 0; f < frames; f++) {
    chart.zoom(f < frames / 2 ? 1.03 : 1 / 1.03);
    chart.pan(4 * Math.sin(f / 9), 3 * Math.cos(f / 7));
    const now = await new Promise(requestAnimationFrame);
    gaps.push(now - last);
    last = now;
    costs.push(chart.cost);
  }
  return { costs, gaps, pictured: chart.pictured.length, points: chart.x.length };
}"""
_QUIET = "() => window.likewise.map.sheets.busy === 0"
_PATIENCE = 900_000
"""Milliseconds: at first every tiny picture is made."""
# The mouse wanders over the map: what lies under it is looked for in every frame.
HOVER_FRAMES = """async (frames) => {
  const canvas = document.querySelector('.chart');
  const box = canvas.getBoundingClientRect();
  const gaps = [];
  let last = await new Promise(requestAnimationFrame);
  for (let f = 0; f < frames; f++) {
    canvas.dispatchEvent(new PointerEvent('pointermove', { bubbles: true,
      clientX: box.left + box.width * (.5 + .45 * Math.sin(f / 17)),
      clientY: box.top + box.height * (.5 + .45 * Math.cos(f / 11)) }));
    const now = await new Promise(requestAnimationFrame);
    gaps.push(now - last);
    last = now;
  }
  return { costs: [], gaps, pictured: window.likewise.map.chart.pictured.length };
}"""
GRID_FRAMES = """async (frames) => {
  const gaps = [];
  let last = await new Promise(requestAnimationFrame);
  const step = Math.min(240, (document.documentElement.scrollHeight - innerHeight) / frames);
  for (let f = 0; f < frames; f++) {
    scrollBy(0, step);
    const now = await new Promise(requestAnimationFrame);
    gaps.push(now - last);
    last = now;
  }
  return { costs: [], gaps, pictured: document.querySelectorAll('.tile').length };
}"""


def main() -> None:
    if driving.chromium() is None:
        sys.exit(driving.NO_BROWSER)
    root = collection(PICTURES)
    report = harness.Report(
        "page",
        "The page: frames of the map and of the grid",
        f"{PICTURES:,} pictures on the map, {RESULTS:,} results in the grid",
        parameters={"frames": FRAMES, "window": "1280 x 900", "seed": 0},
        page="server",
    )
    with driving.served(root) as server, driving.browser() as chrome:
        report.add("Frames, milliseconds", [*map_rows(chrome, server), grid_row(chrome, server)])
    report.write()


def map_rows(chrome: Browser, server: Served) -> list[dict[str, object]]:
    page, wrong = visit(chrome, server, viewport={"width": 1280, "height": 900})
    page.goto("/?view=map")
    page.wait_for_function("() => Number(document.querySelector('.chart')?.dataset.seen) > 500")
    page.wait_for_function(_QUIET, timeout=_PATIENCE)
    page.evaluate(MAP_FRAMES, 60)  # warm: sheets that come into sight are fetched
    page.wait_for_function(_QUIET, timeout=_PATIENCE)
    found = page.evaluate(MAP_FRAMES, FRAMES)
    hovered = page.evaluate(HOVER_FRAMES, FRAMES)
    page.context.close()
    assert wrong == [], wrong
    assert found["points"] == PICTURES
    return [
        row(f"map of {PICTURES:,}, zooming and dragging", found),
        row(f"map of {PICTURES:,}, the mouse over it", hovered),
    ]


def grid_row(chrome: Browser, server: Served) -> dict[str, object]:
    page, wrong = visit(chrome, server, viewport={"width": 1280, "height": 900})
    asked = server.ask("/api/pictures?limit=1")["items"][0]["id"]
    page.goto(f"/?q={asked}&by={SPACE}")
    settle(page)
    page.evaluate(GRID_FRAMES, 60)
    settle(page)
    found = page.evaluate(GRID_FRAMES, FRAMES)
    page.context.close()
    assert wrong == [], wrong
    return row(f"grid, {RESULTS:,} results", found)


def row(what: str, found: dict[str, Any]) -> dict[str, object]:
    gaps = np.array(found["gaps"])
    costs = np.array(found["costs"]) if found["costs"] else None
    return {
        "what": what,
        "painting, median": "" if costs is None else float(np.median(costs)),
        "painting, 95 %": "" if costs is None else float(np.percentile(costs, 95)),
        "frame to frame, median": float(np.median(gaps)),
        "frame to frame, 95 %": float(np.percentile(gaps, 95)),
        "longest": float(gaps.max()),
        "drawn as pictures at the end": found["pictured"],
    }


def collection(n: int) -> Path:
    """The collection and its map, made once."""
    place = harness.cache_dir() / f"frames-{n}"
    root = place / "photos.lw"
    done = place / "done"
    if done.exists():
        return root
    place.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, KINDS, n)
    centres = rng.normal(size=(KINDS, 16))
    rows = (centres[kinds] + 0.45 * rng.normal(size=(n, 16))).astype(np.float32)
    col = Collection.create(root, deep=False)
    info = ImageInfo("", "JPEG", SIDE, SIDE, "RGB", 1, None, 1000)
    for first in range(0, n, 5_000):
        some = range(first, min(first + 5_000, n))
        paths = [_drawn(place / "pictures", i, int(kinds[i]), rows[i]) for i in some]
        with store_of(col).write() as c:
            ids = [change.put_image(c, i.to_bytes(20, "big"), info)[0] for i in some]
            for image, path in zip(ids, paths, strict=True):
                change.put_file(c, str(path), 1000, 0, image=image)
    col.spaces.add(SPACE, {"feature": "own", "kind": "dense"})
    col.spaces.add_vectors(SPACE, list(range(1, n + 1)), rows)
    col.models.learn_map(space=SPACE)
    col.close()
    done.touch()
    return root


def _drawn(folder: Path, i: int, kind: int, row: Any) -> Path:
    """A disc on a ground; what they look like follows the vector."""
    path = folder / f"{i // 1000:03d}" / f"{i:06d}.jpg"
    path.parent.mkdir(parents=True, exist_ok=True)
    hue = 2 * np.pi * kind / KINDS
    ground = 128 + 100 * np.cos([hue, hue - 2.1, hue + 2.1]) * 0.8
    disc = np.clip(128 + 50 * row[:3], 0, 255)
    y, x = np.mgrid[:SIDE, :SIDE] - SIDE / 2
    inside = x**2 + y**2 < (6 + 3 * abs(row[3])) ** 2
    pixels = np.where(inside[:, :, None], disc, np.clip(ground, 0, 255)).astype(np.uint8)
    path.write_bytes(small_jpeg(pixels, SIDE, quality=80))
    return path


if __name__ == "__main__":
    main()
