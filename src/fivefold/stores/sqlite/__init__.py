"""The store in one SQLite file: apsw, sqlite-vec for vectors, postings for lexemes (F6)."""
