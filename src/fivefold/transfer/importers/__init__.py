"""Memories from elsewhere: exports of ChatGPT and Claude, mem0, LangChain histories, Markdown notes, JSON lines."""

from __future__ import annotations

from fivefold.transfer.importers.account import Account, Skipped
from fivefold.transfer.importers.detect import FORMATS, NAMES, Format, detected
from fivefold.transfer.importers.load import Imported, import_from
from fivefold.transfer.importers.reading import read

__all__ = ["FORMATS", "NAMES", "Account", "Format", "Imported", "Skipped", "detected", "import_from", "read"]
