"""Coders by name and the rows they make of a set's pictures, kept in the benchmarks' cache.

Rows are costly and many tables want the same ones; they are kept under everything they depend on.
Encoding time is always measured anew, on a few pictures.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks import harness
from benchmarks.deep.rows import _keep as keep_rows
from benchmarks.deep.rows import _kept as kept_rows
from benchmarks.psc.data import Dense, Floats
from likewise_methods.coding.aggregate import VLAD
from likewise_methods.coding.fisher import FisherVector
from likewise_methods.coding.hard import VQ
from likewise_methods.coding.locality import LLC
from likewise_methods.coding.pooling import MaxPooling
from likewise_methods.coding.pyramid import SpatialPyramid, cells_of
from likewise_methods.psc.product_coder import ProductSparseCoder
from likewise_methods.psc.sparse_coder import SparseCoder

# Part of the cache's name; grows when the rows would be others.
_VERSION = 1
SAMPLE = 50_000
"""Descriptors that codebooks are trained on."""
ROUNDS = 8
"""Rounds of training of product codebooks."""
SC_SAMPLE, SC_ROUNDS = 20_000, 3
"""Less for explicit codebooks: a round takes twenty times as long."""
LEVELS = (1, 2, 4)
_TIMED = 12


class Work(NamedTuple):
    """What is coded: a set, every how many-th descriptor, RootSIFT or SIFT, which pictures."""

    data: Dense
    name: str
    every: int = 1
    root: bool = True
    numbers: NDArray[np.int64] | None = None

    @property
    def pictures(self) -> list[int]:
        chosen = range(len(self.data)) if self.numbers is None else self.numbers
        return [int(i) for i in chosen]

    def picture(self, i: int) -> tuple[Floats, Floats, tuple[float, float]]:
        descriptors, places, size = self.data.picture(i, root=self.root)
        return descriptors[:: self.every], places[:: self.every], size

    def sample(self, seed: int) -> Floats:
        return self.data.sample(SAMPLE, np.random.default_rng(seed), root=self.root)


class Coder(NamedTuple):
    """A coder to be trained: its name in tables, words in all, and how it is made."""

    name: str
    n_words: int
    make: Callable[[Floats, int], Any]
    pooled: str = "max"

    def vector(self, coder: Any, work: Work, i: int, spatial: bool) -> Floats:
        """The vector of one picture, with a spatial pyramid or of the whole."""
        descriptors, places, size = work.picture(i)
        if self.pooled == "whole":
            if not spatial:
                return np.asarray(coder.encode(descriptors), np.float32)
            return np.concatenate(list(_quarters(coder, descriptors, places, size)))
        if not spatial:
            return MaxPooling(coder).pool(descriptors)
        how: Any = {"pooling": "sum", "normalise": "l1"} if self.pooled == "sum" else {}
        return SpatialPyramid(coder, levels=LEVELS, **how).pool(descriptors, places, size)


def _quarters(
    coder: Any, descriptors: Floats, places: Floats, size: tuple[float, float]
) -> Iterator[Floats]:
    """VLAD and Fisher vectors of the whole picture and of its quarters, each of unit length."""
    cells = cells_of(places, size, 2)
    quarters = [descriptors[cells == cell] for cell in range(4)]
    if isinstance(coder, FisherVector):
        sums = [coder.sums(quarter) for quarter in quarters]
        yield coder.vector(sums[0].plus(sums[1]).plus(sums[2]).plus(sums[3]))
        yield from map(coder.vector, sums)
        return
    yield coder.encode(descriptors)
    yield from map(coder.encode, quarters)


def psc(k: int, split: Any = "contiguous", method: Any = "approximate") -> Coder:
    """Product sparse coding over k^2 words."""
    extra = ("" if split == "contiguous" else f", {split}") + (
        "" if method == "approximate" else f", {method}"
    )
    return Coder(
        f"PSC{extra}",
        k * k,
        lambda X, seed: ProductSparseCoder(
            k,
            split=split,
            method=method,
            n_iter=ROUNDS,
            random_state=seed,
        ).fit(X),
    )


def sc(n: int) -> Coder:
    """Sparse coding over an explicit codebook; above 2,048 words on its 200 nearest words."""
    method: Any = "nearest" if n > 2_048 else "homotopy"
    return Coder(
        "SC",
        n,
        lambda X, seed: SparseCoder(n, method=method, n_iter=SC_ROUNDS, random_state=seed).fit(
            X[:SC_SAMPLE]
        ),
    )


def vq(n: int) -> Coder:
    return Coder("VQ, chi-squared", n, lambda X, s: VQ(n, random_state=s).fit(X), "sum")


def llc(n: int) -> Coder:
    return Coder("LLC", n, lambda X, s: LLC(n, random_state=s).fit(X))


def vlad(n: int) -> Coder:
    return Coder("VLAD", n, lambda X, s: VLAD(n, intra=True, random_state=s).fit(X), "whole")


def fisher(n: int) -> Coder:
    return Coder("FV", n, lambda X, s: FisherVector(n, random_state=s).fit(X), "whole")


def digest_of(trained: Any) -> str:
    """A name for what was learned: rows belong to it, whatever changes in training."""
    parts = getattr(trained, "codebooks_", None)
    if parts is None and isinstance(trained, FisherVector):
        parts = list(trained.mixture_)
    found = hashlib.blake2b(digest_size=8)
    for part in [trained.codebook_] if parts is None else parts:
        found.update(np.ascontiguousarray(part).round(5).tobytes())
    return found.hexdigest()


class Made(NamedTuple):
    """Rows of a set by a coder, and CPU milliseconds a picture, pooling included."""

    rows: Any
    milliseconds: float
    descriptors: float


def made(coder: Coder, work: Work, *, spatial: bool, seed: int = 0) -> Made:
    """The rows (made or kept), and the time, measured on a few pictures now."""
    pictures = work.pictures
    trained = coder.make(work.sample(seed), seed)
    said = (
        digest_of(trained),
        coder.name, coder.n_words, work.name, work.every, work.root, len(pictures), pictures[-1],
        len(work.data.bytes_), spatial, seed, SAMPLE, _VERSION,
    )  # fmt: skip
    name = hashlib.blake2b(repr(said).encode(), digest_size=8).hexdigest()
    path = harness.cache_dir() / f"psc-rows-{name}.arrays"
    some = pictures[:: max(1, len(pictures) // _TIMED)][:_TIMED]
    timing = harness.cpu_times(lambda i: coder.vector(trained, work, i, spatial), some)
    count = float(np.mean([len(work.picture(i)[0]) for i in some]))
    rows = kept_rows(path, len(pictures))
    if rows is None:
        started = time.process_time()
        vectors = (coder.vector(trained, work, i, spatial) for i in pictures)
        if coder.pooled == "whole":
            rows = np.stack(list(vectors))
        else:
            rows = sparse.csr_array(
                sparse.vstack([sparse.csr_array(v[None]) for v in vectors], format="csr")
            )
        keep_rows(path, rows)
        print(
            f"{coder.name} {coder.n_words}: {time.process_time() - started:.0f} CPU s", flush=True
        )
    return Made(rows, 1e3 * timing.total / len(some), count)
