-- When a memory expires, whether it is pinned, who wrote it, and how often it was recalled and stored again.
ALTER TABLE memories ADD COLUMN expires_at bigint;
ALTER TABLE memories ADD COLUMN pinned integer NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN origin text COLLATE "C"
  CONSTRAINT memories_origin_check CHECK (origin IN ('user', 'assistant', 'tool', 'import'));
ALTER TABLE memories ADD COLUMN echo_count integer NOT NULL DEFAULT 0;
CREATE INDEX memories_expires ON memories (namespace, expires_at) WHERE expires_at IS NOT NULL;

-- What is stored already was written by its speaker; how it came is not known. The memory of a session has no origin.
UPDATE memories SET origin = CASE WHEN lower(speaker) IN ('assistant', 'ai') THEN 'assistant'
  WHEN lower(speaker) IN ('tool', 'function', 'system') THEN 'tool' ELSE 'user' END
WHERE kind <> 'session';

-- A memory may also repeat another in nearly the same words; the chance is then how alike they are.
ALTER TABLE memory_links DROP CONSTRAINT memory_links_relation_check;
ALTER TABLE memory_links ADD CONSTRAINT memory_links_relation_check
  CHECK (relation IN ('equal', 'supersedes', 'likely', 'repeats'));
CREATE INDEX memory_links_relation ON memory_links (namespace, relation) WHERE relation IN ('likely', 'repeats');
