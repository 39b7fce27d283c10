"""Messages of other libraries as turns of a session: the text can be recalled, the message comes back as it was."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from fivefold.engine import Engine
from fivefold.errors import InvalidInput, NotFound
from fivefold.values.memory import Memory
from fivefold.values.serialize import Json
from fivefold.values.validate import MAX_TEXT, checked_name, visible

END = datetime.max.replace(tzinfo=UTC)
_BROKEN = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Said:
    """A message on its way into a session: its text, who said it, and the message itself as JSON."""

    text: str
    speaker: str
    message: Json


@dataclass(frozen=True, slots=True)
class Talk:
    """One session of an engine as one library sees it; `framework` names what is kept for it in a turn's metadata."""

    engine: Engine
    session_id: str
    framework: str

    def __post_init__(self) -> None:
        checked_name(self.session_id, "session_id")

    def turns(self) -> list[Memory]:
        """Oldest first; none where nothing was said yet."""
        try:
            return self.engine.turns(self.session_id)
        except NotFound:
            return []

    def last(self, most: int) -> list[Memory]:
        """The last turns, oldest first, without reading the others."""
        reader = self.engine.store.reader(self.engine.namespace)
        return reader.last_turns(self.session_id, END, most) if most > 0 else []

    def kept(self, turn: Memory) -> Json | None:
        """The message a turn was made from; None where it came from elsewhere, or says something else by now."""
        message = turn.metadata.get(self.framework)
        same = turn.metadata.get(self._stamp) == _digest(turn.content)
        return message if same and isinstance(message, dict) else None

    def add(self, said: Sequence[Said]) -> None:
        if said:
            self.engine.remember_many([self._record(item) for item in said])

    def pop(self) -> Memory | None:
        """Forget the last turn, and give it; a turn that someone else took first is passed over."""
        while turns := self.last(1):
            try:
                return self.engine.forget(turns[-1].id)
            except NotFound:
                continue
        return None

    def clear(self) -> None:
        try:
            self.engine.forget_session(self.session_id)
        except NotFound:
            return

    def _record(self, said: Said) -> Json:
        size = len(json.dumps(said.message, ensure_ascii=False, default=str))
        if size > MAX_TEXT - 100:
            raise InvalidInput(
                f"a message of {size:,} characters is too long to keep, the most is {MAX_TEXT - 100:,}; "
                "refer to images and files by their address instead of carrying them inside"
            )
        text = _BROKEN.sub("\ufffd", said.text).strip()
        return {
            "content": text,
            "speaker": said.speaker,
            "session_id": self.session_id,
            "metadata": {self.framework: said.message, self._stamp: _digest(text)},
        }

    @property
    def _stamp(self) -> str:
        """Under this name a turn's metadata has a digest of the text it had with its message."""
        return f"{self.framework}_digest"


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def spoken(text: str, otherwise: str) -> str:
    """The text of a message, or what stands for a message that has none."""
    return text if visible(text) else otherwise
