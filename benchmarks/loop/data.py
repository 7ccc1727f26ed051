"""Collections of the loop benchmark, and the cases drawn from them: a query and who is right.

The pictures of every group are cut into two halves by a fixed draw.  Constants are tuned on
queries of the first half; every figure reported is about queries of the second.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.readers.folders import read_folders
from benchmarks.readers.records import data_root
from benchmarks.solis import data as solis_data
from likewise.images.decode import decode

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]

TUNING, REPORTED = "tuning", "reported"
_HALVES = 4711


@dataclass(frozen=True, eq=False)
class Pictures:
    """Rows (sparse, or dense vectors) and the groups whose members are right for one another."""

    name: str
    X: Any
    groups: Mapping[str, Ints]
    junk: Mapping[str, Ints]

    @property
    def sparse(self) -> bool:
        return bool(sp.issparse(self.X))

    @cached_property
    def frequency(self) -> Any:
        """Pictures with each word; None for dense rows."""
        if not self.sparse:
            return None
        return np.bincount(self.X.indices, minlength=self.X.shape[1])

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def score(self, row: Any) -> Floats:
        """Inner products of all pictures with a row (1-D)."""
        return np.asarray(self.X @ row, np.float64)

    def row(self, picture: int) -> Any:
        """One picture as a 1-D float32 array."""
        return self.X[[picture]].toarray()[0] if self.sparse else self.X[picture]

    def half(self, group: str, part: str) -> Ints:
        """The group's pictures that are queries in this part."""
        members = np.setdiff1d(self.groups[group], self.junk.get(group, ()))
        number = list(self.groups).index(group)
        order = np.random.default_rng([_HALVES, number]).permutation(members)
        cut = len(order) // 2
        return np.sort(order[:cut] if part == TUNING else order[cut:])


@dataclass(frozen=True, eq=False)
class Case:
    """A query picture, what is right for it, and what is searched (neither it nor junk)."""

    pictures: Pictures
    group: str
    query: int
    seed: int

    @cached_property
    def relevant(self) -> Booleans:
        found = np.zeros(len(self.pictures), bool)
        found[self.pictures.groups[self.group]] = True
        return found

    @cached_property
    def searched(self) -> Booleans:
        found = np.ones(len(self.pictures), bool)
        found[self.pictures.junk.get(self.group, [])] = False
        found[self.query] = False
        return found

    @cached_property
    def plain(self) -> Ints:
        """What is searched, best first, before anything is learnt."""
        return best_first(self.pictures.score(self.pictures.row(self.query)), self.searched)

    def said(self, wrong: float) -> Booleans:
        """What the judge says of each picture: the truth, but for a share of wrong clicks."""
        rng = np.random.default_rng([self.seed, self.query, 17])
        return self.relevant ^ (rng.random(len(self.pictures)) < wrong)


def best_first(scores: Floats, among: Booleans) -> Ints:
    """Pictures by falling score; equal scores by number."""
    places = np.flatnonzero(among)
    return places[np.argsort(-scores[places], kind="stable")]


def cases(
    pictures: Pictures, seeds: Sequence[int], each: int, part: str, groups: int | None = None
) -> Iterator[Case]:
    """For every seed and group ``each`` queries of the part (or as many as there are)."""
    for seed in seeds:
        for number, group in enumerate(list(pictures.groups)[:groups]):
            rng = np.random.default_rng([seed, number])
            for query in rng.permutation(pictures.half(group, part))[:each].tolist():
                yield Case(pictures, group, query, seed)


# -- the sets ----------------------------------------------------------------------------------


def _pictures(name: str, bags: solis_data.Bags | None) -> Pictures | None:
    return None if bags is None else Pictures(name, bags.tf_idf, bags.groups, bags.junk)


def caltech(n_words: int, seed: int) -> Pictures | None:
    """caltech101: 64 classes of 40."""
    root = data_root()
    if root is None or not (root / "caltech101").is_dir():
        return None
    data = read_folders(root / "caltech101")

    def described() -> tuple[Any, Ints]:
        shown: Iterable[Any] = (decode(path).pixels for path in data.paths)
        return solis_data._descriptors("caltech101", shown)

    counts = solis_data._counts("caltech101", described, n_words, seed)
    groups = {str(c): np.flatnonzero(data.labels == i) for i, c in enumerate(data.classes)}
    return _pictures("caltech101", solis_data.Bags("caltech101", counts, groups, {}))


def oxford(n_words: int, seed: int) -> Pictures | None:
    return _pictures("oxford1k", solis_data.oxford(n_words, seed))


def corel(n_words: int, seed: int) -> Pictures | None:
    return _pictures("corel1k", solis_data.corel(n_words, seed))


def planted(n_words: int, seed: int) -> Pictures | None:
    return _pictures("planted views", solis_data.planted(n_words, seed))
