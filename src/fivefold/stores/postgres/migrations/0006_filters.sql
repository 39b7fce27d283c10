-- The tags and the metadata of a memory as names and values, so that a filter finds memories by an index. A value begins
-- with 't' for a text or 'n' for a number. What older memories have is put in by the program, which alone knows how a
-- value is written. No foreign key: on Citus a new table begins on the coordinator, and may not refer to a distributed one.
CREATE TABLE memory_labels (
  namespace bigint NOT NULL,
  memory    bigint NOT NULL,
  name      text COLLATE "C" NOT NULL,
  value     text COLLATE "C" NOT NULL,
  PRIMARY KEY (namespace, memory, name, value)
);
CREATE INDEX memory_labels_value ON memory_labels (namespace, name, value, memory);

-- Memories by who said them, and by when they were written.
CREATE INDEX memories_speaker ON memories (namespace, speaker) WHERE speaker IS NOT NULL;
CREATE INDEX memories_written ON memories (namespace, created_at);
