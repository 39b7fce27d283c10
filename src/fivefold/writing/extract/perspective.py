"""Texts about the user, whoever writes them, read as if the user had: 'The user's rent is …' and 'Your rent is …'."""

from __future__ import annotations

import re

from fivefold.text.triggers import Pattern
from fivefold.values.memory import ROLES

_OWNERS = frozenset({"user", "human"})
_VERBS = {" is": " am", " has": " have", " prefers": " prefer", " isn't": " am not", " doesn't": " don't"}
_ABOUT = Pattern(
    "user",
    r"\b(?:[Tt]he user|User)(?:(?P<own>['’]s)(?= [a-z])|(?P<adverb>(?: (?:now|also|actually|still|just|recently"
    r"|currently))*)(?:(?P<verb> (?:is|has|prefers|isn['’]t|doesn['’]t)\b)|(?= (?:[a-z]+(?:s|ed)|was|went|got|quit"
    r"|left|met|bought|no)\b)))",
)
_OWN = Pattern(
    "i my me we our us mine ours", r"\b(?:I['’](?:m|ve|d|ll)|I|[Mm]y|[Mm]e|[Ww]e|[Oo]ur|[Uu]s|[Mm]ine|[Oo]urs)\b"
)
_ADDRESSED = Pattern(
    "you your yours", r"\b(?:(?P<you>[Yy]ou)\b(?P<be>['’](?:re|ve)| (?:are|were)\b)?|(?P<your>[Yy]our)(?= ))"
)
_BE = {"'re": "'m", "’re": "'m", "'ve": "'ve", "’ve": "'ve", " are": " am", " were": " was"}


def owner_of(speaker: str | None) -> str:
    """Whom a text's statements are about: the one who speaks, or for any role of a talk the user."""
    name = (speaker or "user").casefold()
    return "user" if name in ROLES else name


def is_assistant(speaker: str | None) -> bool:
    """Whether the speaker is a part of the talk other than the user."""
    name = (speaker or "user").casefold()
    return name in ROLES and name not in _OWNERS


def as_first_person(text: str, speaker: str | None) -> str:
    """The text with the user as 'I' and 'my'; an assistant's own 'I' is nobody's."""
    if is_assistant(speaker):
        text = _ADDRESSED.sub(_addressed, _OWN.sub("it", text))
    return _ABOUT.sub(_about, text) if owner_of(speaker) == "user" else text


def _about(match: re.Match[str]) -> str:
    if match["own"]:
        return "My" if match[0][0] in "TU" else "my"
    verb = (match["verb"] or "").replace("’", "'")
    return f"I{match['adverb']}{_VERBS.get(verb, verb)}"


def _addressed(match: re.Match[str]) -> str:
    if match["your"]:
        return "My" if match["your"] == "Your" else "my"
    return f"I{_BE.get(match['be'] or '', '')}"
