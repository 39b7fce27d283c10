"""Statements that make a file of this version one of an older version."""

from __future__ import annotations

BEFORE_POSTINGS = """
DROP TABLE facts;
DROP INDEX memories_until;
DELETE FROM learned WHERE name = 'unread facts';
DROP TABLE forgotten;
DROP TABLE quarantine;
DROP TABLE checksums;
DROP TABLE queue;
DROP TABLE queue_lengths;
DROP TABLE documents;
DROP TABLE corpora;
DROP TABLE terms;
DROP TABLE postings;
"""
"""Before large namespaces had postings."""

BEFORE_CODES = f"""
{BEFORE_POSTINGS}
DROP TABLE code_blocks;
DROP TABLE removed_vectors;
"""
"""Before large namespaces had codes of their vectors."""

FTS5_COLUMNS = "predicate, content, tokenize=\"ascii tokenchars '-._/@:+#&~=?%\\'\""
"""The columns of an index of SQLite's FTS5, as older files have for each namespace."""

FTS5_INDEX = f"""
CREATE VIRTUAL TABLE lex_1 USING fts5({FTS5_COLUMNS});
CREATE VIRTUAL TABLE lex_1_sessions USING fts5({FTS5_COLUMNS});
INSERT INTO lex_1 (rowid, predicate, content)
  SELECT memory, predicate, content FROM lexemes WHERE namespace = 1 AND sessions = 0;
INSERT INTO lex_1_sessions (rowid, predicate, content)
  SELECT memory, predicate, content FROM lexemes WHERE namespace = 1 AND sessions = 1;
DELETE FROM lexemes WHERE namespace = 1;
"""
"""Moves the lexemes of the first namespace into an index of FTS5."""

BEFORE_LIFE = f"""
{BEFORE_CODES}
DROP INDEX memories_expires;
DROP INDEX memory_links_relation;
ALTER TABLE memories DROP COLUMN expires_at;
ALTER TABLE memories DROP COLUMN pinned;
ALTER TABLE memories DROP COLUMN origin;
ALTER TABLE memories DROP COLUMN echo_count;
PRAGMA user_version = 9;
"""
"""Before memories had an end, a pin and an origin."""
