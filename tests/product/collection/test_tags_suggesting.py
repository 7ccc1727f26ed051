"""Suggested tags: sensible, explained, calibrated, at once; in bulk, killed and resumed."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from likewise.catalog import tag_tables
from likewise.catalog.jobs import lease, running
from likewise.collection.collection import Collection
from likewise.errors import CollectionBusy, InvalidInput
from likewise.tags import bulk as bulk_tagging
from likewise.tags import calibration as calibrating
from likewise.tags.calibration import Calibration, fit_isotonic
from likewise.tags.evidence import Evidence, Reconstruction
from likewise_methods.siso.annotator import SparseAnnotator
from likewise_methods.siso.mixed import MixedAnnotator
from tests.product.collection.tag_cases import (
    EACH,
    KINDS,
    copied,
    inside,
    kind_of,
    outside,
    tag_some,
)
from tests.product.collection.test_crashes import Launcher
from tests.product.private import curve_of, store_of, views_of


@pytest.fixture
def col(tmp_path: Path) -> Iterator[Collection]:
    with Collection.open(copied(tmp_path)) as made:
        yield made
        assert made.verify() == []


def suggested(col: Collection) -> dict[int, list[str]]:
    return {i: sorted(t) for i, t in tag_tables.tags_by_source(store_of(col), "suggested").items()}


def test_suggestions_for_pictures_inside_and_outside(col: Collection) -> None:
    assert col.suggest_tags(1) == []
    tag_some(col)
    for kind in KINDS:
        for query in (inside(kind, 9), outside(kind), outside(kind).read_bytes()):
            (first, *_) = col.suggest_tags(query)
            assert first.tag == kind
            assert first.calibrated
            assert first.confidence > 0.7
            assert all(kind_of(b.path) == kind and b.weight > 0 for b in first.because)
            weights = [b.weight for b in first.because]
            assert weights == sorted(weights, reverse=True)
            assert first.score >= sum(weights) - 1e-6
    with pytest.raises(InvalidInput, match="vector"):
        col.suggest_tags(np.ones(428, np.float32))
    with pytest.raises(InvalidInput, match="k is 0"):
        col.suggest_tags(1, k=0)


def test_a_tagged_picture_is_not_its_own_evidence(col: Collection) -> None:
    tag_some(col)
    image = col.id_of(inside("red", 0))
    col.tag(image, "only here")
    found = col.suggest_tags(image)
    assert {s.tag for s in found}.isdisjoint({"red", "only here"})
    assert all(b.id != image for s in found for b in s.because)
    # And it is evidence for others again afterwards.
    (first, *_) = col.suggest_tags(outside("red"))
    assert first.tag == "red"
    assert len(col.tags.suggester.evidence(("holistic",))) == 8 * len(KINDS)


def test_scores_are_those_of_the_annotator(col: Collection) -> None:
    """What is kept up to date in memory scores like an annotator fitted from nothing."""
    tag_some(col, 4)
    col.suggest_tags(outside("red"))
    col.tag(inside("red", 7), "rose", "red")
    col.untag(inside("red", 0), "red")
    col.remove(inside("blue", 1))
    col.tag(inside("green", 0), "leaf")
    found = {s.tag: s.score for s in col.suggest_tags(outside("red"), k=20)}
    view = views_of(col).view("holistic")
    tagged = tag_tables.evidence(store_of(col))
    ids, rows = view.rows_of(sorted(tagged))
    model = SparseAnnotator(alpha=0.05, nonnegative=True).fit(rows, [tagged[i] for i in ids], ids)
    query = view.row_of(col.id_of(inside("red", 9)))
    again = {s.tag: s.score for s in col.suggest_tags(inside("red", 9), k=20)}
    wanted = dict(zip(model.tags_, model.predict_scores(query[None])[0].tolist(), strict=True))
    assert again == pytest.approx({t: s for t, s in wanted.items() if s > 0}, abs=1e-4)
    assert found["red"] > 0.3


def test_a_new_tag_works_at_once_and_refusals_last(col: Collection) -> None:
    tag_some(col)
    col.suggest_tags(inside("red", 9))
    col.tag(inside("red", 10), "a second ago")
    tags = [s.tag for s in col.suggest_tags(inside("red", 9), k=20)]
    assert "a second ago" in tags
    line = col.tags.reject(inside("red", 9), "red")
    assert "red" not in [s.tag for s in col.suggest_tags(inside("red", 9))]
    assert "red" in [s.tag for s in col.suggest_tags(inside("red", 8))]
    col.tags.undo(line)
    assert col.suggest_tags(inside("red", 9))[0].tag == "red"
    col.tags.accept(inside("red", 9), "red")
    assert "red" not in [s.tag for s in col.suggest_tags(inside("red", 9))]
    assert col.tags.sources(inside("red", 9)) == {"red": ["accepted"]}
    with Collection.open(col.root) as other:  # another process would see the same
        assert "red" not in [s.tag for s in other.suggest_tags(inside("red", 9))]


def test_too_few_tags_are_never_called_sure(col: Collection) -> None:
    col.tags.change([inside("red", i) for i in range(8)], ["red"])
    (first, *_) = col.suggest_tags(outside("red"))
    assert (first.tag, first.calibrated) == ("red", False)
    assert first.confidence <= calibrating.UNMEASURED
    # Many pictures of one tag only: nothing ever was wrong, so nothing can be measured.
    col.tags.change([row.id for row in col.images()][:25], ["red"])
    assert not col.suggest_tags(outside("red"))[0].calibrated
    run = col.tags.suggest_for_all(above=0.6)
    assert (run.tagged, run.measured) == (0, False)


def test_calibration_is_isotonic_and_kept(col: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    tag_some(col)
    col.suggest_tags(outside("red"))
    measured = []
    monkeypatch.setattr(
        "likewise.tags.suggest.measure_calibration",
        lambda *a: measured.append(a) or 1 / 0,
    )
    col.tag(inside("red", 9), "one more")  # too little to measure again
    first = col.suggest_tags(outside("red"))
    with Collection.open(col.root) as again:
        assert again.suggest_tags(outside("red"))[0].confidence == pytest.approx(
            first[0].confidence
        )
    assert measured == []
    for i in range(EACH):
        col.tag(inside("blue", i), f"tag {i}")
    with pytest.raises(ZeroDivisionError):
        col.suggest_tags(outside("red"))
    assert len(measured) == 1


def test_isotonic_against_the_plain_rule() -> None:
    """Pool adjacent violators, written down: means of blocks that rise."""
    rng = np.random.default_rng(0)
    scores = np.sort(rng.random(60))
    right = rng.random(60) < scores
    x, y = fit_isotonic(scores, right)
    # A wrong answer is added at zero, and one that shares the place of the highest score.
    values = [0.0, *right.astype(float).tolist(), 0.0]
    blocks = [*([v] for v in values[:-2]), values[-2:]]
    pooled: list[list[float]] = []
    for block in blocks:
        pooled.append(list(block))
        while len(pooled) > 1 and np.mean(pooled[-2]) >= np.mean(pooled[-1]):
            last = pooled.pop()
            pooled[-1] += last
    steps = np.concatenate([[np.mean(b)] * len(b) for b in pooled])
    assert np.interp(scores, x, y) == pytest.approx(steps[1:-1])
    curve = Calibration((), 0, 60, tuple(x), tuple(y))
    assert 0 == curve.confidence(-1.0) <= curve.confidence(0.5) <= curve.confidence(9.0) < 1
    assert Calibration.from_json(curve.to_json()) == curve


def test_bulk_tags_what_nobody_tagged(col: Collection) -> None:
    tag_some(col)
    before = {row.id: col.tags.of(row.id) for row in col.images()}
    col.tags.reject(inside("green", 9), "green")
    dry = col.tags.suggest_for_all(above=0.6, dry_run=True)
    assert suggested(col) == {}
    run = col.tags.suggest_for_all(above=0.6)
    assert (run.pictures, run.tags) == (3 * (EACH - 8), dry.tags)
    found = suggested(col)
    assert found == {i: sorted(t for t, _ in tags) for i, tags in dry.found.items()}
    refused = col.id_of(inside("green", 9))
    assert "green" not in found.get(refused, [])
    for image, tags in found.items():
        assert tags == [kind_of(col.image(image).path)]
        assert before[image] == []
    # Again: nothing moves, not even the evidence; a picture that is new is all there is to do.
    number = tag_tables.evidence_number(store_of(col))
    assert (again := col.tags.suggest_for_all(above=0.6)).pictures == 0
    assert again.resumed > 0
    assert suggested(col) == found
    assert tag_tables.evidence_number(store_of(col)) == number
    col.add(outside("blue"), workers=0)
    assert col.tags.suggest_for_all(above=0.6).pictures == 1
    assert col.tags.of(outside("blue")) == ["blue"]
    # Suggestions teach nothing; accepted ones do.
    evidence = tag_tables.evidence(store_of(col))
    assert not set(evidence) & set(found)
    col.tags.accept(outside("blue"), "blue")
    assert col.tags.sources(outside("blue")) == {"blue": ["accepted", "suggested"]}
    assert col.id_of(outside("blue")) in tag_tables.evidence(store_of(col))
    assert col.tags.clear_suggestions() > 0
    assert suggested(col) == {}
    assert col.tags.of(outside("blue")) == ["blue"]


def test_bulk_for_tagged_pictures_and_refusals(col: Collection) -> None:
    tag_some(col)
    col.tag(inside("red", 0), "other")
    col.tags.suggest_for_all(above=0.6, also_tagged=True)
    for image, tags in suggested(col).items():
        assert not set(tags) & set(tag_tables.evidence(store_of(col), [image]).get(image, []))
    for bad in (0.0, 1.5, -1.0):
        with pytest.raises(InvalidInput, match="above"):
            col.tags.suggest_for_all(above=bad)
    with lease(col.root, "other"), pytest.raises(CollectionBusy):
        col.tags.suggest_for_all(above=0.6)


@pytest.mark.slow
def test_kill_in_the_middle_of_a_bulk_run(tmp_path: Path) -> None:
    """SIGKILL after every batch in turn; what was done is kept, and the end is the same."""
    roots = {}
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
        roots[name] = copied(tmp_path / name)
        with Collection.open(roots[name]) as col:
            tag_some(col)
    launcher = Launcher(tmp_path / "why")
    try:
        job = {"do": "tag", "above": "0.6"}
        assert launcher.run(**job, root=str(roots["whole"]))[0] == 0
        with Collection.open(roots["whole"]) as col:
            wanted = suggested(col)
        assert len(wanted) > 4
        done: dict[int, list[str]] = {}
        kills = 0
        for _ in range(20):
            # Two pictures further each time: the next batch is committed, then the end.
            status, _ = launcher.run(**job, root=str(roots["killed"]), die_after="2")
            if status == 0:
                break
            assert status == signal.SIGKILL
            kills += 1
            with Collection.open(roots["killed"]) as col:
                assert running(col.root) is None
                assert col.verify() == []
                now = suggested(col)
                assert done.items() <= now.items() <= wanted.items()
                assert store_of(col).setting(bulk_tagging.RUN)["upto"] > 0
                done = now
        assert kills >= 3
        with Collection.open(roots["killed"]) as col:
            assert suggested(col) == wanted
            assert col.tags.suggest_for_all(above=0.6).pictures == 0
            assert suggested(col) == wanted
    finally:
        launcher.close()


# -- the linear machine beside the reconstruction ---------------------------------------------


def test_scores_and_confidence_are_of_the_mix(col: Collection) -> None:
    """After tags came and went: against both machines fitted from nothing."""
    tag_some(col)
    col.suggest_tags(outside("red"))
    col.tag(inside("red", 7), "rose")
    col.untag(inside("red", 0), "red")
    col.remove(inside("blue", 1))
    suggestions = col.suggest_tags(inside("red", 9), k=20)
    curve = curve_of(col, "holistic")
    assert curve.mix > 0
    tagged = tag_tables.evidence(store_of(col))
    view = views_of(col).view("holistic")
    ids, rows = view.rows_of(sorted(tagged))
    query = view.row_of(col.id_of(inside("red", 9)))[None]
    model = MixedAnnotator(alpha=0.05, mix=curve.mix).fit(rows, [tagged[i] for i in ids], ids)
    wanted = dict(zip(model.tags_, model.predict_scores(query)[0].tolist(), strict=True))
    assert {s.tag: s.score for s in suggestions} == pytest.approx(
        {s.tag: wanted[s.tag] for s in suggestions}, abs=1e-4
    )
    assert all(s.confidence == curve.confidence(s.score) for s in suggestions)
    assert {t for t, s in wanted.items() if s > 0} <= {s.tag for s in suggestions}


def test_a_tag_of_the_linear_machine_alone_shows_the_nearest(
    col: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    tag_some(col)
    image = col.id_of(inside("red", 9))
    evidence = col.tags.suggester.evidence(("holistic",))
    curve = Calibration((("holistic", 1),), evidence.number, 1, (0.0, 1.0), (0.0, 1.0), mix=1.0)
    monkeypatch.setattr(col.tags.suggester, "calibration", lambda *a, **k: curve)
    (made,) = evidence.reconstruct(evidence.rows_of(views_of(col), [image])[1])
    assert "red" in evidence.tags[made.shares[0][0]]
    real = Evidence.reconstruct

    def only_blue(self: Evidence, *given: object) -> list[Reconstruction]:
        """As if no red picture had a share."""
        return [
            made._replace(shares=[one for one in made.shares if "red" not in made.tags[one[0]]])
            for made in real(self, *given)
        ]

    monkeypatch.setattr(Evidence, "reconstruct", only_blue)
    first = next(s for s in col.suggest_tags(image) if s.tag == "red")
    assert [b.weight for b in first.because] == [0.0] * 8
    rows = {i: view_row(col, i) for i in evidence.tags}
    own = view_row(col, image)
    reds = [i for i, tags in evidence.tags.items() if "red" in tags]
    assert [b.id for b in first.because] == sorted(reds, key=lambda i: -float(rows[i] @ own))[:8]


def view_row(col: Collection, image: int) -> np.ndarray:
    row = np.asarray(views_of(col).view("holistic").row_of(image), np.float64)
    return row / np.linalg.norm(row)


def test_below_twenty_tagged_pictures_shares_alone_count(col: Collection) -> None:
    tag_some(col, 4)
    found = col.suggest_tags(outside("red"))
    assert curve_of(col, "holistic").mix == 0
    assert all(s.score >= sum(b.weight for b in s.because) - 1e-9 > 0 for s in found)
