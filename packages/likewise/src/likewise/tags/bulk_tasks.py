"""Suggested tags of a batch of pictures as a task: for this process, or for workers anywhere.

A worker has no catalog.  The tagged pictures go to it once, as a file; the rows of the pictures
that are asked about travel with the task.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from likewise.errors import CollectionError
from likewise.ingest.elsewhere import Elsewhere, Needs
from likewise.ingest.pool import Failure
from likewise.tags.evidence import Evidence, Reconstruction, Rows
from likewise.tags.suggest import best_tags

FILE = "evidence.npz"


class AskedPictures(NamedTuple):
    """Pictures that are asked about, their rows, and the tags that are not to be suggested.

    ``own`` are those of them that are evidence themselves.
    """

    images: list[int]
    rows: Rows
    own: frozenset[int]
    known: list[frozenset[str]]


class BestTags(NamedTuple):
    """(tag, score) of each picture that was asked about, the best first."""

    number: int
    found: list[list[tuple[str, float]]]


class SuggestTask(NamedTuple):
    """One batch; ``folder`` holds the file of the tagged pictures."""

    number: int
    folder: Path
    asked: AskedPictures
    k: int
    mix: float

    def needs(self) -> Needs:
        return Needs(None, self.folder, (FILE,))

    def at(self, there: Elsewhere) -> SuggestTask:
        return self._replace(folder=there.folder)

    def bring_back(self, answer: BestTags) -> BestTags:
        return answer


def suggest_best(
    evidence: Evidence, asked: AskedPictures, k: int, mix: float
) -> list[list[tuple[str, float]]]:
    """The k best tags of each picture, with their scores."""
    plain = [at for at, image in enumerate(asked.images) if image not in asked.own]
    tagged = [at for at, image in enumerate(asked.images) if image in asked.own]
    found: dict[int, Reconstruction] = dict(
        zip(plain, evidence.reconstruct(asked.rows[plain], (), mix) if plain else [], strict=True)
    )
    for at in tagged:
        # Those with tags are evidence themselves: each is asked about without itself alone.
        (found[at],) = evidence.reconstruct(asked.rows[at : at + 1], [asked.images[at]], mix)
    return [best_tags(found[at], k, asked.known[at]) for at in range(len(asked.images))]


def suggest_in_worker(task: SuggestTask) -> BestTags:
    """In a worker: a batch, by the tagged pictures of the file."""
    evidence = _open_evidence(str(task.folder / FILE))
    return BestTags(task.number, suggest_best(evidence, task.asked, task.k, task.mix))


def no_suggestion(task: SuggestTask, failure: Failure) -> BestTags:
    """Nothing is decoded here: whatever happened, it was not these pictures."""
    raise CollectionError(
        f"the tags of {len(task.asked.images)} pictures could not be computed ({failure.kind}); "
        "what was tagged is kept, and the same command goes on from there"
    )


@lru_cache(maxsize=1)
def _open_evidence(path: str) -> Evidence:
    return Evidence.open(Path(path))
