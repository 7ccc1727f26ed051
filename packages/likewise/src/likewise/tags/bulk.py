"""Suggested tags for many pictures: a job that can be killed at any moment and goes on.

Pictures are taken in the order of their ids, a batch a transaction, and the same transaction says
how far the run is.  A run that is started again with the same question and the same evidence goes
on behind that picture; once it is through, starting it again finds only pictures that are new.
Suggestions are no evidence, so a run never changes what it or the next one would suggest.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from likewise.catalog import action_tables, tag_tables
from likewise.catalog.changes import drop_setting, put_setting
from likewise.catalog.database import parts
from likewise.catalog.jobs import Progress, Report
from likewise.catalog.store import Store, Transaction
from likewise.catalog.tag_tables import SUGGESTED
from likewise.ingest.pool import Workers, run
from likewise.search.views import Views
from likewise.spaces.registry import open_spaces
from likewise.tags.bulk_tasks import (
    FILE,
    AskedPictures,
    SuggestTask,
    no_suggestion,
    suggest_best,
    suggest_in_worker,
)
from likewise.tags.calibration import Calibration
from likewise.tags.evidence import Evidence, usable_spaces
from likewise.tags.suggest import Suggester
from likewise_methods.validation import number, whole

RUN = "tag_run"
"""The setting that says how far a bulk run is."""
BATCH = 64
SECONDS = 600.0
"""Processor time a worker may take for a batch, with reading the tagged pictures first."""


@dataclass
class TagRun:
    """What a bulk run did.

    Attributes
    ----------
    pictures : int
        Looked at.
    tagged, tags : int
        Pictures that got suggestions, and how many.
    resumed : int
        Where it went on (0: from the beginning).
    measured : bool
        Whether confidences are measured on this collection.
    action : int or None
        What undoes it (None: nothing changed).
    found : dict of int to list of (str, float)
        Filled by a dry run: picture to (tag, confidence).

    See Also
    --------
    Suggestion : one picture's.
    """

    pictures: int = 0
    tagged: int = 0
    tags: int = 0
    resumed: int = 0
    measured: bool = False
    action: int | None = None
    found: dict[int, list[tuple[str, float]]] = field(default_factory=dict)


def suggest_for_all(
    views: Views,
    suggester: Suggester,
    *,
    above: float,
    k: int,
    also_tagged: bool,
    dry_run: bool,
    report: Report,
    workers: Workers = 0,
) -> TagRun:
    """Suggested tags with at least a confidence of ``above`` for every picture that wants them.

    With workers the tagged pictures are those of the beginning.
    """
    above, k = number(above, "above", above=0, most=1), whole(k, "k")
    result = TagRun()
    options = usable_spaces(open_spaces(views.store))
    with suggester.lock:
        evidence = suggester.evidence(options[0]) if options else None
        if evidence is None or not len(evidence):
            return result
        calibration = suggester.calibration(evidence, exact=True, report=report)
        result.measured = calibration.is_measured
        question = {
            "above": above, "k": k, "also_tagged": also_tagged, "number": evidence.number,
            "spaces": [list(one) for one in calibration.spaces],
        }  # fmt: skip
        before = views.store.setting(RUN)
        if before is not None and before.get("question") == question:
            result.resumed = int(before["upto"])
        todo = sorted(i for i in views.store.ids() if i > result.resumed)
        if not also_tagged:
            todo = [image for image in todo if image not in evidence.tags]
    changed = 0

    def tell() -> None:
        report(Progress("suggesting tags", result.pictures, len(todo)))

    batches = _Batches(views, suggester, evidence, also_tagged, k, calibration.mix)
    suggested = (
        batches.suggest_here(todo, tell) if workers == 0 else batches.send(todo, workers, tell)
    )
    for part, best in suggested:
        found = {
            image: [
                (tag, sure)
                for tag, score in some
                if (sure := calibration.confidence(score)) >= above
            ]
            for image, some in best.items()
        }
        if dry_run:
            result.found |= {image: tags for image, tags in found.items() if tags}
        else:
            with views.store.write() as c:
                here = views.store.present(found)
                said = {i: [tag for tag, _ in found[i]] for i in found if i in here}
                gone, come = tag_tables.changes_of_source(c, SUGGESTED, said)
                tag_tables.replace_source(c, SUGGESTED, said)
                put_setting(c, RUN, {"question": question, "upto": part[-1]})
                if gone or come:
                    # One action for the whole run, and each batch of it undone as it was done.
                    result.action = result.action or action_tables.put_action(
                        c, views.store, action_tables.SUGGEST, 0, {"above": above}
                    )
                    changed += action_tables.put_suggestion_changes(c, result.action, gone, come)
                    action_tables.put_count(c, result.action, changed)
        result.pictures += len(part)
        result.tagged += sum(bool(tags) for tags in found.values())
        result.tags += sum(map(len, found.values()))
    return result


def _sure_enough(
    best: Sequence[tuple[str, float]], calibration: Calibration, above: float
) -> list[tuple[str, float]]:
    """(tag, confidence) of those with enough of it."""
    scored = ((tag, calibration.confidence(score)) for tag, score in best)
    return [one for one in scored if one[1] >= above]


BestOf = dict[int, list[tuple[str, float]]]
"""(tag, score) of pictures, the best first; none for those without a row."""


class _Batch(NamedTuple):
    """Pictures of a part that are wanted, and those of them that have a row, with it."""

    wanted: list[int]
    asked: AskedPictures

    def whole(self, best: list[list[tuple[str, float]]]) -> BestOf:
        """What was found, by picture; pictures without a row get nothing."""
        found = dict(zip(self.asked.images, best, strict=True))
        return {image: found.get(image, []) for image in self.wanted}


class _Batches(NamedTuple):
    """How the pictures of a run are asked about, a batch at a time."""

    views: Views
    suggester: Suggester
    evidence: Evidence
    also_tagged: bool
    k: int
    mix: float

    def suggest_here(
        self, todo: list[int], tell: Callable[[], None]
    ) -> Iterator[tuple[Sequence[int], BestOf]]:
        """Batch after batch in this process."""
        for part in parts(todo, BATCH):
            tell()
            # A batch at a time: whoever looks at a picture meanwhile waits no longer than that.
            # Tags given meanwhile count from then on, and let the next run begin anew.
            with self.suggester.lock:
                batch = self._ask(part)
                best = suggest_best(self.evidence, batch.asked, self.k, self.mix)
            yield part, batch.whole(best)

    def send(
        self, todo: list[int], workers: Workers, tell: Callable[[], None]
    ) -> Iterator[tuple[Sequence[int], BestOf]]:
        """Batches by workers, in their order whoever was first: a run goes on behind the last."""
        batches: dict[int, tuple[Sequence[int], _Batch]] = {}
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            with self.suggester.lock:
                self.evidence.save(folder / FILE, self.views)

            def tasks() -> Iterator[SuggestTask]:
                for number, part in enumerate(parts(todo, BATCH)):
                    with self.suggester.lock:
                        batch = self._ask(part)
                    batches[number] = part, batch
                    yield SuggestTask(number, folder, batch.asked, self.k, self.mix)

            done: dict[int, list[list[tuple[str, float]]]] = {}
            following = 0
            answers = run(
                suggest_in_worker, tasks(), workers, no_suggestion, tick=tell, seconds=SECONDS
            )
            for answer in answers:
                done[answer.number] = answer.found
                while following in done:
                    part, batch = batches.pop(following)
                    tell()
                    yield part, batch.whole(done.pop(following))
                    following += 1

    def _ask(self, part: Sequence[int]) -> _Batch:
        tags = self.evidence.tags
        wanted = [image for image in part if self.also_tagged or image not in tags]
        found, rows = self.evidence.rows_of(self.views, wanted)
        refused = tag_tables.refused_of_many(self.views.store, wanted)
        known = [frozenset((*refused.get(i, ()), *tags.get(i, ()))) for i in found]
        own = frozenset(found) & tags.keys()
        return _Batch(wanted, AskedPictures(found, rows, own, known))


def clear_suggestions(store: Store) -> int:
    """Take back every suggestion nobody confirmed; gives how many there were."""
    said = tag_tables.tags_by_source(store, SUGGESTED)
    nothing: dict[int, tuple[str, ...]] = dict.fromkeys(said, ())
    with store.write() as c:
        gone, come = tag_tables.changes_of_source(c, SUGGESTED, nothing)
        tag_tables.replace_source(c, SUGGESTED, nothing)
        drop_setting(c, RUN)
        if gone:
            action = action_tables.put_action(c, store, action_tables.CLEAR, len(said), {})
            action_tables.put_suggestion_changes(c, action, gone, come)
    return len(gone)


class SuggestionsUndone(NamedTuple):
    """Pictures whose suggestions went back, and those with one that was changed since."""

    back: set[bytes]
    left: set[bytes]


def undo_suggestions(c: Transaction, store: Store, action: int) -> SuggestionsUndone:
    """Inside a transaction: suggestions as they were before an action.

    One that a person accepted or rejected since, or that is no longer as the action left it, is
    left alone.
    """
    result = SuggestionsUndone(set(), set())
    changes = action_tables.suggestion_changes(store, action)
    images = store.images_of_hashes({one.hash for one in changes})
    said = tag_tables.tags_by_source(store, SUGGESTED)
    back: list[tuple[int, str]] = []
    off: list[tuple[int, str]] = []
    for one in changes:
        image = images.get(one.hash)
        there = image is not None and one.tag in said.get(image, ())
        word = tag_tables.word_of(c, one.hash, one.tag)
        as_left = image is not None and there == one.came and word is None
        if image is None or not as_left:
            result.left.add(one.hash)
            continue
        (off if one.came else back).append((image, one.tag))
        result.back.add(one.hash)
    tag_tables.drop_sources(c, SUGGESTED, off)
    tag_tables.put_sources(c, SUGGESTED, back)
    drop_setting(c, RUN)  # the next run looks at all pictures again
    return result
