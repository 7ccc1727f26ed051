"""One contract for every engine: Qdrant in this process, its client's emulation in memory,
and a real server where ``LIKEWISE_QDRANT_URL`` names one.

The truth is SciPy's product in float64, rounded once, ordered by score and then by id.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from likewise.engines.protocol import Facts, RowKind, Where, plain_rows
from likewise.errors import InvalidInput
from likewise_cluster.engines.rows import marks_of
from likewise_methods.index import InvertedIndex
from likewise_methods.neighbours.scores import unit_length
from tests.cluster.engines.conftest import Place

WORDS = 500
SPARSE = RowKind(is_sparse=True, width=WORDS)


def sparse_rows(rng: np.random.Generator, n: int, words: int = 20, signed: bool = False) -> Any:
    """Rows of unit length over the width, few words each."""
    made = sparse.lil_array((n, WORDS))
    for i in range(n):
        columns = rng.choice(WORDS, words, replace=False)
        values = rng.normal(size=words) if signed else rng.random(words) + 0.1
        made[i, columns] = values / np.linalg.norm(values)
    return sparse.csr_array(made).astype(np.float32)


def truth(rows: Any, ids: Any, query: Any, k: int) -> tuple[list[int], np.ndarray]:
    """By SciPy in float64: the best k ids, and their scores."""
    scores = (rows.astype(np.float64) @ query.astype(np.float64).T).toarray().ravel()
    rounded = scores.astype(np.float32)
    order = np.lexsort((ids, -rounded))[:k]
    return np.asarray(ids)[order].tolist(), rounded[order]


def assert_found(found: tuple[Any, Any], wanted: tuple[list[int], np.ndarray]) -> None:
    """The same pictures in the same order.

    SciPy may add in another order: where two scores differ by a rounding, either may come first,
    and each must still have its own score.
    """
    ids, scores = found
    np.testing.assert_allclose(scores, wanted[1], rtol=2e-7, atol=1e-12)
    gaps = np.diff(wanted[1]) == 0
    assert len(ids) == len(wanted[0])
    if not gaps.any():
        assert ids.tolist() == wanted[0]
    assert sorted(ids.tolist()) == sorted(wanted[0])


def facts_for(n: int) -> list[Facts]:
    return [
        Facts(
            tags=tuple(
                tag for tag, every in (("cat", 2), ("dog", 3), ("é\"' ☂", 7)) if i % every == 0
            ),
            folders=(("/pictures/rome", "/pictures/rome/day 1", "/other")[i % 3],),
            date=None if i % 5 == 0 else f"20{10 + i % 10}-0{1 + i % 9}-11T10:00:0{i % 10}",
        )
        for i in range(n)
    ]


# -- searching -------------------------------------------------------------------------------


@pytest.mark.parametrize("signed", [False, True], ids=["positive", "signed"])
def test_search_equals_scipy(place: Place, signed: bool) -> None:
    rng = np.random.default_rng(1)
    rows = sparse_rows(rng, 300, signed=signed)
    ids = rng.permutation(10_000)[:300] + 1
    store = place.store(SPARSE)
    store.put(ids, rows)
    queries = [
        sparse_rows(rng, 1, signed=signed),
        sparse_rows(rng, 1, words=200, signed=True),  # expanded, as judgements leave it
        rows[[17]] * np.float32(0.5),
        -rows[[3]],
    ]
    for query in queries:
        for k in (1, 10, 299, 1000):
            assert_found(store.search(query, k), truth(rows, ids, query, k))


def test_weights_are_folded_in_float64(place: Place) -> None:
    """A weighted query is no float32 vector any more, and its score is still the exact one."""
    rng = np.random.default_rng(2)
    rows = sparse_rows(rng, 200)
    store = place.store(SPARSE)
    store.put(np.arange(200), rows)
    weighted = sparse_rows(rng, 1, words=100).astype(np.float64)
    weighted.data *= rng.normal(1, 1, len(weighted.data)) * np.pi
    assert_found(store.search(weighted, 20), truth(rows, np.arange(200), weighted, 20))


def test_all_engines_give_the_bits_of_our_own_index(place: Place) -> None:
    rng = np.random.default_rng(3)
    rows = sparse_rows(rng, 250, signed=True)
    mine, theirs = InvertedIndex(), place.store(SPARSE)
    mine.add(rows, np.arange(250))
    theirs.put(np.arange(250), rows)
    for _ in range(5):
        query = sparse_rows(rng, 1, words=60, signed=True).astype(np.float64) * np.pi
        (ids,), (scores,) = mine.search(query, 25)
        found = theirs.search(query, 25)
        assert found[0].tolist() == ids.tolist()
        assert found[1].tobytes() == scores.tobytes()


def test_pictures_without_a_common_word_score_zero_and_come_by_id(place: Place) -> None:
    """Qdrant does not return them; they stand before those whose score is negative."""
    store = place.store(SPARSE)
    rows = np.zeros((7, WORDS))
    rows[0, 0], rows[1, 0], rows[2, 9] = 1.0, -1.0, 5.0
    rows[3, [0, 1]] = 1.0, -1.0  # shares words, and scores 0 all the same
    rows[4, 9] = 1.0
    rows[6, 0] = -2.0  # and picture 35 has no word at all
    store.put([50, 40, 30, 20, 10, 35, 45], rows)
    query = np.zeros((1, WORDS))
    query[0, [0, 1]] = 1.0
    ids, scores = store.search(query, 10)
    assert ids.tolist() == [50, 10, 20, 30, 35, 40, 45]
    assert scores.tolist() == [1.0, 0.0, 0.0, 0.0, 0.0, -1.0, -2.0]
    assert store.search(query, 3)[0].tolist() == [50, 10, 20]
    nothing = np.zeros((1, WORDS))
    assert store.search(nothing, 3)[0].tolist() == [10, 20, 30]


def test_many_negative_scores_do_not_hide_zeros(place: Place) -> None:
    store = place.store(SPARSE)
    rows = np.zeros((120, WORDS))
    rows[:100, 0] = -1.0 - np.arange(100) / 100
    rows[100:, 1] = 1.0
    store.put(np.arange(120), rows)
    query = np.zeros((1, WORDS))
    query[0, 0] = 1.0
    ids, scores = store.search(query, 22)
    assert ids.tolist() == [*range(100, 120), 0, 1]
    assert scores[:20].tolist() == [0.0] * 20
    assert scores[20] == -1.0


def test_ties_go_to_the_smaller_id_however_many_there_are(place: Place) -> None:
    """More equal pictures than the engine is asked for at first: which it gives is its affair."""
    store = place.store(SPARSE)
    rows = np.zeros((150, WORDS))
    rows[:, 3] = 1.0
    ids = np.random.default_rng(4).permutation(150) + 7
    store.put(ids, rows)
    assert store.search(rows[[0]], 5)[0].tolist() == [7, 8, 9, 10, 11]


def test_scores_that_float32_confuses_are_told_apart(place: Place) -> None:
    """Cancelling terms: the engine's sums are off by more than the scores differ."""
    rng = np.random.default_rng(5)
    rows = np.zeros((60, WORDS))
    rows[:, :100] = rng.normal(size=(60, 100)).astype(np.float32)
    base = rng.normal(size=100)
    query = np.zeros((1, WORDS))
    query[0, :100] = base
    # Every row is made almost orthogonal to the query.
    rows[:, :100] -= np.outer(rows[:, :100] @ base, base) / (base @ base)
    rows = sparse.csr_array(rows).astype(np.float32)
    store = place.store(SPARSE)
    store.put(np.arange(60), rows)
    asked = sparse.csr_array(query)
    assert_found(store.search(asked, 10), truth(rows, np.arange(60), asked, 10))


