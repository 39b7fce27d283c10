"""A namespace as a whole: settings, what it holds, what it has learned, all of it out and in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from fastapi import Body, Depends
from starlette.requests import Request
from starlette.responses import Response

from fivefold.errors import InvalidFile, InvalidInput
from fivefold.learning.from_use import LearnedFromUse
from fivefold.service.limits import Limits
from fivefold.service.responses import DeletedNamespace, Unlearned
from fivefold.settings import Settings
from fivefold.transfer.jsonl import objects
from fivefold.values.limits import MAX_CONTENT
from fivefold.values.records import TEXT_FIELDS
from fivefold.values.reports import Report, Stats
from fivefold.web.rest.operations import IN, JSON, Current, Example, operation
from fivefold.web.streaming import LINES, export_of

HERE = {"namespace": "default"}
TAG = "namespaces"


@operation(
    "DELETE",
    IN,
    role="admin",
    action="delete_namespace",
    tag=TAG,
    answers=DeletedNamespace,
    example=Example({"namespace": "trial"}),
)
def delete_namespace(action: Current) -> DeletedNamespace:
    """Delete a namespace with everything in it, for good. Keys and the audit log stay."""
    name = str(action.session.namespace)
    return DeletedNamespace(name, action.service.delete_namespace(action.caller, name), action.service.erasure())


@operation("GET", f"{IN}/settings", role="reader", action="settings", tag=TAG, answers=Settings, example=Example(HERE))
def get_settings(action: Current) -> Settings:
    """The namespace's settings, defaults where nothing is set."""
    return action.engine.settings


@operation(
    "PATCH",
    f"{IN}/settings",
    role="admin",
    action="configure",
    tag=TAG,
    answers=Settings,
    takes=JSON,
    example=Example(HERE, body={"timezone": "Europe/London", "recent_turns": 4}),
)
def change_settings(action: Current, body: Annotated[dict[str, Any], Body()]) -> Settings:
    """Change settings; null brings a default back."""
    return action.engine.configure(**body)


@operation("GET", f"{IN}/stats", role="reader", action="stats", tag=TAG, answers=Stats, example=Example(HERE))
def stats(action: Current) -> Stats:
    """What the namespace holds."""
    return action.service.stats(action.caller, action.engine)


@operation(
    "GET", f"{IN}/learned", role="reader", action="learned", tag=TAG, answers=LearnedFromUse, example=Example(HERE)
)
def learned(action: Current) -> LearnedFromUse:
    """What the namespace has learned from use so far, and how far it counts."""
    return action.engine.learned()


@operation("DELETE", f"{IN}/learned", role="admin", action="unlearn", tag=TAG, answers=Unlearned, example=Example(HERE))
def unlearn(action: Current) -> Unlearned:
    """Forget what was learned from use; the feedback stays."""
    action.engine.unlearn()
    return Unlearned(action.engine.namespace)


@operation(
    "GET", f"{IN}/export", role="reader", action="export", tag=TAG, answers=None, gives=(LINES,), example=Example(HERE)
)
def export(action: Current) -> Response:
    """Every memory of the namespace, one JSON object a line, oldest first."""
    return export_of(action.engine)


async def lines_of(request: Request) -> Path:
    path: Path = request.state.lines
    return path


@operation(
    "POST",
    f"{IN}/import",
    role="writer",
    action="import",
    tag=TAG,
    answers=Report,
    takes=LINES,
    example=Example(HERE, body='{"content": "The gas meter is behind the stairs"}\n'),
)
def import_(action: Current, lines: Annotated[Path, Depends(lines_of)]) -> Report:
    """Read memories as JSON lines: an export, or records with at least a content. The same lines again add nothing.

    Every line is checked before any is stored.
    """
    try:
        _check_texts(lines, action.service.limits)
        return action.engine.import_jsonl(lines)
    except InvalidFile as error:
        raise (error.renamed("") if error.place else InvalidInput(f"the body {error.fault}")) from None


def _check_texts(lines: Path, limits: Limits) -> None:
    """No text longer than the server takes, where it takes less than the library."""
    if limits.text_chars >= MAX_CONTENT:
        return
    for number, data in objects(lines):
        for name in TEXT_FIELDS:
            if isinstance(text := data.get(name), str):
                limits.check_text(text, f"line {number}: {name}")
