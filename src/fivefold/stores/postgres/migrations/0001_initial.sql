-- Everything hangs on a namespace, whose key is made of its name. It leads every primary key and every foreign key,
-- so that all rows of one namespace may lie together on one shard. Other keys are counted within the namespace.
-- Times are microseconds since 1970 in UTC. Text is compared byte by byte, as in every store.

CREATE TABLE namespaces (
  key        bigint PRIMARY KEY,
  name       text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  settings   text NOT NULL DEFAULT '{}',
  next_key   bigint NOT NULL DEFAULT 1
);

CREATE TABLE memories (
  namespace        bigint NOT NULL REFERENCES namespaces (key),
  row              bigint NOT NULL,
  id               text COLLATE "C" NOT NULL,
  content          text NOT NULL,
  kind             text COLLATE "C" NOT NULL CHECK (kind IN ('turn', 'session', 'note')),
  type             text COLLATE "C" NOT NULL CHECK (type IN ('fact', 'preference', 'event', 'entity', 'procedure')),
  speaker          text,
  session_id       text COLLATE "C",
  turn_index       integer,
  predicate        text,
  user_text        text,
  assistant_text   text,
  next_user_text   text,
  tags             text NOT NULL DEFAULT '[]',
  task_tag         text,
  event_at         bigint NOT NULL,
  created_at       bigint NOT NULL,
  valid_from       bigint,
  valid_to         bigint,
  superseded_by    text COLLATE "C",
  importance       double precision NOT NULL,
  memory_score     double precision NOT NULL,
  confidence       double precision NOT NULL,
  seen_count       bigint NOT NULL DEFAULT 1,
  access_count     bigint NOT NULL DEFAULT 0,
  last_accessed_at bigint,
  metadata         text NOT NULL DEFAULT '{}',
  given_valid_to   bigint,
  content_hash     bytea NOT NULL,
  extracted        text NOT NULL DEFAULT '{}',
  PRIMARY KEY (namespace, row)
);
CREATE UNIQUE INDEX memories_id      ON memories (namespace, id);
CREATE INDEX        memories_hash    ON memories (namespace, content_hash);
CREATE INDEX        memories_session ON memories (namespace, session_id, turn_index, row) WHERE session_id IS NOT NULL;
CREATE INDEX        memories_type    ON memories (namespace, type);
CREATE INDEX        memories_events  ON memories (namespace, event_at) WHERE type = 'event';
CREATE INDEX        memories_ended   ON memories (namespace, superseded_by) WHERE superseded_by IS NOT NULL;

CREATE TABLE memory_links (
  namespace bigint NOT NULL,
  source    bigint NOT NULL,
  target    bigint NOT NULL,
  relation  text COLLATE "C" NOT NULL CHECK (relation IN ('equal', 'supersedes')),
  why       text NOT NULL,
  PRIMARY KEY (namespace, source, target, relation),
  FOREIGN KEY (namespace, source) REFERENCES memories (namespace, row) ON DELETE CASCADE,
  FOREIGN KEY (namespace, target) REFERENCES memories (namespace, row) ON DELETE CASCADE
);
CREATE INDEX memory_links_target ON memory_links (namespace, target);

CREATE TABLE slots (
  namespace bigint NOT NULL,
  subject   text COLLATE "C" NOT NULL,
  attribute text COLLATE "C" NOT NULL,
  value     text COLLATE "C" NOT NULL,
  memory    bigint NOT NULL,
  ended_by  bigint,
  PRIMARY KEY (namespace, memory, subject, attribute, value),
  FOREIGN KEY (namespace, memory) REFERENCES memories (namespace, row) ON DELETE CASCADE
);
CREATE INDEX slots_subject ON slots (namespace, subject, attribute);
CREATE INDEX slots_ended   ON slots (namespace, ended_by) WHERE ended_by IS NOT NULL;

