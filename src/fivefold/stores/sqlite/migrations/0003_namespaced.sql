-- Every link names its namespace, as it does on every store.
ALTER TABLE links ADD COLUMN namespace INTEGER NOT NULL DEFAULT 0;
UPDATE links SET namespace = (SELECT m.namespace FROM memories m WHERE m.row = links.memory);
ALTER TABLE edge_memories ADD COLUMN namespace INTEGER NOT NULL DEFAULT 0;
UPDATE edge_memories SET namespace = (SELECT m.namespace FROM memories m WHERE m.row = edge_memories.memory);
DROP INDEX edges_pair;
CREATE UNIQUE INDEX edges_pair ON edges (namespace, source, target, relation);
