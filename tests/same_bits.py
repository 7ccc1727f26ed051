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

from likewise.catalog.segments import comparable_rows, pack_sparse
from likewise.catalog.store import SpaceRow
from likewise.learning.fold import ProfileState
from likewise.learning.history import JUDGE, Item
from likewise_methods.index.inverted import InvertedIndex
from likewise_methods.neighbours.compact import CompactFlat
from likewise_methods.neighbours.protocol import Metric
from likewise_methods.neighbours.scores import Flat, _inner, _minus_distance, row_scores
from tests.machines import PROMISES

WORDS = 400
PICTURES = 1500
CV_CPU = {"AVX2": 11, "AVX512_SKX": 256}
"""OpenCV's numbers of these features, which its Python module does not name."""


def dyadic(rng: np.random.Generator, size: tuple[int, ...], bits: int = 20) -> Any:
    """Float32 numbers between -1 and 1 that no rounding of the generator's can have touched."""
    return np.ldexp(rng.integers(-(2**bits), 2**bits, size), -bits).astype(np.float32)


def digest(*arrays: Any) -> str:
    made = hashlib.sha256()
    for array in arrays:
        made.update(np.ascontiguousarray(array).tobytes())
    return made.hexdigest()[:16]


def scaled(rng: np.random.Generator, size: tuple[int, ...]) -> Any:
    """The same times powers of two, so that a float64 sum of them depends on its order."""
    return np.ldexp(dyadic(rng, size), rng.integers(-12, 13, size)).astype(np.float32)


def sparse_rows(rng: np.random.Generator, n: int) -> Any:
    """Some words often, most of them seldom, as visual words are; the first and the last never."""
    kept = rng.integers(0, 1000, (n, WORDS)) < 10 + 200 // (1 + np.arange(WORDS) // 8)
    kept[:, [0, -1]] = False
    return sp.csr_array(np.where(kept, np.abs(dyadic(rng, (n, WORDS))), 0))


def cancelling_rows(rng: np.random.Generator, n: int, sign: int) -> Any:
    """Words of many sizes between two large ones, of which the last takes the first away again:
    what is left of the others by then depends on the order, and shows even in float32."""
    rows = sparse_rows(rng, n).toarray() * np.ldexp(1.0, rng.integers(-8, 9, (n, WORDS)))
    rows[:, 0] = 2.0**20
    rows[:, -1] = sign * 2.0**20
    return sp.csr_array(rows.astype(np.float32))


