"""What is promised to be the same bits on every machine, computed and reduced to digests.

``python -m tests.same_bits`` prints them as JSON, with what the libraries say they run on;
``tests.machines`` compares the digests of machines with each other.  Nothing here goes through
BLAS or a random generator other than numpy's integers: only what is promised may decide.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from likewise.collection.feedback.fold import ProfileState
from likewise.collection.feedback.history import JUDGE, Item
from likewise.collection.store.segments import pack_sparse
from likewise.index.inverted import InvertedIndex
from likewise.neighbours.scores import Flat, scores
from tests.machines import PROMISES

WORDS = 400
PICTURES = 1500
CV_CPU_AVX2 = 11
"""OpenCV's number of the feature, which its Python module does not name."""


def dyadic(rng: np.random.Generator, size: tuple[int, ...], bits: int = 20) -> Any:
    """Float32 numbers between -1 and 1 that no rounding of the generator's can have touched."""
    return np.ldexp(rng.integers(-(2**bits), 2**bits, size), -bits).astype(np.float32)


def digest(*arrays: Any) -> str:
    made = hashlib.sha256()
    for array in arrays:
        made.update(np.ascontiguousarray(array).tobytes())
    return made.hexdigest()[:16]


def sparse_rows(rng: np.random.Generator, n: int) -> Any:
    """Some words often, most of them seldom, as visual words are."""
    kept = rng.integers(0, 1000, (n, WORDS)) < 10 + 200 // (1 + np.arange(WORDS) // 8)
    return sp.csr_array(np.where(kept, np.abs(dyadic(rng, (n, WORDS))), 0))


def index_rankings() -> dict[str, str]:
    """The same question to every layout: one digest each, and they must be one."""
    rng = np.random.default_rng(0)
    X, ids = sparse_rows(rng, PICTURES), np.arange(PICTURES) * 3 + 1
    queries = sparse_rows(rng, 25)
    weights = np.abs(dyadic(rng, (WORDS,))).astype(np.float64)
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for impacts in ("float32", "uint8"):
            whole = InvertedIndex.build(X, ids, impacts=impacts)
            whole.save(Path(folder) / impacts)
            half = PICTURES // 2
            grown = InvertedIndex.build(X[:half], ids[:half], impacts=impacts)
            grown.add(X[half:], ids[half:])
            parts = [InvertedIndex.build(X[a::3], ids[a::3], impacts=impacts) for a in range(3)]
            layouts = {
                "built": whole,
                "grown": grown,
                "mapped": InvertedIndex.open(Path(folder) / impacts),
                "united": InvertedIndex.united(parts),
            }
            for name, index in layouts.items():
                answers = [*index.search(queries, 30), *index.search(queries, 30, weights)]
                found[f"{impacts}, {name}"] = digest(*answers)
    return found


def dense_scores() -> str:
    """Scores and rankings of dense rows, some so near to each other that float32 sums swap them."""
    rng = np.random.default_rng(1)
    rows = dyadic(rng, (2000, 77))
    rows[1000:] = rows[:1000] + dyadic(rng, (1000, 77)) * np.float32(2.0**-18)
    alive = np.ones(len(rows), bool)
    made: list[Any] = []
    for metric in ("ip", "l2"):
        flat = Flat(metric, rows)
        for query in rows[::250]:
            made.append(scores(rows, np.arange(len(rows)), query, metric))
            places, values = flat.best(rows, alive, query, 40)
            first = np.lexsort((places, -values))[:40]
            made += [places[first], values[first]]
    return digest(*made)


def folded_weights() -> str:
    """A profile's weights after some dozens of judgements."""
    rng = np.random.default_rng(2)
    X = sparse_rows(rng, 40)
    codes = {}
    for image in range(40):
        words = X.indices[X.indptr[image] : X.indptr[image + 1]]
        codes[image + 1] = pack_sparse(words, X.data[X.indptr[image] : X.indptr[image + 1]])
    state = ProfileState(WORDS)
    for number in range(1, 61):
        query, *others = (rng.permutation(40)[:9] + 1).tolist()
        liked, disliked, random = tuple(others[:3]), tuple(others[3:5]), tuple(others[5:])
        item = Item(number, JUDGE, number // 7, query, liked, disliked, random, 0.25)
        state.fold(item, codes, lambda _: None)
    return digest(state.weights, np.array([state.agreed, state.agreed_plain, state.asked]))


def promises() -> dict[str, str]:
    """Promise to digest; the layouts of the index must not even differ among themselves."""
    layouts = index_rankings()
    if len(set(layouts.values())) > 1:
        raise AssertionError(f"layouts of the index differ: {layouts}")
    made = (next(iter(layouts.values())), dense_scores(), folded_weights())
    return dict(zip(PROMISES, made, strict=True))


def seen() -> dict[str, str]:
    """What each library says it runs on: whether the switches of a machine had any effect."""
    import cv2
    import faiss
    import scipy.linalg  # noqa: F401 - has a BLAS of its own
    from numba.core.registry import cpu_target
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
    from threadpoolctl import threadpool_info

    blas = {
        str(one["architecture"]) for one in threadpool_info() if one["internal_api"] == "openblas"
    }
    level = getattr(faiss, "SIMDConfig", None)
    dispatched = [name for name in __cpu_dispatch__ if __cpu_features__[name]]
    return {
        "OpenBLAS": " and ".join(sorted(blas)) or "none",
        "numba": str(cpu_target.target_context.codegen().magic_tuple()[1]),
        "faiss": faiss.get_compile_options().strip()
        if level is None
        else str(level.get_level_name()),
        "numpy": " ".join(dispatched) or "baseline",
        "OpenCV": "AVX2" if cv2.checkHardwareSupport(CV_CPU_AVX2) else "baseline",
    }


def main() -> None:
    json.dump({"promises": promises(), "seen": seen()}, sys.stdout)


if __name__ == "__main__":
    main()
