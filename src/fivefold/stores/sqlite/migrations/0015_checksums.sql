-- A checksum of every row, so that a bit that changed in the file is found, whatever column it is in. Each row of a table
-- with a rowid has its own, by that; those of other tables are added up by their first column. `rows` says of how many.
-- The text of the schema has one too.
CREATE TABLE checksums (
  name TEXT NOT NULL,
  key  ANY NOT NULL,
  rows INTEGER NOT NULL,
  sum  INTEGER NOT NULL,
  PRIMARY KEY (name, key)
) STRICT, WITHOUT ROWID;
