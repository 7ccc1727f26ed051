"""Screenshots of every view, light, dark and on a phone: ``make screenshots``.

The collection is made here from planted views of well-known photographs, with days made up, and
kept in the cache; what it has learned comes from the judgements of a made-up person.
"""

from __future__ import annotations

import io
import random
import shutil
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likewise.collection.collection import Collection
from likewise_lab.evaluation.planted import planted_views
from tests.product.server import browser as driving
from tests.product.server.browser import Served, settle, visit

if TYPE_CHECKING:
    from playwright.sync_api import Page

OUT = Path(__file__).parents[3] / "docs" / "pictures"
MOST_BYTES = 200_000
TASTE = {
    "astronaut": "faces", "camera": "faces", "chelsea": "faces",
    "brick": "textures", "grass": "textures", "gravel": "textures", "ihc": "textures",
    "china": "outdoors", "rocket": "outdoors", "motorcycle_left": "outdoors",
    "coffee": "round", "coins": "round", "moon": "round", "flower": "round", "retina": "round",
    "hubble_deep_field": "sky",
}  # fmt: skip
"""What the made-up person means by alike: not the same scene, but the same sort of thing."""
KINDS = ("original", "crop", "perspective", "scale", "light")
PROFILE = "my-taste"
LESSONS = 26
QUERY, LIKED = "coffee-01-crop", "coffee-12-light"
TYPED = "cat"
PLACES = {
    "china": (39.92, 116.39), "rocket": (28.57, -80.65), "coffee": (48.21, 16.37),
    "chelsea": (51.49, -0.17), "motorcycle_left": (46.2, 7.3), "flower": (52.16, 4.48),
}  # fmt: skip
"""Where the pictures of a scene were taken: degrees north and east, made up."""
COPIED = ("china", "flower")
READY = "ready-4"
DESK: dict[str, Any] = {"viewport": {"width": 1180, "height": 740}}
TALL = {"learned": 1700, "collection": 900}
"""Heights of pages to read: what is below the first screen belongs to them."""
PHONE: dict[str, Any] = {
    "viewport": {"width": 360, "height": 720},
    "device_scale_factor": 1.5,
    "has_touch": True,
    "is_mobile": True,
}
LOOKS: dict[str, dict[str, Any]] = {
    "light": {**DESK, "color_scheme": "light"},
    "dark": {**DESK, "color_scheme": "dark"},
    "phone": {**PHONE, "color_scheme": "light"},
}


def main() -> None:
    """Looks and views are arguments: ``phone library``; without any, all of them are taken."""
    if driving.chromium() is None:
        sys.exit(driving.NO_BROWSER)
    OUT.mkdir(parents=True, exist_ok=True)
    looks = [look for look in LOOKS if look in sys.argv[1:]] or list(LOOKS)
    views = [view for view in VIEWS if view in sys.argv[1:]] or list(VIEWS)
    with driving.served(collection()) as server, driving.browser() as chrome:
        for look in looks:
            page, wrong = visit(chrome, server, **LOOKS[look])
            for view in views:
                size = LOOKS[look]["viewport"]
                if view in TALL and look != "phone":
                    size = {**size, "height": TALL[view]}
                page.set_viewport_size(size)
                VIEWS[view](page, server)
                keep(page, f"{view}-{look}")
            page.context.close()
            if wrong:
                sys.exit(f"something went wrong in the page: {wrong}")


def hover(page: Page, which: int) -> None:
    """A pointer over a picture, where there is one."""
    if page.evaluate("matchMedia('(hover: hover)').matches"):
        page.locator(".tile").nth(which).hover()
    page.wait_for_timeout(300)


def start(page: Page, _: Served) -> None:
    page.goto("/")
    settle(page)


def asked(server: Served) -> str:
    return f"/?q={server.picture(f'{QUERY}.jpg')['id']}"


def search(page: Page, server: Served) -> None:
    page.goto(asked(server))
    settle(page)
    hover(page, 5)


