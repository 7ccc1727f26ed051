"""A collection whose profile is taught by judged pairs: sixty small pictures of two kinds.

In ``fit``, a space fitted to vectors of one's own, some directions tell the kinds apart and the
others are louder noise; somebody judges who sees the kinds alone.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from likewise.collection.collection import Collection
from tests.product.collection.model_cases import N, rows, template

PROFILE, SPACE = "taste", "fit"


def make_collection(folder: Path) -> Path:
    """``c.lw`` in a folder, with a profile over ``fit`` that has learned nothing yet."""
    shutil.copytree(template() / "c.lw", folder / "c.lw")
    with Collection.open(folder / "c.lw") as col:
        col.spaces.add("own", {"feature": "own", "kind": "dense"})
        col.spaces.add_vectors("own", range(1, N + 1), rows())
        col.spaces.add(SPACE, {"feature": "fitted", "source": "own", "first": 20})
        col.profiles.create(PROFILE, SPACE)
    return folder / "c.lw"


def teach(col: Collection, queries: int = 12, first: int = 1) -> list[int]:
    """Judgements of somebody who sees the two kinds; gives their numbers."""
    rng = np.random.default_rng([1, first])
    made = []
    for query in range(first, first + queries):
        own = [i for i in range(1, N + 1) if (i - query) % 2 == 0 and i != query]
        others = [i for i in range(1, N + 1) if (i - query) % 2]
        liked, disliked = (rng.choice(some, 3, False).tolist() for some in (own, others))
        made.append(col.judge(query, liked, disliked, profile=PROFILE).number)
    return made
