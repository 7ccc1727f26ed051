"""The demo's proof that it learns: judged by the truth, counted on what was not judged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from likewise.collection.collection import Collection
from likewise.demo.lesson import CLICKS, LOOKED_AT, PROFILE, teach
from likewise.evaluation.metrics import average_precision
from likewise.evaluation.retrieval import Ranker, planted_task


@pytest.mark.slow
def test_a_handful_of_judgements(tmp_path: Path) -> None:
    task = planted_task(tmp_path / "pictures", 9)
    # Four scenes: enough to be mistaken about, and quick.
    scenes = sorted({name.rsplit("-", 2)[0] for name in task.paths})[:4]
    paths = {n: p for n, p in task.paths.items() if n.rsplit("-", 2)[0] in scenes}
    task = replace(task, paths=paths, queries=[q for q in task.queries if q.query in paths])
    with Collection.create(tmp_path / "c.lw", deep=False) as col:
        col.add(*paths.values(), workers=0)
        col.use("holistic")
        ranker = Ranker(col, task)
        lesson = teach(col, task, ranker, worst=3)
        assert lesson is not None
        assert 1 <= len(lesson.judged) <= 3
        for one in lesson.judged:
            right = {ranker.id_of(name) for name in one.query.positives}
            assert set(one.liked) <= right
            assert not set(one.disliked) & right
            assert 1 <= len(one.liked) <= CLICKS
            assert len(one.before) <= LOOKED_AT
            # Counted again from the ranking itself: only pictures nobody judged.
            judged = {*one.liked, *one.disliked}
            left = [h.id for h in col.search(one.image, 100, by=PROFILE) if h.id not in judged]
            wanted = right - judged - {one.image}
            again = average_precision([i in wanted for i in left], len(wanted))
            assert one.residual_after == pytest.approx(again)
        assert lesson.residual_after >= lesson.residual_before
        # Taught anew, it comes to the same; nothing of the first time is left.
        again = teach(col, task, ranker, worst=3)
        assert again is not None
        assert again.residual_before == lesson.residual_before
        assert again.residual_after == lesson.residual_after
        assert col.similarities["default"].figures.judgements == 0
