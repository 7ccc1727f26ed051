"""What judged pairs taught, as it is shown: figures, directions with their ends, moved pictures."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest

from likewise.collection.collection import Collection
from likewise.learning import fold
from likewise.learning.fold import NOTICED, round_down
from likewise.learning.learned_directions import PAGE
from likewise.search.similarities import Figures
from likewise_methods.spaces.local_metric import LocalMetric
from tests.product.collection.model_cases import N
from tests.product.collection.pair_cases import PROFILE, SPACE, make_collection, teach
from tests.product.private import states_of, views_of


@cache
def made() -> Path:
    home = Path(mkdtemp(prefix="likewise-directions-"))
    return make_collection(home)


@pytest.fixture(scope="module", autouse=True)
def _clean() -> Iterator[None]:
    yield
    shutil.rmtree(made().parent, ignore_errors=True)


@pytest.fixture
def col(tmp_path: Path) -> Iterator[Collection]:
    shutil.copytree(made(), tmp_path / "c.lw")
    with Collection.open(tmp_path / "c.lw") as collection:
        yield collection


def metric_of(col: Collection) -> LocalMetric:
    found = states_of(col).metric(PROFILE, col.spaces[SPACE])
    assert found is not None
    return found


def rows_of(col: Collection) -> np.ndarray:
    """The rows of pictures 1 to N as they are compared."""
    ids, rows = views_of(col).view(SPACE).rows_of(range(1, N + 1))
    assert list(ids) == list(range(1, N + 1))
    return rows


def test_figures_are_those_of_the_metric(col: Collection) -> None:
    assert col.profiles.figures(PROFILE) == Figures(0, space=SPACE, units="directions")
    teach(col, 12)
    found = col.profiles.figures(PROFILE)
    metric = metric_of(col)
    told = metric.agreement()
    assert told is not None
    assert (found.agreement, found.agreement_plain, found.triplets) == told
    assert found.triplets == 12 * 3 * 3
    values = np.linalg.eigvalsh(metric.overall())
    assert found.changed == np.mean(np.abs(values - 1) > NOTICED) > 0
    assert (found.judgements, found.sparsity, found.units) == (12, 0.0, "directions")
    # Everywhere the same.
    assert col.similarities[PROFILE].figures == col.profiles[PROFILE].figures == found


def test_figures_of_many_are_those_of_nearly_all(col: Collection) -> None:
    """They are not made again after each of many judgements, and any process gives the same."""
    teach(col, 16)
    before = col.profiles.figures(PROFILE)
    number = teach(col, 1, first=17)[0]
    after = col.profiles.figures(PROFILE)
    assert after.judgements == 17
    assert (after.agreement, after.triplets) == (before.agreement, before.triplets)
    assert len(metric_of(col)) == 17
    with Collection.open(col.root) as other:
        assert other.profiles.figures(PROFILE) == after
    teach(col, 1, first=18)
    renewed = col.profiles.figures(PROFILE)
    assert renewed.triplets == round_down(18) * 9
    # Less of the first ones is another question, though as many are left as before.
    col.undo(number - 3, profile=PROFILE)
    col.undo(number - 4, profile=PROFILE)
    undone = col.profiles.figures(PROFILE)
    told = metric_of(col).agreement()
    assert told is not None
    assert undone.judgements == 16
    assert (undone.agreement, undone.agreement_plain, undone.triplets) == told
    assert undone.triplets == before.triplets
    with Collection.open(col.root) as other:
        assert other.profiles.figures(PROFILE) == undone


def test_directions_with_the_pictures_at_their_ends(col: Collection) -> None:
    teach(col, 30)
    found = col.profiles.report(PROFILE, top=3, examples=4)
    assert (found.space, found.feature, found.width) == (SPACE, "fitted", rows_of(col).shape[1])
    assert (found.gained, found.lost, found.curve) == ((), (), ())
    M = metric_of(col).overall()
    values, vectors = np.linalg.eigh(M)
    assert found.n_gained == np.sum(values > 1 + NOTICED)
    assert found.n_lost == np.sum(values < 1 - NOTICED)
    shown = [one.value for one in found.directions]
    distances = [abs(value - 1) for value in shown]
    assert distances == sorted(distances, reverse=True)
    more = [value for value in sorted(values)[-3:] if value > 1 + NOTICED]
    less = [value for value in sorted(values)[:3] if value < 1 - NOTICED]
    assert sorted(shown) == pytest.approx(sorted([*more, *less]))
    assert any(value > 1 for value in shown)
    rows = rows_of(col)
    for one in found.directions:
        along = rows @ vectors[:, int(np.argmin(np.abs(values - one.value)))]
        ends = [[example.image for example in end] for end in (one.one_end, one.other_end)]
        farthest = [(np.argsort(-sign * along)[:4] + 1).tolist() for sign in (1, -1)]
        assert sorted(ends) == sorted(farthest)
        for example in (*one.one_end, *one.other_end):
            assert example.path == col.image(example.image).path


def test_pictures_that_moved(col: Collection) -> None:
    teach(col, 30)
    found = col.profiles.report(PROFILE, top=4, examples=0)
    assert all(one.one_end == one.other_end == () for one in found.directions)
    rose = [move for move in found.moved if move.rose]
    fell = [move for move in found.moved if not move.rose]
    assert len(rose) == len(fell) == 4
    assert found.moved == (*rose, *fell)
    for some in (rose, fell):
        sizes = [move.size for move in some]
        assert sizes == sorted(sizes, reverse=True)
        assert min(sizes) > 0
    assert len({move.picture.image for move in found.moved}) == len(found.moved)
    rows, metric = rows_of(col), metric_of(col)
    for move in found.moved:
        places = []
        for asked in (rows[move.query.image - 1], metric.ask(rows[move.query.image - 1])):
            scores = rows @ asked
            scores[move.query.image - 1] = -np.inf
            places.append(int(np.sum(scores > scores[move.picture.image - 1])) + 1)
        assert [move.before, move.after] == places
        assert min(places) <= PAGE
        assert (places[1] < places[0]) == move.rose
    # Of the newest eight, or of pictures near them that nobody asked about.
    asked = {move.query.image for move in found.moved}
    assert asked & set(range(23, 31)) or asked - set(range(1, 31))
    assert not asked & set(range(1, 23)) - {
        hit.id for query in range(23, 31) for hit in col.search(query, k=10, by=SPACE)
    }


def test_what_was_said_about_the_query_itself_is_left_out(col: Collection) -> None:
    """A disliked picture is the last for its query; that is no effect on others."""
    query = 5
    best = col.search(query, k=1, by=SPACE)[0].id
    col.judge(query, [], [best], profile=PROFILE)
    assert col.search(query, k=N, by=PROFILE)[-1].id == best
    for move in col.profiles.report(PROFILE, top=N, examples=0).moved:
        assert (move.query.image, move.picture.image, move.after) != (query, best, N - 1)


def test_pictures_that_are_gone_are_not_shown(col: Collection, tmp_path: Path) -> None:
    teach(col, 20)
    whole = col.profiles.report(PROFILE, top=2, examples=2)
    lost = Path(whole.directions[0].one_end[0].path)
    moved = Path(whole.moved[0].picture.path)
    for place, path in enumerate({lost, moved}):
        shutil.move(path, tmp_path / f"{place}.png")
    try:
        found = col.profiles.report(PROFILE, top=2, examples=2)
    finally:
        for place, path in enumerate({lost, moved}):
            shutil.move(tmp_path / f"{place}.png", path)
    shown = {e.path for one in found.directions for e in (*one.one_end, *one.other_end)}
    shown |= {e.path for move in found.moved for e in (move.picture, move.query)}
    assert shown
    assert not shown & {str(lost), str(moved)}
    assert [one.value for one in found.directions] == [one.value for one in whole.directions]
    assert all(len(one.one_end) == len(one.other_end) == 2 for one in found.directions)


def test_before_the_first_judgement_and_after_undoing_it(col: Collection) -> None:
    empty = col.profiles.report(PROFILE)
    assert (empty.directions, empty.moved, empty.log) == ((), (), ())
    assert empty.figures.units == "directions"
    teach(col, 1)
    assert col.profiles.report(PROFILE).directions
    assert col.profiles.figures(PROFILE).agreement_plain is not None
    col.undo(profile=PROFILE)
    after = col.profiles.report(PROFILE)
    assert (after.directions, after.moved, after.figures) == ((), (), empty.figures)


def test_queries_from_outside_and_comparisons_count_too(col: Collection) -> None:
    """They teach, though no answers to them can be compared."""
    col.profiles.learn_triplets([(1, 3, 2), (2, 4, 1)], profile=PROFILE)
    found = col.profiles.report(PROFILE, top=2)
    assert found.figures.triplets == 2
    assert found.directions
    assert {move.query.image for move in found.moved}


def test_words_and_directions_are_told_apart(col: Collection) -> None:
    col.profiles.create("wordy", "words")
    col.judge(1, [3], [2], profile="wordy")
    found = col.profiles.report("wordy", examples=0)
    assert found.figures.units == "words"
    assert (found.directions, found.moved) == ((), ())
    assert found.space == "words"


def test_a_plain_judgement_looks_at_no_other(
    col: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    teach(col, 4)
    col.search(1, by=PROFILE)
    compared = []
    alike = fold._teach_the_same
    monkeypatch.setattr(fold, "_teach_the_same", lambda *two: compared.append(two) or alike(*two))
    made = teach(col, 3, first=9)
    col.search(1, by=PROFILE)
    assert not compared
    col.undo(made[0], profile=PROFILE)
    col.search(1, by=PROFILE)
    assert compared
