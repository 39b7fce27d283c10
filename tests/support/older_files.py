"""Statements that make a file of this version one of an older version."""

from __future__ import annotations

BEFORE_LIFE = """
DROP INDEX memories_expires;
DROP INDEX memory_links_relation;
ALTER TABLE memories DROP COLUMN expires_at;
ALTER TABLE memories DROP COLUMN pinned;
ALTER TABLE memories DROP COLUMN origin;
ALTER TABLE memories DROP COLUMN echo_count;
PRAGMA user_version = 9;
"""
"""Before memories had an end, a pin and an origin."""
