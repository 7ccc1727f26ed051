"""Suggest tags for many pictures: a job that can be killed at any moment and continues later.

Pictures are processed by id, a batch per transaction, which also records the progress.  The same
job with the same evidence continues after the last picture.  Suggestions are no evidence, so a run
never changes what it or the next one suggests.  Workers have no catalog: they get the tagged
pictures once, as a file, and the rows of a batch with each task.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from likewise.catalog import action_tables, tag_tables
from likewise.catalog.changes import drop_setting, put_setting
from likewise.catalog.database import parts
from likewise.catalog.jobs import Progress, Report
from likewise.catalog.store import Store, Transaction
from likewise.catalog.tag_tables import SUGGESTED
from likewise.errors import CollectionError
from likewise.ingest.pool import Failure, Workers, run
from likewise.ingest.remote_paths import Needs, RemotePaths
from likewise.search.views import Views
from likewise.spaces.registry import open_spaces
from likewise.tags.evidence import Evidence, Reconstruction, Rows, usable_spaces
from likewise.tags.suggest import Suggester, best_tags
from likewise_methods.validation import number, whole

RUN = "tag_run"
"""The setting that holds the progress of a run."""
BATCH = 64
SECONDS = 600.0
"""Processor time a worker may take for a batch, including reading the tagged pictures."""
_FILE = "evidence.npz"

ScoredTags = list[tuple[str, float]]
"""(tag, score) of a picture, the best first."""


@dataclass
class TagRun:
    """What a bulk run did.

    Attributes
    ----------
    pictures : int
        Pictures that were processed.
    tagged, tags : int
        Pictures that got suggestions, and how many.
    resumed : int
        The picture it continued after (0: from the beginning).
    measured : bool
        Whether confidences are measured on this collection.
    action : int or None
        The action that undoes it (None: no change).
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


class Batch(NamedTuple):
    """Pictures to suggest tags for, with their rows and the tags not to suggest.

    ``own`` are those that are themselves evidence.
    """

    images: list[int]
    rows: Rows
    own: frozenset[int]
    known: list[frozenset[str]]


class SuggestedBatch(NamedTuple):
    """What a worker returns: the tags of each picture of a batch."""

    number: int
    found: list[ScoredTags]


class SuggestTask(NamedTuple):
    """A batch for a worker; ``folder`` holds the file of the tagged pictures."""

    number: int
    folder: Path
    batch: Batch
    k: int
    mix: float

    def needs(self) -> Needs:
        return Needs(None, self.folder, (_FILE,))

    def at(self, there: RemotePaths) -> SuggestTask:
        return self._replace(folder=there.folder)

    def bring_back(self, answer: SuggestedBatch) -> SuggestedBatch:
        return answer


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
    """Suggest tags with at least a confidence of ``above`` for every picture without tags."""
    above, k = number(above, "above", above=0, most=1), whole(k, "k")
    store, result = views.store, TagRun()
    options = usable_spaces(open_spaces(store))
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
        before = store.setting(RUN)
        if before is not None and before.get("question") == question:
            result.resumed = int(before["upto"])
        todo = sorted(i for i in store.ids() if i > result.resumed)
        if not also_tagged:
            todo = [image for image in todo if image not in evidence.tags]
    if not dry_run:
        with store.write() as c:
            suggester.save_calibrations(c)
    changed = 0

    def show() -> None:
        report(Progress("suggesting tags", result.pictures, len(todo)))

    batches = _Batches(views, suggester, evidence, also_tagged, k, calibration.mix, todo, show)
    for last, scored in batches.suggest_here() if workers == 0 else batches.send(workers):
        found = {
            image: [(tag, sure) for tag, s in tags if (sure := calibration.confidence(s)) >= above]
            for image, tags in scored.items()
        }
        if dry_run:
            result.found |= {image: tags for image, tags in found.items() if tags}
        else:
            with store.write() as c:
                here = store.present(found)
                said = {i: [tag for tag, _ in found[i]] for i in found if i in here}
                gone, come = tag_tables.changes_of_source(c, SUGGESTED, said)
                tag_tables.replace_source(c, SUGGESTED, said)
                put_setting(c, RUN, {"question": question, "upto": last})
                if gone or come:
                    # The whole run is one action, to which each batch adds its changes.
                    result.action = result.action or action_tables.put_action(
                        c, store, action_tables.SUGGEST, 0, {"above": above}
                    )
                    changed += action_tables.put_suggestion_changes(c, result.action, gone, come)
                    action_tables.put_count(c, result.action, changed)
        result.pictures += len(found)
        result.tagged += sum(bool(tags) for tags in found.values())
        result.tags += sum(map(len, found.values()))
    return result


SuggestedPart = tuple[int, dict[int, ScoredTags]]
"""(last picture of a batch, tags of each of its pictures, none for those without a row)."""


