-- Feedback may also say that a memory was of no use: 0 in place of 1.
ALTER TABLE feedback ADD COLUMN used smallint NOT NULL DEFAULT 1;

-- What serving a store needs beside its memories, for all namespaces at once: who may ask, and who asked for what.
-- A key's secret is kept only as a hash. What was noted is never changed; the oldest notes go in time.
-- On Citus both stay on the coordinator, which everyone asks first.
CREATE TABLE api_keys (
  id           text COLLATE "C" PRIMARY KEY,
  name         text NOT NULL,
  role         text COLLATE "C" NOT NULL CHECK (role IN ('reader', 'writer', 'admin')),
  namespaces   text NOT NULL,
  digest       bytea NOT NULL,
  created_at   bigint NOT NULL,
  expires_at   bigint,
  revoked_at   bigint,
  last_used_at bigint
);

CREATE TABLE audit (
  id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at        bigint NOT NULL,
  key_id    text COLLATE "C",
  action    text COLLATE "C" NOT NULL,
  namespace text COLLATE "C",
  subject   text COLLATE "C",
  outcome   text COLLATE "C" NOT NULL
);
CREATE INDEX audit_namespace ON audit (namespace, id);
CREATE INDEX audit_key       ON audit (key_id, id);

-- Answers to requests that may be sent twice, of a namespace that need not exist yet. Without a status the request is
-- under way, for as long as whoever began it renews its lease; without a body something it spoke of was forgotten.
CREATE TABLE answers (
  namespace    bigint NOT NULL,
  scope        text COLLATE "C" NOT NULL,
  key          text COLLATE "C" NOT NULL,
  digest       bytea NOT NULL,
  lease        text COLLATE "C" NOT NULL,
  leased_until bigint NOT NULL,
  expires_at   bigint NOT NULL,
  tries        integer NOT NULL DEFAULT 1,
  status       integer,
  body         text,
  PRIMARY KEY (namespace, scope, key)
);
CREATE INDEX answers_expiring ON answers (namespace, expires_at);
