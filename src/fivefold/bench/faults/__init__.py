"""Processes that are killed while they write: what they acknowledged is there, and everything is whole."""
