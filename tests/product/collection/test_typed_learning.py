"""Judgements under typed words: kept for the text and for near ones, undone, merged, backed up."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from likewise.catalog.segments import DENSE
from likewise.collection.collection import Collection
from likewise.errors import CollectionError, InvalidInput
from likewise.learning.fold import training_rows
from likewise.learning.history import Item
from likewise.spaces.registry import open_spaces
from tests.product.collection import typed_cases
from tests.product.collection.model_cases import N
from tests.product.collection.pair_cases import PROFILE, SPACE
from tests.product.private import states_of, store_of


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return typed_cases.make_collection(tmp_path_factory.mktemp("typed"))


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> typed_cases.StandInWords:
    return typed_cases.install(monkeypatch)


@pytest.fixture
def col(built: Path, tmp_path: Path, words: object) -> Iterator[Collection]:
    shutil.copytree(built, tmp_path / "c.lw")
    with Collection.open(tmp_path / "c.lw") as made:
        made.use(PROFILE)
        yield made


def ranked(col: Collection, text: str, k: int = N, **more: object) -> list[tuple[int, float]]:
    return [(hit.id, hit.score) for hit in col.search(text=text, k=k, **more)]


def lessons(col: Collection) -> list[bytes]:
    metric = states_of(col).metric(PROFILE, open_spaces(store_of(col))[SPACE])
    return [] if metric is None else [one.key for one in metric.lessons]


def test_likes_move_the_ranking_at_once(col: Collection) -> None:
    before = ranked(col, "odd")
    made = col.judge(text="odd", liked=[2, 4, 6], disliked=[before[0][0]])
    assert (made.text, made.query) == ("odd", None)
    hits = col.search(text="odd", k=N)
    assert {hit.id for hit in hits[:3]} == {2, 4, 6}
    assert hits[-1].id == before[0][0]
    assert str(hits[0].reasons[0]) == "liked for: odd"
    # Others like those that were liked follow them.
    assert np.mean([hit.id % 2 == 0 for hit in hits[3:9]]) == 1
    assert col.log.verdicts(text="ODD ") == ([2, 4, 6], [before[0][0]])
    line = col.log.entries()[-1]
    assert (line.text, line.query, line.liked) == ("odd", None, (2, 4, 6))


def test_undo_is_as_if_it_had_never_been_said(col: Collection) -> None:
    before = ranked(col, "odd"), ranked(col, "something else"), lessons(col)
    made = col.judge(text="odd", liked=[2, 4], disliked=[7])
    assert ranked(col, "odd") != before[0]
    col.undo(made)
    assert (ranked(col, "odd"), ranked(col, "something else"), lessons(col)) == before


def test_likes_count_for_texts_that_mean_the_same(col: Collection) -> None:
    before = ranked(col, "uneven")
    col.judge(text="odd", liked=[2, 4, 6], disliked=[before[0][0]])
    near = ranked(col, "uneven")
    assert near != before
    assert near[-1][0] == before[0][0]
    assert near[0][1] < 1  # liked under another text: alike, and not certain
    assert ranked(col, "garden") == []
    # What was said under the text itself counts more than what was said under a near one.
    col.judge(text="uneven", liked=[before[0][0]], disliked=[2])
    assert ranked(col, "uneven")[0][0] == before[0][0]
    assert ranked(col, "uneven")[-1][0] == 2


def test_other_dates_and_other_minus_words_are_another_text(col: Collection) -> None:
    before = ranked(col, "uneven")
    col.judge(text="odd -garden", liked=[2, 4, 6])
    col.judge(text="odd 2019", liked=[2, 4, 6])
    assert ranked(col, "uneven") == before
    assert ranked(col, "uneven -garden") != before


def test_without_a_model_the_same_text_counts(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed_cases.without_model(monkeypatch)
    shutil.copytree(built, tmp_path / "c.lw")
    with Collection.open(tmp_path / "c.lw") as col:
        col.judge(text="Nice things", liked=[2, 4], disliked=[6])
        hits = col.search(text="nice  THINGS", k=N)
        assert {hit.id for hit in hits[:2]} == {2, 4}
        assert hits[-1].id == 6
        assert [str(reason) for reason in hits[2].reasons] == ["like what was liked"]
        assert col.search(text="nicer things", k=N) == []


def test_a_likes_reason_can_be_struck_out(col: Collection) -> None:
    before = ranked(col, "odd")
    col.judge(text="odd", liked=[2, 4, 6], disliked=[before[0][0]])
    assert ranked(col, "odd", without=["liked"]) == before


def test_contradictions_and_later_words(col: Collection) -> None:
    first = col.judge(text="odd", liked=[2])
    second = col.judge(text="odd", disliked=[2])
    assert second.contradicts == (first.number,)
    assert col.log.verdicts(text="odd") == ([], [2])
    col.undo(second)
    assert col.log.verdicts(text="odd") == ([2], [])


def test_words_beside_a_picture_are_a_query_of_their_own(col: Collection) -> None:
    col.judge(4, [8], [1], text="odd")
    assert col.log.verdicts(4, text="odd") == ([8], [1])
    assert col.log.verdicts(4) == ([], [])
    assert col.log.verdicts(text="odd") == ([], [])
    hits = col.search(4, text="odd", k=N)
    assert hits[0].id == 8
    assert hits[-1].id == 1
    with pytest.raises(InvalidInput, match="is the query itself"):
        col.judge(4, [4], text="odd")
    assert col.log.entries()[-1].text == "odd"


def test_a_judgement_teaches_the_profile_pairs(col: Collection) -> None:
    assert lessons(col) == []
    col.judge(text="odd", disliked=[2])
    assert lessons(col) == []  # nothing to compare it with
    col.judge(text="odd", liked=[1, 3, 5], disliked=[2, 4])
    assert len(lessons(col)) == 1
    asked = states_of(col).metric(PROFILE, open_spaces(store_of(col))[SPACE])
    assert asked is not None
    (lesson,) = asked.lessons
    assert len(lesson.liked) == 3
    middle = lesson.liked.astype(float).mean(axis=0)
    assert np.allclose(lesson.query, middle / np.linalg.norm(middle), atol=1e-6)
    col.profiles.relearn(PROFILE)


def test_one_like_says_only_what_it_is_unlike() -> None:
    rows = np.eye(3, dtype=np.float32)
    codes = {number: DENSE.pack(row) for number, row in enumerate(rows, 1)}
    space = type("Row", (), {"row_format": DENSE, "width": 3})()

    def item(liked: tuple[int, ...], disliked: tuple[int, ...]) -> Item:
        return Item(1, "judge", query=99, liked=liked, disliked=disliked, typed=True)

    taught = training_rows(item((1,), (2, 3)), codes, space)
    assert taught is not None
    assert taught.n_liked == 0
    assert taught.rows[0].tolist() == [1, 0, 0]
    assert len(taught.rows) == 3
    assert training_rows(item((1,), ()), codes, space) is None
    assert training_rows(item((), (2,)), codes, space) is None
    both = training_rows(item((1, 2), ()), codes, space)
    assert both is not None
    assert both.n_liked == 2
    assert both.rows[0].tolist() == [0.5, 0.5, 0]


def test_profiles_are_copied_merged_exported_and_rolled_back(
    col: Collection, tmp_path: Path
) -> None:
    col.judge(text="odd", liked=[2, 4, 6], disliked=[1, 3])
    taught = ranked(col, "odd")
    col.profiles.copy(PROFILE, "copy")
    assert ranked(col, "odd", by="copy") == taught
    col.profiles.create("other", SPACE)
    col.judge(text="even", liked=[1], disliked=[8], profile="other")
    col.profiles.merge([PROFILE, "other"], "both-of-us")
    assert col.log.verdicts(text="even", profile="both-of-us") == ([1], [8])
    assert col.log.verdicts(text="odd", profile="both-of-us") == ([2, 4, 6], [1, 3])
    col.profiles.export(tmp_path / "taste.lwp", profile=PROFILE)
    loaded = col.profiles.load(tmp_path / "taste.lwp", "loaded")
    space = open_spaces(store_of(col))[SPACE]
    metric = states_of(col).metric(loaded, space)
    assert metric is not None
    assert len(metric) == 1
    col.profiles.roll_back(0, profile=PROFILE)
    assert col.log.verdicts(text="odd") == ([], [])
    assert col.verify() == []


def test_a_backup_and_a_new_generation_keep_what_was_said(col: Collection, tmp_path: Path) -> None:
    col.judge(text="odd", liked=[2, 4, 6], disliked=[1, 3])
    told = ranked(col, "odd")
    col.backup(tmp_path / "kept")
    with Collection.restore(tmp_path / "kept", tmp_path / "again.lw") as again:
        assert ranked(again, "odd") == told
        assert again.verify() == []
    col.retrain(workers=0)
    assert col.log.verdicts(text="odd") == ([2, 4, 6], [1, 3])
    assert len(lessons(col)) == 1
    assert {image for image, _ in ranked(col, "odd", 3)} == {2, 4, 6}
    assert col.verify() == []


said = st.lists(
    st.tuples(
        st.sampled_from(["odd", "uneven", "even", "Odd!"]),
        st.sets(st.integers(1, 12), min_size=1, max_size=4),
        st.integers(0, 15),
    ),
    min_size=1,
    max_size=5,
)


@pytest.mark.slow
@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(kept=said, undone=said, order=st.randoms(use_true_random=False))
def test_undo_equals_never_judged(
    built: Path,
    tmp_path_factory: pytest.TempPathFactory,
    words: object,
    kept: list[tuple[str, set[int], int]],
    undone: list[tuple[str, set[int], int]],
    order: object,
) -> None:
    """Whatever was said and taken back in between, what stands alone decides every answer."""
    answers = []
    for history in ([(one, True) for one in kept], None):
        folder = tmp_path_factory.mktemp("undo")
        shutil.copytree(built, folder / "c.lw")
        with Collection.open(folder / "c.lw") as col:
            col.use(PROFILE)
            steps = history
            if steps is None:
                # Judgements that stay, in their order, with others between them.
                steps = [(one, True) for one in kept]
                for one in undone:
                    steps.insert(order.randint(0, len(steps)), (one, False))  # type: ignore[attr-defined]
            taken_back = []
            for (text, pictures, split), stays in steps:
                ids = sorted(pictures)
                liked = [i for at, i in enumerate(ids) if split >> at & 1]
                disliked = [i for i in ids if i not in liked]
                made = col.judge(text=text, liked=liked, disliked=disliked, shown=())
                if not stays:
                    taken_back.append(made)
            for made in taken_back:
                col.undo(made)
            answers.append(
                ([ranked(col, text) for text in ("odd", "uneven", "even")], sorted(lessons(col)))
            )
        shutil.rmtree(folder)
    assert answers[0] == answers[1]


# -- a query becomes a tag --------------------------------------------------------------------


def test_a_query_becomes_a_tag(col: Collection) -> None:
    col.judge(text="odd", liked=[1, 3], disliked=[5])
    best = [image for image, _ in ranked(col, "odd") if image not in (1, 3, 5)][:4]
    col.tags.reject(best[0], "strange")
    saved = col.tags.save_query("odd", tag=" strange ", k=4)
    assert saved.tag == "strange"
    assert saved.tagged == (1, 3)
    assert saved.suggested == tuple(best[1:])
    assert col.tags.sources(1) == {"strange": ["accepted"]}
    assert col.tags.sources(best[1]) == {"strange": ["suggested"]}
    assert col.tags.of(5) == []
    assert col.tags.of(best[0]) == []
    assert col.verify() == []
    hits = col.search(text="strange", k=5)
    assert {hit.id for hit in hits[:2]} == {1, 3}


def test_saving_a_query_is_undone_in_one_step(col: Collection) -> None:
    col.judge(text="odd", liked=[1, 3])
    col.tags.change([1], ["strange"])
    with store_of(col).write() as c:
        from likewise.catalog import tag_tables

        tag_tables.put_sources(c, "suggested", [(7, "strange")])
    every = col.tags.of_many(range(1, N + 1))
    saved = col.tags.save_query("odd", "strange", k=10)
    assert 7 not in saved.suggested  # suggested before, and so not by this
    kept = saved.suggested[0]
    col.tags.accept(kept, "strange")
    assert saved.line is not None
    assert col.tags.undo(saved.line) == saved.line
    now = col.tags.of_many(range(1, N + 1))
    assert now == every | {kept: ["strange"]}
    assert col.tags.sources(1) == {"strange": ["user"]}
    assert col.verify() == []


def test_only_a_query_that_was_liked_becomes_a_tag(col: Collection) -> None:
    with pytest.raises(CollectionError, match="nothing was liked under 'odd' yet"):
        col.tags.save_query("odd", "strange")
    col.judge(text="odd", liked=[1])
    with pytest.raises(InvalidInput):
        col.tags.save_query("odd", " ")
    with pytest.raises(InvalidInput, match="text is empty"):
        col.tags.save_query(" ", "strange")
    assert col.tags.save_query("odd", "strange", k=0).suggested == ()
    again = col.tags.save_query("odd", "strange", k=0)
    assert again.line is None
