"""The catalog in PostgreSQL, shared by several servers."""
