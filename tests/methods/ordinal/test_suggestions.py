"""Questions worth asking: valid, new, in turn, and better than random ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from likewise_methods.errors import InvalidInput
from likewise_methods.ordinal.embedding import OrdinalEmbedding
from likewise_methods.ordinal.suggestions import suggest_comparisons
from tests.methods.ordinal.data import triplets, truth

POINTS = truth(25, 2)


def answered(questions: Any) -> Any:
    a, b, c = (POINTS[questions[:, i]] for i in range(3))
    wrong = ((a - b) ** 2).sum(axis=1) > ((a - c) ** 2).sum(axis=1)
    return np.where(wrong[:, None], questions[:, [0, 2, 1]], questions)


def test_questions_are_valid_new_and_in_turn() -> None:
    known = triplets(POINTS, 300)
    found = suggest_comparisons(POINTS, 25, known=known, random_state=0)
    assert found.shape == (25, 3)
    assert all(len(set(q)) == 3 for q in found.tolist())
    asked = {(a, *sorted((b, c))) for a, b, c in known.tolist()}
    new = [(a, *sorted((b, c))) for a, b, c in found.tolist()]
    assert not asked & set(new)
    assert len(set(new)) == 25
    assert sorted(found[:, 0]) == list(range(25))  # each anchor once before any twice


def test_candidates_limit_what_is_asked() -> None:
    pool = triplets(POINTS, 40, seed=5)
    found = suggest_comparisons(POINTS, 10, candidates=pool, random_state=0)
    allowed = {tuple(row) for row in pool.tolist()}
    assert all(tuple(row) in allowed for row in found.tolist())
    # Everything answered: nothing is left.
    none = suggest_comparisons(POINTS, 10, known=pool, candidates=pool, random_state=0)
    assert none.shape == (0, 3)


def test_what_is_certain_is_not_asked() -> None:
    """Whether a near or a far object is nearer to a well-known anchor is certain.

    Which of two objects at the same distance is nearer depends on the anchor's exact place."""
    rng = np.random.default_rng(0)
    points = np.vstack([[[0, 0], [0.2, 0], [9, 9], [3, 0], [0, 3]], rng.normal(size=(40, 2)) * 3])
    known = triplets(points, 4000, seed=3)
    known = known[~((known[:, 0] == 0) & (known[:, 1:].max(axis=1) < 5))]
    certain, open_ = [0, 1, 2], [0, 3, 4]
    found = suggest_comparisons(points, 2, known=known, candidates=[certain, open_], random_state=0)
    assert found.tolist() == [open_, certain]


def test_suggested_questions_teach_more_than_random_ones() -> None:
    test = triplets(POINTS, 2000, seed=8)
    start = triplets(POINTS, 60, seed=4)
    errors: dict[str, list[float]] = {"suggested": [], "random": []}
    for seed in range(4):
        rng = np.random.default_rng(seed)
        for how, found in errors.items():
            known = start
            for _ in range(4):
                model = OrdinalEmbedding(2, random_state=seed).fit(known, 25)
                if how == "suggested":
                    more = model.suggest_comparisons(25)
                else:
                    more = np.array([rng.choice(25, 3, replace=False) for _ in range(25)])
                known = np.vstack([known, answered(more)])
            model = OrdinalEmbedding(2, random_state=seed, n_init=3).fit(known, 25)
            found.append(1 - model.score(test))
    assert np.mean(errors["suggested"]) < np.mean(errors["random"])


def test_bad_input() -> None:
    for bad in (np.zeros((2, 2)), np.full((5, 2), np.nan), np.zeros(5)):
        with pytest.raises(InvalidInput, match="at least three finite points"):
            suggest_comparisons(bad, 3)
    with pytest.raises(InvalidInput, match="k is 0"):
        suggest_comparisons(POINTS, 0)
    with pytest.raises(InvalidInput, match="names object 99"):
        suggest_comparisons(POINTS, 3, known=[[0, 1, 99]])
    # All objects at one place: no question is better, but questions come.
    assert suggest_comparisons(np.zeros((5, 2)), 3, random_state=0).shape == (3, 3)
