"""Suggested tags that somebody or something confirms; undo by what it needs; turns of the run."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from likewise.catalog import tag_tables
from likewise.catalog.jobs import Progress
from likewise.catalog.tag_tables import clean, usable
from likewise.collection.collection import Collection
from likewise.errors import InvalidInput
from likewise.library import folder_tags, xmp
from likewise.tags import bulk as bulk_tagging
from likewise.tags import tag_log
from likewise.tags.evidence import Evidence
from tests.product.collection.tag_cases import EACH, KINDS, copied, inside, tag_some, template
from tests.product.private import sparse_of, store_of, views_of


@pytest.fixture
def col(tmp_path: Path) -> Iterator[Collection]:
    with Collection.open(copied(tmp_path)) as made:
        yield made
        assert made.verify() == []


def suggest(col: Collection, image: int, *tags: str) -> None:
    """As a bulk run does."""
    with store_of(col).write() as c:
        tag_tables.replace_source(c, "suggested", {image: tags})


# -- confirming -----------------------------------------------------------------------------


@pytest.mark.parametrize("earlier", [(), ("old",)])
def test_accept_a_suggestion_and_undo(col: Collection, earlier: tuple[str, ...]) -> None:
    if earlier:
        col.tag(1, *earlier)
        col.untag(1, "never")
    suggest(col, 1, "sea", "boat")
    before = tag_tables.evidence_number(store_of(col))
    line = col.tags.accept(1, "sea")
    assert col.tags.sources(1)["sea"] == ["accepted", "suggested"]
    assert tag_tables.evidence(store_of(col), [1]) == {1: sorted([*earlier, "sea"])}
    assert tag_tables.evidence_number(store_of(col)) > before
    assert tag_tables.changed_since(store_of(col), before) == [1]
    assert col.tags.undo() == line
    assert col.tags.sources(1)["sea"] == ["suggested"]
    assert tag_tables.evidence(store_of(col), [1]).get(1, []) == list(earlier)
    # Again, now that the picture's changes were numbered before.
    col.tags.accept(1, "sea")
    col.tags.accept(1, "boat")
    assert set(col.tags.of(1)) == {*earlier, "sea", "boat"}


def test_set_a_suggested_tag_of_many(col: Collection) -> None:
    for image in (1, 2, 3):
        col.tag(image, "old")
        suggest(col, image, "sea")
    col.tags.change([1, 2, 3], ["sea"], ["old"])
    assert all(col.tags.sources(i) == {"sea": ["user", "suggested"]} for i in (1, 2, 3))
    suggest(col, 1)
    assert col.tags.sources(1) == {"sea": ["user"]}


def test_bulk_suggestions_can_be_accepted_and_undone(col: Collection) -> None:
    tag_some(col)
    col.tags.suggest_for_all(above=0.6)
    said = {
        i: tags for i, tags in tag_tables.tags_by_source(store_of(col), "suggested").items() if tags
    }
    assert said
    for image, tags in said.items():
        col.tags.change([image], tags, source="accepted")
    for _ in said:
        col.tags.undo()
    assert all(col.tags.sources(i) == {t: ["suggested"] for t in tags} for i, tags in said.items())


def test_files_confirm_suggestions(tmp_path: Path) -> None:
    """A list, a sidecar, a folder's name: each may say what was suggested, and take it back."""
    shutil.copytree(template() / "pictures" / "red", tmp_path / "in" / "roses")
    with Collection.create(tmp_path / "c.lw", words={"n_words": 5}, deep=False) as col:
        col.add(tmp_path / "in", workers=0)
        path = tmp_path / "in" / "roses" / "red-00.png"
        image = col.id_of(path)
        col.tag(image, "old")
        suggest(col, image, "sea", "boat", "roses")
        (tmp_path / "tags.json").write_text(json.dumps({str(path): ["sea"]}))
        assert col.tags.import_file(tmp_path / "tags.json").tags == 1
        assert col.tags.sources(image)["sea"] == ["file", "suggested"]
        sidecar = path.with_name(f"{path.name}.xmp")
        sidecar.write_bytes(xmp.new_packet(["boat"]))
        col.sync(workers=0)
        assert col.tags.sources(image)["boat"] == ["sidecar", "suggested"]
        assert col.tags.from_folders() == EACH
        assert col.tags.sources(image)["roses"] == ["folder", "suggested"]
        assert tag_tables.evidence(store_of(col), [image]) == {
            image: ["boat", "old", "roses", "sea"]
        }
        sidecar.unlink()
        col.sync(workers=0)
        col.tags.from_folders(None)
        assert col.tags.sources(image)["boat"] == ["suggested"]
        assert tag_tables.evidence(store_of(col), [image]) == {image: ["old", "sea"]}
        assert col.verify() == []


