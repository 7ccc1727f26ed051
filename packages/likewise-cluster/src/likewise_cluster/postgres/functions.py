"""What a PostgreSQL catalog has besides tables: functions, checksums, the full-text index.

Functions that only SQLite has are defined here under the same names.  Triggers update the checksums
(see ``sums.py``) after every statement of any client: the digest of a row is the first half of
SHA-256 over its text, that of a table the sum over its rows.  A transaction keeps its changes in
its own settings, which a failed transaction loses, and writes them at its end (``end_change``).
"""

from __future__ import annotations

from collections.abc import Iterable

INCOMING, LIVE, MOVED_OUT = "incoming", "live", "left"
"""States of a catalog: being moved here, the truth, moved away."""

STATE = """
CREATE TABLE catalog_state (
    one BIGINT PRIMARY KEY CHECK (one = 1), version BIGINT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('incoming', 'live', 'left')),
    collection TEXT NOT NULL, token TEXT NOT NULL
)"""

BEFORE_TABLES = """
CREATE FUNCTION next_line() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT coalesce(max(number), 0) + 1 FROM log);
END $$;

CREATE FUNCTION instr(text, text) RETURNS integer IMMUTABLE STRICT LANGUAGE sql AS
    'SELECT strpos($1, $2)';

CREATE FUNCTION as_integer(text) RETURNS bigint IMMUTABLE STRICT LANGUAGE plpgsql AS $$
BEGIN
    RETURN $1::bigint;
EXCEPTION WHEN data_exception THEN
    RETURN 0;
END $$;

CREATE FUNCTION json_valid(text) RETURNS boolean IMMUTABLE STRICT LANGUAGE plpgsql AS $$
BEGIN
    RETURN $1::json IS NOT NULL;
EXCEPTION WHEN data_exception THEN
    RETURN FALSE;
END $$;

CREATE FUNCTION json_part(body text, path text) RETURNS json IMMUTABLE STRICT LANGUAGE plpgsql AS $$
BEGIN
    RETURN body::json -> (CASE WHEN path LIKE '$."%"' THEN substr(path, 4, length(path) - 4)
                          ELSE substr(path, 3) END);
EXCEPTION WHEN data_exception THEN
    RETURN NULL;
END $$;

CREATE FUNCTION json_type(body text, path text) RETURNS text IMMUTABLE STRICT LANGUAGE plpgsql AS $$
DECLARE
    part json := json_part(body, path);
BEGIN
    RETURN CASE json_typeof(part)
        WHEN 'string' THEN 'text' WHEN 'boolean' THEN part::text
        WHEN 'number' THEN CASE WHEN part::text ~ '^-?[0-9]+$' THEN 'integer' ELSE 'real' END
        ELSE json_typeof(part) END;
END $$;

CREATE FUNCTION json_plain(part json) RETURNS text IMMUTABLE STRICT LANGUAGE plpgsql AS $$
BEGIN
    RETURN CASE json_typeof(part)
        WHEN 'boolean' THEN CASE part::text WHEN 'true' THEN '1' ELSE '0' END
        ELSE part #>> '{}' END;
EXCEPTION WHEN data_exception THEN
    RETURN NULL;
END $$;

CREATE FUNCTION json_extract(body text, path text) RETURNS text IMMUTABLE STRICT LANGUAGE sql AS
    'SELECT json_plain(json_part(body, path))';

CREATE FUNCTION json_each(body text) RETURNS TABLE (key text, value text)
IMMUTABLE STRICT LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT one.key COLLATE "C", json_plain(one.value)
        FROM pg_catalog.json_each(body::json) AS one;
EXCEPTION WHEN data_exception THEN
    RETURN;
END $$;

CREATE FUNCTION json_each(body text, path text) RETURNS TABLE (key text, value text)
IMMUTABLE STRICT LANGUAGE plpgsql AS $$
DECLARE
    part json := json_part(body, path);
BEGIN
    IF json_typeof(part) = 'array' THEN
        RETURN QUERY SELECT (one.place - 1)::text, json_plain(one.value)
            FROM json_array_elements(part) WITH ORDINALITY AS one (value, place);
    END IF;
END $$;

CREATE FUNCTION metadata_is(body text, path text, wanted text) RETURNS boolean
IMMUTABLE LANGUAGE sql AS $$
    SELECT CASE WHEN json_type(body, path) IN ('text', 'array', 'object')
        THEN lower(json_extract(body, path) COLLATE "C") = lower(wanted COLLATE "C")
        WHEN json_type(body, path) = 'null' OR json_type(body, path) IS NULL THEN NULL
        ELSE FALSE END $$;

CREATE FUNCTION metadata_is(body text, path text, wanted numeric) RETURNS boolean
IMMUTABLE LANGUAGE sql AS $$
    SELECT CASE WHEN json_type(body, path) IN ('integer', 'real', 'true', 'false')
        THEN json_extract(body, path)::numeric = wanted
        WHEN json_type(body, path) = 'null' OR json_type(body, path) IS NULL THEN NULL
        ELSE FALSE END $$;

CREATE FUNCTION metadata_is(body text, path text, wanted bigint) RETURNS boolean
IMMUTABLE LANGUAGE sql AS 'SELECT metadata_is(body, path, wanted::numeric)';

CREATE FUNCTION metadata_is(body text, path text, wanted double precision) RETURNS boolean
IMMUTABLE LANGUAGE sql AS $$
    SELECT CASE WHEN json_type(body, path) IN ('integer', 'real', 'true', 'false')
        THEN json_extract(body, path)::double precision = wanted
        WHEN json_type(body, path) = 'null' OR json_type(body, path) IS NULL THEN NULL
        ELSE FALSE END $$;

CREATE TABLE sums (name TEXT PRIMARY KEY, digest NUMERIC NOT NULL, n_rows BIGINT NOT NULL);

CREATE FUNCTION row_digest(text) RETURNS numeric IMMUTABLE STRICT LANGUAGE sql AS $$
    SELECT ('x' || substr(sha, 1, 16))::bit(64)::bigint::numeric * 18446744073709551616
        + ('x' || substr(sha, 17, 16))::bit(64)::bigint::numeric
    FROM (SELECT encode(sha256(convert_to($1, 'UTF8')), 'hex') AS sha) AS one $$;

CREATE FUNCTION in_128_bits(numeric) RETURNS numeric IMMUTABLE STRICT LANGUAGE sql AS $$
    SELECT mod(mod($1, 340282366920938463463374607431768211456)
               + 340282366920938463463374607431768211456,
               340282366920938463463374607431768211456) $$;

CREATE FUNCTION note_change(name text, change numeric, n bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    place text := 'likewise.sum_' || name;
    held text := current_setting(place, TRUE);
BEGIN
    IF change = 0 AND n = 0 THEN
        RETURN;
    END IF;
    IF held <> '' THEN
        change := change + split_part(held, ' ', 1)::numeric;
        n := n + split_part(held, ' ', 2)::bigint;
    END IF;
    PERFORM set_config(place, change || ' ' || n, TRUE);
END $$;

CREATE FUNCTION follow_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM note_change(TG_TABLE_NAME, coalesce(sum(row_digest(new_rows::text)), 0), count(*))
        FROM new_rows;
    RETURN NULL;
END $$;

CREATE FUNCTION follow_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM note_change(TG_TABLE_NAME, -coalesce(sum(row_digest(old_rows::text)), 0), -count(*))
        FROM old_rows;
    RETURN NULL;
END $$;

CREATE FUNCTION follow_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM note_change(TG_TABLE_NAME, coalesce(sum(row_digest(new_rows::text)), 0), 0)
        FROM new_rows;
    PERFORM note_change(TG_TABLE_NAME, -coalesce(sum(row_digest(old_rows::text)), 0), 0)
        FROM old_rows;
    RETURN NULL;
END $$;

CREATE FUNCTION end_change() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    now_at bigint;
    one record;
BEGIN
    UPDATE revision SET number = number + 1 RETURNING number INTO now_at;
    FOR one IN SELECT s.name, current_setting('likewise.sum_' || s.name, TRUE) AS held
        FROM sums s LOOP
        IF one.held <> '' THEN
            UPDATE sums SET
                digest = in_128_bits(digest + split_part(one.held, ' ', 1)::numeric),
                n_rows = n_rows + split_part(one.held, ' ', 2)::bigint WHERE name = one.name;
            PERFORM set_config('likewise.sum_' || one.name, '', TRUE);
        END IF;
    END LOOP;
    PERFORM pg_notify('likewise_' || current_schema(), now_at::text);
    RETURN now_at;
END $$;

CREATE TABLE written (
    rowid BIGINT PRIMARY KEY, tags TEXT NOT NULL, suggested TEXT NOT NULL, folders TEXT NOT NULL,
    files TEXT NOT NULL, camera TEXT NOT NULL, words TSVECTOR NOT NULL
);
CREATE INDEX written_words ON written USING gin (words);
"""


