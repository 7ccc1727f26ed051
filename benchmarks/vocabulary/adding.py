"""What a picture costs in the space ``words``, step by step, and in a whole ``space add words``.

Both ways of adding count the same words: once with the descriptors that taught them, as is done,
and once describing those pictures again.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks import harness
from likewise.collection.collection import Collection
from likewise.images.decode import decode
from likewise.spaces import visual_words
from likewise.vision.local import SIFT
from likewise_methods.coding.vocabulary import Vocabulary

_SIDE, _FEATURES, _WORDS = 800, 1_500, 10_000
_STEPS = 40
Row = dict[str, object]


def adding(name: str, paths: Sequence[Path]) -> Row:
    """CPU milliseconds a picture: steps on some pictures, adding on all that are given."""
    some = paths[:: -(-len(paths) // _STEPS)]
    recipe = SIFT(max_features=_FEATURES, max_side=_SIDE)
    pixels = [decode(path, max_side=_SIDE).pixels for path in some]
    found = [recipe.extract(picture).descriptors for picture in pixels]
    reading = harness.cpu_times(lambda path: decode(path, max_side=_SIDE), some)
    describing = harness.cpu_times(recipe.extract, pixels)
    every = np.concatenate(found)
    words = Vocabulary(min(_WORDS, len(every) // 4), n_iter=3, random_state=0).fit(every)
    assigning = harness.cpu_times(words.quantise, found)
    half = [words.quantise(rows.astype(np.float16).astype(np.float32)) for rows in found]
    same = np.concatenate(half) == words.quantise(every)
    twice, once = (_add(paths, keep) for keep in (0, visual_words.KEEP_PICTURES))
    return {
        "pictures": f"{name}, {len(paths):,}",
        "read": reading.total / len(some) * 1e3,
        "SIFT": describing.total / len(some) * 1e3,
        "words": words.n_words,
        "assign": assigning.total / len(some) * 1e3,
        "add, described twice": twice,
        "add": once,
        "times less": twice / once,
        "same words %": round(100 * float(same.mean()), 2),
    }


def _add(paths: Sequence[Path], keep: int) -> float:
    """CPU milliseconds a picture of adding the space, in this process."""
    usual = visual_words.KEEP_PICTURES
    visual_words.KEEP_PICTURES = keep
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            Collection.create(Path(folder) / "c.lw", deep=False) as col,
        ):
            col.spaces.drop("words")
            col.add(*paths, workers=0)
            start = time.process_time()
            col.spaces.add("words", {"feature": "words"}, workers=0)
            return (time.process_time() - start) / len(paths) * 1e3
    finally:
        visual_words.KEEP_PICTURES = usual
