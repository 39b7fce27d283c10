"""Secrets in what is to be remembered: kept, noted, masked or refused, as the namespace's settings say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from fivefold.errors import InvalidInput
from fivefold.settings import Settings
from fivefold.text.secrets_in_text import PASSWORD_KINDS, find_secrets, kind_of_key, mask_secrets
from fivefold.values.memory import TEXT_FIELDS, Memory, Record
from fivefold.values.validate import MAX_NAME

SEARCHED = (*TEXT_FIELDS, "speaker", "session_id", "predicate", "task_tag", "tags", "metadata")
"""The fields that can hold a secret."""
NAMES = frozenset(("speaker", "session_id", "predicate", "task_tag", "tags"))

Mask = Callable[[str], bool]
"""Whether secrets of a kind are to be masked."""


def without_secrets(record: Record, settings: Settings) -> Record:
    """The record as it may be stored, with a note for each secret that was found."""
    refuse_secrets([record], settings)
    changes: dict[str, Any] = {}
    notes: list[str] = []
    for name, kinds in _secrets(record, settings):
        for kind in kinds:
            done = "is masked" if _treatment(kind, settings) == "mask" else "is stored as it is"
            notes.append(f"{name} seems to contain {kind}, which {done}")
        if any(_treatment(kind, settings) == "mask" for kind in kinds):
            changes[name] = _masked(name, getattr(record, name), lambda kind: _treatment(kind, settings) == "mask")
    return replace(record, notes=(*record.notes, *notes), **changes) if notes else record


def refuse_secrets(records: Iterable[Record], settings: Settings) -> None:
    """Raise an error for the first secret that the settings refuse."""
    if "refuse" not in (settings.secrets, settings.passwords):
        return
    for record in records:
        for name, kinds in _secrets(record, settings):
            for kind in kinds:
                if _treatment(kind, settings) == "refuse":
                    setting = "passwords" if kind in PASSWORD_KINDS else "secrets"
                    advice = f"take it out, or set {setting}='mask' to have it masked"
                    raise InvalidInput(f"seems to contain {kind}; {advice}", field=name)


def kinds_of_secrets(item: Record | Memory) -> tuple[str, ...]:
    """The kinds of secrets in all fields of a record or a memory, each once."""
    found = (kind for name in SEARCHED for kind in _kinds(getattr(item, name)))
    return tuple(dict.fromkeys(found))


def _secrets(record: Record, settings: Settings) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each field with the kinds of secrets in it that the settings do not simply keep."""
    for name in SEARCHED:
        found = dict.fromkeys(_kinds(getattr(record, name)))
        if kinds := tuple(kind for kind in found if _treatment(kind, settings) != "keep"):
            yield name, kinds


def _treatment(kind: str, settings: Settings) -> str:
    return settings.passwords if kind in PASSWORD_KINDS else settings.secrets


def _kinds(value: Any) -> Iterator[str]:
    """The kinds of secrets in a text, or in what a list or an object holds."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _kinds(str(key))
            kind = _kind_by_key(str(key), item)
            yield from (kind,) if kind else _kinds(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _kinds(item)
    elif value is not None and not isinstance(value, bool | float):
        yield from (secret.kind for secret in find_secrets(str(value)))


def _masked(name: str, value: Any, mask: Mask) -> Any:
    """The value of a field with secrets masked; what is masked in a name or a tag still has a name's length."""
    if name == "tags":
        return tuple(dict.fromkeys(_masked_value(tag, mask)[:MAX_NAME] for tag in value))
    masked = _masked_value(value, mask)
    return masked[:MAX_NAME] if name in NAMES else masked


def _masked_value(value: Any, mask: Mask) -> Any:
    if isinstance(value, dict):
        return {_masked_value(key, mask): _masked_item(key, item, mask) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_masked_value(item, mask) for item in value]
    if value is None or isinstance(value, bool | float):
        return value
    secrets = [secret for secret in find_secrets(str(value)) if mask(secret.kind)]
    return mask_secrets(str(value), secrets) if secrets else value


def _masked_item(key: Any, item: Any, mask: Mask) -> Any:
    kind = _kind_by_key(str(key), item)
    return f"[{kind}]" if kind and mask(kind) else _masked_value(item, mask)


def _kind_by_key(key: str, item: Any) -> str | None:
    """What an item of metadata is by its key alone: `{"wifi_password": "…"}`."""
    if isinstance(item, bool | dict | list | tuple) or len(str(item)) < 3 or item in (None, ""):
        return None
    kind = kind_of_key(key)
    return None if kind and str(item) == f"[{kind}]" else kind
