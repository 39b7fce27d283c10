-- Feedback may also say that a memory was of no use: 0 in place of 1.
ALTER TABLE feedback ADD COLUMN used INTEGER NOT NULL DEFAULT 1;

-- What serving a store needs beside its memories, for all namespaces at once: who may ask, and who asked for what.
-- A key's secret is kept only as a hash. What was noted is never changed; the oldest notes go in time.
CREATE TABLE api_keys (
  id           TEXT PRIMARY KEY,
  name         TEXT NOT NULL,
  role         TEXT NOT NULL CHECK (role IN ('reader', 'writer', 'admin')),
  namespaces   TEXT NOT NULL,
  digest       BLOB NOT NULL,
  created_at   INTEGER NOT NULL,
  expires_at   INTEGER,
  revoked_at   INTEGER,
  last_used_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  at        INTEGER NOT NULL,
  key_id    TEXT,
  action    TEXT NOT NULL,
  namespace TEXT,
  subject   TEXT,
  outcome   TEXT NOT NULL
) STRICT;
CREATE INDEX audit_namespace ON audit (namespace, id);
CREATE INDEX audit_key       ON audit (key_id, id);
CREATE TRIGGER audit_stays BEFORE UPDATE ON audit
BEGIN
  SELECT RAISE(ABORT, 'what was noted is never changed');
END;

-- Answers to requests that may be sent twice, of a namespace that need not exist yet. Without a status the request is
-- under way, for as long as whoever began it renews its lease; without a body something it spoke of was forgotten.
CREATE TABLE answers (
  namespace    TEXT NOT NULL,
  scope        TEXT NOT NULL,
  key          TEXT NOT NULL,
  digest       BLOB NOT NULL,
  lease        TEXT NOT NULL,
  leased_until INTEGER NOT NULL,
  expires_at   INTEGER NOT NULL,
  tries        INTEGER NOT NULL DEFAULT 1,
  status       INTEGER,
  body         TEXT,
  PRIMARY KEY (namespace, scope, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX answers_expiring ON answers (namespace, expires_at);
