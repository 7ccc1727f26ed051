"""Suggested tags for many pictures: a job that can be killed at any moment and goes on.

Pictures are taken in the order of their ids, a batch a transaction, and the same transaction says
how far the run is.  A run that is started again with the same question and the same evidence goes
on behind that picture; once it is through, starting it again finds only pictures that are new.
Suggestions are no evidence, so a run never changes what it or the next one would suggest.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from likewise._validation import number, whole
from likewise.collection.jobs import Progress, Report
from likewise.collection.search.views import Views
from likewise.collection.spaces.registry import open_spaces
from likewise.collection.store import action_tables, tag_tables
from likewise.collection.store.changes import drop_setting, put_setting
from likewise.collection.store.store import Store, Transaction, parts
from likewise.collection.store.tag_tables import SUGGESTED
from likewise.collection.tags.calibration import Calibration
from likewise.collection.tags.evidence import Evidence, Reconstruction, usable_spaces
from likewise.collection.tags.suggest import Suggester, best_tags

RUN = "tag_run"
"""The setting that says how far a bulk run is."""
BATCH = 64


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
) -> TagRun:
    """Suggested tags with at least a confidence of ``above`` for every picture that wants them."""
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
    for part in parts(todo, BATCH):
        report(Progress("suggesting tags", result.pictures, len(todo)))
        # A batch at a time: whoever looks at a picture meanwhile waits no longer than that.  Tags
        # given meanwhile count from then on, and let the next run begin anew.
        with suggester.lock:
            wanted = [image for image in part if also_tagged or image not in evidence.tags]
            found = _suggest_batch(views, evidence, wanted, above, k, calibration)
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


def _suggest_batch(
    views: Views,
    evidence: Evidence,
    part: Iterable[int],
    above: float,
    k: int,
    calibration: Calibration,
) -> dict[int, list[tuple[str, float]]]:
    """(tag, confidence) for a batch; pictures without a row get none."""
    images, mix = list(part), calibration.mix
    found, rows = evidence.rows_of(views, images)
    refused = tag_tables.refused_of_many(views.store, images)
    made: dict[int, list[tuple[str, float]]] = {image: [] for image in images}
    tagged = [at for at, image in enumerate(found) if image in evidence.tags]
    plain = [at for at, image in enumerate(found) if image not in evidence.tags]
    # Those with tags are evidence themselves: each is asked about without itself alone.
    reconstructions: list[tuple[int, Reconstruction]] = list(
        zip(plain, evidence.reconstruct(rows[plain], (), mix) if plain else [], strict=True)
    )
    reconstructions += [
        (at, evidence.reconstruct(rows[at : at + 1], [found[at]], mix)[0]) for at in tagged
    ]
    for at, reconstruction in reconstructions:
        image = found[at]
        known = {*refused.get(image, ()), *evidence.tags.get(image, ())}
        best = best_tags(reconstruction, k, known)
        scored = ((tag, calibration.confidence(score)) for tag, score in best)
        made[image] = [one for one in scored if one[1] >= above]
    return made


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
    images = tag_tables.images_of(store, {one.hash for one in changes})
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
