-- The lexemes of namespaces with few memories lie in one table. A namespace gets an index of its own only when it has
-- grown: each index is a dozen tables, and a file with very many tables is slow for everyone. `length` counts the lexemes.
CREATE TABLE lexemes (
  namespace INTEGER NOT NULL,
  sessions  INTEGER NOT NULL,
  memory    INTEGER NOT NULL,
  length    INTEGER NOT NULL,
  predicate TEXT NOT NULL,
  content   TEXT NOT NULL,
  PRIMARY KEY (namespace, sessions, memory)
) STRICT, WITHOUT ROWID;
