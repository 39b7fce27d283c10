-- The clauses of memories that a profile is made of, each with its section and how likely it is a lasting fact, in
-- hundredths. `starts` and `ends` are places in the content, in characters.
CREATE TABLE facts (
  namespace INTEGER NOT NULL,
  memory    INTEGER NOT NULL,
  starts    INTEGER NOT NULL,
  ends      INTEGER NOT NULL,
  section   TEXT NOT NULL,
  weight    INTEGER NOT NULL,
  PRIMARY KEY (namespace, memory, starts)
) STRICT, WITHOUT ROWID;
CREATE INDEX facts_section ON facts (namespace, section, weight DESC, memory DESC);

-- Memories by their end, for what changed.
CREATE INDEX memories_until ON memories (namespace, valid_to) WHERE valid_to IS NOT NULL;

-- Memories that are stored already are read when facts are first asked for.
INSERT INTO learned (namespace, name, value) SELECT key, 'unread facts', '{"after":0}' FROM namespaces;
