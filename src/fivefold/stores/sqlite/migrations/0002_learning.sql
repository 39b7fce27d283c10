-- What can be learned from a recall: for each returned memory its score and features at the time, and where weights were
-- predicted, those weights and the signals they weighed. Recalls logged before have neither and stay as they are.
ALTER TABLE recalls ADD COLUMN features BLOB;
ALTER TABLE recalls ADD COLUMN signals TEXT;

-- What a namespace has learned that fits in a line of JSON, by what it is.
CREATE TABLE learned (
  namespace INTEGER NOT NULL REFERENCES namespaces(key),
  name      TEXT NOT NULL,
  value     TEXT NOT NULL,
  PRIMARY KEY (namespace, name)
) STRICT, WITHOUT ROWID;
