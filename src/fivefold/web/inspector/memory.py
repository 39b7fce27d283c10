"""One memory: all it holds, what was read out of it, its history and the turns beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from fastapi import APIRouter, Request
from fastapi.responses import Response

from fivefold.engine import Engine
from fivefold.service.session import Session
from fivefold.values.extraction import Extraction
from fivefold.values.memory import TYPES, Memory
from fivefold.web.inspector.acting import DONE, acting
from fivefold.web.inspector.memory_typed import mark, typed_of
from fivefold.web.inspector.rendering import page
from fivefold.web.inspector.visit import Here
from fivefold.writing.graph import folded

router = APIRouter()


@dataclass(frozen=True, slots=True)
class Named:
    """A name the memory mentions, and the entity it is known as; None where the graph knows none."""

    name: str
    kind: str
    entity: int | None


@dataclass(frozen=True, slots=True)
class Read:
    """What was read out of a memory when it was stored."""

    extraction: Extraction
    mentions: tuple[Named, ...]


@router.get("/memories/{id:name}")
def one(request: Request, visit: Here, id: str, done: str = "") -> Response:
    return shown(request, visit, id, done=DONE.get(done, ""))


def shown(
    request: Request,
    visit: Session,
    id: str,
    status: int = 200,
    done: str = "",
    typed: Mapping[str, str] | None = None,
    faults: Mapping[str, str] | None = None,
) -> Response:
    """The memory's page; after a refused change with what was typed and, by form, what is wrong with it."""
    with acting(visit, "get", [id]) as engine:
        memory = engine.get(id)
        before, after = around(engine, memory)
        return page(
            request,
            "memory.html",
            status,
            memory=memory,
            history=engine.history(id),
            read=read(engine, memory),
            told=told(memory),
            before=before,
            after=after,
            types=TYPES,
            done=done,
            seen=mark(memory),
            typed={**typed_of(memory), "replacement": "", **(typed or {})},
            faults=faults or {},
        )


def told(memory: Memory) -> list[tuple[str, str]]:
    """Every field but the text, as it is stored."""
    fields = memory.to_dict()
    del fields["content"]
    return [(name.replace("_", " "), _told(value)) for name, value in fields.items() if value not in (None, [], {})]


def _told(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def read(engine: Engine, memory: Memory) -> Read:
    reader, extraction = engine.store.reader(engine.namespace), engine.extraction(memory.id)
    known = {item.alias: item.entity for item in reversed(reader.called([folded(m.name) for m in extraction.mentions]))}
    mentions = [Named(item.name, item.kind, known.get(folded(item.name))) for item in extraction.mentions]
    return Read(extraction, tuple(mentions))


def around(engine: Engine, memory: Memory) -> tuple[Memory | None, Memory | None]:
    """The turns before and after it in its session."""
    reader = engine.store.reader(engine.namespace)
    before, after = reader.neighbours([memory.row]).get(memory.row, (None, None))
    found = reader.fetch([row for row in (before, after) if row is not None])
    return (found.get(before) if before is not None else None, found.get(after) if after is not None else None)