CREATE TABLE entities (
  namespace  bigint NOT NULL REFERENCES namespaces (key),
  key        bigint NOT NULL,
  name       text COLLATE "C" NOT NULL,
  kind       text COLLATE "C" NOT NULL,
  links      bigint NOT NULL DEFAULT 0,
  by_hand    integer NOT NULL DEFAULT 0,
  created_at bigint NOT NULL,
  PRIMARY KEY (namespace, key)
);
CREATE INDEX entities_links ON entities (namespace, links);

CREATE TABLE entity_aliases (
  namespace bigint NOT NULL,
  alias     text COLLATE "C" NOT NULL,
  entity    bigint NOT NULL,
  part      integer NOT NULL DEFAULT 0,
  PRIMARY KEY (namespace, alias, entity),
  FOREIGN KEY (namespace, entity) REFERENCES entities (namespace, key) ON DELETE CASCADE
);
CREATE INDEX entity_aliases_entity ON entity_aliases (namespace, entity);

CREATE TABLE links (
  namespace bigint NOT NULL,
  memory    bigint NOT NULL,
  entity    bigint NOT NULL,
  count     bigint NOT NULL DEFAULT 1,
  PRIMARY KEY (namespace, memory, entity),
  FOREIGN KEY (namespace, memory) REFERENCES memories (namespace, row) ON DELETE CASCADE,
  FOREIGN KEY (namespace, entity) REFERENCES entities (namespace, key) ON DELETE CASCADE
);
CREATE INDEX links_entity ON links (namespace, entity, memory);

CREATE TABLE edges (
  namespace  bigint NOT NULL,
  key        bigint NOT NULL,
  source     bigint NOT NULL,
  target     bigint NOT NULL,
  relation   text COLLATE "C" NOT NULL,
  kind       text COLLATE "C" NOT NULL CHECK (kind IN ('structural', 'semantic', 'lifecycle')),
  confidence double precision NOT NULL,
  count      bigint NOT NULL DEFAULT 0,
  valid_from bigint,
  valid_to   bigint,
  by_hand    integer NOT NULL DEFAULT 0,
  PRIMARY KEY (namespace, key),
  FOREIGN KEY (namespace, source) REFERENCES entities (namespace, key) ON DELETE CASCADE,
  FOREIGN KEY (namespace, target) REFERENCES entities (namespace, key) ON DELETE CASCADE
);
CREATE UNIQUE INDEX edges_pair   ON edges (namespace, source, target, relation);
CREATE INDEX        edges_source ON edges (namespace, source, confidence, key);
CREATE INDEX        edges_target ON edges (namespace, target, confidence, key);

CREATE TABLE edge_memories (
  namespace bigint NOT NULL,
  edge      bigint NOT NULL,
  memory    bigint NOT NULL,
  PRIMARY KEY (namespace, edge, memory),
  FOREIGN KEY (namespace, edge) REFERENCES edges (namespace, key) ON DELETE CASCADE,
  FOREIGN KEY (namespace, memory) REFERENCES memories (namespace, row) ON DELETE CASCADE
);
CREATE INDEX edge_memories_memory ON edge_memories (namespace, memory);

CREATE TABLE sessions (
  namespace  bigint NOT NULL REFERENCES namespaces (key),
  id         text COLLATE "C" NOT NULL,
  started_at bigint NOT NULL,
  ended_at   bigint NOT NULL,
  turns      bigint NOT NULL,
  built_from bigint NOT NULL DEFAULT 0,
  memory     bigint,
  PRIMARY KEY (namespace, id)
);
CREATE INDEX sessions_ended  ON sessions (namespace, ended_at);
CREATE INDEX sessions_memory ON sessions (namespace, memory);

-- One row for each set of vectors: a namespace under one embedding model. A second row in state 'building'
-- fills up while the active one serves; the switch is one update.
CREATE TABLE spaces (
  namespace bigint NOT NULL REFERENCES namespaces (key),
  key       bigint NOT NULL,
  embedder  text NOT NULL,
  dimension integer NOT NULL,
  state     text COLLATE "C" NOT NULL CHECK (state IN ('active', 'building')),
  PRIMARY KEY (namespace, key)
);
CREATE UNIQUE INDEX spaces_state ON spaces (namespace, state);

