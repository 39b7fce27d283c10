-- Records that a server has accepted and stores later, in the order they came, of a namespace that need not exist yet. A
-- row goes in the transaction that stores its memory, so that each is stored once. One that cannot be stored waits until
-- its next try. What becomes of the write that brought it is among the answers, in the scope 'queue'.
CREATE TABLE queue (
  namespace   TEXT NOT NULL,
  write       TEXT NOT NULL,
  place       INTEGER NOT NULL,
  number      INTEGER NOT NULL,
  memory_id   TEXT NOT NULL,
  session_id  TEXT,
  key_id      TEXT,
  added_at    INTEGER NOT NULL,
  bytes       INTEGER NOT NULL,
  tries       INTEGER NOT NULL DEFAULT 0,
  next_try_at INTEGER NOT NULL DEFAULT 0,
  problem     TEXT,
  record      TEXT NOT NULL,
  PRIMARY KEY (namespace, write, place)
) STRICT;
CREATE INDEX queue_order ON queue (namespace, number);
CREATE INDEX queue_memory ON queue (namespace, memory_id);
CREATE INDEX queue_session ON queue (namespace, session_id) WHERE session_id IS NOT NULL;

-- How much of each namespace waits, so that no one has to count it.
CREATE TABLE queue_lengths (
  namespace TEXT NOT NULL PRIMARY KEY,
  name      TEXT NOT NULL,
  records   INTEGER NOT NULL,
  bytes     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
