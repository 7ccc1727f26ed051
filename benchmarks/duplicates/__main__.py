"""Plant copies among photographs, look for duplicates: ``python -m benchmarks.duplicates``.

The product's own call is measured on a real collection: ``col.duplicates()`` compares pixels,
``col.duplicates(space=...)`` links pictures by a score, as it was done before.  Pictures that are
planted beside the copies, and are none, have something moved in them.  Every pair of different
pictures that is put into one group is listed, to be looked at: the data sets hold copies of their
own.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image, ImageEnhance, ImageOps

from benchmarks.harness import Report
from benchmarks.readers.records import data_root
from likewise.collection.collection import Collection

Sort = Callable[[Image.Image, np.random.Generator], Image.Image]


def crop(share: float) -> Sort:
    def cut(image: Image.Image, rng: np.random.Generator) -> Image.Image:
        w, h = (round(side * (1 - share)) for side in image.size)
        x, y = (int(rng.integers(0, a - b + 1)) for a, b in zip(image.size, (w, h), strict=True))
        return image.crop((x, y, x + w, y + h))

    return cut


def moved(image: Image.Image, rng: np.random.Generator) -> Image.Image:
    """A seventh of width and height shows what was elsewhere."""
    made = image.copy()
    w, h = (side // 7 for side in image.size)
    (x, y), (u, v) = (
        (int(rng.integers(0, image.width - w)), int(rng.integers(0, image.height - h)))
        for _ in range(2)
    )
    made.paste(image.crop((u, v, u + w, v + h)), (x, y))
    return made


COPIES: dict[str, Sort] = {
    "saved again": lambda image, _: resaved(image, 40),
    "resized to 40 %": lambda image, _: image.resize((image.width * 2 // 5, image.height * 2 // 5)),
    "brighter by a tenth": lambda image, _: ImageEnhance.Brightness(image).enhance(1.1),
    "cropped by 5 %": crop(0.05),
    "cropped by 10 %": crop(0.10),
    "mirrored": lambda image, _: ImageOps.mirror(image),
    "mirrored, cropped by 5 %": lambda image, rng: crop(0.05)(ImageOps.mirror(image), rng),
}
LOOK_ALIKES: dict[str, Sort] = {"something moved": moved}


def resaved(image: Image.Image, quality: int) -> Image.Image:
    content = io.BytesIO()
    image.save(content, "JPEG", quality=quality)
    return Image.open(content).convert("RGB")


def plant(folder: Path, full: bool) -> tuple[int, int]:
    """(pictures as they are, those of which every sort was planted)."""
    root = data_root()
    if root is None:
        raise SystemExit("no data sets here; set LIKEWISE_DATA to the folder that holds them")
    sources = [
        ("corel1k/images", 1000 if full else 300),
        ("oxford1k/images", 800 if full else 200),
        ("caltech101/Faces_easy", 40),
        ("caltech101/car_side", 40),
    ]
    files: list[Path] = []
    for place, most in sources:
        found = sorted((root / place).rglob("*.jpg"))
        files += found[:: max(1, len(found) // most)][:most]
    rng = np.random.default_rng(0)
    planted = set(rng.choice(len(files), 200 if full else 60, replace=False).tolist())
    folder.mkdir()
    for i, path in enumerate(files):
        image = Image.open(path).convert("RGB")
        image.thumbnail((1000, 1000))
        image.save(folder / f"{i:05d}.jpg", quality=92)
        for sort, make in {**COPIES, **LOOK_ALIKES}.items() if i in planted else ():
            name = sort.replace(" ", "-").replace(",", "").replace("%", "percent")
            make(image, rng).save(folder / f"{i:05d}_{name}.jpg", quality=85)
    return len(files), len(planted)


def count(groups: list[list[str]]) -> tuple[dict[str, int], set[tuple[str, str]]]:
    """How many of each sort stand in the group of their picture, and pairs of different ones."""
    found = dict.fromkeys((*COPIES, *LOOK_ALIKES), 0)
    wrong: set[tuple[str, str]] = set()
    slug = {sort.replace(" ", "-").replace(",", "").replace("%", "percent"): sort for sort in found}
    for group in groups:
        parts = [name.partition("_") for name in group]
        originals = {number for number, _, sort in parts if not sort}
        numbers = sorted({number for number, _, _ in parts})
        wrong |= {(a, b) for a in numbers for b in numbers if a < b}
        for number, _, sort in parts:
            if sort and number in originals:
                found[slug[sort]] += 1
    return found, wrong


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.duplicates")
    parser.add_argument("--full", action="store_true")
    full = parser.parse_args().full
    with tempfile.TemporaryDirectory() as place:
        n, planted = plant(Path(place) / "pictures", full)
        size = f"{n} pictures, copies of {planted}"
        report = Report("duplicates", "Near-duplicates", size, page="library")
        rows = []
        with Collection.create(Path(place) / "photos.lw") as col:
            col.add(Path(place) / "pictures")
            spaces = [one for one in ("deep-dense", "holistic") if one in col.spaces]
            ways: dict[str, Callable[[], list[list[str]]]] = {
                "pixels (the product)": partial(_stems, col, None),
                **{f"score in {one}": partial(_stems, col, one) for one in spaces},
            }
            for way, find in ways.items():
                start = time.process_time()
                groups = find()
                seconds = time.process_time() - start
                found, wrong = count(groups)
                copies = sum(found[sort] for sort in COPIES)
                false = sum(found[sort] for sort in LOOK_ALIKES) + len(wrong)
                rows.append(
                    {"way": way, **{s: f"{found[s]}/{planted}" for s in found},
                     "other pairs": len(wrong), "recall %": 100 * copies / len(COPIES) / planted,
                     "precision %": 100 * copies / max(1, copies + false),
                     "CPU s": seconds}
                )  # fmt: skip
                for a, b in sorted(wrong)[:20]:
                    sys.stdout.write(f"{way}: {a} and {b} in one group\n")
        report.add("Copies found, and what is none", rows)
        report.write()
    return 0


def _stems(col: Collection, space: str | None) -> list[list[str]]:
    return [[Path(hit.path).stem for hit in group] for group in col.duplicates(space=space)]


if __name__ == "__main__":
    raise SystemExit(main())
