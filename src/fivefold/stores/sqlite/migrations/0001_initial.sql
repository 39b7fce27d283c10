-- Everything hangs on a namespace. `row` and the other integer keys never leave the store;
-- callers see the text ids. Times are microseconds since 1970 in UTC.

CREATE TABLE namespaces (
  key        INTEGER PRIMARY KEY,
  name       TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  settings   TEXT NOT NULL DEFAULT '{}'
) STRICT;

CREATE TABLE memories (
  row              INTEGER PRIMARY KEY AUTOINCREMENT,
  namespace        INTEGER NOT NULL REFERENCES namespaces(key),
  id               TEXT NOT NULL,
  content          TEXT NOT NULL,
  kind             TEXT NOT NULL CHECK (kind IN ('turn', 'session', 'note')),
  type             TEXT NOT NULL CHECK (type IN ('fact', 'preference', 'event', 'entity', 'procedure')),
  speaker          TEXT,
  session_id       TEXT,
  turn_index       INTEGER,
  predicate        TEXT,
  user_text        TEXT,
  assistant_text   TEXT,
  next_user_text   TEXT,
  tags             TEXT NOT NULL DEFAULT '[]',
  task_tag         TEXT,
  event_at         INTEGER NOT NULL,
  created_at       INTEGER NOT NULL,
  valid_from       INTEGER,
  valid_to         INTEGER,
  superseded_by    TEXT,
  importance       REAL NOT NULL,
  memory_score     REAL NOT NULL,
  confidence       REAL NOT NULL,
  seen_count       INTEGER NOT NULL DEFAULT 1,
  access_count     INTEGER NOT NULL DEFAULT 0,
  last_accessed_at INTEGER,
  metadata         TEXT NOT NULL DEFAULT '{}',
  given_valid_to   INTEGER,
  content_hash     BLOB NOT NULL,
  extracted        TEXT NOT NULL DEFAULT '{}'
) STRICT;
CREATE UNIQUE INDEX memories_id      ON memories (namespace, id);
CREATE INDEX        memories_hash    ON memories (namespace, content_hash);
CREATE INDEX        memories_session ON memories (namespace, session_id, turn_index) WHERE session_id IS NOT NULL;
CREATE INDEX        memories_type    ON memories (namespace, type);
CREATE INDEX        memories_events  ON memories (namespace, event_at) WHERE type = 'event';
CREATE INDEX        memories_ended   ON memories (namespace, superseded_by) WHERE superseded_by IS NOT NULL;

