"""Facts: what describers found in pictures, and the words by which typed searches find them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from likewise.catalog.database import Transaction, marks

if TYPE_CHECKING:
    from likewise.catalog.store import Store


class FactRow(NamedTuple):
    """One fact of a picture; ``box`` is (left, top, right, bottom) in shares of its sides."""

    describer: str
    text: str
    score: float
    box: tuple[float, ...] | None


class DescriberState(NamedTuple):
    """The progress of a describer: pictures described, failed pictures, facts."""

    described: int
    failed: int
    facts: int


def describer_names(store: Store) -> list[str]:
    """Return the names of the describers that are turned on."""
    return [row[0] for row in store.all("SELECT name FROM describers ORDER BY name")]


def describer_state(store: Store, name: str) -> DescriberState:
    """Count what a describer has done."""
    (row,) = store.all(
        "SELECT count(*), count(problem) FROM described_images WHERE describer = ?", (name,)
    )
    facts = store.one("SELECT count(*) FROM facts WHERE describer = ?", (name,))
    return DescriberState(row[0] - row[1], row[1], facts)


def describer_problems(store: Store, name: str) -> dict[str, int]:
    """Return why a describer failed, and on how many pictures, most first."""
    rows = store.all(
        """SELECT problem, count(*) FROM described_images
           WHERE describer = ? AND problem IS NOT NULL
           GROUP BY problem ORDER BY count(*) DESC, problem""",
        (name,),
    )
    return dict(rows)


def images_without_facts(store: Store, name: str) -> list[int]:
    """Return the pictures that a describer has not tried yet."""
    rows = store.all(
        """SELECT id FROM images WHERE id NOT IN
           (SELECT image FROM described_images WHERE describer = ?) ORDER BY id""",
        (name,),
    )
    return [row[0] for row in rows]


def facts_of(store: Store, images: Sequence[int]) -> dict[int, list[FactRow]]:
    """Return the facts of some pictures (at most 500), by picture."""
    found: dict[int, list[FactRow]] = {}
    for image, name, text, score, box in store.all(
        f"""SELECT image, describer, text, score, box FROM facts
            WHERE image IN ({marks(images)}) ORDER BY image, describer, place""",
        tuple(images),
    ):
        place = None if box is None else tuple(json.loads(box))
        found.setdefault(image, []).append(FactRow(name, text, score, place))
    return found


def find_facts(store: Store, phrases: Iterable[str], *, beginnings: bool, most: int) -> list[int]:
    """Return the pictures whose facts have one of some folded phrases, ascending.

    With ``beginnings``, words that begin with the first phrase count too.
    """
    found: set[int] = set()
    for number, phrase in enumerate(dict.fromkeys(phrases)):
        parts = phrase.split()
        held = []
        for place, word in enumerate(parts, 1):
            begins = beginnings and number == 0 and place == len(parts)
            rows = store.all(
                "SELECT DISTINCT image FROM fact_words WHERE word >= ? AND word <= ? LIMIT ?",
                (word, f"{word}\U0010ffff" if begins else word, most),
            )
            held.append({row[0] for row in rows})
        found |= set.intersection(*held) if held else set()
    return sorted(found)


# -- writes, inside ``Store.write`` ----------------------------------------------------------


def put_describer(c: Transaction, name: str) -> None:
    """Turn a describer on."""
    c.execute("INSERT OR IGNORE INTO describers VALUES (?)", (name,))


def drop_describer(c: Transaction, name: str) -> None:
    """Turn a describer off and delete its facts."""
    for table in ("fact_words", "facts", "described_images"):
        c.execute(f"DELETE FROM {table} WHERE describer = ?", (name,))
    c.execute("DELETE FROM describers WHERE name = ?", (name,))


def forget_failures(c: Transaction, name: str, version: str) -> None:
    """Mark pictures as untried that failed or that another version described."""
    c.execute(
        "DELETE FROM described_images WHERE describer = ? "
        "AND (problem IS NOT NULL OR version <> ?)",
        (name, version),
    )


def put_facts(
    c: Transaction,
    name: str,
    version: str,
    image: int,
    facts: Sequence[tuple[str, float, tuple[float, ...] | None]],
    words: Iterable[str],
    problem: str | None = None,
) -> None:
    """Replace the facts of a picture and their words; ``problem`` says why there are none."""
    if c.execute("SELECT 1 FROM images WHERE id = ?", (image,)).fetchone() is None:
        return  # the picture was removed meanwhile
    for table in ("fact_words", "facts", "described_images"):
        c.execute(f"DELETE FROM {table} WHERE describer = ? AND image = ?", (name, image))
    c.execute("INSERT INTO described_images VALUES (?, ?, ?, ?)", (name, image, version, problem))
    c.executemany(
        "INSERT INTO facts VALUES (?, ?, ?, ?, ?, ?)",
        [
            (name, image, place, text, score, None if box is None else json.dumps(box))
            for place, (text, score, box) in enumerate(facts)
        ],
    )
    c.executemany(
        "INSERT INTO fact_words VALUES (?, ?, ?)", [(word, name, image) for word in words]
    )
