-- Records that wait for approval. Nothing is derived from them, so that no search can find them; once approved, a record
-- is written as any other. `content_hash` is that of the memory it would become.
CREATE TABLE quarantine (
  namespace    INTEGER NOT NULL,
  id           TEXT NOT NULL,
  session_id   TEXT,
  content_hash BLOB NOT NULL,
  held_at      INTEGER NOT NULL,
  record       TEXT NOT NULL,
  PRIMARY KEY (namespace, id)
) STRICT;
CREATE INDEX quarantine_order ON quarantine (namespace, held_at, id);
CREATE INDEX quarantine_text ON quarantine (namespace, content_hash);