@pytest.mark.parametrize("metric", ["ip", "l2"])
def test_dense_rows_are_ranked_exactly(place: Place, metric: Any) -> None:
    rng = np.random.default_rng(6)
    kind = RowKind(is_sparse=False, width=32, metric=metric)
    rows = unit_length(rng.normal(size=(300, 32)).astype(np.float32))
    rows[40:80] = rows[40]  # more equal ones than are asked for at first
    store = place.store(kind, "look-1")
    ids = rng.permutation(900)[:300]
    store.put(ids, rows)
    for at in (0, 40, 200):
        query = unit_length(rows[[at]] + 0.1 * rng.normal(size=(1, 32)).astype(np.float32))[0]
        wide = rows.astype(np.float64), query.astype(np.float64)
        scores = wide[0] @ wide[1] if metric == "ip" else -np.linalg.norm(wide[0] - wide[1], axis=1)
        order = np.lexsort((ids, -scores.astype(np.float32)))
        for k in (1, 20, 500):
            found, values = store.search(query, k)
            assert found.tolist() == ids[order][:k].tolist()
            np.testing.assert_allclose(values, scores[order][:k], rtol=1e-6, atol=1e-7)


# -- filters ---------------------------------------------------------------------------------


def passes(facts: Facts, where: Where) -> bool:
    """The filter once more, in plain words."""
    folders = [f"{one}/" for one in facts.folders]
    return (
        all(tag in facts.tags for tag in where.tags)
        and (
            not where.folders
            or any(mine.startswith(f"{one}/") for mine in folders for one in where.folders)
        )
        and (where.after is None or (facts.date is not None and facts.date >= where.after))
        and (where.before is None or (facts.date is not None and facts.date < where.before))
    )


