"""One memory: its fields, what was extracted from its text, its history, and the turns before and after it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from fastapi import APIRouter, Request
from fastapi.responses import Response

from fivefold.engine import Engine
from fivefold.retrieval.health import DOUBT
from fivefold.service.session import Session
from fivefold.values.memory import Memory
from fivefold.web.inspector.confirmations import confirmation
from fivefold.web.inspector.memory_form import form_of, texts_of, version_of
from fivefold.web.inspector.page_session import PageSession
from fivefold.web.inspector.rendering import page

router = APIRouter()


@dataclass(frozen=True, slots=True)
class MentionLink:
    """A name in the memory, and the id of its entity; None where the graph has none."""

    name: str
    kind: str
    entity: int | None


@router.get("/memories/{id:name}")
def memory(request: Request, session: PageSession, id: str, done: str = "") -> Response:
    return memory_page(request, session, id, done=confirmation(done))


def memory_page(
    request: Request,
    session: Session,
    id: str,
    status: int = 200,
    done: str = "",
    texts: Mapping[str, str] | None = None,
    replacement: str = "",
    errors: Mapping[str, str] | None = None,
) -> Response:
    """The memory's page; after a refused change with the texts of the form and the error, by the form's name."""
    with session.act("get", subject=id) as act:
        engine = act.engine
        memory = engine.get(id)
        extraction = engine.extraction(id)
        before, after = neighbours_of(engine, memory)
        history = engine.history(id)
        ids = engine.graph.named([item.name for item in extraction.mentions])
        return page(
            request,
            "memory.html",
            status,
            memory=memory,
            history=history,
            links=[link for link in history.links if link.relation != "supersedes"],
            doubt=DOUBT,
            extraction=extraction,
            mentions=[MentionLink(item.name, item.kind, ids.get(item.name)) for item in extraction.mentions],
            fields=field_rows(memory),
            before=before,
            after=after,
            done=done,
            form_version=version_of(memory),
            form=form_of(texts or texts_of(memory)),
            replacement=replacement,
            errors=errors or {},
        )


def field_rows(memory: Memory) -> list[tuple[str, str]]:
    """Every field but the text, as it is stored."""
    fields = memory.to_dict()
    del fields["content"]
    return [(name.replace("_", " "), _text(value)) for name, value in fields.items() if value not in (None, [], {})]


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def neighbours_of(engine: Engine, memory: Memory) -> tuple[Memory | None, Memory | None]:
    """The turns before and after it in its session."""
    return engine.neighbours([memory]).get(memory.id, (None, None))
