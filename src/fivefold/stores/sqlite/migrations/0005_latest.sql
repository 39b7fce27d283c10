-- Memories from the latest on, page by page; rows of one moment follow in their own order.
CREATE INDEX memories_latest ON memories (namespace, event_at);
