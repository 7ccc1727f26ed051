"""Typed words, taken apart: names split and folded, dates, terms, minus words, odd input."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.catalog import word_index
from likewise.catalog.word_index import fold, names_of_path, other_numbers, spread
from likewise.errors import InvalidInput
from likewise.search.typed.evidence import IgnoredReasons, Reason, matches
from likewise.search.typed.parse import LONGEST, Term, parse_text, read_date, text_key

TODAY = date(2026, 3, 4)  # a Wednesday


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("beachHouse2", {"beachhouse2", "beach", "house", "2"}),
        ("IMG_0412.jpg", {"img", "0412", "412", "jpg"}),
        ("HTMLPage", {"htmlpage", "html", "page"}),
        ("2019-07 beach", {"2019", "07", "7", "beach"}),
        ("Crème Brûlée", {"creme", "brulee"}),
        ("東京2020", {"東京2020", "東京", "2020"}),
        ("שלום", {"שלום"}),
        ("", set()),
    ],
)
def test_names_are_found_whole_and_by_their_pieces(name: str, words: set[str]) -> None:
    assert set(fold(spread(name)).split()) == words


@pytest.mark.parametrize(
    ("typed", "name", "found"),
    [
        ("gardens", "garden", True),
        ("garden", "gardens", True),
        ("cities", "city", True),
        ("city", "cities", True),
        ("leaves", "leaf", True),
        ("leaf", "leaves", True),
        ("churches", "church", True),
        ("gard", "garden party", True),
        ("ga", "garden", False),
        ("arden", "garden", False),
        ("creme", "Crème", True),
        ("BUS", "bus stop", True),
        ("bus", "busy", True),  # as a beginning, which counts less
        ("house", "beachHouse2", True),
    ],
)
def test_a_word_finds_other_numbers_and_beginnings(typed: str, name: str, found: bool) -> None:
    assert matches(Term(typed, fold(typed)), name) is found


def test_no_word_has_itself_as_its_other_number() -> None:
    for word in ("garden", "bus", "glass", "city", "s", "ss", "y", "f", "fe", "ies"):
        assert word not in other_numbers(word)


@pytest.mark.parametrize(
    ("typed", "first", "end"),
    [
        ("2019", "2019-01-01", "2020-01-01"),
        ("july 2019", "2019-07-01", "2019-08-01"),
        ("2019 July", "2019-07-01", "2019-08-01"),
        ("dec 1999", "1999-12-01", "2000-01-01"),
        ("summer 2019", "2019-06-01", "2019-09-01"),
        ("winter 2019", "2019-12-01", "2020-03-01"),
        ("fall 2020", "2020-09-01", "2020-12-01"),
        ("2019-07", "2019-07-01", "2019-08-01"),
        ("2019/7/3", "2019-07-03", "2019-07-04"),
        ("today", "2026-03-04", "2026-03-05"),
        ("yesterday", "2026-03-03", "2026-03-04"),
        ("this week", "2026-03-02", "2026-03-09"),
        ("last week", "2026-02-23", "2026-03-02"),
        ("last weekend", "2026-02-28", "2026-03-02"),
        ("this month", "2026-03-01", "2026-04-01"),
        ("last month", "2026-02-01", "2026-03-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("last summer", "2025-06-01", "2025-09-01"),
        ("last february", "2026-02-01", "2026-03-01"),
    ],
)
def test_dates(typed: str, first: str, end: str) -> None:
    read = read_date(typed.split(), TODAY)
    assert read is not None
    n, span = read
    assert n == len(typed.split())
    assert (str(span.first), str(span.end), span.name) == (first, end, typed)


def test_last_month_in_january_is_in_the_year_before() -> None:
    read = read_date(["last", "month"], date(2026, 1, 31))
    assert read is not None
    assert str(read[1].first) == "2025-12-01"


@pytest.mark.parametrize(
    "typed", ["may", "march", "summer", "2019-13", "2019-02-30", "12345", "0000-01"]
)
def test_what_is_no_date(typed: str) -> None:
    assert read_date([typed], TODAY) is None


def test_a_month_alone_is_that_of_every_year() -> None:
    read = read_date(["July"], TODAY)
    assert read is not None
    assert read[1].month == 7


def test_a_query_is_words_dates_and_what_is_not_wanted() -> None:
    query = parse_text("the Beach, summer 2019 -people  (NOT) \N{MINUS SIGN}dogs", TODAY)
    assert [term.typed for term in query.terms] == ["Beach", "summer 2019", "NOT"]
    assert query.terms[1].span is not None
    assert [term.typed for term in query.minus] == ["people", "dogs"]
    assert query.meaning == "the Beach NOT"
    assert query.unwanted == "people dogs"


def test_small_words_count_where_there_is_nothing_else() -> None:
    assert [term.typed for term in parse_text("of the", TODAY).terms] == ["of", "the"]


@pytest.mark.parametrize("text", ["", "   ", "\0", "\n\t", None, 7, b"words"])
def test_what_is_no_text_is_refused(text: object) -> None:
    with pytest.raises(InvalidInput, match="text is"):
        parse_text(text, TODAY)


def test_long_texts_are_read_and_endless_ones_refused() -> None:
    query = parse_text("word " * (LONGEST // 5), TODAY)
    assert [term.typed for term in query.terms] == ["word"]
    assert len(parse_text(" ".join(f"w{i}" for i in range(1000)), TODAY).terms) == 24
    with pytest.raises(InvalidInput, match="10,001 characters"):
        parse_text("x" * (LONGEST + 1), TODAY)


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        query = parse_text(text, TODAY)
    except InvalidInput:
        assert not "".join(text.split()).strip("\0") or not text.isprintable()
        return
    assert query.text
    assert len(query.key) == 20
    assert all(term.folded and term.typed for term in (*query.terms, *query.minus))
    query.text.encode()


def test_the_log_knows_a_text_by_its_words() -> None:
    same = ["snowy mountains", " Snowy   MOUNTAINS ", "snowy, mountains!"]
    assert len({text_key(" ".join(text.split())) for text in same}) == 1
    others = ["mountains snowy", "snowy -mountains", "snowy", "🙂", "🙃"]
    assert len({text_key(text) for text in (*same[:1], *others)}) == 6
    assert text_key("a", b"1") != text_key("a")


def test_folders_above_what_was_added_are_no_words() -> None:
    roots = ["/home/me/Pictures", "/home/me/Pictures/rome", "/mnt/one.jpg"]
    assert names_of_path("/home/me/Pictures/rome/a/b.jpg", roots) == (
        ["Pictures", "rome", "a"],
        "b.jpg",
    )
    assert names_of_path("/home/me/Pictures/b.jpg", roots) == (["Pictures"], "b.jpg")
    assert names_of_path("/mnt/one.jpg", roots) == (["mnt"], "one.jpg")
    assert names_of_path("/elsewhere/x/y.jpg", roots) == (["x"], "y.jpg")


def test_reasons_are_sentences_with_keys() -> None:
    assert str(Reason("tag", "garden")) == "tagged garden"
    assert Reason("tag", "garden").key == "tag:garden"
    assert str(Reason("near", "garden", "yard")) == "tag by meaning: garden (typed: yard)"
    assert Reason("looks", "alp, ski").key == "looks"
    ignored = IgnoredReasons(["tag:garden", "file", "looks:ski"])
    assert ignored.has("tag", "garden")
    assert not ignored.has("tag", "house")
    assert ignored.has_kind("file")
    assert ignored.has("file", "whatever")
    assert ignored.values_of("looks") == {"ski"}


@pytest.mark.parametrize("keys", ["tag", 7, ["nonsense"], ["nonsense:x"], [3]])
def test_what_is_no_list_of_reasons_is_refused(keys: object) -> None:
    with pytest.raises(InvalidInput, match="without"):
        IgnoredReasons(keys)  # type: ignore[arg-type]


@given(st.text(alphabet="abzABZ019", min_size=1, max_size=12))
def test_ascii_names_are_cut_as_all_others_are(run: str) -> None:
    assert word_index._ASCII_PIECES.findall(run) == list(word_index._pieces(run))