def test_folders_are_set_as_a_whole_or_not_at_all(
    col: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> int:
        raise RuntimeError

    monkeypatch.setattr(tag_tables, "replace_source", fails)
    with pytest.raises(RuntimeError):
        col.tags.from_folders()
    monkeypatch.undo()
    assert store_of(col).setting(folder_tags.FOLDERS) is None


# -- the log --------------------------------------------------------------------------------


def test_undo_and_log_read_no_more_than_they_need(
    col: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is parsed of the log does not grow with it, but for words about the same picture."""
    for image in range(1, 31):
        col.tag(image, "a")
    parsed = 0
    plain = tag_tables._line

    def counted(row: object) -> object:
        nonlocal parsed
        parsed += 1
        return plain(row)

    monkeypatch.setattr(tag_tables, "_line", counted)
    assert len(col.tags.log(3)) == 3
    assert parsed == 3
    parsed = 0
    for _ in range(10):
        col.tags.undo()
    assert parsed == 10
    parsed = 0
    assert [line.stands for line in col.tags.log(11)] == [False, *[True] * 10]
    assert parsed == 11


def test_undo_brings_back_the_word_before(col: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tag_tables, "_PAGE", 2)
    first = col.tags.change([1, 2, 3], ["a", "b"])[0]
    col.tags.reject(1, "a")
    for image in range(10, 20):
        col.tag(image, "a")
    (last,) = col.tags.change([1, 2], ["a", "b"], source="accepted")
    later = col.tags.reject(2, "b")
    col.tags.undo(last)
    # One was refused before; one was refused since, which stays; one goes back to the first line.
    assert (col.tags.of(1), col.tags.of(2)) == (["b"], ["a"])
    assert col.tags.sources(1) == {"b": ["user"]}
    words = tag_tables.words(store_of(col))
    assert words == tag_log.words_of_log(tag_tables.lines(store_of(col)))
    assert later in {word.line for word in words.values()}
    col.tags.undo(first)
    assert col.tags.of_many([1, 2, 3]) == {1: [], 2: [], 3: []}


# -- names ----------------------------------------------------------------------------------


def test_joiners_inside_words_and_emoji() -> None:
    family, wales = "👨\u200d👩\u200d👧", "🏴\U000e0067\U000e0062\U000e007f"
    persian = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    for tag in (family, persian, f"{family} at home", "❤️", wales, "🇫🇷"):
        assert clean(tag) == tag
        assert usable([tag]) == [tag]
    for bad in ("\u200da", "a\u200d", "a \u200db", "a\u200d\u200db", "a\U000e0067b", "a\u202eb"):
        with pytest.raises(InvalidInput, match="cannot be printed"):
            clean(bad)
    assert usable(["\u200dsea\u200d", "a\u202eb", "\u200d"]) == ["sea", "ab"]


def test_completion_in_any_alphabet(col: Collection) -> None:
    col.tag(1, "Äpfel", "Ödland", "ΣΊΣΥΦΟΣ", "Straße", "a_b", "axb")
    assert col.tags.complete("äp") == ["Äpfel"]
    assert col.tags.complete("a\u0308") == ["Äpfel"]
    assert col.tags.complete("σίσ") == ["ΣΊΣΥΦΟΣ"]
    assert col.tags.complete("STRASSE") == ["Straße"]
    assert col.tags.complete("a_") == ["a_b"]


# -- suggestions ----------------------------------------------------------------------------


def test_a_copy_from_outside_is_not_explained_by_itself(col: Collection, tmp_path: Path) -> None:
    tag_some(col)
    col.tag(inside("red", 0), "only here")
    shutil.copy(inside("red", 0), tmp_path / "copy.png")
    found = col.suggest_tags(tmp_path / "copy.png", k=20)
    assert found[0].tag == "red"
    assert "only here" not in [s.tag for s in found]
    assert all(b.id != col.id_of(inside("red", 0)) for s in found for b in s.because)


def test_leaving_one_out_is_as_if_it_had_never_been_there(col: Collection) -> None:
    tag_some(col)
    whole = col.tags.suggester.evidence(("holistic",))
    found, rows = whole.rows_of(views_of(col), sorted(whole.tags)[:5])
    model = sparse_of(whole)
    held = model._pictures.dictionary
    for at, image in enumerate(found):
        (coded,) = whole.reconstruct(rows[at : at + 1], [image])
        other = Evidence(("holistic",))
        other.update(views_of(col))
        assert other._model is not None
        other._model.remove([image])
        (wanted,) = other.reconstruct(rows[at : at + 1])
        assert coded == wanted
        assert image not in dict(coded.shares)
    # Nothing was copied or moved for that.
    assert model._pictures.dictionary is held
    every = sorted(whole.tags)
    assert whole.reconstruct(rows[:1], every)[0].shares == []


def test_others_may_ask_while_a_run_goes_on(col: Collection) -> None:
    tag_some(col)
    free: list[bool] = []

    def ask() -> None:
        free.append(col.tags.suggester.lock.acquire(blocking=False))
        if free[-1]:
            col.tags.suggester.lock.release()

    def report(progress: Progress) -> None:
        if progress.stage == "suggesting tags":
            thread = threading.Thread(target=ask)
            thread.start()
            thread.join()

    run = col.tags.suggest_for_all(above=0.6, report=report)
    assert run.pictures == len(KINDS) * (EACH - 8)
    assert free == [True] * len(free) != []


def test_tags_given_while_a_run_goes_on(col: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    tag_some(col)
    monkeypatch.setattr(bulk_tagging, "BATCH", 2)
    late = inside("red", 10)

    def report(progress: Progress) -> None:
        if progress.stage == "suggesting tags" and progress.done == 2:
            col.tag(late, "mine")
            col.suggest_tags(late)  # takes in what is new

    col.tags.suggest_for_all(above=0.6, report=report)
    assert col.tags.sources(late) == {"mine": ["user"]}
    assert col.tags.suggest_for_all(above=0.6).resumed == 0


def test_bulk_refuses_what_makes_no_sense_and_dry_runs_tell_the_truth(col: Collection) -> None:
    tag_some(col)
    for bad in (0, -1, True, 2.5):
        with pytest.raises(InvalidInput, match="k is"):
            col.tags.suggest_for_all(k=bad)  # type: ignore[arg-type]
    dry = col.tags.suggest_for_all(above=0.6, dry_run=True)
    assert dry.pictures == col.tags.suggest_for_all(above=0.6).pictures > 0
    again = col.tags.suggest_for_all(above=0.6, dry_run=True)
    assert (again.pictures, again.found) == (0, {})
    assert again.resumed > 0
