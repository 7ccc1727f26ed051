from __future__ import annotations

from pathlib import Path

import pytest

from likewise_methods.errors import InvalidInput
from likewise_methods.evaluation.datasets import RetrievalQuery, RetrievalSet
from likewise_methods.evaluation.protocols import evaluate, leave_one_out, positives_in_turn


def test_leave_one_out_passes_over_the_lonely() -> None:
    queries = leave_one_out({"a": 1, "b": 1, "c": 2})
    assert [q.query for q in queries] == ["a", "b"]
    assert queries[0].positives == {"b"}


def test_the_query_itself_never_counts() -> None:
    query = RetrievalQuery("q", "a", frozenset({"a", "b", "z"}), junk=frozenset({"j"}))
    # a and j leave; b is first of two positives, z was never found.
    scores = evaluate([query], lambda q: ["a", "j", "b", "c"])
    assert scores.mean == 0.5


def test_queries_that_cannot_be_asked_are_named() -> None:
    queries = [
        RetrievalQuery("fine", "a", frozenset("b")),
        RetrievalQuery("lonely", "c", frozenset("c")),
        RetrievalQuery("absent", "z", frozenset("b"), present=False),
    ]
    asked: list[str] = []

    def search(query: RetrievalQuery) -> list[str]:
        asked.append(query.name)
        return ["b"]

    scores = evaluate(queries, search)
    assert asked == ["fine"]
    assert scores.mean == 1.0
    assert scores.skipped == {"lonely": "no positives", "absent": "its picture is not there"}
    with pytest.raises(InvalidInput, match="none of the 2 queries can be asked; lonely"):
        evaluate(queries[1:], search)


def test_the_official_score_keeps_the_query() -> None:
    query = RetrievalQuery("q", "a", frozenset({"a", "b"}))
    ranking = ["x", "a", "b"]
    # Without it: b at rank 2 of (x, b).  With it: ranks 2 and 3 of three.
    assert evaluate([query], lambda q: ranking).mean == 0.5
    kept = evaluate([query], lambda q: ranking, keep_query=True).mean
    assert kept == pytest.approx((1 / 2 + 2 / 3) / 2)


def test_groups_weigh_alike_in_the_mean_of_groups() -> None:
    def one(name: str, group: str) -> RetrievalQuery:
        return RetrievalQuery(name, name, frozenset({"p"}), group=group)

    answers = {"a": ["p"], "b": ["p"], "c": ["x", "p"]}
    scores = evaluate([one("a", "g"), one("b", "g"), one("c", "h")], lambda q: answers[q.name])
    assert scores.mean == pytest.approx(2.5 / 3)
    assert scores.by_group == {"g": 1.0, "h": 0.5}
    assert scores.mean_of_groups == 0.75


def test_evaluate_refuses_what_it_cannot_score() -> None:
    with pytest.raises(InvalidInput, match="no queries"):
        evaluate([], lambda q: [])
    twice = [RetrievalQuery("q", "a", frozenset("b"))] * 2
    with pytest.raises(InvalidInput, match="two queries are named 'q'"):
        evaluate(twice, lambda q: ["b"])


def test_positives_in_turn() -> None:
    def lists(name: str, group: str, positives: str) -> RetrievalQuery:
        return RetrievalQuery(
            name, "absent", frozenset(positives), frozenset("j"), group=group, present=False
        )

    data = RetrievalSet(
        "toy",
        {name: Path(name) for name in "abcj"},
        [
            lists("big_1", "big", "abc"),
            lists("big_2", "big", "abc"),
            lists("small_1", "small", "a"),
        ],
    )
    queries = positives_in_turn(data, at_least=2)
    assert [q.query for q in queries] == ["a", "b", "c"]
    assert queries[0].positives == {"b", "c"}
    assert queries[0].junk == {"j"}
    assert queries[0].present
    clash = RetrievalSet("toy", {}, [lists("x_1", "x", "ab"), lists("x_2", "x", "bc")])
    with pytest.raises(InvalidInput, match="list different positives"):
        positives_in_turn(clash)
