"""The benchmark of typed words: its measures, its lists, and phrases that fit their sets."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.deep.rows import labels_of, task_of
from benchmarks.words import __main__ as program
from benchmarks.words import phrases
from benchmarks.words.data import CHOSEN_ON, SETS, NamedSet, typed
from benchmarks.words.quality import after_likes, by_tags, measures, ordered, shown
from benchmarks.words.speed import DrawnRows
from likewise_methods.neighbours.compact import CompactFlat


def three_groups(n: int = 30) -> NamedSet:
    labels = np.arange(3 * n, dtype=np.int64) % 3
    rng = np.random.default_rng(0)
    rows = np.eye(3, 12)[labels] + 0.2 * np.abs(rng.standard_normal((3 * n, 12)))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return NamedSet("groups", rows.astype(np.float32), labels, ["red_fox", "tree", "house"])


def test_measures_by_hand() -> None:
    right = np.array([True, False, True, False, True])
    precision, average = measures([0, 1, 2], right)
    assert precision == pytest.approx(2 / 20)
    # The third right one was not found.
    assert average == pytest.approx((1 + 2 / 3) / 3)
    assert measures([], right) == (0, 0)


def test_what_is_shown_has_every_picture_once() -> None:
    pictures = three_groups()
    scores = np.random.default_rng(1).standard_normal(len(pictures.labels))
    found = shown(scores, pictures)
    assert sorted(found) == list(range(len(pictures.labels)))
    assert found[3] == next(one for one in ordered(scores).tolist() if one not in found[:3])


def test_what_is_liked_stays_first_and_brings_its_like() -> None:
    pictures = three_groups()
    right = pictures.labels == 1
    scores = 0.5 * right + np.random.default_rng(2).standard_normal(len(right))
    liked = [one for one in shown(scores, pictures)[:20] if right[one]][:3]
    after = after_likes(scores, pictures, right, 3)
    assert after[:3] == liked
    assert sorted(after) == list(range(len(right)))
    assert measures(after, right)[0] > measures(shown(scores, pictures), right)[0]
    nothing = np.zeros(len(right), bool)
    assert after_likes(scores, pictures, nothing, 3) == shown(scores, pictures)


def test_tags_answer_only_to_their_name() -> None:
    pictures, rng = three_groups(), np.random.default_rng(3)
    found = by_tags(pictures, "a red fox in the snow", rng)
    assert len(found) == 5
    assert (pictures.labels[found] == 0).all()
    assert by_tags(pictures, "a fox", rng) == []


def test_there_are_phrases_for_every_class_of_a_set() -> None:
    corel = phrases.COREL_LOOSE.keys()
    assert len(corel) == 10
    assert phrases.COREL_OTHER.keys() == corel == phrases.COREL_FRESH.keys()
    assert all(texts.keys() == corel for texts in phrases.COREL_ELSEWHERE.values())
    assert len(phrases.CALTECH_LOOSE) == 30
    assert not phrases.CALTECH_LOOSE.keys() & phrases.CALTECH_FRESH.keys()
    assert len(phrases.CALTECH_FRESH) == 34
    assert phrases.CIFAR_LOOSE.keys() == phrases.CIFAR_OTHER.keys()


@pytest.mark.data
@pytest.mark.parametrize("name", ["corel1k", "caltech101"])
def test_phrases_fit_their_set(name: str) -> None:
    task = task_of("caltech101-full" if name == "caltech101" else name)
    if task is None:
        pytest.skip(f"{name} is not among the data")
    # No picture is described for this: rows are not looked at.
    classes = list(dict.fromkeys(query.group for query in task.queries))
    pictures = NamedSet(name, np.zeros((0, 1280), np.float32), labels_of(task), classes)
    kinds = typed(pictures)
    assert {(name, kind) for kind in kinds} & CHOSEN_ON
    whole = phrases.COREL_LOOSE if name == "corel1k" else phrases.CALTECH_LOOSE
    assert len(kinds["loose"]) == len(whole)
    fresh = phrases.COREL_FRESH if name == "corel1k" else phrases.CALTECH_FRESH
    assert len(kinds["fresh"]) == len(fresh)
    for texts in kinds.values():
        assert all((pictures.labels == c).sum() >= 20 for c in texts)


def test_drawn_rows_are_the_same_alone_and_together() -> None:
    rows = DrawnRows(300)
    everything = rows[np.arange(300)]
    np.testing.assert_allclose(np.linalg.norm(everything, axis=1), 1, atol=1e-5)
    assert (everything >= 0).all()
    np.testing.assert_allclose(rows[np.array([7, 250])], everything[[7, 250]], atol=1e-6)
    places, _ = CompactFlat("ip", rows).best(rows, np.ones(300, bool), everything[5], 3)
    assert 5 in places


def test_an_unknown_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        program.main(["everything"])
    assert "there are quality, speed" in capsys.readouterr().err
    assert SETS == ("corel1k", "caltech101", "cifar10")
