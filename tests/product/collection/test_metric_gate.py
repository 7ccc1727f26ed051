"""When a learned metric may take the place of the space: what decides, and by how much."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.cli.models import describe_model as sentences
from likewise.collection.collection import Collection
from likewise.learning.models import metric as metric_learning
from likewise.learning.models.constraints import Constraints
from tests.product.collection.model_cases import WIDTH, N, col, precision, taught

__all__ = ["col"]


def passed_over(col: Collection, space: str, seed: int, queries: int = 12) -> None:
    """Two of the first twenty hits of the space are liked, whichever; nothing is disliked."""
    rng = np.random.default_rng(seed)
    for query in range(1, queries + 1):
        shown = [hit.id for hit in col.search(query, 21, by=space) if hit.id != query][:20]
        col.judge(query, rng.choice(shown, 2, replace=False).tolist(), shown=shown)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_passed_over_pictures_do_not_beat_a_space_that_cannot_be_bettered(
    col: Collection, seed: int
) -> None:
    """All directions of the space are alike and the taste has nothing to do with any of them.

    Every triplet with a passed-over picture is one that the space is wrong about.
    """
    vectors = np.random.default_rng([9, seed]).normal(size=(N, WIDTH)).astype(np.float32)
    col.spaces.add("round", {"feature": "own", "kind": "dense", "metric": "l2"})
    col.spaces.add_vectors("round", range(1, N + 1), vectors)
    passed_over(col, "round", seed)
    made = col.models.learn_metric(space="round")
    figures = made.figures
    assert figures["dissimilar"] > 50
    assert not figures["learned"]
    assert "clearly right more often than the space" in figures["reason"]
    assert figures["held_out_from"] == "random"
    assert figures["held_out"] == metric_learning.DRAWN * figures["similar"]
    # Liked pictures are among the nearest of the space: against random ones it is mostly right.
    assert figures["agreement"] == figures["agreement_plain"] > 0.6
    said = "\n".join(sentences(made))
    assert "drawn at random" in said
    assert "same triplets" not in said


def test_passed_over_pictures_still_teach_what_can_be_learned(col: Collection) -> None:
    rng = np.random.default_rng(3)
    for query in range(1, 15):
        own = [i for i in range(1, N + 1) if (i - query) % 2 == 0 and i != query]
        others = [i for i in range(1, N + 1) if (i - query) % 2]
        liked = rng.choice(own, 3, replace=False).tolist()
        col.judge(query, liked, shown=[*rng.choice(others, 3, replace=False).tolist(), *liked])
    figures = col.models.learn_metric("taste", space="mine").figures
    assert figures["learned"]
    assert figures["held_out_from"] == "random"
    assert precision(col, "taste") > precision(col, "mine") + 0.1


def test_what_people_called_unlike_decides_and_teaches(col: Collection) -> None:
    taught(col)
    asked = sum(len(line.liked) * len(line.disliked) for line in col.log.entries())
    for query in (31, 32, 33):
        shown = [hit.id for hit in col.search(query, 11, by="mine") if hit.id != query]
        col.judge(query, [shown[-1]], shown=shown)
    made = col.models.learn_metric("taste", space="mine")
    figures = made.figures
    assert figures["learned"]
    assert figures["held_out_from"] == "people"
    assert figures["held_out"] == asked
    assert precision(col, "taste") > precision(col, "mine") + 0.1
    said = "\n".join(sentences(made))
    assert "the same triplets chose how strongly pairs count" in said
    assert "drawn at random" not in said


def test_one_query_with_passed_over_pictures_alone_teaches_nothing(col: Collection) -> None:
    shown = [hit.id for hit in col.search(1, 21, by="mine") if hit.id != 1]
    col.judge(1, shown[-6:], shown=shown)
    figures = col.models.learn_metric(space="mine").figures
    assert min(figures["similar"], figures["dissimilar"]) >= metric_learning.FEWEST
    assert not figures["learned"]
    assert "only shown" in figures["reason"]


def test_the_same_seed_draws_the_same_pictures(col: Collection) -> None:
    passed_over(col, "mine", 0)
    first, again, other = (
        col.models.learn_metric(space="mine", seed=seed).figures["agreement_plain"]
        for seed in (0, 0, 1)
    )
    assert first == again != other


def test_drawn_pictures_are_neither_the_query_nor_liked() -> None:
    # Row 0 likes 1 and 2, and row 3 likes 0: none of them is far from 0.
    pairs, none = np.array([[0, 1], [0, 2], [0, 3]]), np.zeros(0, np.int64)
    said = Constraints(
        (1, 2, 3, 4), np.zeros((4, 2), np.float32), pairs, np.ones(3, bool), np.array([0, 0, 3]),
        none.reshape(0, 3), none, none.astype(bool), none.astype(bool), 0,
    )  # fmt: skip
    asked = metric_learning._test_triplets(said, 6, np.random.default_rng(0))
    assert not asked.named
    assert len(asked.triplets) == 3 * metric_learning.DRAWN
    far = {query: set(asked.triplets[asked.queries == query, 2].tolist()) for query in (0, 3)}
    assert far == {0: {4, 5}, 3: {1, 2, 4, 5}}


def test_a_win_has_to_be_clear() -> None:
    clearly = metric_learning._is_clearly_better
    queries = np.repeat(np.arange(5), 4)
    plain = np.zeros(20, bool)

    def won(*at: int) -> np.ndarray:
        return np.isin(np.arange(20), at)

    assert not clearly(plain, plain, queries)
    assert not clearly(won(3), plain, queries)
    # All of one query alone is one voice, however many triplets it has.
    assert not clearly(won(0, 1, 2, 3), plain, queries)
    assert clearly(won(0, 4, 8), plain, queries)
    assert not clearly(plain, won(0, 4, 8), queries)
    # Four gained and three lost, in queries of their own.
    ones = np.arange(20)
    assert not clearly(won(0, 1, 2, 3), won(4, 5, 6), ones)
    assert clearly(won(*range(9)), won(10), ones)
