-- The stretches of time that a memory's text names, so that a memory is found by the day it speaks of as well as by the
-- day it was said. A search goes over the starts; a stretch of more than 32 days may begin long before a window that
-- it overlaps, so these have an index of their own.
CREATE TABLE memory_times (
  namespace INTEGER NOT NULL,
  memory    INTEGER NOT NULL REFERENCES memories(row) ON DELETE CASCADE,
  starts_at INTEGER NOT NULL,
  ends_at   INTEGER NOT NULL,
  PRIMARY KEY (memory, starts_at, ends_at)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_times_start ON memory_times (namespace, starts_at, memory, ends_at);
CREATE INDEX memory_times_long  ON memory_times (namespace, starts_at, memory, ends_at)
  WHERE ends_at - starts_at > 2764800000000;

-- The first 16 of each memory that is not a session's own, as they were extracted.
INSERT INTO memory_times (namespace, memory, starts_at, ends_at)
SELECT namespace, memory, starts_at, ends_at FROM (
  SELECT *, row_number() OVER (PARTITION BY memory ORDER BY place) AS nth FROM (
    SELECT namespace, memory, starts_at, ends_at, min(place) AS place FROM (
      SELECT m.namespace, m.row AS memory, d.key AS place,
             CAST(strftime('%s', substr(d.value ->> 'start', 1, 19)) AS INTEGER) * 1000000
               + CAST(substr(d.value ->> 'start', 21, 6) AS INTEGER) AS starts_at,
             CAST(strftime('%s', substr(d.value ->> 'end', 1, 19)) AS INTEGER) * 1000000
               + CAST(substr(d.value ->> 'end', 21, 6) AS INTEGER) AS ends_at
      FROM memories m CROSS JOIN json_each(m.extracted, '$.dates') d
      WHERE m.kind <> 'session' AND instr(m.extracted, '"dates":') > 0)
    GROUP BY namespace, memory, starts_at, ends_at))
WHERE nth <= 16;

-- Memories of every type by the moment they were said; a session's own memory repeats its turns.
CREATE INDEX memories_said ON memories (namespace, event_at) WHERE kind <> 'session';

-- A memory may also replace another only likely, with a chance. Nothing is marked then.
CREATE TABLE new_links (
  namespace INTEGER NOT NULL,
  source    INTEGER NOT NULL REFERENCES memories(row) ON DELETE CASCADE,
  target    INTEGER NOT NULL REFERENCES memories(row) ON DELETE CASCADE,
  relation  TEXT NOT NULL CHECK (relation IN ('equal', 'supersedes', 'likely')),
  why       TEXT NOT NULL,
  chance    REAL NOT NULL DEFAULT 1,
  PRIMARY KEY (source, target, relation)
) STRICT, WITHOUT ROWID;
INSERT INTO new_links (namespace, source, target, relation, why)
  SELECT namespace, source, target, relation, why FROM memory_links;
DROP TABLE memory_links;
ALTER TABLE new_links RENAME TO memory_links;
CREATE INDEX memory_links_target ON memory_links (target);
