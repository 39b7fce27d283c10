-- A text that is too long to be read at once has a vector for each of its passages, numbered by `part`; every other
-- vector is part 0. A space whose model gives token vectors has some for every passage.
ALTER TABLE spaces ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE vectors ADD COLUMN part INTEGER NOT NULL DEFAULT 0;
DROP INDEX vectors_memory;
CREATE UNIQUE INDEX vectors_memory ON vectors (memory, space, field, part);

-- The token vectors of a passage belong to its vector. They lie in pieces small enough to fill pages well:
-- `key` is the vector's id times 1024 plus the number of the piece.
CREATE TABLE tokens (
  key    INTEGER PRIMARY KEY,
  tokens BLOB NOT NULL
) STRICT;