class _Batches(NamedTuple):
    """The batches of a run, and how to suggest tags for them."""

    views: Views
    suggester: Suggester
    evidence: Evidence
    also_tagged: bool
    k: int
    mix: float
    todo: list[int]
    show: Callable[[], None]

    def suggest_here(self) -> Iterator[SuggestedPart]:
        """Yield batch after batch, suggested in this process."""
        for part in parts(self.todo, BATCH):
            self.show()
            # The lock is held for one batch, so that other suggestions wait no longer than that.
            with self.suggester.lock:
                wanted, batch = self._gather(part)
                found = suggest_best(self.evidence, batch, self.k, self.mix)
            yield (
                part[-1],
                dict.fromkeys(wanted, ScoredTags()) | dict(zip(batch.images, found, strict=True)),
            )

    def send(self, workers: Workers) -> Iterator[SuggestedPart]:
        """Yield batches in order, suggested by workers from the evidence at the start."""
        sent: dict[int, tuple[int, list[int], list[int]]] = {}
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            with self.suggester.lock:
                self.evidence.save(folder / _FILE, self.views)

            def tasks() -> Iterator[SuggestTask]:
                for at, part in enumerate(parts(self.todo, BATCH)):
                    with self.suggester.lock:
                        wanted, batch = self._gather(part)
                    sent[at] = part[-1], wanted, batch.images
                    yield SuggestTask(at, folder, batch, self.k, self.mix)

            done: dict[int, list[ScoredTags]] = {}
            following = 0
            for answer in run(
                suggest_in_worker, tasks(), workers, no_suggestion, tick=self.show, seconds=SECONDS
            ):
                done[answer.number] = answer.found
                while following in done:
                    last, wanted, images = sent.pop(following)
                    found = zip(images, done.pop(following), strict=True)
                    self.show()
                    yield last, dict.fromkeys(wanted, ScoredTags()) | dict(found)
                    following += 1

    def _gather(self, part: Sequence[int]) -> tuple[list[int], Batch]:
        """Return the pictures of a part that need tags, and a batch of those with rows."""
        tags = self.evidence.tags
        wanted = [image for image in part if self.also_tagged or image not in tags]
        images, rows = self.evidence.rows_of(self.views, wanted)
        refused = tag_tables.refused_of_many(self.views.store, wanted)
        known = [frozenset((*refused.get(i, ()), *tags.get(i, ()))) for i in images]
        return wanted, Batch(images, rows, frozenset(images) & tags.keys(), known)


def suggest_best(evidence: Evidence, batch: Batch, k: int, mix: float) -> list[ScoredTags]:
    """Return the k best tags of each picture of a batch."""
    plain = [at for at, image in enumerate(batch.images) if image not in batch.own]
    found: dict[int, Reconstruction] = dict(
        zip(plain, evidence.reconstruct(batch.rows[plain], (), mix) if plain else [], strict=True)
    )
    for at, image in enumerate(batch.images):
        if image in batch.own:
            # Tagged pictures are evidence themselves: each is left out for its own suggestion.
            (found[at],) = evidence.reconstruct(batch.rows[at : at + 1], [image], mix)
    return [best_tags(found[at], k, batch.known[at]) for at in range(len(batch.images))]


def suggest_in_worker(task: SuggestTask) -> SuggestedBatch:
    """Suggest tags for a batch in a worker, from the file of tagged pictures."""
    evidence = _open_evidence(str(task.folder / _FILE))
    return SuggestedBatch(task.number, suggest_best(evidence, task.batch, task.k, task.mix))


def no_suggestion(task: SuggestTask, failure: Failure) -> SuggestedBatch:
    """Stop the run: nothing is decoded here, so the failure is not due to these pictures."""
    raise CollectionError(
        f"the tags of {len(task.batch.images)} pictures could not be computed ({failure.kind}); "
        "what was tagged is kept; run the same command again to continue"
    )


@lru_cache(maxsize=1)
def _open_evidence(path: str) -> Evidence:
    return Evidence.open(Path(path))


def clear_suggestions(store: Store) -> int:
    """Delete every suggestion that was not accepted; return how many there were."""
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
    """Pictures whose suggestions were restored, and those changed since and left alone."""

    back: set[bytes]
    left: set[bytes]


def undo_suggestions(c: Transaction, store: Store, action: int) -> SuggestionsUndone:
    """Inside a transaction, restore the suggestions from before an action.

    Suggestions that were accepted, rejected or changed since stay.
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
        if image is None or there != one.came or word is not None:
            result.left.add(one.hash)
            continue
        (off if one.came else back).append((image, one.tag))
        result.back.add(one.hash)
    tag_tables.drop_sources(c, SUGGESTED, off)
    tag_tables.put_sources(c, SUGGESTED, back)
    drop_setting(c, RUN)  # the next run looks at all pictures again
    return result
