"""Secrets in what is to be remembered: noted, masked or refused, as the namespace's settings say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from fivefold.errors import InvalidInput
from fivefold.settings import Settings
from fivefold.text.secrets_in_text import find_secrets, mask_secrets
from fivefold.values.memory import Record
from fivefold.values.records import TEXT_FIELDS

_ADVICE = "take it out, or set secrets='mask' to have it masked"


def without_secrets(record: Record, settings: Settings) -> Record:
    """The record as it may be stored, with a note for each secret that was found."""
    if settings.secrets == "refuse":
        refuse_secrets([record], settings)
        return record
    found = {name: kinds for name in TEXT_FIELDS if (kinds := _kinds(getattr(record, name)))}
    if not found:
        return record
    done = "is masked" if settings.secrets == "mask" else "is stored as it is"
    notes = tuple(f"{name} seems to contain {kind}, which {done}" for name, kinds in found.items() for kind in kinds)
    masked: dict[str, Any] = (
        {name: mask_secrets(getattr(record, name)) for name in found} if settings.secrets == "mask" else {}
    )
    return replace(record, notes=(*record.notes, *notes), **masked)


def refuse_secrets(records: Iterable[Record], settings: Settings) -> None:
    """Raise an error for the first secret, where the settings refuse them."""
    if settings.secrets != "refuse":
        return
    for record in records:
        for name in TEXT_FIELDS:
            for kind in _kinds(getattr(record, name)):
                raise InvalidInput(f"seems to contain {kind}; {_ADVICE}", field=name)


def _kinds(text: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(secret.kind for secret in find_secrets(text))) if text else ()
