"""Memories from elsewhere: exports of chat services, mem0, LangChain, Markdown, messages, coding agents, JSON lines."""

from __future__ import annotations

from fivefold.transfer.importers.detect import FORMATS, NAMES, Format, detect_format
from fivefold.transfer.importers.importer import ImportReport, import_from, read
from fivefold.transfer.importers.sources import ImportLog, Skipped

__all__ = ["FORMATS", "NAMES", "Format", "ImportLog", "ImportReport", "Skipped", "detect_format", "import_from", "read"]
