"""Hooks of coding agents: a session begins with a block of memories, prompts recall, and what is said is stored."""
