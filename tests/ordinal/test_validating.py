"""The curve of held-out error: planted dimension and planted noise are found."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.errors import InvalidInput
from likewise.ordinal.comparisons import as_comparisons
from likewise.ordinal.embedding import OrdinalEmbedding
from likewise.ordinal.validating import _folds, cross_validate, noise_from_repeats
from tests.ordinal.data import triplets, truth

POINTS = truth(30, 2)
MODEL = OrdinalEmbedding(solver="adagrad", epochs=25)


def test_the_planted_dimension_is_found() -> None:
    rows = triplets(POINTS, 2500)
    curve = cross_validate(
        rows, dimensions=[1, 2, 4], shares=[0.1, 1.0], folds=3, estimator=MODEL, random_state=0
    )
    assert curve.best_dimension == 2
    assert [round(m / 100) for m in curve.counts] == [2, 17]
    assert (curve.error[:, 0] > curve.error[:, 1]).all()
    assert curve.error[0, 1] > 2 * curve.error[1, 1]  # a line is too little
    assert curve.still_falling
    assert curve.noise.rate < 0.03
    assert len(curve.rows()) == 6
    assert MODEL.n_components == 2  # the estimator given is not touched
    assert not hasattr(MODEL, "embedding_")


def test_planted_noise_is_found_without_and_with_repeats() -> None:
    rows = triplets(POINTS, 4000, flipped=0.1)
    once = cross_validate(
        rows, dimensions=[2], shares=[0.25, 0.5, 1.0], folds=3, estimator=MODEL, random_state=0
    )
    assert 0.07 < once.noise.floor < 0.15
    right = triplets(POINTS, 500, seed=6)
    rng = np.random.default_rng(0)
    many = np.tile(right, (4, 1))
    flips = rng.random(len(many)) < 0.1
    many[flips] = many[flips][:, [0, 2, 1]]
    twice = as_comparisons(many)
    _, question = _folds(twice, 2, rng)
    assert noise_from_repeats(twice, question) == pytest.approx(0.1, abs=0.02)
    few = as_comparisons(right[:20].tolist() * 2)
    assert noise_from_repeats(few, _folds(few, 2, rng)[1]) is None  # too few to say


def test_answers_to_one_question_stay_in_one_fold() -> None:
    rows = as_comparisons([[0, 1, 2], [0, 2, 1], [1, 0, 2], [2, 0, 1], [0, 1, 2]])
    fold, question = _folds(rows, 2, np.random.default_rng(0))
    assert fold[0] == fold[1] == fold[4]
    assert question[0] == question[1] == question[4]


def test_the_curve_is_drawn() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    curve = cross_validate(
        triplets(POINTS, 200), dimensions=[1, 2], folds=2, estimator=MODEL, random_state=0
    )
    axis = curve.plot()
    assert len(axis.get_legend().get_texts()) == 3
    assert curve.plot(axis) is axis
    pyplot.close("all")


def test_bad_input() -> None:
    rows = triplets(POINTS, 50)
    with pytest.raises(InvalidInput, match="shares"):
        cross_validate(rows, shares=[1.5])
    with pytest.raises(InvalidInput, match="folds is 1"):
        cross_validate(rows, folds=1)
    with pytest.raises(InvalidInput, match="dimensions is empty"):
        cross_validate(rows, dimensions=[])
    with pytest.raises(InvalidInput, match="different questions for 5 folds"):
        cross_validate(rows[:3])
