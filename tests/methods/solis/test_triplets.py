"""Triplet builders: what they promise holds for every triplet they make."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from likewise_methods.errors import InvalidInput
from likewise_methods.solis.triplets import (
    triplets_from_labels,
    triplets_from_pairs,
)


def test_labels() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(-1, 6, 300)
    labels[7] = 50  # alone in its class: never an anchor
    made = triplets_from_labels(labels, 20_000, random_state=1)
    a, p, n = made.T
    assert (a != p).all()
    assert (labels[a] == labels[p]).all()
    assert (labels[a] != labels[n]).all()
    assert (labels[a] >= 0).all()
    assert not (a == 7).any()
    assert (n == 7).any()
    assert (labels[n] == -1).any()
    # Evenly: every usable picture is an anchor about equally often.
    usable = np.flatnonzero((labels >= 0) & (labels != 50))
    counts = np.bincount(a, minlength=300)[usable]
    assert counts.min() > 0.4 * counts.mean()
    np.testing.assert_array_equal(made, triplets_from_labels(labels, 20_000, random_state=1))
    assert len(triplets_from_labels(np.array(["x", "x", "y"]), 5, random_state=0)) == 5


def test_every_other_member_and_every_outsider_can_come() -> None:
    labels = np.array([0, 1, 0, 1, 0])
    made = {tuple(t) for t in triplets_from_labels(labels, 2000, random_state=0).tolist()}
    expected = {
        (a, p, n) for a in range(5) for p in range(5) for n in range(5)
        if a != p and labels[a] == labels[p] != labels[n]
    }  # fmt: skip
    assert made == expected


@pytest.mark.parametrize("labels", [[0, 1, 2], [0, 0, 0], [-1, -1, 0], [[0, 1]], [0.5, 0.5]])
def test_labels_without_triplets(labels: Any) -> None:
    with pytest.raises(InvalidInput):
        triplets_from_labels(labels, 3)


def test_pairs() -> None:
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 12, (60, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = pairs.sum(axis=1) % 2 == 0  # pairs repeat, and never contradict
    both = {(*p, s) for p, s in zip(pairs.tolist(), same.tolist(), strict=True)}
    both |= {(b, a, s) for a, b, s in both}
    expected = {
        (a, b, d) for a, b, s in both if s for c, d, other in both if c == a and not other
    }  # fmt: skip
    made = triplets_from_pairs(pairs, same)
    assert {tuple(t) for t in made.tolist()} == expected
    assert len(made) == len(expected)
    drawn = triplets_from_pairs(pairs, same, n=50, random_state=0)
    assert {tuple(t) for t in drawn.tolist()} <= expected
    assert len(drawn) == 50
    assert all(len(set(triplet)) == 3 for triplet in made.tolist())
    with pytest.raises(InvalidInput, match="random_state is -1"):
        triplets_from_pairs(pairs, same, random_state=-1)


@pytest.mark.parametrize(
    ("pairs", "same", "message"),
    [
        ([[0, 1], [2, 3]], [True, False], "no triplet follows"),
        ([[0, 1, 2]], [True], "pairs has shape"),
        ([[0, 1]], [True, False], "same has shape"),
        ([[0, -1]], [True], "names row -1"),
        ([[0, 1]], [1.0], "same has shape"),
        ([[0, 1], [0]], [True, False], "differ in length"),
        ([[0, 1], [2, 2], [0, 2]], [True, True, False], "1 of a picture with itself, first of 2"),
        ([[0, 1], [1, 0], [0, 2]], [True, False, False], r"1 of the pairs .* first \(0, 1\)"),
        ([[0, 1], [0, 1], [0, 2]], [True, False, False], "alike and not alike"),
    ],
)
def test_bad_pairs(pairs: Any, same: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        triplets_from_pairs(pairs, same)