def words(page: Page, server: Served) -> None:
    server.ask("/api/search", {"text": TYPED})  # the first one opens the text model
    page.goto(f"/?text={TYPED.replace(' ', '+')}")
    settle(page)
    hover(page, 1)


def why(page: Page, server: Served) -> None:
    hit = server.picture("coffee-10-perspective.jpg")["id"]
    page.goto(f"{asked(server)}&by=words&why={hit}")
    page.locator(".matches").wait_for()
    page.wait_for_timeout(1500)


def library(page: Page, _: Served) -> None:
    page.goto("/?view=library")
    settle(page)


def viewer(page: Page, server: Served) -> None:
    large = server.picture("china-00-original.jpg")["id"]
    page.goto(f"/?view=library&look={large}")
    page.locator("dialog.viewer dd").nth(2).wait_for(state="attached")
    page.wait_for_function("() => document.querySelector('.stage img').complete")
    page.wait_for_timeout(800)
    hide_paths(page, "dd")


def places(page: Page, _: Served) -> None:
    page.goto("/?view=places")
    page.get_by_role("button", name="Show these").wait_for()
    page.wait_for_timeout(1200)


def duplicates(page: Page, server: Served) -> None:
    page.goto("/?view=duplicates")
    if server.ask("/api/library/duplicates")["looked"] is None:
        page.get_by_role("button", name="Find duplicates").click()
        page.locator(".job").wait_for(state="hidden", timeout=300_000)
    page.locator(".copies img").first.wait_for()
    page.wait_for_timeout(1200)


def tags(page: Page, _: Served) -> None:
    page.goto("/?view=tag")
    page.locator(".suggestions .faces img").first.wait_for()
    page.wait_for_timeout(1500)


def compare(page: Page, _: Served) -> None:
    page.goto("/?view=compare")
    page.locator(".pick img").first.wait_for()
    page.wait_for_timeout(1500)


def chart(page: Page, _: Served) -> None:
    page.goto("/?view=map&paint=tags")
    page.wait_for_function("() => Number(document.querySelector('.chart')?.dataset.seen) > 20")
    page.locator(".legend li").first.wait_for()
    page.wait_for_timeout(2500)


def learned(page: Page, _: Served) -> None:
    page.goto(f"/?view=learned&profile={PROFILE}")
    page.get_by_role("heading", name="More similar now").wait_for()
    page.get_by_role("rowheader", name="map", exact=True).wait_for()
    page.wait_for_timeout(2500)


def about(page: Page, _: Served) -> None:
    page.goto("/?view=collection")
    page.get_by_text("broken.jpg").wait_for()
    hide_paths(page, "code")


VIEWS: dict[str, Callable[[Page, Served], None]] = {
    "start": start, "search": search, "words": words, "why": why, "library": library,
    "viewer": viewer, "places": places, "duplicates": duplicates, "tag": tags,
    "compare": compare, "map": chart, "learned": learned, "collection": about,
}  # fmt: skip


def hide_paths(page: Page, which: str) -> None:
    """The pictures of the page go round the world; where they were made is nobody's business."""
    page.evaluate(
        """([which, base]) => { for (const path of document.querySelectorAll(which)) {
             path.textContent = path.textContent.replace(base, '/home/me'); } }""",
        [which, str(collection().parent)],
    )


def keep(page: Page, name: str) -> None:
    """Write what is in sight, in few enough colours to be a small file."""
    from PIL import Image

    seen = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    shown, size = seen, MOST_BYTES + 1
    while size > MOST_BYTES:
        few = shown.quantize(256, Image.Quantize.MEDIANCUT, kmeans=1, dither=Image.Dither.NONE)
        content = io.BytesIO()
        few.save(content, "PNG", optimize=True)
        size = content.tell()
        width = int(shown.width * min(0.96, (MOST_BYTES / size) ** 0.5))
        shown = seen.resize((width, round(seen.height * width / seen.width)), Image.LANCZOS)
    (OUT / f"{name}.png").write_bytes(content.getvalue())
    sys.stdout.write(f"{name}.png  {few.width} x {few.height}  {size // 1000} kB\n")


