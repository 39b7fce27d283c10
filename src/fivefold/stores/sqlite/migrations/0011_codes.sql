-- A namespace with very many vectors is searched by short codes: one byte a dimension, from which the signs are read off.
-- They lie in blocks, in the order of the vectors' ids, so that a new process reads them quickly. `heads` has, for each
-- vector, its id, memory, part, type and scale. A vector that is removed leaves zeros. Vectors after the last block have
-- no code yet.
CREATE TABLE code_blocks (
  key   INTEGER PRIMARY KEY,
  space INTEGER NOT NULL REFERENCES spaces(key) ON DELETE CASCADE,
  field INTEGER NOT NULL,
  last  INTEGER NOT NULL,
  heads BLOB NOT NULL,
  codes BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX code_blocks_last ON code_blocks (space, field, last);

-- The last vectors that were removed from a field with codes, by the count in `removals`: a process that has the codes in
-- memory drops these alone.
CREATE TABLE removed_vectors (
  space  INTEGER NOT NULL REFERENCES spaces(key) ON DELETE CASCADE,
  field  INTEGER NOT NULL,
  number INTEGER NOT NULL,
  id     INTEGER NOT NULL,
  PRIMARY KEY (space, field, number)
) STRICT, WITHOUT ROWID;
