"""The curve of held-out error: planted dimension and planted noise are found."""

from __future__ import annotations

import numpy as np
import pytest

from likewise_methods.errors import InvalidInput
from likewise_methods.ordinal.comparisons import as_comparisons
from likewise_methods.ordinal.cross_validation import (
    Curve,
    Noise,
    _folds,
    cross_validate,
    noise_from_repeats,
)
from likewise_methods.ordinal.embedding import OrdinalEmbedding
from tests.methods.ordinal.data import triplets, truth

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
    # Some questions came twice by chance, and their answers know better than the bound.
    assert once.noise.rate == once.noise.from_repeats == pytest.approx(0.1, abs=0.03)
    assert once.noise.floor > once.noise.rate
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


def test_without_repeats_the_rate_is_a_bound_and_says_so() -> None:
    _, first = np.unique(np.sort(triplets(POINTS, 900), axis=1), axis=0, return_index=True)
    once = triplets(POINTS, 900)[first]
    curve = cross_validate(
        once, dimensions=[1], shares=[1.0], folds=2, estimator=MODEL, random_state=0
    )
    assert curve.noise.from_repeats is None
    assert curve.noise.at_most
    # Every answer is right: all of it is what a line cannot say.
    assert curve.noise.rate == curve.noise.floor > 0.1
    assert str(curve.noise).startswith("at most ")


def test_repeats_outweigh_the_bound() -> None:
    """A map of one dimension cannot say what two can: its floor is no noise, repeats know."""
    right = triplets(POINTS, 300, seed=6)
    curve = cross_validate(
        np.tile(right, (2, 1)), dimensions=[1], folds=2, estimator=MODEL, random_state=0
    )
    assert not curve.noise.at_most
    assert curve.noise.rate == curve.noise.from_repeats == 0.0
    assert curve.noise.floor > 0.1
    assert str(curve.noise) == "0.0%"


def test_the_best_dimension_is_within_one_deviation_of_the_lowest() -> None:
    def best(errors: list[float], spread: list[float]) -> int:
        error, deviation = (np.array(x)[:, None] for x in (errors, spread))
        noise = Noise(0.0, None, 0.0)
        return Curve((1, 2, 3), (100,), error, deviation, error, noise).best_dimension

    assert best([0.3, 0.2, 0.19], [0.0, 0.0, 0.015]) == 2
    # Only the deviation of the best counts, and one of it is all that is given.
    assert best([0.3, 0.2, 0.19], [0.5, 0.5, 0.005]) == 3
    assert best([0.3, 0.2, 0.19], [0.0, 0.0, 0.2]) == 1


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
    texts = sorted(text.get_text() for text in axis.get_legend().get_texts())
    assert texts == ["1 dimension", "2 dimensions", "noise, at most"]
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
