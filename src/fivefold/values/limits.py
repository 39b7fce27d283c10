"""The limits that all interfaces and checks share."""

from __future__ import annotations

MAX_TEXT = 100_000
"""Characters in one text. Longer material is better remembered in parts: a part can be recalled, a book cannot."""

MAX_NAME = 200
"""Characters in an id, a speaker, a session, a namespace or a tag."""

MAX_TAGS = 64
"""Tags of one memory."""

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
