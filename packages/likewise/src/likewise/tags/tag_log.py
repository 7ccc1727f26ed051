"""What people say about tags: lines of the log, and what stands of them.

A line names pictures by their content and tags by name: *accept* gives them, *reject* refuses them,
*withdraw* takes an earlier line back.  The newest line that stands about a picture and a tag is a
person's word, and it counts more than any file, before and after the file is read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from likewise.catalog import tag_tables
from likewise.catalog.log_tables import append_entry
from likewise.catalog.store import Store, Transaction
from likewise.catalog.tag_tables import ACCEPT, REJECT, SUGGESTED, WITHDRAW, TagLine, Word
from likewise.errors import CollectionError
from likewise.learning.log_lines import timestamp

_HOME = "default"
# The lines belong to the collection; the log wants a profile, and this one is always there.


class TagLogLine(NamedTuple):
    """A line about tags for people: pictures by id where they are here.

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
        Who says so.
    stands : bool
        Whether it still counts.
    withdraws : int or None
        The line it takes back.
    who : str or None
        The named key it was said with; None: the owner.

    See Also
    --------
    TagRow : what stands.
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


# -- saying ---------------------------------------------------------------------------------


def write_line(
    store: Store,
    images: Sequence[int],
    tags: Sequence[str],
    kind: str,
    source: str,
) -> int | None:
    """A person gives tags to pictures or refuses them: one line, on disk when this returns.

    None when every picture has that very word already.
    """
    with store.write(durable=True) as c:
        return write_line_within(c, store, images, tags, kind, source)


def write_line_within(
    c: Transaction,
    store: Store,
    images: Sequence[int],
    tags: Sequence[str],
    kind: str,
    source: str,
    suggested: Sequence[int] = (),
) -> int | None:
    """:func:`write_line` inside a transaction.

    The tags are suggested for the pictures ``suggested``, which withdrawing the line takes back.
    """
    hashes = store.hashes(images)
    lost = next((image for image in images if image not in hashes), None)
    if lost is not None:
        raise CollectionError(f"picture {lost} left the collection; look again")
    # Pictures about which nothing new is said are no part of the line: undo must not touch them.
    spoken = {
        digest
        for digest in hashes.values()
        if not all(tag_tables.word_of(c, digest, tag) == (kind == ACCEPT, source) for tag in tags)
    }
    if not (spoken or suggested) or not tags:
        return None
    body = {"pictures": sorted(d.hex() for d in spoken), "tags": list(tags), "source": source}
    if suggested:
        further = store.hashes(suggested)
        body["suggested"] = sorted(digest.hex() for digest in further.values())
        pairs = [(image, tag) for image in further for tag in tags]
        tag_tables.put_sources(c, SUGGESTED, pairs)
    number = append_entry(c, _HOME, kind, timestamp(), 0, body)
    for digest in spoken:
        for tag in tags:
            tag_tables.put_word(c, digest, tag, Word(kind == ACCEPT, source, number))
    return number


def withdraw(store: Store, number: int | None) -> TagLine:
    """Take back the newest line about tags that stands, or the one named; gives it.

    Tags are then what they would be had it never been said.
    """
    with store.write(durable=True) as c:
        line = tag_tables.standing_line(store, number)
        if line is None and number is None:
            raise CollectionError("nothing was said about tags that could be taken back")
        if line is None:
            raise CollectionError(
                f"line {number} is no word about tags that stands; 'likewise tags log' lists them"
            )
        withdraw_within(c, store, line)
    return line


def withdraw_within(c: Transaction, store: Store, line: TagLine) -> tuple[set[bytes], set[bytes]]:
    """:func:`withdraw` inside a transaction, of a line that stands.

    Gives the pictures whose tags went back, and those of which something else was said since, which
    is left alone.
    """
    write_withdrawal(c, store, line)
    return put_back_within(c, store, line)


def write_withdrawal(c: Transaction, store: Store, line: TagLine) -> int:
    """The line that takes another one back, and nothing of what follows from it."""
    return append_entry(c, _HOME, WITHDRAW, timestamp(), 0, {"line": line.number})


def put_back_within(c: Transaction, store: Store, line: TagLine) -> tuple[set[bytes], set[bytes]]:
    """What follows from a withdrawal of a line: the words that stood before it.

    Gives what :func:`withdraw_within` does.
    """
    before = _words_before(c, store, line)
    for (digest, tag), word in before.items():
        tag_tables.put_word(c, digest, tag, word)
    here = store.images_of_hashes(line.suggested).values()
    tag_tables.drop_sources(c, SUGGESTED, [(image, tag) for image in here for tag in line.tags])
    pairs = {(digest, tag) for digest in line.pictures for tag in line.tags}
    back = {digest for digest, _ in before} | set(line.suggested)
    return back, {digest for digest, _ in pairs - set(before)}


def restore_within(c: Transaction, store: Store, withdrawal: int) -> bool:
    """Take a withdrawal back, inside a transaction: the line it was about stands again.

    Whether it does: a withdrawal that was taken back before takes nothing back again.  A later line
    about the same picture and tag still counts more, as if nothing had ever been withdrawn.
    """
    line = tag_tables.line_withdrawn_by(store, withdrawal)
    if line is None:
        return False
    append_entry(c, _HOME, WITHDRAW, timestamp(), 0, {"line": withdrawal})
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
    """Of what a line said last, what stood before it; what was said anew since is left out."""
    pairs = [(digest, tag) for digest in line.pictures for tag in line.tags]
    found: dict[tuple[bytes, str], Word | None] = dict.fromkeys(
        pair for pair in pairs if tag_tables.line_of_word(c, *pair) == line.number
    )
    unsettled = set(found)
    older = tag_tables.standing_before(store, line)
    while unsettled and (one := next(older, None)) is not None:
        for pair, word in newest_words([one]).items():
            if pair in unsettled:
                found[pair] = word
                unsettled.discard(pair)
    return found


def standing_numbers(lines: Iterable[TagLine]) -> set[int]:
    """Numbers of the lines that count: said, and not taken back.

    A withdrawal can be taken back too, so the last word is read first.
    """
    found: set[int] = set()
    gone: set[int] = set()
    for line in sorted(lines, key=lambda one: one.number, reverse=True):
        if line.number in gone:
            continue
        if line.kind == WITHDRAW:
            gone.add(line.withdraws or 0)
        else:
            found.add(line.number)
    return found


def newest_words(lines: Iterable[TagLine]) -> dict[tuple[bytes, str], Word]:
    """The newest word about each picture and tag, from lines that stand."""
    return {
        (digest, tag): Word(line.kind == ACCEPT, line.source, line.number)
        for line in lines
        if line.kind in (ACCEPT, REJECT)
        for digest in line.pictures
        for tag in line.tags
    }


def words_of_log(lines: Sequence[TagLine]) -> dict[tuple[bytes, str], Word]:
    """What the whole log comes to: the tables must say the same."""
    alive = standing_numbers(lines)
    return newest_words(line for line in lines if line.number in alive)


def list_lines(store: Store, newest: int | None = None) -> list[TagLogLine]:
    """The lines about tags, oldest first."""
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
    """What is wrong with the tags, in sentences; empty when all is well."""
    wrong = tag_tables.loose_tags(store)
    if tag_tables.words(store) != words_of_log(tag_tables.lines(store)):
        wrong.append("what people said about tags is not what the log says")
    return wrong
