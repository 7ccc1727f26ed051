"""The store of a collection: its directory and its catalog (SQLite), with all SQL."""
