"""Update a store to the rows of a collection: send what differs, delete what was removed.

The store lists its content (a fingerprint of each row, and the facts), so no state is kept here,
and an interrupted run starts again and sends the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from likewise.engines.protocol import Facts, Ids, Listed, RowStore, plain_rows
from likewise_cluster.engines.rows import marks_of

Part = tuple[Ids, Any, Sequence[Facts]]
"""Ids, their rows and their facts."""


@dataclass(frozen=True)
class Differences:
    """Pictures that only one side has, and those whose rows or facts differ."""

    missing: tuple[int, ...] = ()
    extra: tuple[int, ...] = ()
    rows: tuple[int, ...] = ()
    facts: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return any((self.missing, self.extra, self.rows, self.facts))


@dataclass(frozen=True)
class Sent:
    """Counts of pictures: sent, sent with new tags only, removed, unchanged."""

    sent: int = 0
    retagged: int = 0
    removed: int = 0
    unchanged: int = 0


def send_all(
    parts: Iterable[Part], store: RowStore, *, report: Callable[[int], None] = lambda _: None
) -> Sent:
    """Make a store hold exactly these rows; ``report`` gets how many were compared."""
    there = _listed(store)
    done, seen = Sent(), 0
    for part in parts:
        sent = _send(part, store, there)
        done = replace(
            done,
            sent=done.sent + sent.sent,
            retagged=done.retagged + sent.retagged,
            unchanged=done.unchanged + sent.unchanged,
        )
        for image in part[0].tolist():
            there.pop(image, None)
        seen += len(part[0])
        report(seen)
    store.remove(np.array(list(there), np.int64))
    return replace(done, removed=len(there))


def send_some(images: Sequence[int], part: Part, store: RowStore) -> Sent:
    """Bring only these pictures of a store up to date.

    ``part`` holds those that the collection has; the others are deleted from the store.
    """
    there = _listed(store, images)
    done = _send(part, store, there)
    gone = sorted(there.keys() - set(part[0].tolist()))
    if gone:
        store.remove(gone)
    return replace(done, removed=len(gone))


def differences(
    parts: Iterable[Part], store: RowStore, *, report: Callable[[int], None] = lambda _: None
) -> Differences:
    """Return what :func:`send_all` would change; nothing is changed."""
    there = _listed(store)
    missing: list[int] = []
    other_rows: list[int] = []
    other_facts: list[int] = []
    seen = 0
    for ids, rows, facts in parts:
        marks = marks_of(store.kind, plain_rows(store.kind, rows))
        for image, mark, fact in zip(ids.tolist(), marks, facts, strict=True):
            old = there.pop(image, None)
            if old is None:
                missing.append(image)
            elif old.mark != mark:
                other_rows.append(image)
            elif old.facts != fact:
                other_facts.append(image)
        seen += len(ids)
        report(seen)
    return Differences(tuple(missing), tuple(sorted(there)), tuple(other_rows), tuple(other_facts))


def _listed(store: RowStore, images: Sequence[int] | None = None) -> dict[int, Listed]:
    return {one.id: one for page in store.listed(images) for one in page}


def _send(part: Part, store: RowStore, there: dict[int, Listed]) -> Sent:
    """Send those rows and tags of a part that differ from what the store lists."""
    ids, rows, facts = part
    made = plain_rows(store.kind, rows)
    marks = marks_of(store.kind, made)
    send: list[int] = []
    retag: dict[int, tuple[str, ...]] = {}
    for i, image in enumerate(ids.tolist()):
        old = there.get(image)
        if old is None or old.mark != marks[i]:
            send.append(i)
        elif old.facts != facts[i]:
            if replace(old.facts, tags=facts[i].tags) == facts[i]:
                retag[image] = facts[i].tags
            else:
                send.append(i)
    if send:
        store.put(ids[send], made[send], [facts[i] for i in send])
    store.retag(retag)
    return Sent(len(send), len(retag), 0, len(ids) - len(send) - len(retag))
