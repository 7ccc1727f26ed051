"""A database that others can write to: programs of theirs do not run in our name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from likewise.catalog import locations
from likewise.collection.collection import Collection
from likewise.errors import CollectionError, DamagedCollection
from likewise_cluster.postgres.addresses import read_address
from tests.cluster.postgres.cases import moved
from tests.cluster.postgres.server import Server

Run = Callable[[str], None]


@pytest.fixture(scope="module")
def there(server: Server, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run]:
    """A collection whose catalog is in PostgreSQL, and a way around Likewise to change it."""
    root = moved(server, tmp_path_factory.mktemp("hostile"))
    held = json.loads((root / locations.POINTER).read_text())["address"]
    schema = read_address(held).schema

    def run(statement: str) -> None:
        with psycopg.connect(server.plain_address()) as c:
            c.execute(f"SET search_path = {schema}")  # type: ignore[arg-type]
            c.execute(statement)  # type: ignore[arg-type]

    return root, run


THEFT = "CREATE FUNCTION theft() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"


@pytest.mark.parametrize(
    ("there_is", "told", "undone"),
    [
        (
            f"{THEFT}; CREATE TRIGGER sums_log_insert2 BEFORE INSERT ON log FOR EACH ROW "
            "EXECUTE FUNCTION theft()",
            "holds a function 'theft'",
            "DROP FUNCTION theft CASCADE",
        ),
        (
            # It calls a function of ours.
            "CREATE TRIGGER theft AFTER DELETE ON log EXECUTE FUNCTION follow_delete()",
            "holds a trigger 'theft'",
            "DROP TRIGGER theft ON log",
        ),
        (
            "CREATE TRIGGER theft BEFORE DELETE ON log FOR EACH ROW EXECUTE FUNCTION "
            "suppress_redundant_updates_trigger()",
            "holds a trigger 'theft'",
            "DROP TRIGGER theft ON log",
        ),
        (
            "CREATE RULE theft AS ON INSERT TO log DO ALSO DELETE FROM tags",
            "holds a rule 'theft'",
            "DROP RULE theft ON log",
        ),
        ("CREATE VIEW theft AS SELECT * FROM images", "holds a view", "DROP VIEW theft"),
        (
            "CREATE POLICY theft ON log USING (FALSE)",
            "holds a policy 'theft'",
            "DROP POLICY theft ON log",
        ),
        (
            "ALTER TABLE log DISABLE TRIGGER sums_log_insert",
            "lacks the trigger 'sums_log_insert'",
            "ALTER TABLE log ENABLE TRIGGER sums_log_insert",
        ),
    ],
)
def test_programs_of_somebody_else_are_refused(
    there: tuple[Path, Run], there_is: str, told: str, undone: str
) -> None:
    root, run = there
    run(there_is)
    try:
        with pytest.raises(DamagedCollection, match=told):
            Collection.open(root)
    finally:
        run(undone)
    with Collection.open(root) as col:
        assert col.verify() == []


@pytest.mark.parametrize("version", [999_999_999, 3, -1])
def test_a_version_that_nobody_made(there: tuple[Path, Run], version: int) -> None:
    root, run = there
    with Collection.open(root) as col:
        kept = col._store.one("SELECT version FROM catalog_state")
    run(f"UPDATE catalog_state SET version = {version}")
    try:
        with pytest.raises(CollectionError):
            Collection.open(root)
    finally:
        run(f"UPDATE catalog_state SET version = {kept}")


@pytest.mark.parametrize(
    ("change", "undone"),
    [
        (
            "UPDATE spaces SET recipe = '{' || recipe",
            "UPDATE spaces SET recipe = substr(recipe, 2)",
        ),
        (
            "UPDATE vectors SET vector = vector || '\\x00'::bytea",
            "UPDATE vectors SET vector = substr(vector, 1, length(vector) - 1)",
        ),
    ],
)
def test_values_of_other_kinds_are_told(there: tuple[Path, Run], change: str, undone: str) -> None:
    """Recipes that are no JSON, and vectors of the wrong length: damage, and no fault of ours."""
    root, run = there

    def search() -> None:
        with Collection.open(root) as col:
            col.search(1, k=3)

    run(change)
    try:
        with pytest.raises(CollectionError):
            search()
    finally:
        run(undone)
    search()
