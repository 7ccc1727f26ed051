"""A kind of space that another package brings, from the first picture to a restored backup."""

from __future__ import annotations

import copy
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from likewise.cli.app import app
from likewise.collection.collection import Collection
from likewise.errors import (
    BrokenSpaceKind,
    CannotDescribe,
    CollectionError,
    InvalidInput,
    SpaceKindClash,
    UnknownPicture,
    UnknownSpaceKind,
)
from likewise.images.decode import decode
from likewise.ingest import generations, pool
from likewise.learning.models.rows import dense_space
from likewise.spaces.registry import UnavailableSpace, find_kind, kind_names, validate_recipe
from likewise.tags.evidence import usable_spaces
from tests.product.collection.pictures import small_scenes, write, write_pictures
from tests.product.collection.space_package import install
from tests.product.private import states_of, store_of

BUILT_IN = ["words", "holistic", "deep", "deep-dense", "look", "fitted"]
BUILT_IN += ["deep-words", "psc", "vlad", "onnx", "clip", "own"]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in which a package lies that brings kinds, on the path of this process."""
    folder = install(tmp_path / "site")
    with monkeypatch.context() as patch:
        patch.syspath_prepend(str(folder))
        pool.stop_idle()  # workers that rest from another test do not know the package
        yield folder
        sys.modules.pop("tone_spaces", None)


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    write_pictures(tmp_path / "pictures")
    return tmp_path / "pictures"


def create(root: Path) -> Collection:
    return Collection.create(root, words={"n_words": 100}, deep=False)


def stems(hits) -> list[str]:
    return [Path(hit.path).stem for hit in hits]


@pytest.mark.slow
def test_a_toy_kind_lives_in_a_collection(package: Path, pictures: Path, tmp_path: Path) -> None:
    """Add (in workers), search, judge, explain, retrain, refresh, backup and restore."""
    with create(tmp_path / "photos.lw") as col:
        col.spaces.add("tone", {"feature": "tone", "levels": 12}, workers=0)
        assert col.spaces["tone"].generation == 0
        assert col.add(pictures, workers=2).added == 24
        space = col.spaces["tone"]
        assert type(space).__module__ == "tone_spaces"
        assert (space.row_format_name, space.width, space.generation) == ("sparse", 12, 1)
        assert set(space.files) == {"levels", "bag"}
        assert col.verify() == []

        # Search, by id and by a picture from outside: as a plain reading of the kind says.
        counts = np.zeros((25, 12))
        for row in col.images():
            columns, values = space.describe(decode(row.path).pixels, {})
            counts[row.id, columns] = values
        idf = np.log(24 / np.maximum((counts[1:] > 0).sum(axis=0), 1))
        rows = counts / counts.sum(axis=1, keepdims=True).clip(1) * idf
        rows /= np.linalg.norm(rows, axis=1, keepdims=True).clip(1e-12)
        hits = col.search(3, k=5, by="tone")
        scores = rows @ rows[3]
        assert [hit.score for hit in hits] == pytest.approx([scores[h.id] for h in hits], abs=1e-5)
        assert min(hit.score for hit in hits) >= np.sort(np.delete(scores, 3))[-5] - 1e-5
        again = col.search(decode(col.image(3).path).pixels, k=6, by="tone")
        assert again[0].id == 3
        assert again[0].score == pytest.approx(1, abs=1e-5)

        # Explain: the shares add up to the score, and places lie where the kind says.
        why = col.explain(3, hits[0].id, by="tone", top=50)
        assert why.score == pytest.approx(hits[0].score, abs=1e-4)
        assert sum(word.contribution for word in why.words) == pytest.approx(why.score, abs=1e-4)
        assert all(len(word.in_query) and len(word.in_hit) for word in why.words)

        # Judge: its weights are learned like those of any sparse space.
        col.profiles.create("mine", base="tone")
        before = [hit.id for hit in col.search(3, k=20, by="mine")]
        col.judge(3, liked=[before[10]], disliked=[before[0]], profile="mine")
        after = [hit.id for hit in col.search(3, k=23, by="mine")]
        assert after.index(before[10]) < 10
        assert after[-1] == before[0]
        weights = states_of(col).weights("mine", space)
        assert weights is not None
        assert (weights != 1).any()

        # Retrain and refresh: the next generations, with what was said carried over.
        col.remove(before[10])
        write(tmp_path / "more" / "new.jpg", small_scenes()["rocket"][5:])
        col.add(tmp_path / "more", workers=0)
        col.retrain(workers=0, seed=3)
        taught = col.spaces["tone"]
        assert taught.generation == 2
        kept = json.loads((col.root / taught.files["levels"]).read_text())
        assert kept["pictures"] == 24
        assert not (col.root / space.files["levels"]).exists()
        assert (states_of(col).weights("mine", taught) != 1).any()
        col.refresh()
        refreshed = col.spaces["tone"]
        assert refreshed.generation == 3
        assert refreshed.files["levels"] == taught.files["levels"]
        assert refreshed.files["bag"] != taught.files["bag"]
        assert col.verify() == []

        found = col.search(3, k=10, by="mine")
        col.backup(tmp_path / "copy.lw")
    with Collection.restore(tmp_path / "copy.lw", tmp_path / "again.lw") as restored:
        assert restored.verify() == []
        assert restored.search(3, k=10, by="mine") == found


def test_the_shortest_kind_is_enough(package: Path, pictures: Path, tmp_path: Path) -> None:
    """Six lines: a width and a row.  It is honest about what it cannot do."""
    with create(tmp_path / "photos.lw") as col:
        col.add(pictures, workers=0)
        col.spaces.add("mean", {"feature": "mean-colour"}, workers=0)
        assert col.verify() == []
        means = {
            row.id: decode(row.path).pixels.astype(np.float32).mean(axis=(0, 1))
            for row in col.images()
        }
        unit = {i: row / np.linalg.norm(row) for i, row in means.items()}
        hit = col.search(1, k=1, by="mean")[0]
        assert hit.id == max((i for i in unit if i != 1), key=lambda i: unit[i] @ unit[1])
        assert hit.score == pytest.approx(float(unit[hit.id] @ unit[1]), abs=1e-5)
        assert not col.spaces["mean"].has_places
        with pytest.raises(CollectionError, match="'mean' has no places to explain by"):
            col.explain(1, hit.id, by="mean")
        assert col.spaces["mean"].card() is None


RANKED = """
from likewise.spaces.base import Space

