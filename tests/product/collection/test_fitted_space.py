"""A space fitted to the collection: when it is learned, what its rows are, what teaches it."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from likewise.collection.collection import Collection
from likewise.errors import CollectionError, InvalidInput, LikewiseError
from likewise_methods.neighbours.container import open_arrays, save_arrays
from likewise_methods.spaces import FittedSpace
from tests.product.collection.loop_cases import N, copied, inside, template
from tests.product.private import states_of, store_of, views_of

WIDTH = 12
GROUPS = 2


@cache
def vectors(seed: int = 0, n: int = N) -> np.ndarray:
    """Rows of two groups, each tight in some columns and loose in others."""
    rng = np.random.default_rng(seed)
    rows = 0.2 * rng.random((n, WIDTH))
    for at in range(n):
        rows[at, (at % GROUPS) * 4 : (at % GROUPS) * 4 + 4] += 1.0
    rows[:, 8:] += rng.random((n, 4))
    return rows.astype(np.float32)


@pytest.fixture
def col(tmp_path: Path) -> Iterator[Collection]:
    with Collection.open(copied(tmp_path)) as collection:
        collection.spaces.add("plain", {"feature": "own"})
        collection.spaces.add_vectors("plain", range(1, N + 1), vectors())
        collection.spaces.add("fit", {"feature": "fitted", "source": "plain", "first": 5})
        yield collection


def rows_of(col: Collection, space: str = "fit") -> dict[int, np.ndarray]:
    view = views_of(col).view(space)
    return {i: view.row_of(i) for i in range(1, N + 1) if view.row_of(i) is not None}


def test_rows_are_the_estimators(col: Collection) -> None:
    made = FittedSpace().fit(vectors()).transform(vectors())
    found = rows_of(col)
    assert sorted(found) == list(range(1, N + 1))
    assert np.allclose([found[i] for i in sorted(found)], made, atol=1e-5)
    space = col.spaces["fit"]
    assert space.width == made.shape[1]
    assert space.n_pictures == N
    assert col.verify() == []


def test_it_waits_for_pictures_enough(tmp_path: Path) -> None:
    with Collection.open(copied(tmp_path)) as col:
        col.spaces.add("plain", {"feature": "own"})
        col.spaces.add("fit", {"feature": "fitted", "source": "plain", "first": 10})
        assert col.spaces["fit"].generation == 0
        col.spaces.add_vectors("plain", range(1, 8), vectors()[:7])
        assert col.spaces["fit"].generation == 0
        # The rest of the vectors make it enough; nothing else has to be said.
        col.spaces.add_vectors("plain", range(8, N + 1), vectors()[7:])
        assert col.spaces["fit"].generation == 1
        assert len(rows_of(col)) == N


def test_new_and_replaced_vectors_are_placed_without_a_new_fit(col: Collection) -> None:
    before = rows_of(col)
    other = vectors(seed=5)
    col.spaces.add_vectors("plain", [3], other[:1])
    after = rows_of(col)
    fit = FittedSpace().fit(vectors())
    assert col.spaces["fit"].generation == 1
    assert np.allclose(after[3], fit.transform(other[:1])[0], atol=1e-5)
    assert not np.allclose(after[3], before[3], atol=1e-3)
    assert all(np.array_equal(after[i], before[i]) for i in after if i != 3)


def test_a_new_generation_reads_no_picture(
    col: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    from likewise.catalog.jobs import silent
    from likewise.ingest import generations
    from likewise.ingest.growth import learn_space

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a picture was read")

    monkeypatch.setattr(generations, "describe_all", refuse)
    before = rows_of(col)
    learn_space(store_of(col), col.spaces["fit"], workers=0, report=silent)
    assert col.spaces["fit"].generation == 2
    assert np.allclose(list(rows_of(col).values()), list(before.values()), atol=1e-6)


def test_it_is_learned_again_when_the_collection_has_grown_by_half(col: Collection) -> None:
    space = col.spaces["fit"]
    assert not space.has_outgrown(N + N // 2 - 1)
    assert space.has_outgrown(N + N // 2)


def test_other_pictures_make_it_drift(col: Collection) -> None:
    from likewise.catalog.jobs import silent
    from likewise.ingest.generations import row_survey

    space = dataclasses.replace(col.spaces["fit"], n_pictures=N - 3)
    fit = FittedSpace(2).fit(vectors()[: N - 3])
    fit.n_rows_ = N - 3
    fit.save(store_of(col).root / "words" / "other.lwf")
    small = dataclasses.replace(space, files={"fit": "words/other.lwf"})
    survey = row_survey(store_of(col), small, silent)
    same = vectors()[N - 3 :]
    assert small.has_drifted(N, survey) == fit.has_outgrown(N, same)
    assert not small.has_drifted(N - 3, survey)
    strange = np.zeros((3, WIDTH), np.float32)
    strange[:, 9:] = np.eye(3)
    col.spaces.add_vectors("plain", range(N - 2, N + 1), strange)
    survey = row_survey(store_of(col), small, silent)
    assert fit.has_outgrown(N, strange)
    assert small.has_drifted(N, survey)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nowhere", "there is no space 'nowhere' to fit"),
        ("mine", "'mine' is sparse; a dense space expected"),
        ("fit", "'fit' learns from the collection itself"),
        (None, "source is None; the name of a dense space expected"),
    ],
)
def test_what_cannot_be_fitted_is_refused(col: Collection, source: str, message: str) -> None:
    with pytest.raises(LikewiseError, match=message):
        col.spaces.add("other", {"feature": "fitted", "source": source})
    assert "other" not in col.spaces


def test_its_source_cannot_be_dropped_before_it(col: Collection) -> None:
    with pytest.raises(
        CollectionError, match="'fit' is made of the rows of 'plain'; drop it first"
    ):
        col.spaces.drop("plain")
    col.spaces.drop("fit")
    col.spaces.drop("plain")
    assert col.verify() == []


def test_a_picture_from_outside_needs_a_source_that_describes(col: Collection) -> None:
    with pytest.raises(CollectionError, match="holds your own vectors"):
        col.search(inside(1).read_bytes() + b"x", k=2, by="fit")


# -- what teaches it ----------------------------------------------------------------------------


def teach(col: Collection, profile: str = "p") -> None:
    """Group 0 is alike whatever its loose columns say; judged for one picture of it."""
    if profile not in col.profiles:
        col.profiles.create(profile, base="fit")
    col.judge(1, [3, 5, 7], [2, 4], profile=profile)


def scores(col: Collection, query: int, by: str) -> dict[int, float]:
    return {hit.id: hit.score for hit in col.search(query, k=N, by=by)}


def test_a_judgement_helps_a_query_nobody_judged(col: Collection) -> None:
    plain = scores(col, 9, "fit")
    teach(col)
    taught = scores(col, 9, "p")
    same = [i for i in plain if i % 2 == 1 and i != 9]
    others = [i for i in plain if i % 2 == 0]

    def gap(found: dict[int, float]) -> float:
        return float(np.mean([found[i] for i in same]) - np.mean([found[i] for i in others]))

    assert gap(taught) > gap(plain)
    assert scores(col, 9, "fit") == plain


def test_undo_roll_back_and_copies_are_exact(col: Collection) -> None:
    col.profiles.create("p", base="fit")
    nothing = scores(col, 9, "p")
    teach(col)
    once = scores(col, 9, "p")
    assert once != nothing
    col.profiles.copy("p", "q")
    col.judge(3, [1], [6], profile="p")
    col.judge(11, [1], [8], profile="q")
    col.undo(profile="p")
    assert scores(col, 9, "p") == once
    col.undo(profile="q")
    assert scores(col, 9, "q") == once
    col.profiles.roll_back(0, profile="p")
    assert scores(col, 9, "p") == nothing


def test_merging_is_judging_everything_in_one(col: Collection) -> None:
    for name in ("anna", "ben", "together"):
        col.profiles.create(name, base="fit")
    for query, liked, disliked, name in ((1, [3, 5], [2], "anna"), (4, [6, 8], [7], "ben")):
        col.judge(query, liked, disliked, profile=name)
        col.judge(query, liked, disliked, profile="together")
    col.profiles.merge(["anna", "ben"], "one")
    col.profiles.merge(["ben", "anna"], "other")
    for query in (9, 10):
        assert scores(col, query, "one") == scores(col, query, "together")
        assert scores(col, query, "other") == scores(col, query, "together")
    # The sources stay as they are, and go on alone.
    col.judge(2, [4], [1], profile="anna")
    assert scores(col, 9, "one") == scores(col, 9, "together")
    with pytest.raises(CollectionError, match="nothing to merge"):
        col.profiles.merge(["anna", "anna"], "again")
    with pytest.raises(CollectionError, match="different similarities"):
        col.profiles.merge(["anna", "default"], "again")


def test_a_merge_of_copies_counts_their_past_once(col: Collection) -> None:
    teach(col)
    col.profiles.copy("p", "q")
    alone = scores(col, 9, "p")
    col.profiles.merge(["p", "q"], "m")
    assert scores(col, 9, "m") == alone
    col.undo(profile="m")
    assert scores(col, 9, "m") == scores(col, 9, "fit")
    assert scores(col, 9, "p") == alone


def test_a_file_of_a_profile_carries_judged_pairs(col: Collection, tmp_path: Path) -> None:
    teach(col)
    col.judge(4, [6], profile="p")  # likes only: negatives were drawn
    taught = scores(col, 9, "p")
    file = col.profiles.export(tmp_path / "p.lwp", profile="p")
    assert col.profiles.load(file, "again") == "again"
    assert scores(col, 9, "again") == pytest.approx(taught, abs=1e-5)
    # And on: what came in whole can be exported again, and judged upon.
    second = col.profiles.export(tmp_path / "again.lwp", profile="again")
    col.profiles.load(second, "third")
    assert scores(col, 9, "third") == pytest.approx(taught, abs=1e-5)
    col.judge(5, [7], [8], profile="third")
    assert scores(col, 9, "third") != pytest.approx(taught, abs=1e-7)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        # Their sum is beyond 64 bits and comes round to what it ought to be.
        (lambda a, m: a["fit/counts"].__setitem__(slice(None), 2**62), "cannot be used"),
        (lambda a, m: a["fit/counts"].__setitem__(0, -1), "cannot be used"),
        (lambda a, m: a["fit/rows"].__setitem__(0, 0.0), "cannot be used"),
        (lambda a, m: a["fit/rows"].__setitem__((0, 0), np.nan), "cannot be used"),
        (lambda a, m: a.pop("fit/counts"), "not a usable profile"),
        (lambda a, m: m.__setitem__("base", "nonsense"), "ranks by 'nonsense'"),
        (lambda a, m: m.__setitem__("base", ["fit"]), "which this collection lacks"),
    ],
)
def test_a_tampered_file_is_refused(
    col: Collection, tmp_path: Path, change: Callable[..., object], message: str
) -> None:
    teach(col)
    file = col.profiles.export(tmp_path / "p.lwp", profile="p")
    meta, arrays = open_arrays(file, "Likewise profile")
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(arrays, meta)
    save_arrays(file, "Likewise profile", meta, arrays)
    with pytest.raises(LikewiseError, match=message):
        col.profiles.load(file, "again")
    assert "again" not in col.profiles


def test_a_file_over_another_source_is_refused(col: Collection, tmp_path: Path) -> None:
    teach(col)
    file = col.profiles.export(tmp_path / "p.lwp", profile="p")
    with Collection.open(copied(tmp_path / "other")) as other:
        other.spaces.add("plain", {"feature": "own", "metric": "ip"})
        other.spaces.add_vectors("plain", range(1, N + 1), vectors())
        other.spaces.add("fit", {"feature": "fitted", "source": "plain", "first": 5})
        with pytest.raises(CollectionError, match="another space than 'plain'"):
            other.profiles.load(file, "p")


def test_judgements_move_to_the_next_generation(col: Collection) -> None:
    from likewise.catalog.jobs import silent
    from likewise.ingest.growth import learn_space

    teach(col)
    col.remove(7)
    before = scores(col, 9, "p")
    learn_space(store_of(col), col.spaces["fit"], workers=0, report=silent)
    states_of(col).forget()
    metric = states_of(col).metric("p", col.spaces["fit"])
    assert metric is not None
    # The picture that left is placed back from its old row, and still counts.
    assert [len(one.liked) for one in metric.lessons] == [3]
    after = scores(col, 9, "p")
    order = sorted(before, key=before.__getitem__)
    assert np.corrcoef([before[i] for i in order], [after[i] for i in order])[0, 1] > 0.9
    col.profiles.relearn("p")


def test_backup_and_restore_keep_what_was_learned(col: Collection, tmp_path: Path) -> None:
    teach(col)
    wanted = scores(col, 9, "p")
    col.backup(tmp_path / "kept")
    restored = tmp_path / "back"
    shutil.copytree(tmp_path / "kept", restored)
    with Collection.open(restored) as again:
        assert scores(again, 9, "p") == wanted
        assert again.verify() == []


def test_a_damaged_fit_is_told(col: Collection) -> None:
    space = col.spaces["fit"]
    path = store_of(col).root / space.files["fit"]
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert any("fit" in text or "checksum" in text for text in col.verify())


def test_the_template_has_no_network() -> None:
    """What these tests rest on: no look in a collection made without the extra."""
    with Collection.open(template() / "c.lw") as col:
        assert "look" not in col.spaces


def test_a_recipe_is_checked(col: Collection) -> None:
    with pytest.raises(InvalidInput, match="components is 0"):
        col.spaces.add("o", {"feature": "fitted", "source": "plain", "components": 0})
