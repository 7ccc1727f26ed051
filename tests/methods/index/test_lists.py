"""Lists and columns beside a decoder that reads them the plain way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from likewise_methods.index.blocks import Block
from likewise_methods.index.inverted import InvertedIndex
from likewise_methods.index.lists import add_column, add_columns, add_list
from likewise_methods.index.scoring import (
    add_bounds,
    choose_scale,
    find_lists,
    new_plan,
    new_scratch,
)


def decode(codes: Any) -> dict[int, int]:
    """{picture: code} of a list, as ``layout`` describes it."""
    if len(codes) <= 40:
        n = 4 * len(codes) // 5
        return {int(codes[i]): int(codes[n + i // 4]) >> 4 * (i % 4) & 15 for i in range(n)}
    found, picture = {}, 0
    for entry in codes.tolist():
        picture += entry >> 4
        if entry & 15:
            assert picture not in found
            found[picture] = entry & 15
    return found


def decode_block(block: Block) -> dict[int, tuple[float, dict[int, int]]]:
    """{word: (step, {picture: code})}."""
    v = block.views()
    found = {}
    at = 0
    low = v.low8 if v.shift <= 8 else v.low16
    for b in range(len(v.buckets) - 1):
        for e in range(v.buckets[b, 0], v.buckets[b + 1, 0]):
            length = int(v.lengths[e]) + 1
            word = (b << v.shift) + int(low[e])
            found[word] = (float(v.steps[v.scale[e]]), decode(v.codes[at : at + length]))
            at += length
    for c, word in enumerate(v.column_words.tolist()):
        nibbles = np.concatenate([v.columns[c] & 15, v.columns[c] >> 4])[: len(v.ids)]
        column = {int(d): int(nibbles[d]) for d in np.flatnonzero(nibbles)}
        found[word] = (float(v.steps[v.column_scale[c]]), column)
    return found


def pictures(signed: bool) -> sp.csr_array:
    """Words in one picture, in a few far from one another, in some, in many and in all."""
    rng = np.random.default_rng(3)
    n = 20_001
    shares = [1 / n, 5 / n, 32 / n, 33 / n, 60 / n, 0.01, 0.1, 0.13, 0.5, 1.0]
    columns = [rng.random(n) < share for share in shares]
    dense = np.stack(columns, 1) * rng.gamma(2, size=(n, len(shares)))
    dense[[0, n - 1], 0] = 1e-30, 2.0
    dense[:40, 4] = 0
    if signed:
        dense *= rng.choice([-1, 1], dense.shape)
    return sp.csr_array(dense.astype(np.float32))


@pytest.mark.parametrize("signed", [False, True])
def test_codes_bound_the_impacts_from_both_sides(signed: bool) -> None:
    X = pictures(signed)
    (block,) = InvertedIndex.build(X)._state.blocks
    zero = block.sizes.zero
    assert zero == (8 if signed else 0)
    assert block.sizes.columns == (0 if signed else 4)
    found = decode_block(block)
    by_word = sp.csc_array(X)
    for word in range(X.shape[1]):
        span = slice(by_word.indptr[word], by_word.indptr[word + 1])
        step, codes = found[word]
        assert sorted(codes) == by_word.indices[span].tolist()
        code = np.array([codes[d] for d in by_word.indices[span].tolist()])
        values = by_word.data[span].astype(np.float64)
        assert (values <= (code - zero + 1e-8) * step).all()
        assert (values >= (code - 1 - zero - 1e-8) * step).all()


@pytest.mark.parametrize("signed", [False, True])
def test_sums_are_tight_upper_bounds_that_never_overflow(signed: bool) -> None:
    X = pictures(signed)
    (block,) = InvertedIndex.build(X)._state.blocks
    v, scratch, n = block.views(), new_scratch(), X.shape[0]
    words = np.arange(X.shape[1], dtype=np.uint32)
    rng = np.random.default_rng(0)
    for _ in range(20):
        values = rng.normal(size=len(words)) * 10.0 ** rng.integers(-3, 3, len(words))
        plan = new_plan(len(words))
        assert find_lists(v, words, plan) == 0
        scale = choose_scale(v, values, 1.0, plan)
        add_bounds(v, values, 1.0, plan, scale, scratch)
        sums = scratch.sums[:n] + scratch.columns[:n] / 16
        truth = X.astype(np.float64) @ values * scale
        assert (sums >= truth - 1e-6).all()
        # A code is at most one step too high, a rounded bound one unit.
        steps = np.abs(values) * plan.step * scale
        assert (sums <= truth + (X != 0).astype(float) @ (steps + 2)).all()
        scratch.sums[:] = 0
        scratch.columns[:] = 0


def test_adding_is_what_the_decoder_says() -> None:
    (block,) = InvertedIndex.build(pictures(False))._state.blocks
    v, n = block.views(), block.sizes.pictures
    table = np.arange(16, dtype=np.int16) * 7
    found = decode_block(block)
    plan = new_plan(len(found))
    find_lists(v, np.array(sorted(found), np.uint32), plan)
    for j, word in enumerate(sorted(found)):
        expected = np.zeros(n + 1, np.int16)
        for factor in (7, -7):
            sums = np.zeros(n + 1, np.int16)
            if plan.column[j] >= 0:
                add_column(v.columns[plan.column[j]], factor, sums)
                for d, code in found[word][1].items():
                    expected[d] = factor * (code if factor > 0 else code - 1)
            else:
                add_list(v.codes[plan.first[j] :][: plan.length[j]], table, sums)
                for d, code in found[word][1].items():
                    expected[d] = 7 * code
            np.testing.assert_array_equal(sums, expected)


@pytest.mark.parametrize("half", [1, 7, 64, 333])
def test_columns_added_together_are_those_added_one_by_one(half: int) -> None:
    rng = np.random.default_rng(half)
    columns = rng.integers(0, 256, (11, half), dtype=np.uint8)
    for n in range(10):
        which = rng.choice(11, n, replace=False).astype(np.int64)
        # Up to what n columns of codes of 15 leave in int16, and zeros among them.
        factors = rng.integers(0, 2_100 // max(n, 1), n + 2).astype(np.int16)
        start = rng.integers(-300, 300, 2 * half + 3).astype(np.int16)
        one, all_of_them = start.copy(), start.copy()
        for c, factor in zip(which, factors, strict=False):
            add_column(columns[c], int(factor), one)
        add_columns(columns, which, factors, n, all_of_them)
        np.testing.assert_array_equal(all_of_them, one)
        # The plain way, in Python's integers.
        nibbles = np.concatenate([columns & 15, columns >> 4], 1).astype(int)
        sums = start.astype(int)
        sums[: 2 * half] += (nibbles[which] * factors[:n, None].astype(int)).sum(0)
        np.testing.assert_array_equal(all_of_them, sums)