def follow(table: str) -> str:
    """Return SQL for the triggers that update the checksum of a table."""
    made = []
    for event, seen in (
        ("INSERT", "NEW TABLE AS new_rows"),
        ("DELETE", "OLD TABLE AS old_rows"),
        ("UPDATE", "OLD TABLE AS old_rows NEW TABLE AS new_rows"),
    ):
        name = f"sums_{table}_{event.lower()}"
        made.append(
            f"DROP TRIGGER IF EXISTS {name} ON {table};\n"
            f"CREATE TRIGGER {name} AFTER {event} ON {table} REFERENCING {seen}\n"
            f"    FOR EACH STATEMENT EXECUTE FUNCTION follow_{event.lower()}()"
        )
    return ";\n".join(made)


def seal(tables: Iterable[str]) -> str:
    """Return SQL that stores the sums of all tables."""
    return ";\n".join(
        [
            "DELETE FROM sums",
            *(f"INSERT INTO sums SELECT '{table}', {_added(table)}" for table in tables),
        ]
    )


def compare(table: str) -> str:
    """Return SQL for the current (digest, rows) of a table."""
    return f"SELECT {_added(table)}"


def _added(table: str) -> str:
    # A column with the name of the alias would be used instead of the row.
    return (
        "in_128_bits(coalesce(sum(row_digest(whole_row::text)), 0)), count(*) "
        f"FROM {table} AS whole_row"
    )