def collection() -> Path:
    """The collection, from the cache or made now."""
    from benchmarks.harness import cache_dir

    base = cache_dir() / "screenshots"
    root = base / "photos.lw"
    if (base / READY).exists():
        return root
    shutil.rmtree(base, ignore_errors=True)
    write_photographs(base / "Pictures")
    with Collection.create(root, all_spaces=True) as col:
        col.add(base / "Pictures")
        teach(col)
        tag(col)
        col.models.learn_map()
        col.models.learn_metric(profile=PROFILE)
    (base / READY).touch()
    return root


def write_photographs(folder: Path) -> None:
    """Views as JPEGs with days in their EXIF, in folders by year; one file that is broken."""
    from PIL import Image, ImageOps

    chance = random.Random(8)
    for view in planted_views(16):
        if view.name.split("-")[0] not in TASTE or view.kind not in KINDS:
            continue
        day = datetime(2019, 3, 1) + timedelta(minutes=chance.randrange(60 * 24 * 365 * 5))
        exif = Image.Exif()
        exif[0x0132] = day.strftime("%Y:%m:%d %H:%M:%S")
        scene = view.name.split("-")[0]
        if scene in PLACES:
            at = [side + chance.uniform(-0.05, 0.05) for side in PLACES[scene]]
            gps = exif.get_ifd(0x8825)
            for key, value, sides in ((1, at[0], "NS"), (3, at[1], "EW")):
                gps[key] = sides[value < 0]
                gps[key + 1] = (float(int(abs(value))), (abs(value) % 1) * 60, 0.0)
        place = folder / str(day.year) / f"{view.name}.jpg"
        place.parent.mkdir(parents=True, exist_ok=True)
        picture = Image.fromarray(view.pixels)
        picture.save(place, "JPEG", quality=92, exif=exif)
        if scene in COPIED and view.kind == "original":
            # As others send it back: smaller, mirrored, without what the camera wrote.
            sent = folder / "Sent"
            sent.mkdir(exist_ok=True)
            half = picture.resize((picture.width // 2, picture.height // 2))
            half.save(sent / f"{scene}-sent {day:%Y-%m-%d}.jpg", quality=60)
            ImageOps.mirror(picture).save(sent / f"{scene}-mirrored.jpg", quality=80)
    (folder / "2021" / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 cut off while copying")


def teach(col: Collection) -> None:
    """Judgements: two of the same sort but another scene are wanted, two of other sorts are not."""
    col.profiles.create(PROFILE, "words")
    names = {row.id: Path(row.path).stem for row in col.pictures.page(limit=10_000)[1]}
    scene = {picture: name.split("-")[0] for picture, name in names.items()}
    sort = {picture: TASTE[name] for picture, name in scene.items()}
    chosen = next(picture for picture, name in names.items() if name == QUERY)
    for query in random.Random(4).sample(sorted(names), LESSONS):
        hits = [hit.id for hit in col.search(query, k=len(names), by=PROFILE)]
        wanted = [i for i in hits if sort[i] == sort[query] and scene[i] != scene[query]]
        strange = [i for i in hits if sort[i] != sort[query]]
        if wanted:
            col.judge(query, liked=wanted[:2], disliked=strange[:2], profile=PROFILE)
    col.judge(chosen, liked=[next(i for i, name in names.items() if name == LIKED)])


def tag(col: Collection) -> None:
    """The made-up person tagged every second picture with the sort of thing it shows."""
    for row in col.pictures.page(limit=10_000)[1]:
        if row.id % 2:
            col.tag(row.id, TASTE[Path(row.path).stem.split("-")[0]])


if __name__ == "__main__":
    main()
