"""A collection for metrics and maps: sixty small pictures of two kinds, and vectors of one's own.

In ``mine`` two of eight numbers tell the kinds apart and the others are louder noise, so a metric
has something to find.  Made once a session and copied.
"""

from __future__ import annotations

import atexit
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest

from likewise.collection.collection import Collection
from likewise.learning.models import map as map_learning
from likewise.learning.models import metric as metric_learning
from tests.product.collection.pictures import write

N, WIDTH = 60, 8


def kinds() -> np.ndarray:
    """0 or 1 for the pictures with ids 1 to N."""
    return np.arange(N) % 2


def rows(n: int = N, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(n, WIDTH))
    noise[:, :2] *= 0.3
    noise[:, 0] += np.where(np.arange(n) % 2, 1.0, -1.0)
    return noise.astype(np.float32)


def picture(i: int) -> np.ndarray:
    """Small and unlike every other one."""
    rng = np.random.default_rng([7, i])
    made = np.zeros((40, 56, 3), np.uint8) + rng.integers(30, 220, 3).astype(np.uint8)
    made[10:30, 5 + i % 30 : 20 + i % 30] = rng.integers(0, 255, 3)
    return made


@cache
def template() -> Path:
    home = Path(mkdtemp(prefix="likewise-models-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    for i in range(N):
        write(home / "pictures" / "ab"[i % 2] / f"{i + 1:02d}.png", picture(i))
    for i in range(N, N + 4):
        write(home / "later" / f"{i + 1:02d}.png", picture(i))
    with Collection.create(home / "c.lw", words={"n_words": 40}, deep=False) as col:
        # In the order of their names, so that ids are as the vectors have them.
        for i in range(N):
            col.add(home / "pictures" / "ab"[i % 2] / f"{i + 1:02d}.png", workers=0)
        col.spaces.add("mine", {"feature": "own", "kind": "dense", "metric": "l2"})
        col.spaces.add_vectors("mine", range(1, N + 1), rows())
    return home


def later(i: int) -> Path:
    """A picture that is not in the collection yet."""
    return template() / "later" / f"{N + 1 + i:02d}.png"


def taught(col: Collection, queries: int = 12) -> None:
    """Judgements of somebody who sees the two kinds."""
    rng = np.random.default_rng(1)
    for query in range(1, queries + 1):
        own = [i for i in range(1, N + 1) if (i - query) % 2 == 0 and i != query]
        others = [i for i in range(1, N + 1) if (i - query) % 2]
        col.judge(query, rng.choice(own, 3, False).tolist(), rng.choice(others, 3, False).tolist())


def compared(col: Collection, n: int = 40, person: str | None = None) -> None:
    rng = np.random.default_rng(2)
    for _ in range(n):
        anchor = int(rng.integers(1, N + 1))
        own = [i for i in range(1, N + 1) if (i - anchor) % 2 == 0 and i != anchor]
        others = [i for i in range(1, N + 1) if (i - anchor) % 2]
        col.compare(anchor, int(rng.choice(own)), int(rng.choice(others)), person=person)


def precision(col: Collection, by: str, queries: range = range(30, 56)) -> float:
    """Share of the first ten hits that are of the query's kind, over queries nobody judged."""
    shares = [
        np.mean([(hit.id - query) % 2 == 0 for hit in col.search(query, 10, by=by)])
        for query in queries
    ]
    return float(np.mean(shares))


def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few directions: what is tested does not depend on how many, and the time does."""
    monkeypatch.setattr(metric_learning, "DIRECTIONS", 10)
    monkeypatch.setattr(map_learning, "DIRECTIONS", 16)


@pytest.fixture
def col(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    quick(monkeypatch)
    shutil.copytree(template() / "c.lw", tmp_path / "c.lw")
    with Collection.open(tmp_path / "c.lw") as collection:
        yield collection
