"""The catalog in PostgreSQL: several servers, one truth.  The only importer of psycopg."""
