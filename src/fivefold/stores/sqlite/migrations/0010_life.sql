-- When a memory expires, whether it is pinned, who wrote it, and how often it was recalled and stored again.
ALTER TABLE memories ADD COLUMN expires_at INTEGER;
ALTER TABLE memories ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN origin TEXT CHECK (origin IN ('user', 'assistant', 'tool', 'import'));
ALTER TABLE memories ADD COLUMN echo_count INTEGER NOT NULL DEFAULT 0;
CREATE INDEX memories_expires ON memories (namespace, expires_at) WHERE expires_at IS NOT NULL;

-- What is stored already was written by its speaker; how it came is not known. The memory of a session has no origin.
UPDATE memories SET origin = CASE WHEN lower(speaker) IN ('assistant', 'ai') THEN 'assistant'
  WHEN lower(speaker) IN ('tool', 'function', 'system') THEN 'tool' ELSE 'user' END
WHERE kind <> 'session';

-- A memory may also repeat another in nearly the same words; the chance is then how alike they are.
CREATE TABLE new_links (
  namespace INTEGER NOT NULL,
  source    INTEGER NOT NULL REFERENCES memories(row) ON DELETE CASCADE,
  target    INTEGER NOT NULL REFERENCES memories(row) ON DELETE CASCADE,
  relation  TEXT NOT NULL CHECK (relation IN ('equal', 'supersedes', 'likely', 'repeats')),
  why       TEXT NOT NULL,
  chance    REAL NOT NULL DEFAULT 1,
  PRIMARY KEY (source, target, relation)
) STRICT, WITHOUT ROWID;
INSERT INTO new_links SELECT namespace, source, target, relation, why, chance FROM memory_links;
DROP TABLE memory_links;
ALTER TABLE new_links RENAME TO memory_links;
CREATE INDEX memory_links_target ON memory_links (target);
CREATE INDEX memory_links_relation ON memory_links (namespace, relation) WHERE relation IN ('likely', 'repeats');
