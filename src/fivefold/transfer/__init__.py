"""Memories in and out of a store: JSON lines, migration, backup, importers."""