-- A search is always over one field of a memory, so each field has a partition, and with it an HNSW index, of its own.
CREATE TABLE vectors (
  namespace bigint NOT NULL,
  space     bigint NOT NULL,
  field     smallint NOT NULL,
  memory    bigint NOT NULL,
  type      smallint NOT NULL,
  dimension smallint NOT NULL,
  embedding vector NOT NULL,
  PRIMARY KEY (namespace, space, field, memory)
) PARTITION BY LIST (field);
{partitions}
CREATE INDEX vectors_type ON vectors (namespace, space, field, type);

-- How many vectors of each type a field holds, by which a search knows whether to read them all or to use the index.
CREATE TABLE held (
  namespace bigint NOT NULL,
  space     bigint NOT NULL,
  field     smallint NOT NULL,
  type      smallint NOT NULL,
  count     bigint NOT NULL,
  PRIMARY KEY (namespace, space, field, type)
);

-- The lexemes of each memory as keys that no two namespaces share, in rising order, each with its weighted count.
CREATE TABLE documents (
  namespace bigint NOT NULL,
  memory    bigint NOT NULL,
  sessions  boolean NOT NULL,
  type      smallint NOT NULL,
  length    integer NOT NULL,
  keys      bigint[] NOT NULL,
  counts    integer[] NOT NULL,
  PRIMARY KEY (namespace, memory)
) WITH (toast_tuple_target = 8160);
ALTER TABLE documents ALTER COLUMN keys SET STORAGE EXTERNAL;
ALTER TABLE documents ALTER COLUMN counts SET STORAGE EXTERNAL;
-- Entries go into the index at once: a list of pending ones would have to be read by every search.
CREATE INDEX documents_keys ON documents USING gin (keys) WITH (fastupdate = off);

-- In how many documents a lexeme stands, and how many documents and lexemes there are: all BM25 needs to know.
CREATE TABLE terms (
  namespace bigint NOT NULL,
  key       bigint NOT NULL,
  sessions  boolean NOT NULL,
  term      text COLLATE "C" NOT NULL,
  documents bigint NOT NULL,
  PRIMARY KEY (namespace, key)
);
CREATE INDEX terms_common ON terms (namespace, documents);
CREATE TABLE corpora (
  namespace bigint NOT NULL,
  sessions  boolean NOT NULL,
  documents bigint NOT NULL,
  tokens    bigint NOT NULL,
  PRIMARY KEY (namespace, sessions)
);

CREATE TABLE recalls (
  namespace bigint NOT NULL REFERENCES namespaces (key),
  id        text COLLATE "C" NOT NULL,
  at        bigint NOT NULL,
  recipe    text NOT NULL,
  query     text NOT NULL,
  returned  text NOT NULL,
  features  bytea,
  signals   text,
  PRIMARY KEY (namespace, id)
);

CREATE TABLE feedback (
  namespace bigint NOT NULL,
  recall    text COLLATE "C" NOT NULL,
  memory    bigint NOT NULL,
  at        bigint NOT NULL,
  PRIMARY KEY (namespace, recall, memory),
  FOREIGN KEY (namespace, memory) REFERENCES memories (namespace, row) ON DELETE CASCADE
);
CREATE INDEX feedback_memory ON feedback (namespace, memory);

CREATE TABLE learned (
  namespace bigint NOT NULL REFERENCES namespaces (key),
  name      text COLLATE "C" NOT NULL,
  value     text NOT NULL,
  PRIMARY KEY (namespace, name)
);

CREATE TABLE rerankers (
  namespace  bigint PRIMARY KEY REFERENCES namespaces (key),
  changed_at bigint NOT NULL,
  model      bytea NOT NULL
);
