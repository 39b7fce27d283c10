"""Messages of a conversation as OpenAI, Anthropic and LangChain send them, and the turns they become."""

from __future__ import annotations

from fivefold.writing.messages.reader import MessageReader, is_message

__all__ = ["MessageReader", "is_message"]
