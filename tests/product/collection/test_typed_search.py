"""Search by typed words: what counts for what, why, and what happens without a model."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from likewise.catalog import tag_tables
from likewise.catalog.moments import refresh_moments
from likewise.collection.collection import Collection
from likewise.errors import InvalidInput, LikewiseError
from likewise.search.rank import Hits
from likewise.vision.deep import network
from likewise.vision.deep.libraries import INSTALL
from tests.product.collection import typed_cases
from tests.product.collection.model_cases import N
from tests.product.private import store_of

ODD, EVEN = [*range(1, N + 1, 2)], [*range(2, N + 1, 2)]


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
        yield made


def suggest(col: Collection, tag: str, *images: int) -> None:
    with store_of(col).write() as c:
        tag_tables.put_sources(c, "suggested", [(image, tag) for image in images])


def why(hits: Hits, image: int) -> list[str]:
    return [str(reason) for hit in hits if hit.id == image for reason in hit.reasons]


def date_picture(col: Collection, image: int, when: str) -> None:
    with store_of(col).write() as c:
        c.execute("UPDATE images SET date = ? WHERE id = ?", (when, image))
        refresh_moments(c, [image])


# -- what counts ------------------------------------------------------------------------------


def test_certain_things_come_first(col: Collection) -> None:
    col.tag(5, "garden")
    col.tag(6, "gardening tools")
    suggest(col, "garden", 7)
    col.tag(8, "yard")
    hits = col.search(text="garden", k=N)
    assert [hit.id for hit in hits[:4]] == [5, 6, 7, 8]
    assert why(hits, 5) == ["tagged garden"]
    assert why(hits, 6) == ["tagged gardening tools"]
    assert why(hits, 7) == ["suggested: garden"]
    assert why(hits, 8) == ["tag by meaning: yard (typed: garden)"]
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)


def test_looks_follow_what_is_written(col: Collection) -> None:
    col.tag(2, "odd")  # somebody says so, whatever it looks like
    hits = col.search(text="odd", k=N)
    assert hits[0].id == 2
    assert why(hits, 2) == ["tagged odd"], "it does not look odd, and nobody says so"
    assert np.mean([hit.id % 2 for hit in hits[1:21]]) > 0.9
    assert why(hits, hits[1].id) == ["looks like: odd"]
    assert hits[1].score < 1 < hits[0].score
    assert hits.hint is None


def test_more_of_the_words_count_more(col: Collection) -> None:
    col.tag(5, "garden")
    col.tag(6, "garden", "party")
    col.tag(7, "party")
    hits = col.search(text="a garden party", k=3)
    assert [hit.id for hit in hits] == [6, 5, 7]
    assert hits[0].score == 3.0
    # A tag that means half of the whole counts a little for the other half.
    assert 1.5 <= hits[2].score <= hits[1].score < 2.0


def test_names_of_files_and_folders(col: Collection) -> None:
    hits = col.search(text="07", k=3)
    assert hits[0].id == 7
    assert why(hits, 7) == ["file name 07.png"]
    assert [hit.id for hit in col.search(text="7", k=3)] == [7]


def test_dates(col: Collection) -> None:
    date_picture(col, 3, "2019-07-03T10:00:00")
    date_picture(col, 4, "2019-06-01T00:00:00+02:00")
    date_picture(col, 5, "2019-09-01T00:00:00")
    date_picture(col, 6, "2018-07-20T00:00:00")
    hits = col.search(text="summer 2019", k=9)
    assert [hit.id for hit in hits] == [3, 4]
    assert why(hits, 3) == ["date: summer 2019"]
    assert [hit.id for hit in col.search(text="july", k=9)] == [3, 6]
    assert [hit.id for hit in col.search(text="2019", k=9)] == [3, 4, 5]
    last_week = col.search(text="last week", k=9, today=date(2019, 7, 10))
    assert [hit.id for hit in last_week] == [3]
    assert col.search(text="yesterday", k=9, today=date(2019, 7, 10)) == []
    col.tag(4, "party")
    assert [hit.id for hit in col.search(text="party 2019", k=9)][:2] == [4, 3]


def test_tags_by_meaning_cover_their_word_alone(col: Collection) -> None:
    col.tag(5, "beach")
    col.tag(6, "garden")
    hits = col.search(text="seaside garden", k=2)
    assert [hit.id for hit in hits] == [6, 5]
    assert why(hits, 5) == ["tag by meaning: beach (typed: seaside)"]


def test_equal_scores_are_in_the_order_of_ids(col: Collection) -> None:
    for image in (9, 3, 7):
        col.tag(image, "same")
    assert [hit.id for hit in col.search(text="same", k=9)] == [3, 7, 9]


# -- minus words, filters, pictures -----------------------------------------------------------


def test_minus_words_leave_out_what_is_written_and_push_back_what_is_likely(
    col: Collection,
) -> None:
    for image in (5, 6, 7):
        col.tag(image, "garden")
    col.tag(5, "people")
    suggest(col, "people", 6)
    hits = col.search(text="garden -people", k=N)
    assert [hit.id for hit in hits[:2]] == [7, 6]
    assert 5 not in [hit.id for hit in hits]
    assert hits[1].score == pytest.approx(hits[0].score - 2.0)


def test_minus_words_turn_looks_away(col: Collection) -> None:
    assert np.mean([hit.id % 2 for hit in col.search(text="-odd", k=20)]) < 0.4
    col.tag(1, "garden")
    left = col.search(text="-garden", k=N)
    assert sorted(hit.id for hit in left) == [*range(2, N + 1)]


def test_filters_and_cut_offs_hold(col: Collection) -> None:
    col.tag(4, "kept")
    col.tag(6, "kept")
    hits = col.search(text="odd", k=5, where={"tag": "kept"})
    assert sorted(hit.id for hit in hits) == [4, 6]
    assert col.search(text="odd", k=5, where={"tag": "none"}) == []
    best = col.search(text="odd", k=N)
    above = best[9].score
    assert [h.id for h in col.search(text="odd", k=N, above=above)] == [h.id for h in best[:10]]


def test_words_beside_a_picture(col: Collection) -> None:
    col.tag(10, "garden")
    hits = col.search(4, k=N, text="garden", by="own")
    assert hits[0].id == 10
    assert 4 not in [hit.id for hit in hits]
    assert why(hits, 10) == ["tagged garden", "like the picture"]
    alone = [hit.id for hit in col.search(4, k=10, by="own")]
    assert [hit.id for hit in col.search(4, k=10, text="nothing", by="own", weight=1)] == alone
    pulled = col.search(4, k=20, text="odd", by="own", weight=0.1)
    assert np.mean([hit.id % 2 for hit in pulled]) > 0.8
    kept = col.search(4, k=20, text="odd", by="own", weight=0.9)
    assert np.mean([hit.id % 2 for hit in kept]) < 0.5


# -- reasons ----------------------------------------------------------------------------------


def test_a_reason_that_is_struck_out_does_not_count(col: Collection) -> None:
    col.tag(5, "garden", "garden party")
    col.tag(6, "garden")
    suggest(col, "garden", 7)
    hits = col.search(text="garden", k=9, without=["tag:garden"])
    assert [hit.id for hit in hits] == [5, 7]
    assert why(hits, 5) == ["tagged garden party"]
    assert [h.id for h in col.search(text="garden", k=9, without=["tag", "near"])] == [7]
    assert col.search(text="garden", k=9, without=["tag", "suggested", "near"]) == []
    assert [h.id for h in col.search(text="07", k=9, without=["file:07.png"])] == []


def test_tags_by_meaning_and_looks_can_be_struck_out(col: Collection) -> None:
    col.tag(5, "yard")
    assert [hit.id for hit in col.search(text="garden", k=1)] == [5]
    for keys in (["near"], ["near:yard"], ["tag:yard"]):
        assert col.search(text="garden", k=9, without=keys) == []
    assert col.search(text="odd", k=9, without=["looks"]) == []
    assert col.search(text="odd", k=9, without=["looks:odd"]) == []
    half = col.search(text="odd even", k=N, without=["looks:even"])
    assert np.mean([hit.id % 2 for hit in half[:20]]) > 0.9
    date_picture(col, 3, "2019-07-03T10:00:00")
    assert col.search(text="july 2019", k=9, without=["date:july 2019"]) == []


# -- without a model --------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["default", "taste", "holistic"])
def test_without_a_model_tags_names_and_dates_answer(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    typed_cases.install(monkeypatch)
    typed_cases.without_model(monkeypatch)
    shutil.copytree(built, tmp_path / "c.lw")
    with Collection.open(tmp_path / "c.lw") as col:
        col.tag(5, "odd one")
        hits = col.search(text="odd", by=by)
        assert [hit.id for hit in hits] == [5]
        assert hits.hint is not None
        assert hits.hint.endswith("to find pictures by meaning: pip install it")
        assert col.search(text="2019").hint is None  # a date needs no model


def test_a_collection_without_rows_that_read_says_what_to_add(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(built, tmp_path / "c.lw")
    with Collection.open(tmp_path / "c.lw") as col:
        assert "meaning: likewise admin spaces add deep-dense" in str(col.search(text="odd").hint)
        # Where the network cannot run, the space alone would be of no help.
        monkeypatch.setattr(network, "is_installed", lambda: False)
        hint = str(col.search(text="odd").hint)
        assert f"meaning: {INSTALL}, then likewise admin spaces add deep-dense" in hint


def test_names_of_tags_are_embedded_once(col: Collection, words: typed_cases.StandInWords) -> None:
    col.tag(5, "garden")
    col.search(text="yard")
    assert "garden" in words.model.embedded
    words.model.embedded.clear()
    with Collection.open(col.root) as again:
        assert [hit.id for hit in again.search(text="yard", k=1)] == [5]
    assert words.model.embedded == ["yard"]


def test_a_search_answers_where_nothing_can_be_written(
    col: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    col.tag(5, "garden")
    store_of(col).connection.execute("PRAGMA query_only = ON")
    try:
        assert [hit.id for hit in col.search(text="yard", k=1)] == [5]
    finally:
        store_of(col).connection.execute("PRAGMA query_only = OFF")


# -- odd input --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["🙂", "x" * 10_000, "word " * 2_000, "שלום עולם", "مرحبا", "'; DROP TABLE images; --",
     'tags:"garden" OR (a AND NOT b) NEAR/3 c*', "a\0b", "a\ud800", "%_%", "-", "--", "- -", "-🙂",
     "\uff10\uff11", "ǆ", "a\u0301", "\u202eabc", "1/0", "../../etc/passwd", "<script>"],
)  # fmt: skip
def test_odd_text_is_answered(col: Collection, text: str) -> None:
    hits = col.search(text=text, k=5)
    assert len(hits) <= 5
    assert len(col) == N
    assert col.search(text=text, k=5) == hits


@pytest.mark.parametrize("text", ["", "  ", "\0", "\ud800", "x" * 10_001, 7])
def test_what_is_no_text_is_refused(col: Collection, text: object) -> None:
    with pytest.raises(InvalidInput, match="text"):
        col.search(text=text)  # type: ignore[arg-type]


def test_nonsense_is_refused(col: Collection) -> None:
    with pytest.raises(InvalidInput, match="the query is empty"):
        col.search()
    with pytest.raises(InvalidInput, match="without belongs to text"):
        col.search(1, without=["tag"])
    with pytest.raises(InvalidInput, match="k is"):
        col.search(text="a", k=0)
    with pytest.raises(InvalidInput, match="weight is"):
        col.search(1, text="a", weight=2)
    with pytest.raises(InvalidInput, match="words have no region"):
        col.search(text="a", region=(0, 0, 1, 1))
    with pytest.raises(LikewiseError, match="no similarity"):
        col.search(text="a", by="nowhere")


def test_an_empty_collection_answers_nothing(tmp_path: Path) -> None:
    with Collection.create(tmp_path / "e.lw", deep=False) as empty:
        assert empty.search(text="garden") == []
