-- A checksum of every row, so that a bit that changed in the file is found, whatever column it is in. Each row of a table
-- with a rowid has its own, by that; those of other tables are added up by their first column. `rows` says of how many.
-- The text of the schema has one too. What one write changes lies together: keys of tables that grow alike are alike.
CREATE TABLE checksums (
  key  ANY NOT NULL,
  name TEXT NOT NULL,
  rows INTEGER NOT NULL,
  sum  INTEGER NOT NULL,
  PRIMARY KEY (key, name)
) STRICT, WITHOUT ROWID;