WHERES = [
    Where(tags=("cat",)),
    Where(tags=("cat", "dog")),
    Where(tags=("é\"' ☂",)),
    Where(tags=("nobody",)),
    Where(folders=("/pictures/rome",)),
    Where(folders=("/pictures/rome/day 1", "/other")),
    Where(folders=("/pictures/rom",)),
    Where(after="2015"),
    Where(before="2015-03"),
    Where(after="2012-03-11T10:00:02", before="2018"),
    Where(tags=("cat",), folders=("/pictures",), after="2011", before="2019-09-11T10:00:09"),
]


@pytest.mark.parametrize("signed", [False, True], ids=["positive", "signed"])
def test_filters_never_change_the_order(place: Place, signed: bool) -> None:
    rng = np.random.default_rng(8)
    rows, facts = sparse_rows(rng, 200, words=5, signed=signed), facts_for(200)
    store = place.store(SPARSE)
    store.put(np.arange(200), rows, facts)
    query = sparse_rows(rng, 1, words=80, signed=signed)
    for where in WHERES:
        pick = np.array([i for i in range(200) if passes(facts[i], where)], np.int64)
        assert store.count(where) == len(pick), where
        for k in (5, 500):
            assert_found(store.search(query, k, where), truth(rows[pick], pick, query, k))
    only = Where(tags=("cat",), only=frozenset({4, 5, 6, 99_999}))
    assert sorted(store.search(query, 5, only)[0].tolist()) == [4, 6]
    but = Where(but=frozenset(range(3, 99_999)))
    assert sorted(store.search(query, 5, but)[0].tolist()) == [0, 1, 2]
    assert store.count(but) == 3


def test_filters_of_dense_rows(place: Place) -> None:
    rng = np.random.default_rng(9)
    rows, facts = rng.normal(size=(60, 8)).astype(np.float32), facts_for(60)
    store = place.store(RowKind(is_sparse=False, width=8), "look-1")
    store.put(np.arange(60), rows, facts)
    for where in WHERES:
        pick = [i for i in range(60) if passes(facts[i], where)]
        found = store.search(rows[0], 10, where)[0].tolist()
        best = sorted(pick, key=lambda i: (-float(rows[i].astype(float) @ rows[0]), i))[:10]
        assert found == best


def test_new_tags_reach_the_next_search(place: Place) -> None:
    rng = np.random.default_rng(10)
    rows, facts = sparse_rows(rng, 30), facts_for(30)
    store = place.store(SPARSE)
    store.put(np.arange(30), rows, facts)
    store.retag({3: ["cat", "new"], 4: [], 12_345: ["new"]})
    store.retag({3: ["cat", "new"]})
    assert store.search(rows[[3]], 10, Where(tags=("new",)))[0].tolist() == [3]
    assert store.count() == 30
    assert 4 not in store.search(rows[[4]], 30, Where(tags=("cat",)))[0]
    # What else was known of it still is.
    assert store.count(Where(tags=("new",), folders=facts[3].folders, after=facts[3].date)) == 1


# -- changes ---------------------------------------------------------------------------------


def test_put_is_idempotent_and_replaces(place: Place) -> None:
    rng = np.random.default_rng(11)
    rows = sparse_rows(rng, 40)
    store = place.store(SPARSE)
    for _ in range(2):
        store.put(np.arange(40), rows, facts_for(40))
    assert store.count() == 40
    other = sparse_rows(rng, 1)
    store.put([7], other, [Facts(tags=("only this",))])
    assert store.count() == 40
    ids, held = store.rows([7])
    assert ids.tolist() == [7]
    assert (held != other).nnz == 0
    assert store.search(other, 1)[0].tolist() == [7]
    assert store.count(Where(tags=("only this",))) == 1
    assert store.count(Where(folders=facts_for(40)[7].folders, only=frozenset({7}))) == 0


def test_removed_pictures_are_gone_and_missing_ones_do_not_matter(place: Place) -> None:
    rng = np.random.default_rng(12)
    rows = sparse_rows(rng, 40)
    store = place.store(SPARSE)
    store.put(np.arange(40), rows, facts_for(40))
    store.remove([3, 5, 5, 77_777])
    store.remove([3])
    left = np.setdiff1d(np.arange(40), [3, 5])
    assert store.count() == 38
    assert_found(store.search(rows[[3]], 100), truth(rows[left], left, rows[[3]], 100))
    ids, held = store.rows([5, 2, 3, 1_000_000, 0])
    assert ids.tolist() == [2, 0]
    assert (held != rows[[2, 0]]).nnz == 0
    store.put([3], rows[[3]])
    assert store.search(rows[[3]], 1)[0].tolist() == [3]


