"""A small collection for tags: thirty-three pictures of three kinds, told apart by their colour.

Made once a session and copied.  ``red-00.png`` has the id 1, the others follow by name; pictures of
a kind lie in a folder of its name.
"""

from __future__ import annotations

import atexit
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from likewise.collection.collection import Collection
from tests.product.collection.pictures import write

KINDS = ("blue", "green", "red")
EACH = 11
_COLOURS = {"red": (190, 60, 50), "green": (60, 170, 70), "blue": (50, 70, 190)}


def picture(kind: str, number: int) -> np.ndarray:
    """A grainy patch of a colour, another for each number."""
    rng = np.random.default_rng([KINDS.index(kind), number])
    colour = np.array(_COLOURS[kind]) + rng.normal(0, 12, 3)
    grain = rng.normal(0, 25, (48, 64, 1)) + np.linspace(-20, 20, 64)[None, :, None]
    return np.clip(colour + grain, 0, 255).astype(np.uint8)


@cache
def template() -> Path:
    home = Path(mkdtemp(prefix="likewise-tags-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    for kind in KINDS:
        for number in range(EACH):
            write(home / "pictures" / kind / f"{kind}-{number:02d}.png", picture(kind, number))
        write(home / "outside" / f"{kind}.png", picture(kind, 99))
    with Collection.create(home / "c.lw", words={"n_words": 10}, deep=False) as col:
        col.add(home / "pictures", workers=0)
    return home


def copied(folder: Path) -> Path:
    """The template's collection again, to be changed; its pictures stay where they are."""
    shutil.copytree(template() / "c.lw", folder / "c.lw")
    return folder / "c.lw"


def inside(kind: str, number: int) -> Path:
    return template() / "pictures" / kind / f"{kind}-{number:02d}.png"


def outside(kind: str) -> Path:
    """A picture of a kind that is not in the collection."""
    return template() / "outside" / f"{kind}.png"


def kind_of(path: str) -> str:
    return Path(path).name.split("-")[0]


def tag_some(col: Collection, each: int = 8) -> None:
    """The first pictures of every kind get its name as a tag."""
    for kind in KINDS:
        col.tags.change([inside(kind, i) for i in range(each)], [kind])