class Corner(Space):
    feature = "corner"
    model_rank = tag_rank = -1
    def fixed_width(self):
        return 3
    def describe(self, picture, shared):
        return picture[0, 0] + 1.0

class Beside(Corner):
    feature = "beside"
    model_rank = tag_rank = None
    tags_beside = "corner"
"""


def test_a_brought_kind_takes_part_where_it_ranks_first(
    pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = {"corner": "corner_kinds:Corner", "beside": "corner_kinds:Beside"}
    folder = install(tmp_path / "site", "corner-kinds", "corner_kinds", RANKED, points)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "corner_kinds", raising=False)
    with create(tmp_path / "photos.lw") as col:
        col.add(pictures, workers=0)
        # Under another name it is somebody's experiment, and what was chosen before stays.
        col.spaces.add("mine", {"feature": "corner"}, workers=0)
        assert dense_space(store_of(col), None).name == "holistic"
        assert usable_spaces(col.spaces) == [("holistic",)]
        for name in points:
            col.spaces.add(name, {"feature": name}, workers=0)
        assert dense_space(store_of(col), None).name == "corner"
        assert usable_spaces(col.spaces) == [("corner", "beside"), ("holistic",)]
        col.tag(1, "dark")
        assert [one.tag for one in col.suggest_tags(2)] == ["dark"]
    sys.modules.pop("corner_kinds", None)


def test_without_its_package_a_collection_opens_and_says_so(
    pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "site")
    with monkeypatch.context() as patch:
        patch.syspath_prepend(str(tmp_path / "site"))
        with create(tmp_path / "photos.lw") as col:
            col.add(pictures, workers=0)
            col.spaces.add("tone", {"feature": "tone"}, workers=0)
            found = col.search(3, k=5, by="tone")
        sys.modules.pop("tone_spaces")
    with Collection.open(tmp_path / "photos.lw") as col:
        space = col.spaces["tone"]
        assert isinstance(space, UnavailableSpace)
        assert not space.is_available()
        # What is there still ranks and is whole; what cannot be made is said, with what to do.
        assert col.search(3, k=5, by="tone") == found
        assert col.verify() == []
        with pytest.raises(CollectionError, match=r"cannot describe.*'tone'.*install the package"):
            col.search(np.ascontiguousarray(small_scenes()["coins"]), by="tone")
        with pytest.raises(CollectionError, match="no places to explain"):
            col.explain(3, found[0].id, by="tone")
        write(tmp_path / "more" / "late.jpg", small_scenes()["rocket"][6:, 6:])
        result = col.add(tmp_path / "more", workers=0)
        assert (result.added, result.unmade) == (1, ["tone"])
        late = col.id_of(tmp_path / "more" / "late.jpg")
        with pytest.raises(UnknownPicture, match=r"install the package.*likewise add again"):
            col.search(late, by="tone")
        col.retrain(workers=0)
        col.refresh()
        assert col.spaces["tone"].generation == 1
        with pytest.raises(UnknownSpaceKind, match=r"feature is 'tone'; one of words,.*expected"):
            col.spaces.add("other", {"feature": "tone"})
        done = CliRunner().invoke(
            app, ["add", str(pictures), "-C", str(col.root), "--workers", "0"]
        )
        assert done.exit_code == 0, done.output
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    with Collection.open(tmp_path / "photos.lw") as col:
        assert col.add(pictures, workers=0).unmade == []
        assert col.search(late, k=1, by="tone")
        assert col.verify() == []
    sys.modules.pop("tone_spaces")


def test_a_kind_that_fails_costs_its_picture_and_not_the_job(
    package: Path, pictures: Path, tmp_path: Path
) -> None:
    with create(tmp_path / "photos.lw") as col:
        col.spaces.add("clumsy", {"feature": "clumsy"}, workers=0)
        noise = np.random.default_rng(0).integers(0, 255, (60, 60, 3)).astype(np.uint8)
        for rows in (40, 50, 60):
            write(tmp_path / "more" / f"{rows}.png", noise[:rows])
        result = col.add(tmp_path / "more", workers=0)
        assert result.added == 1
        assert {Path(path).stem: reason for path, reason in result.skipped} == {
            "40": "for now: cannot be described here (space 'clumsy': cannot bear forty rows)",
            "50": "for now: cannot be described here (space 'clumsy': a row has shape (5,); "
            "(3,) expected)",
        }


def test_a_kind_that_fails_on_every_picture_is_refused_with_the_reason(
    package: Path, tmp_path: Path
) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (60, 60, 3)).astype(np.uint8)
    write(tmp_path / "forty" / "40.png", noise[:40])
    with create(tmp_path / "photos.lw") as col:
        col.add(tmp_path / "forty", workers=0)
        with pytest.raises(CannotDescribe, match=r"space 'clumsy'.*cannot bear forty rows"):
            col.spaces.add("clumsy", {"feature": "clumsy"}, workers=0)
        assert "clumsy" not in col.spaces
        # A picture that can be described is enough, and the next add goes on.
        write(tmp_path / "forty" / "60.png", noise)
        assert col.add(tmp_path / "forty", workers=0).added == 1
        col.spaces.add("clumsy", {"feature": "clumsy"}, workers=0)
        assert "clumsy" in col.spaces


def test_recipes_of_a_brought_kind_are_checked(package: Path) -> None:
    assert kind_names() == [*BUILT_IN, "clumsy", "mean-colour", "tone"]
    assert validate_recipe({"feature": "tone", "levels": 4}) == (
        "sparse",
        {"feature": "tone", "levels": 4, "cells": 8},
    )
    with pytest.raises(InvalidInput, match="levels is 1; a whole number of at least 2"):
        validate_recipe({"feature": "tone", "levels": 1})
    with pytest.raises(InvalidInput, match="'colour' is no parameter of 'tone'"):
        validate_recipe({"feature": "tone", "colour": 1})


def test_a_space_travels_as_its_record(package: Path, pictures: Path, tmp_path: Path) -> None:
    with create(tmp_path / "photos.lw") as col:
        col.add(pictures, workers=0)
        col.spaces.add("tone", {"feature": "tone"}, workers=0)
        for space in col.spaces.values():
            # The protocol that carries it to a worker.
            there = copy.copy(space)
            assert there is not space
            assert type(there) is type(space)
            assert there == space


@pytest.mark.parametrize(
    ("source", "value", "says"),
    [
        ("import no_such_module_at_all\n", "bad_kinds:X", "ModuleNotFoundError.*repair or unin"),
        ("X = 3\n", "bad_kinds:X", "is no subclass of Space"),
        (
            "from likewise.spaces import Space\nclass X(Space): feature = 'odd'\n",
            "bad_kinds:X",
            "lacks describe",
        ),
        (
            "from likewise.spaces import Space\n"
            "class X(Space):\n"
            "    feature = 'other'\n"
            "    def describe(self, picture, shared): return [1.0]\n",
            "bad_kinds:X",
            "has the feature 'other'",
        ),
    ],
)
def test_broken_packages_are_named(
    source: str, value: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = install(tmp_path / "site", "odd-kinds", "bad_kinds", source, {"odd": value})
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "bad_kinds", raising=False)
    with pytest.raises(BrokenSpaceKind, match=f"feature 'odd'.*odd-kinds.*{says}"):
        find_kind("odd")
    sys.modules.pop("bad_kinds", None)


def test_names_that_clash_are_refused_and_opening_goes_on(
    package: Path, pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with create(tmp_path / "photos.lw") as col:
        col.add(pictures, workers=0)
        col.spaces.add("tone", {"feature": "tone"}, workers=0)
        found = col.search(3, k=5, by="tone")
    points = {"tone": "tone_again:ToneSpace", "words": "tone_again:ToneSpace"}
    other = install(tmp_path / "more", "tone-again", "tone_again", "", points)
    monkeypatch.syspath_prepend(str(other))
    with pytest.raises(SpaceKindClash, match="'tone' is in several packages: tone-"):
        validate_recipe({"feature": "tone"})
    with pytest.raises(SpaceKindClash, match="'words' is Likewise's own, and tone-again"):
        validate_recipe({"feature": "words"})
    with Collection.open(tmp_path / "photos.lw") as col:
        assert not col.spaces["tone"].is_available()
        assert col.spaces["words"].is_available()
        assert col.search(3, k=5, by="tone") == found


def test_the_command_line_takes_a_brought_kind(
    package: Path, pictures: Path, tmp_path: Path
) -> None:
    with create(tmp_path / "photos.lw") as col:
        col.add(pictures, workers=0)
    where = ["-C", str(tmp_path / "photos.lw"), "--json"]
    made = CliRunner().invoke(app, ["space", "add", "tone", "--set", "levels=5", *where])
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout)["recipe"] == {"feature": "tone", "levels": 5, "cells": 8}
    refused = CliRunner().invoke(app, ["space", "add", "x", "--feature", "taste", *where])
    assert refused.exit_code == 2
    shutil.rmtree(tmp_path / "photos.lw")


def test_files_of_a_kind_are_on_disk_before_they_are_named(
    package: Path, pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The toy writes its file as anybody would; what is named must survive a power cut."""
    done: list[str] = []
    real = generations.switch_to
    monkeypatch.setattr(generations, "sync_file", lambda path: done.append(path.name))
    monkeypatch.setattr(generations, "sync_folder", lambda path: done.append(path.name))
    monkeypatch.setattr(generations, "switch_to", lambda *a: (done.append("switch"), real(*a)))
    with create(tmp_path / "photos.lw") as col:
        col.add(next(pictures.glob("*.jpg")), workers=0)
        done.clear()
        col.spaces.add("tone", {"feature": "tone", "levels": 12}, workers=0)
        named = {Path(name).name for name in col.spaces["tone"].files.values()}
    at = done.index("switch")
    assert {*named, "words"} == set(done[:at])
