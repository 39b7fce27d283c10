-- What was forgotten, so that its source does not bring it back: keyed digests and no text. `memory_mark` is of the id,
-- `text_mark` of the id with the text, `said_mark` of a turn by its session, text and time and of a note by its text,
-- `session_mark` of the session alone. The key is among the learned values, and goes with the namespace.
CREATE TABLE forgotten (
  namespace    INTEGER NOT NULL,
  memory_mark  TEXT NOT NULL,
  text_mark    TEXT NOT NULL,
  said_mark    TEXT NOT NULL,
  session_mark TEXT,
  PRIMARY KEY (namespace, memory_mark)
) STRICT, WITHOUT ROWID;
CREATE INDEX forgotten_said ON forgotten (namespace, said_mark);
