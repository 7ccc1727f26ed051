"""Log statements about tags, and derive the tags in effect.

A log line names pictures by content and tags by name: *accept* gives the tags, *reject* refuses
them, *withdraw* withdraws an earlier line.  The newest line in effect about a picture and a tag
decides, and takes precedence over files, before and after a file is read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from likewise.catalog import tag_tables
from likewise.catalog.log_tables import append_entry
from likewise.catalog.store import Store, Transaction
from likewise.catalog.tag_tables import ACCEPT, REJECT, SUGGESTED, WITHDRAW, TagLine, Word
from likewise.errors import CollectionError
from likewise.learning.log import timestamp

# Tags belong to the collection, but a log line needs a profile; this one always exists.
_PROFILE = "default"


class TagLogLine(NamedTuple):
    """A log line about tags, with pictures by id where they are in the collection.

    Attributes
    ----------
    number : int
        Its place in the log.
    kind : str
        ``accept``, ``reject`` or ``withdraw``.
    made : str
        When.
    pictures : tuple of int
        Which.
    tags : tuple of str
        Their names.
    source : str
        Its source.
    stands : bool
        Whether it is in effect.
    withdraws : int or None
        The line it withdraws.
    who : str or None
        The named key it was written with; None: the owner.

    See Also
    --------
    TagRow : the tags in effect.
    """

    number: int
    kind: str
    made: str
    pictures: tuple[int, ...]
    tags: tuple[str, ...]
    source: str
    stands: bool
    withdraws: int | None
    who: str | None = None


def write_line_within(
    c: Transaction,
    store: Store,
    images: Sequence[int],
    tags: Sequence[str],
    kind: str,
    source: str,
    suggested: Sequence[int] = (),
) -> int | None:
    """Inside a transaction, log that a person gives or rejects tags; return the line's number.

    None if the line would change nothing.  The tags are also suggested for the pictures
    ``suggested``, which withdrawing the line undoes.
    """
    hashes = store.hashes(images)
    lost = next((image for image in images if image not in hashes), None)
    if lost is not None:
        raise CollectionError(f"picture {lost} was removed from the collection; reload")
    # The line omits pictures for which it changes nothing, so that undo does not change them.
    changed = {
        digest
        for digest in hashes.values()
        if not all(tag_tables.word_of(c, digest, tag) == (kind == ACCEPT, source) for tag in tags)
    }
    if not (changed or suggested) or not tags:
        return None
    body = {"pictures": sorted(d.hex() for d in changed), "tags": list(tags), "source": source}
    if suggested:
        further = store.hashes(suggested)
        body["suggested"] = sorted(digest.hex() for digest in further.values())
        tag_tables.put_sources(c, SUGGESTED, [(image, tag) for image in further for tag in tags])
    number = append_entry(c, _PROFILE, kind, timestamp(), 0, body)
    for digest in changed:
        for tag in tags:
            tag_tables.put_word(c, digest, tag, Word(kind == ACCEPT, source, number))
    return number


def withdraw(store: Store, number: int | None) -> TagLine:
    """Withdraw a line about tags (None: the newest in effect) and return it."""
    with store.write(durable=True) as c:
        line = tag_tables.active_line(store, number)
        if line is None and number is None:
            raise CollectionError("there is no change of tags to undo")
        if line is None:
            raise CollectionError(
                f"line {number} is no change of tags in effect; "
                "'likewise library tags log' lists them"
            )
        withdraw_within(c, store, line)
    return line


def withdraw_within(c: Transaction, store: Store, line: TagLine) -> tuple[set[bytes], set[bytes]]:
    """Withdraw a line in effect, inside a transaction.

    Return the pictures whose tags were restored, and those that stay because a later line is about
    them.
    """
    write_withdrawal(c, store, line)
    return put_back_within(c, store, line)


def write_withdrawal(c: Transaction, store: Store, line: TagLine) -> int:
    """Append the line that withdraws another one, without changing any tags."""
    return append_entry(c, _PROFILE, WITHDRAW, timestamp(), 0, {"line": line.number})


def put_back_within(c: Transaction, store: Store, line: TagLine) -> tuple[set[bytes], set[bytes]]:
    """Restore the tags from before a withdrawn line; return what :func:`withdraw_within` does."""
    before = _words_before(c, store, line)
    for (digest, tag), word in before.items():
        tag_tables.put_word(c, digest, tag, word)
    here = store.images_of_hashes(line.suggested).values()
    tag_tables.drop_sources(c, SUGGESTED, [(image, tag) for image in here for tag in line.tags])
    pairs = {(digest, tag) for digest in line.pictures for tag in line.tags}
    restored = {digest for digest, _ in before} | set(line.suggested)
    return restored, {digest for digest, _ in pairs - set(before)}


def restore_within(c: Transaction, store: Store, withdrawal: int) -> bool:
    """Undo a withdrawal, inside a transaction; return whether its line is in effect again.

    A later line about the same picture and tag still takes precedence.
    """
    line = tag_tables.line_withdrawn_by(store, withdrawal)
    if line is None:
        return False
    append_entry(c, _PROFILE, WITHDRAW, timestamp(), 0, {"line": withdrawal})
    for digest in line.pictures:
        for tag in line.tags:
            now = tag_tables.line_of_word(c, digest, tag)
            if now is None or now < line.number:
                word = Word(line.kind == ACCEPT, line.source, line.number)
                tag_tables.put_word(c, digest, tag, word)
    here = store.images_of_hashes(line.suggested).values()
    tag_tables.put_sources(c, SUGGESTED, [(image, tag) for image in here for tag in line.tags])
    return True


def _words_before(
    c: Transaction, store: Store, line: TagLine
) -> dict[tuple[bytes, str], Word | None]:
    """Return what counted before a line, for each picture and tag it decides now."""
    pairs = [(digest, tag) for digest in line.pictures for tag in line.tags]
    found: dict[tuple[bytes, str], Word | None] = dict.fromkeys(
        pair for pair in pairs if tag_tables.line_of_word(c, *pair) == line.number
    )
    missing = set(found)
    older = tag_tables.active_before(store, line)
    while missing and (one := next(older, None)) is not None:
        for pair, word in newest_words([one]).items():
            if pair in missing:
                found[pair] = word
                missing.discard(pair)
    return found


def newest_words(lines: Iterable[TagLine]) -> dict[tuple[bytes, str], Word]:
    """Return the newest statement of some lines in effect about each picture and tag."""
    return {
        (digest, tag): Word(line.kind == ACCEPT, line.source, line.number)
        for line in lines
        if line.kind in (ACCEPT, REJECT)
        for digest in line.pictures
        for tag in line.tags
    }


def words_of_log(lines: Sequence[TagLine]) -> dict[tuple[bytes, str], Word]:
    """Replay the whole log: the statement in effect for each picture and tag, as in the tables."""
    active: list[TagLine] = []
    withdrawn: set[int] = set()
    # A withdrawal can be withdrawn too, so the newest line comes first.
    for line in sorted(lines, key=lambda one: one.number, reverse=True):
        if line.number in withdrawn:
            continue
        if line.kind == WITHDRAW:
            withdrawn.add(line.withdraws or 0)
        else:
            active.append(line)
    return newest_words(reversed(active))


def list_lines(store: Store, newest: int | None = None) -> list[TagLogLine]:
    """Return the lines about tags, oldest first."""
    shown = tag_tables.lines(store, newest)
    gone = tag_tables.withdrawn_lines(store)
    here = store.images_of_hashes({digest for line in shown for digest in line.pictures})
    return [
        TagLogLine(
            line.number, line.kind, line.made,
            tuple(here[digest] for digest in line.pictures if digest in here), line.tags,
            line.source, line.number not in gone, line.withdraws, line.who,
        )
        for line in shown
    ]  # fmt: skip


def verify(store: Store) -> list[str]:
    """Return what is wrong with the tags, as sentences; empty when nothing is."""
    wrong = tag_tables.loose_tags(store)
    if tag_tables.words(store) != words_of_log(tag_tables.lines(store)):
        wrong.append("the tags that people gave or rejected differ from the log")
    return wrong
