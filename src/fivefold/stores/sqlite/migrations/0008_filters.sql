-- The tags and the metadata of a memory as names and values, so that a filter finds memories by an index. A value begins
-- with 't' for a text or 'n' for a number; `labels_of` is a function of ours that makes them from both columns.
CREATE TABLE memory_labels (
  namespace INTEGER NOT NULL,
  memory    INTEGER NOT NULL REFERENCES memories(row) ON DELETE CASCADE,
  name      TEXT NOT NULL,
  value     TEXT NOT NULL,
  PRIMARY KEY (memory, name, value)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_labels_value ON memory_labels (namespace, name, value, memory);

INSERT INTO memory_labels (namespace, memory, name, value)
SELECT m.namespace, m.row, label.value ->> 0, label.value ->> 1
FROM memories m CROSS JOIN json_each(labels_of(m.tags, m.metadata)) label
WHERE m.tags <> '[]' OR m.metadata <> '{}';

-- Memories by who said them, and by when they were written.
CREATE INDEX memories_speaker ON memories (namespace, speaker) WHERE speaker IS NOT NULL;
CREATE INDEX memories_written ON memories (namespace, created_at);
