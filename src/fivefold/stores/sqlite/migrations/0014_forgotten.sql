-- What was forgotten, so that its source does not bring it back: keyed digests and no text. `memory_hash` is of the id,
-- `content_hash` of the id with the text, `said_hash` of a turn by its session, text and time and of a note by its text,
-- `session_hash` of the session alone. The key is among the learned values, and goes with the namespace.
CREATE TABLE forgotten (
  namespace    INTEGER NOT NULL,
  memory_hash  BLOB NOT NULL,
  content_hash BLOB NOT NULL,
  said_hash    BLOB NOT NULL,
  session_hash BLOB,
  PRIMARY KEY (namespace, memory_hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX forgotten_said ON forgotten (namespace, said_hash);
