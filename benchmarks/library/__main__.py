"""Ask a catalog of 50,000 photographs what the library asks: ``python -m benchmarks.library``.

The catalog is made up (years of days with few and with many pictures, nested folders, cameras,
places, tags, stars, albums, hidden ones); no pixel is looked at.  Each question is asked as the
server asks it, with the records of a page where it shows one, and its CPU time is taken.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

from benchmarks import harness
from likewise.catalog import changes
from likewise.catalog.store import Store
from likewise.collection.collection import Collection
from likewise.images.decode import ImageInfo
from likewise.images.shots import Shot
from likewise.server.service import Service

REPEATS = 9
PAGE = 200
CAMERAS = ("Canon EOS 5D", "Canon PowerShot A95", "NIKON D70", "Pixel 6", "iPhone 12", None)
TRIPS = ("Rome", "Alps", "Sea", "Garden", "Birthday", "Zoo", "Lisbon", "Work")


def fill(root: Path, n: int, seed: int) -> None:
    """A catalog of so many photographs, over twelve years."""
    chance = np.random.default_rng(seed)
    # Most days have none; a few have hundreds.
    days = np.sort(chance.choice(4380, 1500, replace=False))
    share = chance.lognormal(0, 1.6, len(days))
    day_of = np.sort(chance.choice(days, n, p=share / share.sum()))
    with Collection.create(root, deep=False) as col:
        store: Store = col._store
        for first in range(0, n, 5_000):
            with store.write() as c:
                for i in range(first, min(first + 5_000, n)):
                    when = datetime(2012, 1, 1) + timedelta(
                        days=int(day_of[i]), seconds=int(chance.integers(0, 86_400))
                    )
                    # Of a tenth only the file's name tells it, of a tenth its time.
                    told = i % 10
                    camera = CAMERAS[int(chance.integers(0, len(CAMERAS)))]
                    where = chance.normal([48, 11], [8, 12]) if i % 3 == 0 else (None, None)
                    info = ImageInfo(
                        "", "JPEG", 4000, 3000, "RGB", 1, when if told > 1 else None, 5_000_000,
                        camera, Shot(iso=400, latitude=where[0], longitude=where[1]),
                    )  # fmt: skip
                    image, _ = changes.put_image(c, i.to_bytes(20, "big"), info)
                    trip = TRIPS[int(day_of[i]) % len(TRIPS)]
                    name = f"IMG_{when:%Y%m%d_%H%M%S}_{i}" if told == 0 else f"DSC_{i:06d}"
                    path = f"/photos/{when:%Y}/{when:%Y-%m} {trip}/{name}.jpg"
                    changes.put_file(c, path, 5_000_000, int(when.timestamp() * 1e9), image=image)
                changes.put_root(c, "/photos")
        ids = list(range(1, n + 1))
        for tag, step in (("sea", 11), ("people", 5), ("cat", 101)):
            for start in range(0, n, 10_000):
                col.tags.change([i for i in ids[start : start + 10_000] if i % step == 0], [tag])
        col.library.star(ids[::7], 4)
        col.library.favour(ids[::50])
        col.library.hide(ids[1::25])
        col.library.add_to_album("Best", ids[::40])


def questions(service: Service) -> dict[str, Callable[[], object]]:
    """What the page asks, by the view that asks it."""
    col = service.collection
    library, pictures = col.library, col.pictures
    big = max(library.months(), key=lambda one: one.pictures).month
    folder = library.folders()[len(library.folders()) // 2].path

    def month(**where: object) -> object:
        found = library.month(big, limit=PAGE, where=where)
        rows = pictures.rows(one.image for one in found)
        return service.marked_records([rows[one.image] for one in found])

    def page(sort: str = "date", *, offset: int = 0, **where: object) -> object:
        return service.marked_records(
            pictures.page(sort=sort, where=where, offset=offset, limit=PAGE)[1]
        )

    return {
        "timeline: months": library.months,
        "timeline: months of a folder": lambda: library.months({"folder": folder}),
        "timeline: months of a tag": lambda: library.months({"tag": "people"}),
        "timeline: months, three stars or more": lambda: library.months({"stars": 3}),
        "timeline: months of an album": lambda: library.months({"album": "Best"}),
        "timeline: months with hidden pictures": lambda: library.months({"hidden": "any"}),
        "timeline: 200 pictures of the biggest month": month,
        "timeline: the same, of a camera": lambda: month(camera="canon"),
        "folder tree": library.folders,
        "folder tree, favourites": lambda: library.folders({"favourite": True}),
        "albums": library.albums,
        "cameras": library.cameras,
        "places": library.places,
        "places of a year": lambda: library.places({"after": "2018", "before": "2019"}),
        "tags": lambda: col.tags.all(limit=500),
        "newest 200": page,
        "200 in the middle, newest first": lambda: page(offset=20_000),
        "first 200 by name": lambda: page("name"),
        "last added 200": lambda: page("added"),
        "newest 200 of two years": lambda: page(after="2016", before="2018"),
        "newest 200 of a folder": lambda: page(folder="Rome"),
        "newest 200 of a camera": lambda: page(camera="canon"),
        "newest 200 in a place": lambda: page(box="45,5,50,15"),
        "typed: July 2016": lambda: col.searcher.find(None, PAGE, text="July 2016"),
        "dates of 10,000 results": lambda: pictures.dates(range(1, 10_001)),
        "marks of 200 tiles": lambda: library.marks(range(1, PAGE + 1)),
    }


def main() -> int:
    asked = harness.arguments("The library's questions, timed")
    n = 200_000 if asked.full else 50_000
    report = harness.Report(
        "library",
        "The library: how long its questions take",
        f"{n:,} made-up photographs of twelve years in one catalog",
        parameters={"repeats": REPEATS, "seed": asked.seed},
    )
    with tempfile.TemporaryDirectory() as place:
        fill(Path(place) / "photos.lw", n, asked.seed)
        service = Service(Path(place) / "photos.lw")
        rows = []
        for what, ask in questions(service).items():
            took = harness.cpu_times(lambda ask: ask(), [ask] * REPEATS)
            rows.append(
                {"question": what, "median, CPU ms": 1000 * took.median,
                 "longest, CPU ms": 1000 * max(took.seconds)}
            )  # fmt: skip
            sys.stderr.write(f"{what}: {1000 * took.median:.1f} ms\n")
        service.close()
    report.add("Questions, milliseconds", rows)
    report.write()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
