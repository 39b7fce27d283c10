-- Records that wait for approval. Nothing is derived from them, so that no search can find them; once approved, a record
-- is written as any other. `content_hash` is that of the memory it would become.
CREATE TABLE quarantine (
  namespace    bigint NOT NULL,
  id           text COLLATE "C" NOT NULL,
  session_id   text COLLATE "C",
  content_hash bytea NOT NULL,
  held_at      bigint NOT NULL,
  record       text NOT NULL,
  PRIMARY KEY (namespace, id)
);
CREATE INDEX quarantine_order ON quarantine (namespace, held_at, id);
CREATE INDEX quarantine_text ON quarantine (namespace, content_hash);
