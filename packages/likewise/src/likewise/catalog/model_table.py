"""The catalog's table of learned metrics and maps: what each is, and the files it is kept in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from likewise.catalog.database import Row
from likewise.catalog.names import check_names
from likewise.catalog.store import Store, Transaction, marks, parts, read_json
from likewise.catalog.sums import LINE, check_line


@dataclass(frozen=True)
class Model:
    """A learned metric or map: a similarity of its own, good for one generation of one space only.

    Attributes
    ----------
    name : str
        What a search calls it by.
    kind : str
        A metric or a map.
    space : str
        Whose vectors it was learned over.
    generation : int
        Of that space.
    profile : str
        Whose judgements it was learned from.
    position : int
        Up to which line of the log.
    made : str
        When.
    files : mapping of str to str
        What it is kept in.
    options : mapping
        How it was asked for.
    figures : mapping
        What came of it.

    See Also
    --------
    MapPoints : where a map draws pictures.
    """

    name: str
    kind: str
    space: str
    generation: int
    profile: str
    position: int
    made: str
    files: Mapping[str, str]
    options: Mapping[str, Any]
    figures: Mapping[str, Any]


def models(store: Store) -> dict[str, Model]:
    """Every learned model by name."""
    rows = store.all("SELECT * FROM models ORDER BY name")
    return {row["name"]: _model(row) for row in rows}


def model(store: Store, name: str) -> Model | None:
    rows = store.all("SELECT * FROM models WHERE name = ?", (name,))
    return _model(rows[0]) if rows else None


def bodies(store: Store, numbers: Iterable[int]) -> dict[int, dict[str, Any]]:
    """What lines of the log say, by their numbers."""
    found: dict[int, dict[str, Any]] = {}
    for part in parts(list(numbers)):
        rows = store.all(f"SELECT {LINE} FROM log WHERE number IN ({marks(part)})", part)
        found |= {row["number"]: json.loads(check_line(row)["body"]) for row in rows}
    return found


def last_vector(store: Store, space: str, generation: int) -> int:
    """The newest number of a fresh row; 0 when there is none."""
    return int(
        store.one(
            "SELECT max(number) FROM vectors WHERE space = ? AND generation = ?",
            (space, generation),
        )
        or 0
    )


def last_tombstone(store: Store) -> int:
    return int(store.one("SELECT max(number) FROM tombstones") or 0)


def _model(row: Row) -> Model:
    return Model(
        row["name"], row["kind"], row["space"], row["generation"], row["profile"],
        row["position"], row["made"], check_names(read_json(row["files"], "files")),
        read_json(row["options"], "options"), read_json(row["figures"], "figures"),
    )  # fmt: skip


# -- writes, inside ``Store.write`` ----------------------------------------------------------


def put_model(c: Transaction, made: Model) -> None:
    """A model under its name, in the place of the one that had it."""
    c.execute(
        "INSERT OR REPLACE INTO models VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            made.name, made.kind, made.space, made.generation, made.profile, made.position,
            made.made, json.dumps(dict(made.files)), json.dumps(dict(made.options)),
            json.dumps(dict(made.figures)),
        ),
    )  # fmt: skip


def drop_model(c: Transaction, name: str) -> None:
    c.execute("DELETE FROM models WHERE name = ?", (name,))


def rename_model(c: Transaction, name: str, new: str) -> None:
    c.execute("UPDATE models SET name = ? WHERE name = ?", (new, name))
