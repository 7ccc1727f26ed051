"""The store of a collection: its directory and its catalog (SQLite); the only room with SQL."""