CREATE TABLE memory_links (
  namespace INTEGER NOT NULL,
  source    INTEGER NOT NULL REFERENCES memories(row) ON DELETE CASCADE,
  target    INTEGER NOT NULL REFERENCES memories(row) ON DELETE CASCADE,
  relation  TEXT NOT NULL CHECK (relation IN ('equal', 'supersedes')),
  why       TEXT NOT NULL,
  PRIMARY KEY (source, target, relation)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_links_target ON memory_links (target);

CREATE TABLE slots (
  namespace INTEGER NOT NULL,
  subject   TEXT NOT NULL,
  attribute TEXT NOT NULL,
  value     TEXT NOT NULL,
  memory    INTEGER NOT NULL REFERENCES memories(row) ON DELETE CASCADE,
  ended_by  INTEGER REFERENCES memories(row) ON DELETE SET NULL,
  PRIMARY KEY (namespace, subject, attribute, memory, value)
) STRICT, WITHOUT ROWID;
CREATE INDEX slots_memory ON slots (memory);
CREATE INDEX slots_ended  ON slots (ended_by) WHERE ended_by IS NOT NULL;

CREATE TABLE entities (
  key        INTEGER PRIMARY KEY AUTOINCREMENT,
  namespace  INTEGER NOT NULL REFERENCES namespaces(key),
  name       TEXT NOT NULL,
  kind       TEXT NOT NULL,
  links      INTEGER NOT NULL DEFAULT 0,
  by_hand    INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX entities_namespace ON entities (namespace, links);

CREATE TABLE entity_aliases (
  namespace INTEGER NOT NULL,
  alias     TEXT NOT NULL,
  entity    INTEGER NOT NULL REFERENCES entities(key) ON DELETE CASCADE,
  part      INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (namespace, alias, entity)
) STRICT, WITHOUT ROWID;
CREATE INDEX entity_aliases_entity ON entity_aliases (entity);

CREATE TABLE links (
  memory INTEGER NOT NULL REFERENCES memories(row) ON DELETE CASCADE,
  entity INTEGER NOT NULL REFERENCES entities(key) ON DELETE CASCADE,
  count  INTEGER NOT NULL DEFAULT 1,
  PRIMARY KEY (memory, entity)
) STRICT, WITHOUT ROWID;
CREATE INDEX links_entity ON links (entity, memory);

-- `count` is in how many memories two entities stand together (kind semantic); the memories that state
-- a relation are in edge_memories. An edge without either goes, unless it was made by hand.
CREATE TABLE edges (
  key        INTEGER PRIMARY KEY AUTOINCREMENT,
  namespace  INTEGER NOT NULL REFERENCES namespaces(key),
  source     INTEGER NOT NULL REFERENCES entities(key) ON DELETE CASCADE,
  target     INTEGER NOT NULL REFERENCES entities(key) ON DELETE CASCADE,
  relation   TEXT NOT NULL,
  kind       TEXT NOT NULL CHECK (kind IN ('structural', 'semantic', 'lifecycle')),
  confidence REAL NOT NULL,
  count      INTEGER NOT NULL DEFAULT 0,
  valid_from INTEGER,
  valid_to   INTEGER,
  by_hand    INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX edges_pair   ON edges (source, target, relation);
CREATE INDEX        edges_source ON edges (source, confidence);
CREATE INDEX        edges_target ON edges (target, confidence);

CREATE TABLE edge_memories (
  edge   INTEGER NOT NULL REFERENCES edges(key) ON DELETE CASCADE,
  memory INTEGER NOT NULL REFERENCES memories(row) ON DELETE CASCADE,
  PRIMARY KEY (edge, memory)
) STRICT, WITHOUT ROWID;
CREATE INDEX edge_memories_memory ON edge_memories (memory);

CREATE TABLE sessions (
  namespace  INTEGER NOT NULL REFERENCES namespaces(key),
  id         TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at   INTEGER NOT NULL,
  turns      INTEGER NOT NULL,
  built_from INTEGER NOT NULL DEFAULT 0,
  memory     INTEGER REFERENCES memories(row) ON DELETE SET NULL,
  PRIMARY KEY (namespace, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_ended  ON sessions (namespace, ended_at);
CREATE INDEX sessions_memory ON sessions (memory);

-- One row per set of vectors: a namespace under one embedding model. A second row in state 'building'
-- fills up while the active one serves; the switch is one update.
CREATE TABLE spaces (
  key       INTEGER PRIMARY KEY AUTOINCREMENT,
  namespace INTEGER NOT NULL REFERENCES namespaces(key),
  embedder  TEXT NOT NULL,
  dimension INTEGER NOT NULL,
  state     TEXT NOT NULL CHECK (state IN ('active', 'building'))
) STRICT;
CREATE UNIQUE INDEX spaces_state ON spaces (namespace, state);

-- How often a vector of a field was removed, by which a copy in memory knows that it must look again.
CREATE TABLE removals (
  space INTEGER NOT NULL REFERENCES spaces(key) ON DELETE CASCADE,
  field INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (space, field)
) STRICT, WITHOUT ROWID;

-- `id` is the rowid in the vec0 table of that dimension; ids only grow, so a reader that holds
-- vectors in memory asks for the ids above its last one.
CREATE TABLE vectors (
  id     INTEGER PRIMARY KEY AUTOINCREMENT,
  space  INTEGER NOT NULL REFERENCES spaces(key),
  field  INTEGER NOT NULL,
  memory INTEGER NOT NULL REFERENCES memories(row) ON DELETE CASCADE,
  type   INTEGER NOT NULL
) STRICT;
CREATE INDEX        vectors_field  ON vectors (space, field);
CREATE UNIQUE INDEX vectors_memory ON vectors (memory, space, field);

CREATE TABLE recalls (
  namespace INTEGER NOT NULL REFERENCES namespaces(key),
  id        TEXT NOT NULL,
  at        INTEGER NOT NULL,
  recipe    TEXT NOT NULL,
  query     TEXT NOT NULL,
  returned  TEXT NOT NULL,
  PRIMARY KEY (namespace, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE feedback (
  namespace INTEGER NOT NULL,
  recall    TEXT NOT NULL,
  memory    INTEGER NOT NULL REFERENCES memories(row) ON DELETE CASCADE,
  at        INTEGER NOT NULL,
  PRIMARY KEY (namespace, recall, memory)
) STRICT, WITHOUT ROWID;
CREATE INDEX feedback_memory ON feedback (memory);
