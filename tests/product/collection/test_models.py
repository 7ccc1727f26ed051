"""Learned metrics and maps as similarities: what they rank, where they live, when they follow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from likewise.catalog.changes import put_vector, switch_generation
from likewise.catalog.jobs import silent
from likewise.catalog.log_tables import put_code
from likewise.catalog.store import SpaceRow
from likewise.collection.collection import Collection
from likewise.errors import CollectionError, DamagedCollection, InvalidInput, UnknownName
from likewise.learning.models import map as map_learning
from likewise.learning.models import metric as metric_learning
from likewise.learning.models.constraints import Constraints
from likewise.search.learned_models import Metric, open_model
from tests.product.collection.model_cases import (
    N,
    col,
    compared,
    kinds,
    later,
    precision,
    rows,
    taught,
)
from tests.product.private import store_of

__all__ = ["col"]


def ranked(col: Collection, query: int, by: str) -> list[tuple[int, float]]:
    found = col.searcher.find(query, N + 9, by=by)
    return list(zip(found.ids, found.scores, strict=True))


def alike(one: list[tuple[int, float]], other: list[tuple[int, float]]) -> None:
    """The same scores but for rounding: a row may have been placed alone or among others."""
    assert dict(one) == pytest.approx(dict(other), abs=1e-5)


def test_a_metric_learns_what_people_mean_and_ranks_by_it(col: Collection) -> None:
    taught(col)
    made = col.models.learn_metric("taste", space="mine")
    figures = made.figures
    assert figures["learned"]
    assert figures["similar"] >= 30
    assert figures["dissimilar"] >= 30
    assert figures["agreement"] > figures["agreement_plain"] + 0.1
    assert figures["gap"] < 1e-3
    assert 0 <= figures["sparsity"] <= 1
    assert precision(col, "taste") > precision(col, "mine") + 0.1
    assert col.similarities["taste"].model == made
    assert col.searcher.count_ranked("taste") == N


def test_scores_are_minus_the_learned_distance(col: Collection) -> None:
    taught(col)
    fitted = open_model(col.root, col.models.learn_metric("taste", space="mine"))
    assert isinstance(fitted, Metric)
    np.testing.assert_allclose(
        fitted.components.T @ fitted.components, fitted.metric, rtol=1e-6, atol=1e-9
    )
    away = (rows() - rows()[4]) @ fitted.basis.matrix.T.astype(np.float64)
    wanted = np.sqrt(np.einsum("ij,jk,ik->i", away, fitted.metric, away))
    for image, score in ranked(col, 5, "taste"):
        assert score == pytest.approx(-wanted[image - 1], rel=1e-4, abs=1e-5)


def test_with_too_few_pairs_the_prior_is_kept_and_said(col: Collection) -> None:
    made = col.models.learn_metric(space="mine")
    assert not made.figures["learned"]
    assert "0 similar" in made.figures["reason"]
    col.judge(1, [3], [2])
    made = col.models.learn_metric(space="mine")
    assert "1 similar and 1 dissimilar" in made.figures["reason"]
    # As the space ranks: its own distance, in as many directions as it has.
    assert [i for i, _ in ranked(col, 9, "metric")] == [i for i, _ in ranked(col, 9, "mine")]


def test_one_query_cannot_be_held_out_and_still_teaches(col: Collection) -> None:
    col.judge(1, [3, 5, 7, 9, 11, 13], [2, 4, 6, 8, 10, 12])
    figures = col.models.learn_metric(space="mine").figures
    assert figures["learned"]
    assert figures["agreement"] is None
    assert figures["strength"] == metric_learning.STRENGTHS[0]


def test_comparisons_teach_a_metric_and_verdicts_outweigh_them(col: Collection) -> None:
    compared(col, 30)
    figures = col.models.learn_metric(space="mine").figures
    assert figures["learned"]
    assert figures["comparisons"] == 30
    for farther in (21, 23, 25):
        col.compare(1, 2, farther)
        col.compare(1, farther, 2)
    col.judge(1, disliked=[21])
    figures = col.models.learn_metric(space="mine").figures
    # (1, 2) is near and far thrice each, (1, 23) and (1, 25) once each; (1, 21) has a verdict.
    assert figures["opposed"] == 3


def test_the_default_space_is_dense_and_a_sparse_one_is_refused(col: Collection) -> None:
    assert col.models.learn_metric().space == "holistic"
    with pytest.raises(CollectionError, match=r"'words'.*dense one: holistic, mine"):
        col.models.learn_map(space="words")
    with pytest.raises(CollectionError, match="no space 'nope'"):
        col.models.learn_metric(space="nope")


def test_pictures_that_come_and_go_are_followed(col: Collection) -> None:
    taught(col, 6)
    col.models.learn_metric("taste", space="mine")
    col.models.learn_metric("look", space="holistic")
    assert col.searcher.count_ranked("taste") == col.searcher.count_ranked("look") == N
    col.add(later(0), later(1), workers=0)
    col.spaces.add_vectors("mine", [N + 1], rows(N + 1)[-1:])
    col.remove(7, 8)
    assert col.searcher.count_ranked("look") == N
    assert col.searcher.count_ranked("taste") == N - 1
    for by in ("taste", "look"):
        with Collection.open(col.root) as fresh:
            alike(ranked(fresh, 20, by), ranked(col, 20, by))
        found = [i for i, _ in ranked(col, 20, by)]
        assert 7 not in found
        assert N + 1 in found
    # A vector that is replaced moves the picture.
    before = dict(ranked(col, 20, "taste"))
    col.spaces.add_vectors("mine", [30], rows()[[19]])
    after = dict(ranked(col, 20, "taste"))
    assert after[30] == pytest.approx(0, abs=1e-4)
    assert before[30] < -0.01
    with Collection.open(col.root) as fresh:
        alike(ranked(fresh, 20, "taste"), list(after.items()))
    assert col.verify() == []


def test_rows_that_were_sealed_meanwhile_are_found(
    col: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    from likewise.catalog import segments

    col.models.learn_map("map", space="holistic")
    assert col.searcher.count_ranked("map") == N
    monkeypatch.setattr(segments, "SEAL_AT", 5)
    with Collection.open(col.root) as other:
        other.add(later(2), later(3), workers=0)
        assert store_of(other).segments("holistic", 1)
    assert col.searcher.count_ranked("map") == N + 2
    assert {N + 1, N + 2} <= set(col.models.map_points().ids.tolist())


def test_a_picture_from_outside_is_ranked_by_its_pixels(col: Collection) -> None:
    taught(col, 6)
    col.models.learn_metric("look", space="holistic")
    first = col.search(later(0), 3, by="look")
    col.add(later(0), workers=0)
    again = col.search(N + 1, 3, by="look")
    assert [hit.id for hit in first] == [hit.id for hit in again]
    np.testing.assert_allclose([h.score for h in first], [h.score for h in again], atol=1e-4)
    col.models.learn_metric("taste", space="mine")
    with pytest.raises(CollectionError, match="your own vectors"):
        col.search(later(1), by="taste")
    by_vector = col.search(rows()[3], 1, by="taste")
    assert by_vector[0].id == 4


def test_another_generation_is_an_error_that_says_what_to_do(col: Collection) -> None:
    col.models.learn_metric("taste", space="mine")
    with store_of(col).write() as c:
        switch_generation(c, "mine", 2, width=8, n_pictures=0, files={})
    with pytest.raises(CollectionError, match=r"generation 1 .* at 2 now; .*--name taste"):
        col.search(1, by="taste")


def test_a_job_that_makes_a_generation_learns_models_again(col: Collection) -> None:
    taught(col, 6)
    col.models.learn_metric("taste", space="mine", seed=3)
    judged = "SELECT subject, vector FROM codes WHERE space = 'mine'"
    with store_of(col).write() as c:
        # As a build does it: rows and codes of the next generation first, then the switch.
        for i, row in enumerate(rows(seed=5)):
            put_vector(c, "mine", 2, i + 1, row.tobytes())
        for subject, vector in store_of(col).all(judged):
            put_code(c, subject, "mine", 2, vector)
        switch_generation(c, "mine", 2, width=8, n_pictures=N, files={})
    col.refresh()
    made = col.models["taste"]
    assert made.generation == 2
    assert made.options == {"seed": 3}
    assert made.figures["pairs"] > 30
    assert len(col.search(1, by="taste")) == 20


def test_names_are_guarded_and_can_change(col: Collection) -> None:
    col.models.learn_metric("taste", space="mine")
    col.profiles.create("ann")
    for taken in ("mine", "both", "ann", "default"):
        with pytest.raises(CollectionError, match="already"):
            col.models.learn_metric(taken, space="mine")
    with pytest.raises(InvalidInput, match="no name for a map"):
        col.models.learn_map("a/b")
    with pytest.raises(InvalidInput, match="no name for a metric"):
        col.models.rename("taste", "a b")
    with pytest.raises(InvalidInput, match="is a metric already"):
        col.models.learn_map("taste", space="mine")
    with pytest.raises(CollectionError, match="already"):
        col.profiles.create("taste")
    with pytest.raises(CollectionError, match="already"):
        col.spaces.add("taste", {"feature": "own", "kind": "dense"})
    with pytest.raises(CollectionError, match="no built-in similarity"):
        col.profiles.create("bob", "taste")
    with pytest.raises(CollectionError, match="--by taste"):
        col.use("taste")
    before = ranked(col, 5, "taste")
    col.models.rename("taste", "flavour")
    assert ranked(col, 5, "flavour") == before
    with pytest.raises(UnknownName):
        col.search(5, by="taste")
    assert list(col.models) == ["flavour"]


def test_files_go_with_what_names_them(col: Collection) -> None:
    folder = col.root / "learned"
    col.models.learn_metric("taste", space="mine")
    first = {path.name for path in folder.iterdir()}
    col.models.learn_metric("taste", space="mine")
    second = {path.name for path in folder.iterdir()}
    assert len(first) == len(second) == 2
    assert not first & second
    col.models.learn_map("map", space="mine")
    col.models.delete("map")
    assert {path.name for path in folder.iterdir()} == second
    col.spaces.drop("mine")
    assert not col.models
    assert not list(folder.iterdir())
    with pytest.raises(UnknownName, match="none yet"):
        col.models.delete("taste")


def test_backups_carry_models_and_damage_is_found(col: Collection, tmp_path: Path) -> None:
    taught(col, 6)
    col.models.learn_metric("taste", space="mine")
    col.models.learn_map("map", space="holistic")
    col.backup(tmp_path / "backup")
    with Collection.restore(tmp_path / "backup", tmp_path / "again.lw") as again:
        for name in ("taste", "map"):
            assert ranked(again, 9, name) == ranked(col, 9, name)
        assert again.verify() == []
    files = [col.root / file for m in col.models.values() for file in m.files.values()]
    for file in files:
        whole = file.read_bytes()
        file.write_bytes(whole[:-40] + bytes([whole[-40] ^ 1]) + whole[-39:])
    wrong = col.verify()
    assert len(wrong) == 2
    assert all("checksum" in text for text in wrong)
    with Collection.open(col.root) as fresh, pytest.raises(DamagedCollection, match="learn it"):
        fresh.search(1, by="map")


def test_a_map_of_what_the_space_says(col: Collection) -> None:
    made = col.models.learn_map(space="holistic")
    figures = made.figures
    assert figures["source"] == figures["made_from"] == "space"
    assert figures["comparisons"] == 0 < figures["made_comparisons"]
    assert figures["agreement"] is None
    assert figures["satisfied"] > 0.8
    points = col.models.map_points()
    assert points.ids.tolist() == list(range(1, N + 1))
    assert points.places.shape == (N, 2)
    assert np.isfinite(points.places).all()
    near = {i for i, _ in ranked(col, 12, "holistic")[:10]}
    assert len(near & {i for i, _ in ranked(col, 12, "map")[:10]}) >= 5
    again = col.models.learn_map("again", space="holistic")
    np.testing.assert_array_equal(col.models.map_points("again").places, points.places)
    assert again.figures == figures
    col.models.learn_metric(space="mine")
    with pytest.raises(CollectionError, match="is a metric"):
        col.models.map_points("metric")


@pytest.mark.slow
def test_a_map_of_what_people_said(col: Collection) -> None:
    compared(col, 120)
    made = col.models.learn_map(space="mine")
    figures = made.figures
    assert figures["source"] in ("people", "both")
    assert figures["comparisons"] == 120
    assert figures["agreement"] > figures["agreement_plain"]
    assert precision(col, "map") > precision(col, "mine")
    assert col.models.count_new_lines("map") == 0
    col.compare(1, 3, 2)
    assert col.models.count_new_lines("map") == 1
    assert col.models.relearn("map").figures["comparisons"] == 121
    assert col.models.count_new_lines("map") == 0


def test_a_map_of_folders_places_kinds_apart(col: Collection) -> None:
    made = col.models.learn_map(space="mine", labels="folders")
    assert made.figures["source"] == made.figures["made_from"] == "folders"
    assert precision(col, "map") > 0.9
    assert col.models.relearn("map").options["labels"] == "folders"
    with pytest.raises(InvalidInput, match='"folders" or "tags"'):
        col.models.learn_map("other", space="mine", labels="colours")


def test_pictures_beyond_the_anchors_are_placed(
    col: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(map_learning, "ANCHORS", 30)
    made = col.models.learn_map(space="mine", labels="folders")
    assert made.figures["anchors"] == 30
    assert made.figures["placed"] == N
    fitted = open_model(col.root, made)
    points = col.models.map_points()
    others = ~np.isin(points.ids, fitted.anchors)
    assert others.sum() == 30
    places, kind = points.places, kinds()[points.ids - 1]
    middle = [places[~others][kind[~others] == k].mean(axis=0) for k in (0, 1)]
    away = [np.linalg.norm(places[others] - m, axis=1) for m in middle]
    assert np.mean((away[1] < away[0]) == (kind[others] == 1)) > 0.8


def test_undone_comparisons_do_not_count(col: Collection) -> None:
    compared(col, 5)
    number = col.compare(1, 3, 2)
    assert len(col.comparisons.all()) == 6
    col.undo(number)
    assert len(col.comparisons.all()) == 5
    assert col.models.learn_map(space="mine").figures["comparisons"] == 5


def test_empty_collections_refuse_clearly(tmp_path: Path) -> None:
    with Collection.create(tmp_path / "e.lw", deep=False) as col:
        for learn in (col.models.learn_metric, col.models.learn_map):
            with pytest.raises(CollectionError, match="add some first"):
                learn()
        with pytest.raises(CollectionError, match="needs 3"):
            col.comparisons.suggest(3)
        assert col.comparisons.report().comparisons == 0


# -- the space is the one to beat -------------------------------------------------------------


def heard(X: np.ndarray, rng: np.random.Generator) -> Constraints:
    """Judgements of somebody whose taste has nothing to do with the vectors."""
    queries = rng.choice(len(X), 6, replace=False)
    pairs: dict[tuple[int, int], bool] = {}
    said, triplets = [], []
    for query in queries.tolist():
        others = rng.choice(np.setdiff1d(np.arange(len(X)), queries), 8, replace=False).tolist()
        for place, other in enumerate(others):
            pair = (min(query, other), max(query, other))
            if pair not in pairs:
                pairs[pair] = place < 4
                said.append(query)
        triplets += [(query, a, b) for a in others[:4] for b in others[4:]]
    asked = np.array(triplets)
    return Constraints(
        tuple(range(len(X))), X, np.array(list(pairs)), np.array(list(pairs.values())),
        np.array(said), asked, asked[:, 0].copy(), np.zeros(len(asked), bool),
        np.ones(len(asked), bool), 0,
    )  # fmt: skip


def test_a_metric_that_loses_to_the_space_is_not_kept() -> None:
    """In a space wider than what is learned in: its first directions alone are not the space."""
    width = metric_learning.DIRECTIONS + 16
    space = SpaceRow("wide", "dense", {"feature": "own", "metric": "l2"}, 1, width, 60, {})
    kept = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, width)).astype(np.float32)
        made = metric_learning.learn_metric(heard(X, rng), X[:20], space, 0, silent)
        figures = made.figures
        if figures["learned"]:
            assert figures["agreement"] > figures["agreement_plain"]
        else:
            kept += 1
            assert figures["agreement"] == figures["agreement_plain"]
            assert figures["directions"] == made.metric.n_ranked == width
            np.testing.assert_array_equal(made.metric.transform(X), X)
    assert kept > 0


def test_a_wide_space_that_is_kept_ranks_as_itself(col: Collection) -> None:
    """Holistic vectors have 428 numbers; the directions learned in are 10 here."""
    made = col.models.learn_metric("look", space="holistic")
    assert not made.figures["learned"]
    for query in (1, 8, 33):
        assert [i for i, _ in ranked(col, query, "look")] == [
            i for i, _ in ranked(col, query, "holistic")
        ]
    with Collection.open(col.root) as fresh:
        alike(ranked(fresh, 8, "look"), ranked(col, 8, "look"))
    assert col.verify() == []


def test_a_pair_judged_from_both_ends_is_held_out_with_either() -> None:
    said = Constraints(
        (1, 2, 3), np.zeros((3, 2), np.float32), np.array([[0, 1], [0, 2], [1, 2]]),
        np.array([True, False, False]), np.array([0, 0, 1]), np.array([[0, 1, 2], [1, 0, 2]]),
        np.array([0, 1]), np.zeros(2, bool), np.ones(2, bool), 0,
    )  # fmt: skip
    assert said.without([1])[0].tolist() == [[0, 2]]
    assert said.without([0])[0].tolist() == [[1, 2]]
    assert said.without([])[0].tolist() == said.pairs.tolist()
    # A picture that was drawn may lie beyond the rows that were spoken of.
    assert said.without([], np.array([[0, 1, 9]]))[0].tolist() == [[0, 2], [1, 2]]