def test_empty_and_alone(place: Place) -> None:
    store = place.store(SPARSE)
    query = np.zeros((1, WORDS))
    query[0, 4] = 1.0
    assert [len(part) for part in store.search(query, 5)] == [0, 0]
    assert store.count() == 0
    assert store.rows([1])[0].tolist() == []
    assert list(store.listed()) == []
    store.remove([1])
    store.retag({1: ["x"]})
    store.put([], np.zeros((0, WORDS)))
    store.put([9], query * 3)
    assert [part.tolist() for part in store.search(query, 5)] == [[9], [3.0]]
    assert [part.tolist() for part in store.search(-query, 5)] == [[9], [-3.0]]
    store.remove([9])
    assert store.count() == 0
    assert [len(part) for part in store.search(query, 5)] == [0, 0]


def test_everything_is_there_after_a_restart(place: Place) -> None:
    rng = np.random.default_rng(13)
    rows, facts = sparse_rows(rng, 60), facts_for(60)
    store = place.store(SPARSE)
    for start in range(0, 60, 10):
        some = slice(start, start + 10)
        store.put(np.arange(60)[some], rows[some], facts[some])
    store.remove([0, 1])
    store.retag({2: ["late"]})
    before = store.search(rows[[9]], 20)
    listed = [one for page in store.listed() for one in page]
    place.restart()
    again = place.store(SPARSE)
    assert again.count() == 58
    found = again.search(rows[[9]], 20)
    assert found[0].tolist() == before[0].tolist()
    assert found[1].tobytes() == before[1].tobytes()
    assert again.search(rows[[9]], 5, Where(tags=("late",)))[0].tolist() == [2]
    assert [one for page in again.listed() for one in page] == listed


def test_a_list_of_what_is_there(place: Place) -> None:
    rng = np.random.default_rng(14)
    rows, facts = sparse_rows(rng, 50), facts_for(50)
    ids = rng.permutation(50)
    store = place.store(SPARSE)
    store.put(ids, rows, facts)
    listed = [one for page in store.listed() for one in page]
    assert [one.id for one in listed] == list(range(50))
    marks = dict(zip(ids.tolist(), marks_of(SPARSE, plain_rows(SPARSE, rows)), strict=True))
    assert {one.id: one.mark for one in listed} == marks
    assert {one.id: one.facts for one in listed} == dict(zip(ids.tolist(), facts, strict=True))


def test_stores_of_one_place_do_not_disturb_each_other(place: Place) -> None:
    """Two generations of a space, and a dense space beside them, over the same pictures."""
    rng = np.random.default_rng(15)
    old, new = sparse_rows(rng, 30), sparse_rows(rng, 25)
    dense = rng.normal(size=(30, 8)).astype(np.float32)
    first, second = place.store(SPARSE, "words-1"), place.store(SPARSE, "words-2")
    look = place.store(RowKind(is_sparse=False, width=8), "look-1")
    first.put(np.arange(30), old, facts_for(30))
    look.put(np.arange(30), dense, facts_for(30))
    second.put(np.arange(5, 30), new, facts_for(30)[5:])
    assert (first.count(), second.count(), look.count()) == (30, 25, 30)
    assert_found(first.search(old[[3]], 30), truth(old, np.arange(30), old[[3]], 30))
    assert_found(second.search(old[[3]], 30), truth(new, np.arange(5, 30), old[[3]], 30))
    first.remove(np.arange(10))
    assert (first.count(), second.count(), look.count()) == (20, 25, 30)
    second.remove([20])
    assert first.rows([20])[0].tolist() == [20]
    np.testing.assert_array_equal(look.rows([20])[1], dense[[20]])


def test_wrong_arguments_are_refused(place: Place) -> None:
    store = place.store(SPARSE)
    with pytest.raises(InvalidInput, match="501 columns"):
        store.put([1], np.ones((1, WORDS + 1)))
    with pytest.raises(InvalidInput, match="more than once"):
        store.put([1, 1], np.ones((2, WORDS)))
    with pytest.raises(InvalidInput, match="one per row"):
        store.put([1], np.ones((1, WORDS)), [Facts(), Facts()])
    with pytest.raises(InvalidInput, match="one row"):
        store.search(np.ones((2, WORDS)), 5)
    with pytest.raises(InvalidInput, match="k is 0"):
        store.search(np.ones((1, WORDS)), 0)
    with pytest.raises(InvalidInput, match="a date like"):
        Where(after="last year")
    assert store.count() == 0
