-- Records that a server has accepted and stores later, in the order they came, of a namespace that need not exist yet. A
-- row goes in the transaction that stores its memory, so that each is stored once. One that cannot be stored waits until
-- its next try. What becomes of the write that brought it is among the answers, in the scope 'queue'.
CREATE TABLE queue (
  namespace   bigint NOT NULL,
  write       text COLLATE "C" NOT NULL,
  place       integer NOT NULL,
  number      bigint NOT NULL,
  memory_id   text COLLATE "C" NOT NULL,
  session_id  text COLLATE "C",
  key_id      text COLLATE "C",
  added_at    bigint NOT NULL,
  bytes       bigint NOT NULL,
  tries       integer NOT NULL DEFAULT 0,
  next_try_at bigint NOT NULL DEFAULT 0,
  problem     text,
  record      text NOT NULL,
  PRIMARY KEY (namespace, write, place)
);
CREATE INDEX queue_order ON queue (namespace, number);
CREATE INDEX queue_memory ON queue (namespace, memory_id);
CREATE INDEX queue_session ON queue (namespace, session_id) WHERE session_id IS NOT NULL;

-- How much of each namespace waits, so that no one has to count it.
CREATE TABLE queue_lengths (
  namespace bigint PRIMARY KEY,
  name      text NOT NULL,
  records   bigint NOT NULL,
  bytes     bigint NOT NULL
);