def index_rankings(*, backwards: bool = False) -> dict[str, str]:
    """The same questions to every layout: one digest each, and they must be one.

    Pictures leave, too.  All are in one block: a second one begins at 65,536 pictures, which is
    too many to do on every machine.  ``backwards`` renames the words, so that sums are added up
    the other way round: that must change the digest.
    """
    rng = np.random.default_rng(0)
    X = sp.vstack([sparse_rows(rng, PICTURES // 2), cancelling_rows(rng, PICTURES // 2, -1)])
    ids, gone = np.arange(PICTURES) * 3 + 1, np.arange(PICTURES)[::7] * 3 + 1
    queries = sp.vstack([sparse_rows(rng, 12), cancelling_rows(rng, 12, 1)])
    weights = np.abs(dyadic(rng, (WORDS,))).astype(np.float64)
    weights[-1] = weights[0]
    if backwards:
        X, queries, weights = X.tocsc()[:, ::-1], queries.tocsc()[:, ::-1], weights[::-1]
    X, queries = X.tocsr(), queries.tocsr()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        whole = InvertedIndex.build(X, ids)
        half = PICTURES // 2
        grown = InvertedIndex.build(X[:half], ids[:half])
        grown.remove(gone[gone <= ids[half - 1]])
        grown.add(X[half:], ids[half:])
        grown.remove(gone[gone > ids[half - 1]])
        parts = [InvertedIndex.build(X[a::3], ids[a::3]) for a in range(3)]
        for one, held in zip(parts, (ids[a::3] for a in range(3)), strict=True):
            one.remove(np.intersect1d(gone, held))
        whole.remove(gone)
        whole.save(Path(folder) / "index")
        layouts = {
            "built": whole,
            "grown": grown,
            "mapped": InvertedIndex.open(Path(folder) / "index"),
            "united": InvertedIndex.union(parts),
        }
        for name, index in layouts.items():
            answers = [*index.search(queries, 30), *index.search(queries, 30, weights)]
            found[name] = digest(*answers)
    return found


def dense_sets() -> dict[str, Any]:
    """Rows of three kinds; of each the first ten are the queries."""
    rng = np.random.default_rng(1)
    near = dyadic(rng, (2000, 77))
    # So near to each other that float32 sums would swap them.
    near[1000:] = near[:1000] + dyadic(rng, (1000, 77)) * np.float32(2.0**-18)
    cancelling = scaled(rng, (1000, 77))
    cancelling[:, 70] = np.abs(cancelling[:, 70]) + 2.0**20
    cancelling[:, 6] = cancelling[:, 70]
    cancelling[10:, 6] *= -1
    return {"near": near, "cancelling": cancelling, "scaled": scaled(rng, (1000, 77))}


def dense_digests(*, backwards: bool = False) -> dict[str, str]:
    """Scores before and after they are rounded, and rankings, of each set and metric.

    ``backwards`` takes the columns from the last to the first, which gives the same sums in
    another order: that must change the digests of sums whose order counts.
    """
    found = {}
    for name, given in dense_sets().items():
        for metric, kernel in (("cosine", _inner), ("ip", _inner), ("l2", _minus_distance)):
            rows = np.ascontiguousarray(given[:, ::-1] if backwards else given)
            # As a space compares them; nothing of the record but the metric is asked for.
            space = SpaceRow("any", "dense", {"metric": metric}, 1, 77, len(rows), {})
            rows = comparable_rows(space, rows)
            summed_as: Metric = "l2" if metric == "l2" else "ip"
            flat, places, alive = Flat(summed_as, rows), np.arange(len(rows)), np.ones(len(rows))
            compact = CompactFlat(summed_as, rows)
            rounded: list[Any] = []
            exact: list[Any] = []
            for query in rows[:10]:
                sums = np.empty(len(rows))
                kernel(rows, places, query.astype(np.float64), sums)
                exact.append(sums)
                rounded.append(row_scores(rows, places, query, summed_as))
                best, values = flat.best(rows, alive > 0, query, 40)
                first = np.lexsort((best, -values))[:40]
                rounded += [best[first], values[first]]
                best, values = compact.best(rows, alive > 0, query, 40)
                first = np.lexsort((best, -values))[:40]
                if digest(best[first], values[first]) != digest(*rounded[-2:]):
                    raise AssertionError(f"codes rank {name} otherwise than rows, {metric}")
            found[f"{name}, {metric}, float64"] = digest(*exact)
            found[f"{name}, {metric}, float32"] = digest(*rounded)
    return found


def dense_scores() -> str:
    """All of them in one digest."""
    return digest(np.array(list(dense_digests().values())))


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
    return digest(state.weights, np.array([state.agreed, state.agreed_plain, state.tested]))


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
    opencv = [name for name, number in CV_CPU.items() if cv2.checkHardwareSupport(number)]
    dispatched = [name for name in __cpu_dispatch__ if __cpu_features__[name]]
    return {
        "OpenBLAS": " and ".join(sorted(blas)) or "none",
        "numba": str(cpu_target.target_context.codegen().magic_tuple()[1]),
        "faiss": faiss.get_compile_options().strip()
        if level is None
        else str(level.get_level_name()),
        "numpy": " ".join(dispatched) or "baseline",
        "OpenCV": " ".join(opencv) or "baseline",
    }


def main() -> None:
    json.dump({"promises": promises(), "seen": seen()}, sys.stdout)


if __name__ == "__main__":
    main()
