"""The store in one SQLite file: apsw, sqlite-vec for vectors, FTS5 for lexemes (F6)."""
