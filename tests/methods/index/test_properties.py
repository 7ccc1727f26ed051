"""Any sequence of changes leaves an index that answers like a dictionary of rows."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from likewise_methods.index.inverted import InvertedIndex
from tests.methods.index.reference import DictIndex, assert_same, random_rows

SEEDS = st.integers(0, 2**32 - 1)


class IndexMachine(RuleBasedStateMachine):
    """Blocks of 48 pictures, all prunable, so that every path is taken by small examples."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = [
            mock.patch("likewise_methods.index.blocks.BLOCK_PICTURES", 48),
            mock.patch("likewise_methods.index.inverted.BLOCK_PICTURES", 48),
            mock.patch("likewise_methods.index.building._COLUMN_POSTINGS", 1),
        ]
        for patch in self.patches:
            patch.start()
        self.folder = Path(tempfile.mkdtemp(prefix="lwx-test-"))
        self.truth = DictIndex()
        self.saved: DictIndex | None = None
        self.next_id = 0

    def teardown(self) -> None:
        for patch in self.patches:
            patch.stop()
        shutil.rmtree(self.folder)

    @initialize(width=st.integers(1, 9))
    def start(self, width: int) -> None:
        self.index = InvertedIndex()
        self.width = width

    def fresh_ids(self, rng: np.random.Generator, n: int) -> list[int]:
        free = np.setdiff1d(np.arange(400), list(self.truth.rows))
        return [int(i) for i in rng.permutation(free)[:n]]

    @rule(seed=SEEDS, n=st.integers(0, 60), wider=st.integers(0, 2), tame=st.booleans())
    def add(self, seed: int, n: int, wider: int, tame: bool) -> None:
        rng = np.random.default_rng(seed)
        self.width += wider
        ids = self.fresh_ids(rng, n)
        X = random_rows(rng, len(ids), self.width, tame)
        self.index.add(X, ids)
        self.truth.add(X, ids)

    @precondition(lambda self: self.truth.rows)
    @rule(seed=SEEDS, share=st.sampled_from([0.05, 0.3, 1.0]))
    def remove(self, seed: int, share: float) -> None:
        rng = np.random.default_rng(seed)
        known = np.array(list(self.truth.rows))
        ids = [int(i) for i in known[rng.random(len(known)) < share]]
        self.index.remove(ids)
        self.truth.remove(ids)

    @rule(seed=SEEDS)
    def compact(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        choice = rng.integers(3)
        if choice == 0 or not self.index.width:
            self.index.compact()
        else:
            self.index.compact(rng.choice([0.0, 1.0, -2.0], size=self.index.width))

    @rule()
    def merge(self) -> None:
        self.index.merge()

    @rule(seed=SEEDS, n=st.integers(0, 60))
    def merge_another(self, seed: int, n: int) -> None:
        rng = np.random.default_rng(seed)
        ids = self.fresh_ids(rng, n)
        X = random_rows(rng, len(ids), self.width)
        self.index.merge(InvertedIndex.build(X, ids))
        self.truth.add(X, ids)

    @rule()
    def save_and_open(self) -> None:
        self.index.save(self.folder / "index.lwx")
        self.index = InvertedIndex.open(self.folder / "index.lwx")

    @rule(seed=SEEDS, k=st.integers(1, 12), weighted=st.booleans(), tame=st.booleans())
    def search(self, seed: int, k: int, weighted: bool, tame: bool) -> None:
        rng = np.random.default_rng(seed)
        width = max(1, self.width + int(rng.integers(-1, 3)))
        Q = random_rows(rng, 4, width, tame).astype(np.float64)
        Q[3] = 0
        weights = rng.choice([0.0, 0.0, 1.0, -1.5, 0.25], size=width) if weighted else None
        assert_same(self.index, self.truth, Q, k, weights)
        assert len(self.index) == len(self.truth.rows)

    @rule(seed=SEEDS)
    def scores(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        Q = random_rows(rng, 2, self.width).astype(np.float64)
        ids = sorted(self.truth.rows)
        assert self.index.ids.tolist() == ids
        expected = [[float(self.truth.score(i, q)) for i in ids] for q in Q]
        assert self.index.scores(Q).tolist() == expected


# `make trust` runs many more, other ones each time.
TRUST = os.environ.get("LIKEWISE_TRUST_ROUNDS")
IndexMachine.TestCase.settings = settings(
    max_examples=int(TRUST) if TRUST else 30,
    derandomize=TRUST is None,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestIndexMachine = IndexMachine.TestCase
