"""Refuse programs in a PostgreSQL catalog that are not Likewise's own triggers and functions.

A database may have other users, and a folder may name any database.  A trigger, rule, view or
policy in the catalog's schema runs with our rights when we read or write.  Those that we did not
make are refused when the catalog is opened, as in a SQLite file (``schema.py``).  This does not
protect against the owner of the schema, who can change our own functions.
"""

from __future__ import annotations

import re

from likewise.catalog.schema import schema
from likewise.errors import DamagedCollection
from likewise_cluster.postgres import functions
from likewise_cluster.postgres.connections import Connection
from likewise_cluster.postgres.dialect import definition

_FOUND = """
SELECT 'trigger', t.tgname, c.relname || ' ' || p.proname FROM pg_trigger t
    JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid
    WHERE c.relnamespace = current_schema()::regnamespace AND NOT t.tgisinternal
    AND t.tgenabled <> 'D' AND p.pronamespace = c.relnamespace
UNION ALL SELECT 'trigger', t.tgname, 'of another schema' FROM pg_trigger t
    JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid
    WHERE c.relnamespace = current_schema()::regnamespace AND NOT t.tgisinternal
    AND p.pronamespace <> c.relnamespace
UNION ALL SELECT 'rule', rulename, '' FROM pg_rules WHERE schemaname = current_schema()
UNION ALL SELECT 'policy', policyname, '' FROM pg_policies WHERE schemaname = current_schema()
UNION ALL SELECT 'view', relname, '' FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('v', 'm', 'f')
UNION ALL SELECT 'function', proname, '' FROM pg_proc
    WHERE pronamespace = current_schema()::regnamespace
"""
_FUNCTION = re.compile(r"CREATE FUNCTION (\w+)")
_TRIGGER = re.compile(r"CREATE TRIGGER (?:IF NOT EXISTS )?(\w+)")
_MADE = re.compile(r"CREATE TRIGGER (\w+) .+? ON (\w+)\s.+?EXECUTE FUNCTION (\w+)\(\)", re.DOTALL)


def check_programs(connection: Connection, migrations: tuple[str, ...], name: str) -> None:
    """Refuse a catalog with foreign programs, or without some of ours."""
    made = schema(migrations)
    texts = [
        *map(definition, made.triggers),
        *(functions.follow(table.name) for table in made.tables),
    ]
    due = {
        ("trigger", trigger, f"{table} {function}")
        for text in texts
        for trigger, table, function in _MADE.findall(text)
    }
    # The functions of triggers that a later migration dropped are still there.
    known = {*_FUNCTION.findall(functions.BEFORE_TABLES), *_TRIGGER.findall(";".join(migrations))}
    found = {tuple(map(str, row)) for row in connection.run(_FOUND)}
    for kind, what, of in sorted(found):
        if (kind, what, of) not in due and not (kind == "function" and what in known):
            raise DamagedCollection(
                f"{name} holds a {kind} {what!r} that Likewise did not make; it would run with "
                "your rights: have it dropped, or restore a backup you trust"
            )
    gone = sorted(due - found)
    if gone:
        raise DamagedCollection(f"{name} lacks the trigger {gone[0][1]!r}; restore a backup")
