"""Bringing a store to what a collection holds: what differs is sent, what is gone is taken out.

The store itself says what it has (a fingerprint of each row, and the facts), so that nothing is
remembered here: whoever was killed starts again and sends the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from likewise.engines.protocol import Facts, Ids, Listed, RowStore, marks_of, plain_rows

Part = tuple[Ids, Any, Sequence[Facts]]
"""Ids, their rows and their facts."""


@dataclass(frozen=True)
class Differences:
    """Pictures that only one side has, and those whose rows or facts are not the same."""

    missing: tuple[int, ...] = ()
    extra: tuple[int, ...] = ()
    rows: tuple[int, ...] = ()
    facts: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return any((self.missing, self.extra, self.rows, self.facts))


@dataclass(frozen=True)
class Shipped:
    """What it took: pictures sent, with new tags only, taken out, and as they were.

    See Also
    --------
    ship : gives it.
    """

    sent: int = 0
    retagged: int = 0
    removed: int = 0
    unchanged: int = 0


def ship(
    parts: Iterable[Part], store: RowStore, *, report: Callable[[int], None] = lambda _: None
) -> Shipped:
    """Make the store hold exactly these rows.

    What differs is sent, what is gone is taken out; whoever was interrupted does it again.

    Parameters
    ----------
    parts : iterable of (ids, rows, facts)
        All there is to hold, part by part.
    store : RowStore
        Where to.
    report : callable, optional
        Hears how many were looked at.

    Returns
    -------
    Shipped
        What it took.

    See Also
    --------
    open_engine : gives stores by address.
    """
    there = {one.id: one for page in store.listed() for one in page}
    done = Shipped()
    seen = 0
    for ids, rows, facts in parts:
        made = plain_rows(store.kind, rows)
        marks = marks_of(store.kind, made)
        send, retag = _differences(ids, marks, facts, there)
        store.put(ids[send], made[send], [facts[i] for i in send.tolist()])
        store.retag(retag)
        for image in ids.tolist():
            there.pop(image, None)
        same = len(ids) - len(send) - len(retag)
        done = replace(
            done,
            sent=done.sent + len(send),
            retagged=done.retagged + len(retag),
            unchanged=done.unchanged + same,
        )
        seen += len(ids)
        report(seen)
    store.remove(np.array(list(there), np.int64))
    return replace(done, removed=len(there))


def update(images: Sequence[int], part: Part, store: RowStore) -> Shipped:
    """Bring just these pictures of a store to what the collection has of them.

    ``part`` holds those that it has; the others are taken out.
    """
    ids, rows, facts = part
    there = {one.id: one for one in store.listed_of(images)}
    made = plain_rows(store.kind, rows)
    send, retag = _differences(ids, marks_of(store.kind, made), facts, there)
    if len(send):
        store.put(ids[send], made[send], [facts[i] for i in send.tolist()])
    store.retag(retag)
    gone = sorted(there.keys() - set(ids.tolist()))
    if gone:
        store.remove(gone)
    same = len(ids) - len(send) - len(retag)
    return Shipped(len(send), len(retag), len(gone), same)


def _differences(
    ids: Ids, marks: Sequence[str], facts: Sequence[Facts], there: dict[int, Listed]
) -> tuple[Ids, dict[int, tuple[str, ...]]]:
    """Places of the rows that must be sent, and new tags of those that need nothing else."""
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
    return np.array(send, np.int64), retag


def differences(
    parts: Iterable[Part], store: RowStore, *, report: Callable[[int], None] = lambda _: None
) -> Differences:
    """What :func:`ship` would change; nothing is changed."""
    there = {one.id: one for page in store.listed() for one in page}
    missing: list[int] = []
    other_rows: list[int] = []
    other_facts: list[int] = []
    seen = 0
    for ids, rows, facts in parts:
        marks = marks_of(store.kind, plain_rows(store.kind, rows))
        for image, mark, said in zip(ids.tolist(), marks, facts, strict=True):
            old = there.pop(image, None)
            if old is None:
                missing.append(image)
            elif old.mark != mark:
                other_rows.append(image)
            elif old.facts != said:
                other_facts.append(image)
        seen += len(ids)
        report(seen)
    return Differences(tuple(missing), tuple(sorted(there)), tuple(other_rows), tuple(other_facts))
