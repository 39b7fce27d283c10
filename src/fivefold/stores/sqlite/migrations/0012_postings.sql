-- The lexical index of a namespace with many memories. `documents` has the lexemes of each memory that is in the index, by
-- which they are taken out of it again; memories that are not in it yet are in `lexemes`, as are all of a small namespace.
CREATE TABLE documents (
  namespace INTEGER NOT NULL,
  sessions  INTEGER NOT NULL,
  memory    INTEGER NOT NULL,
  length    INTEGER NOT NULL,
  predicate TEXT NOT NULL,
  content   TEXT NOT NULL,
  PRIMARY KEY (namespace, sessions, memory)
) STRICT, WITHOUT ROWID;

-- How many documents the index has, and how many lexemes these have together. Each change gives the row another version,
-- by which a copy in memory knows that it is out of date.
CREATE TABLE corpora (
  namespace INTEGER NOT NULL,
  sessions  INTEGER NOT NULL,
  documents INTEGER NOT NULL,
  lexemes   INTEGER NOT NULL,
  version   INTEGER NOT NULL,
  PRIMARY KEY (namespace, sessions)
) STRICT, WITHOUT ROWID;

-- How many documents have a lexeme; `term` is its number within the namespace. The last three describe the last block of
-- its postings, so that new ones are added without a look at it.
CREATE TABLE terms (
  namespace INTEGER NOT NULL,
  sessions  INTEGER NOT NULL,
  lexeme    TEXT NOT NULL,
  term      INTEGER NOT NULL,
  documents INTEGER NOT NULL,
  first     INTEGER NOT NULL,
  last      INTEGER NOT NULL,
  size      INTEGER NOT NULL,
  PRIMARY KEY (namespace, sessions, lexeme)
) STRICT, WITHOUT ROWID;

-- The documents of a term in blocks of rising rows, none overlapping another. A document takes twelve bytes: its row, how
-- often it has the lexeme, and its length, each four bytes with the lowest first.
CREATE TABLE postings (
  namespace INTEGER NOT NULL,
  term      INTEGER NOT NULL,
  first     INTEGER NOT NULL,
  last      INTEGER NOT NULL,
  documents BLOB NOT NULL,
  PRIMARY KEY (namespace, term, first)
) STRICT, WITHOUT ROWID;
