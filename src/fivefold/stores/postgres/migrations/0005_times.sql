-- The stretches of time that a memory's text names, so that a memory is found by the day it speaks of as well as by the
-- day it was said. A search goes over the starts; a stretch of more than 32 days may begin long before a window that
-- it overlaps, so these have an index of their own. No foreign key: on Citus a new table begins on the coordinator,
-- and may not refer to a distributed one.
CREATE TABLE memory_times (
  namespace bigint NOT NULL,
  memory    bigint NOT NULL,
  starts_at bigint NOT NULL,
  ends_at   bigint NOT NULL,
  PRIMARY KEY (namespace, memory, starts_at, ends_at)
);
CREATE INDEX memory_times_start ON memory_times (namespace, starts_at, memory, ends_at);
CREATE INDEX memory_times_long  ON memory_times (namespace, starts_at, memory, ends_at)
  WHERE ends_at - starts_at > 2764800000000;

-- The first 16 of each memory that is not a session's own, as they were extracted.
INSERT INTO memory_times (namespace, memory, starts_at, ends_at)
SELECT namespace, memory, starts_at, ends_at FROM (
  SELECT namespace, memory, starts_at, ends_at,
         row_number() OVER (PARTITION BY namespace, memory ORDER BY min(place)) AS nth FROM (
    SELECT m.namespace, m.row AS memory, d.place,
           (extract(epoch FROM (d.value ->> 'start')::timestamptz) * 1000000)::bigint AS starts_at,
           (extract(epoch FROM (d.value ->> 'end')::timestamptz) * 1000000)::bigint AS ends_at
    FROM memories m CROSS JOIN json_array_elements(m.extracted::json -> 'dates') WITH ORDINALITY AS d(value, place)
    WHERE m.kind <> 'session' AND strpos(m.extracted, '"dates":') > 0) AS named
  GROUP BY namespace, memory, starts_at, ends_at) AS numbered
WHERE nth <= 16;

-- Memories of every type by the moment they were said; a session's own memory repeats its turns.
CREATE INDEX memories_said ON memories (namespace, event_at, row) WHERE kind <> 'session';

-- A memory may also replace another only likely, with a chance. Nothing is marked then.
ALTER TABLE memory_links ADD COLUMN chance double precision NOT NULL DEFAULT 1;
ALTER TABLE memory_links DROP CONSTRAINT memory_links_relation_check;
ALTER TABLE memory_links ADD CONSTRAINT memory_links_relation_check
  CHECK (relation IN ('equal', 'supersedes', 'likely'));
