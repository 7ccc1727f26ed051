"""Small collections for the loop: a dozen pictures, few words, vectors of one's own.

Made once a session and copied; a judgement then costs milliseconds.  ``mine`` is a sparse space of
the user's own with known rows; ``words`` has a few dozen visual words.
"""

from __future__ import annotations

import atexit
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest
from scipy import sparse

from likewise.collection.collection import Collection
from tests.product.collection.pictures import small_scenes, write
from tests.product.private import states_of, store_of

N = 14
WIDTH = 30
SPACES = ("mine", "words")


def rows(n: int = N, seed: int = 0) -> sparse.csr_array:
    """Unit rows of a dozen words each, so alike that every triplet of them teaches."""
    rng = np.random.default_rng(seed)
    dense = 0.5 * rng.random((n, WIDTH)) * (rng.random((n, WIDTH)) < 0.35)
    dense[:, :5] += 0.7
    dense /= np.linalg.norm(dense, axis=1, keepdims=True)
    return sparse.csr_array(dense.astype(np.float32))


def picture(i: int) -> np.ndarray:
    """A small picture, another for each i."""
    scene = list(small_scenes().values())[i % 8]
    return scene[(3 * i) // 8 : 110 + i, i // 8 : 140]


@cache
def template() -> Path:
    """A collection with pictures, beside them some that are not in it."""
    home = Path(mkdtemp(prefix="likewise-loop-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    for i in range(N):
        write(home / "pictures" / f"{i + 1:02d}.png", picture(i))
    for i in range(3):
        write(home / "outside" / f"{i}.png", picture(N + i))
    with Collection.create(home / "c.lw", words={"n_words": 40}, deep=False) as col:
        col.add(home / "pictures", workers=0)
        col.spaces.add("mine", {"feature": "own", "kind": "sparse"})
        col.spaces.add_vectors("mine", range(1, N + 1), rows())
    return home


def copied(folder: Path) -> Path:
    """The template's collection again, to be changed; its pictures stay where they are."""
    shutil.copytree(template() / "c.lw", folder / "c.lw")
    return folder / "c.lw"


def outside(i: int) -> Path:
    return template() / "outside" / f"{i}.png"


def inside(i: int) -> Path:
    """The file of the picture with id i."""
    return template() / "pictures" / f"{i:02d}.png"


def weights(col: Collection, profile: str = "default", space: str = "mine") -> np.ndarray:
    """Weights as a search uses them; ones where nothing was learned."""
    found = states_of(col).weights(profile, col.spaces[space])
    return np.ones(col.spaces[space].width) if found is None else found


def forgotten(col: Collection) -> None:
    """Everything that is only a cache goes: checkpoints, and what is in memory."""
    with store_of(col).write() as c:
        c.execute("DELETE FROM checkpoints")
    states_of(col).forget()


@pytest.fixture
def col(tmp_path: Path):
    with Collection.open(copied(tmp_path)) as collection:
        yield collection
