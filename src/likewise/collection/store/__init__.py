"""The catalog of a collection: SQLite, the source of truth; the only room with SQL."""
