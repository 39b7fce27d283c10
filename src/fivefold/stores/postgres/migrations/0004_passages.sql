-- A text that is too long to be read at once has a vector for each of its passages, numbered by `part`; every other
-- vector is part 0. A space whose model gives token vectors has some for every passage.
ALTER TABLE spaces ADD COLUMN tokens smallint NOT NULL DEFAULT 0;
ALTER TABLE vectors ADD COLUMN part integer NOT NULL DEFAULT 0;
ALTER TABLE vectors DROP CONSTRAINT vectors_pkey;
ALTER TABLE vectors ADD CONSTRAINT vectors_pkey PRIMARY KEY (namespace, space, field, memory, part);
CREATE TABLE IF NOT EXISTS vectors_passage PARTITION OF vectors FOR VALUES IN (8);

-- The token vectors of a passage belong to its vector. They stay within the row and are not compressed, since they are
-- read by hundreds and hardly get smaller.
CREATE TABLE tokens (
  namespace bigint NOT NULL,
  space     bigint NOT NULL,
  memory    bigint NOT NULL,
  part      integer NOT NULL,
  field     smallint NOT NULL,
  tokens    bytea NOT NULL,
  PRIMARY KEY (namespace, space, memory, part, field)
) WITH (toast_tuple_target = 8160);
ALTER TABLE tokens ALTER COLUMN tokens SET STORAGE EXTERNAL;
