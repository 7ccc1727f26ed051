"""Questions worth asking, and how far people agree."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.collection.collection import Collection
from likewise.errors import InvalidInput
from likewise.learning.models.map import from_labels, from_neighbours, split_folds, upright
from tests.product.collection.model_cases import N, col, compared, rows

__all__ = ["col"]


def test_questions_are_about_three_pictures_and_never_repeated(col: Collection) -> None:
    asked = col.comparisons.suggest(12, space="mine")
    assert len(asked) == 12
    assert all(len(set(ask)) == 3 and all(1 <= i <= N for i in ask) for ask in asked)
    assert col.comparisons.suggest(12, space="mine") == asked
    for ask in asked:
        col.compare(ask.anchor, ask.left, ask.right)
    done = {(a, *sorted((b, c))) for a, b, c in asked}
    more = col.comparisons.suggest(12, space="mine")
    assert not done & {(a, *sorted((b, c))) for a, b, c in more}
    with pytest.raises(InvalidInput, match="k is 0"):
        col.comparisons.suggest(0)


def test_questions_are_harder_than_random_ones(col: Collection) -> None:
    """How far apart the two distances of a question are, against two pictures drawn at random."""
    X = rows().astype(np.float64)

    def ease(triplets: np.ndarray) -> float:
        a, b, c = (X[triplets[:, i] - 1] for i in range(3))
        one, other = np.linalg.norm(a - b, axis=1), np.linalg.norm(a - c, axis=1)
        return float(np.mean(np.abs(one - other) / (one + other)))

    asked = np.array(col.comparisons.suggest(40, space="mine"))
    rng = np.random.default_rng(0)
    drawn = np.array([rng.choice(N, 3, replace=False) + 1 for _ in range(400)])
    assert ease(asked) < ease(drawn)


def test_who_said_what_and_who_agrees(col: Collection) -> None:
    compared(col, 30, person="ann")
    for one in col.comparisons.all()[:10]:
        col.compare(one.anchor, one.nearer, one.farther, person="bob")
    for one in col.comparisons.all()[10:14]:
        col.compare(one.anchor, one.farther, one.nearer, person="carl")
    found = col.comparisons.report(space="mine")
    assert (found.comparisons, found.repeated, found.contradicted) == (44, 14, 4)
    assert found.sources == {"compare": 44}
    people = {one.person: one for one in found.annotators}
    assert people["ann"].comparisons == 30
    assert people["bob"].agreement_repeated == 1.0
    assert people["carl"].agreement_repeated == 0.0
    assert people["ann"].repeated == 14
    between = {(one.one, one.other): one for one in found.between}
    assert between["ann", "bob"].questions == 10
    assert between["ann", "bob"].agreement == 1.0
    assert between["ann", "carl"].agreement == 0.0
    assert ("bob", "carl") not in between
    assert found.agreement is not None
    assert 0 <= found.agreement <= 1
    assert people["ann"].agreement > people["carl"].agreement


def test_names_of_people_are_checked(col: Collection) -> None:
    col.compare(1, 3, 2, person="  ann ")
    assert col.comparisons.all()[0].person == "ann"
    for wrong in ("", "  ", "x" * 300, 5):
        with pytest.raises(InvalidInput, match="person is"):
            col.compare(1, 3, 2, person=wrong)


def test_neighbours_make_comparisons_that_hold() -> None:
    X = rows(80)
    made = from_neighbours(X, 0)
    assert len(made) > 80 * 30
    assert (made[:, 0] != made[:, 2]).all()
    assert (made[:, 0] != made[:, 1]).all()
    assert (made[:, 1] != made[:, 2]).all()
    near = ((X[made[:, 0]] - X[made[:, 1]]) ** 2).sum(axis=1)
    far = ((X[made[:, 0]] - X[made[:, 2]]) ** 2).sum(axis=1)
    assert (near <= far + 1e-4).all()
    copies = from_neighbours(np.ones((6, 3), np.float32), 0)
    assert (copies[:, 0] != copies[:, 1]).all()
    assert from_neighbours(X[:2], 0).shape == (0, 3)


def test_labels_make_comparisons() -> None:
    labels = np.array(["a", "a", "b", "", "b", "c"])
    made = from_labels(labels, 0)
    assert len(made)
    assert 3 not in made
    assert (labels[made[:, 0]] == labels[made[:, 1]]).all()
    assert (labels[made[:, 0]] != labels[made[:, 2]]).all()
    assert 5 not in made[:, 0]
    assert from_labels(np.array(["", ""]), 0).shape == (0, 3)


def test_the_same_question_is_held_out_as_a_whole() -> None:
    said = np.array([[0, 1, 2], [0, 2, 1], [3, 1, 2], [0, 1, 2], [4, 5, 6], [4, 6, 7]])
    folds = split_folds(said, 3, 0)
    assert np.sum(folds, axis=0).tolist() == [1] * 6
    assert all(fold[0] == fold[1] == fold[3] for fold in folds)


def test_a_map_lies_on_its_long_side() -> None:
    rng = np.random.default_rng(0)
    places = rng.normal(size=(50, 2)) * [1.0, 5.0]
    places -= places.mean(axis=0)
    turned = upright(places)
    assert turned[:, 0].std() > turned[:, 1].std()
    np.testing.assert_allclose(
        np.linalg.norm(turned, axis=1), np.linalg.norm(places, axis=1), rtol=1e-9
    )


def test_a_map_from_tags_places_untagged_pictures_by_their_looks(col: Collection) -> None:
    """Pictures no comparison names are placed like new ones, not all on one point."""
    col.tags.change(range(1, 11, 2), ["one"])
    col.tags.change(range(2, 11, 2), ["two"])
    made = col.models.learn_map("t", labels="tags", space="mine")
    assert made.figures["anchors"] == 10
    assert len(np.unique(col.models.map_points("t").places.round(6), axis=0)) > N - 10


def test_questions_are_about_neighbours_and_not_about_strangers(col: Collection) -> None:
    """Six kinds, two pictures of one nearly the same: nobody is asked across, or about those."""
    rng = np.random.default_rng(3)
    kinds = np.arange(N) % 6
    middles = np.eye(6, 12)[kinds]
    made = middles + 0.1 * rng.normal(size=(N, 12))
    made[12] = made[0] + 1e-4  # of one kind, and the same picture nearly
    col.spaces.add("kinds", {"feature": "own"})
    col.spaces.add_vectors("kinds", range(1, N + 1), made.astype(np.float32))
    for seed in range(3):
        for anchor, left, right in col.comparisons.suggest(10, space="kinds", seed=seed):
            assert kinds[anchor - 1] == kinds[left - 1] == kinds[right - 1]
            assert {anchor, left} != {1, 13}
            assert {anchor, right} != {1, 13}
    # What was answered is asked about again, by other questions.
    compared(col, 12)
    anchors = {one.anchor for one in col.comparisons.all()}
    asked = [one.anchor for one in col.comparisons.suggest(20, space="kinds", seed=9)]
    assert any(one in anchors for one in asked)
