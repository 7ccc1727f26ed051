"""The demo's proof that it learns: judged by the truth, counted on what was not judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from likewise.collection.collection import Collection
from likewise_lab.demo.lesson import CLICKS, LOOKED_AT, PROFILE, Gain, Lesson, OtherQuery, teach
from likewise_lab.evaluation.retrieval import Ranker, Task, planted_task
from likewise_methods.evaluation.datasets import RetrievalQuery
from likewise_methods.evaluation.metrics import average_precision
from likewise_methods.evaluation.protocols import leave_one_out

PAIRS = {"brick": "walls", "grass": "walls", "coffee": "tables", "coins": "tables"}
ALONE = "camera"


def _task(root: Path) -> Task:
    """Two groups of two scenes, and a scene that is its own group."""
    whole = planted_task(root, 6)
    scenes = {name: name.split("-")[0] for name in whole.paths}
    labels = {n: PAIRS.get(s, s) for n, s in scenes.items() if s in PAIRS or s == ALONE}
    paths = {name: whole.paths[name] for name in labels}
    return Task("pairs", "leave one out", paths, leave_one_out(labels))


@pytest.mark.slow
def test_a_handful_of_judgements(tmp_path: Path) -> None:
    task = _task(tmp_path / "pictures")
    judged = [q.name for q in task.queries if q.group != ALONE and "-00-" in q.name]
    with Collection.create(tmp_path / "c.lw", deep=False) as col:
        col.add(*task.paths.values(), workers=0)
        col.use("holistic")
        ranker = Ranker(col, task)
        lesson = teach(col, task.queries, ranker, judged)
        assert lesson is not None
        assert 1 <= len(lesson.judged) <= len(judged)
        figures = col.similarities[PROFILE].figures
        assert figures is not None
        assert figures.judgements == len(lesson.judged)
        for one in lesson.judged:
            right = {ranker.id_of(name) for name in one.query.positives}
            assert set(one.liked) <= right - {one.image}
            assert not {*one.disliked, one.image} & right - {one.image}
            assert 1 <= len(one.liked) <= CLICKS
            assert 1 <= len(one.disliked) <= CLICKS < LOOKED_AT
        # Counted again from the rankings themselves.
        names = {one.query.name for one in lesson.judged}
        assert {one.query.name for one in lesson.others} == {
            query.name for query in task.queries if query.name not in names
        }
        clicked = lesson.clicked
        for other in lesson.others:
            assert other.image not in other.right
            ids = [hit.id for hit in col.search(other.image, 100, by=PROFILE)]
            assert ids == [hit.id for hit in other.after]
            whole = average_precision([i in other.right for i in ids], len(other.right))
            assert other.value_after == pytest.approx(whole)
            left, rest = [i for i in ids if i not in clicked], other.right - clicked
            assert (other.unseen is None) == (other.image in clicked or not rest)
            if other.unseen is not None:
                again = average_precision([i in rest for i in left], len(rest))
                assert other.unseen[1] == pytest.approx(again)
        assert lesson.elsewhere.queries == 6
        # Taught anew, it comes to the same; nothing of the first time is left.
        again = teach(col, task.queries, ranker, judged)
        assert again is not None
        assert (again.gain(), again.unseen) == (lesson.gain(), lesson.unseen)
        assert col.similarities["default"].figures.judgements == 0
        # Nobody said anything: no lesson.
        assert teach(col, task.queries, ranker, []) is None


def test_means_of_groups() -> None:
    def other(name: str, group: str, values: tuple[float, float], *, seen: bool) -> OtherQuery:
        query = RetrievalQuery(name, name, frozenset(), group=group)
        unseen = None if seen else (values[0] / 2, values[1] / 2)
        return OtherQuery(query, 1, frozenset(), (), (), *values, unseen)

    others = [
        other("a", "x", (0.25, 0.5), seen=False),
        other("b", "x", (0.75, 1.0), seen=True),
        other("c", "y", (0.5, 0.25), seen=False),
    ]
    lesson = Lesson(PROFILE, (), others)
    assert lesson.gain(["x"]) == Gain(2, 0.5, 0.75)
    assert lesson.elsewhere == pytest.approx(Gain(3, 0.5, 1.75 / 3))
    assert lesson.unseen == Gain(0, 0.0, 0.0)
    assert lesson.best_of("x") is others[0]
    assert lesson.best_of("z") is None
    assert lesson.worst is others[2]
    assert Lesson(PROFILE, (), others[:2]).worst is None
