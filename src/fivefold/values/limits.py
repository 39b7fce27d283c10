"""The limits that all interfaces and checks share."""

from __future__ import annotations

MAX_TEXT = 100_000
"""Characters in a question with its history, a predicate or the metadata."""

MAX_CONTENT = 100_000_000
"""Characters in a text that is remembered: about what a row of a store can hold. It is stored whole."""

MAX_EXTRACTED = 100_000
"""Characters at the beginning of a text from which entities, statements and the rest are extracted."""

MAX_READ = 200
"""Dates, statements and relations that are read out of one text, of each kind: a long text can state thousands."""

MAX_NAME = 200
"""Characters in an id, a speaker, a session, a namespace or a tag."""

MAX_TAGS = 64
"""Tags of one memory."""

MAX_STORED_TAGS = 1_000
"""Tags of an exported memory that is imported: earlier versions added the tags of equal notes without a limit."""

MAX_DEPTH = 100
"""How deep metadata may be nested; not every interface can show deeper values."""

MAX_K = 1_000
"""Memories in one answer."""

MAX_RECENT = 100
"""Last turns that a recall brings along."""

MAX_TOKENS = 1_000_000
"""Tokens in a context."""

MAX_INDEX = 2**31 - 1
"""The largest place of a turn in its session, and the largest limit of a page."""

MAX_TALLY = 2**53
"""The largest count of uses; JSON of other languages holds no larger whole number exactly."""
