"""Settings: the settings of a namespace, their meanings, and a form that changes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from fivefold.engine import Engine
from fivefold.errors import InvalidInput
from fivefold.service.session import Session
from fivefold.settings import Settings
from fivefold.values.fields import fields_of
from fivefold.web.inspector.form_fields import form_field, text_of, texts_reader, value_of
from fivefold.web.inspector.rendering import PageSession, confirmation, page, redirect

FIELDS = fields_of(Settings)
GROUPS = {
    "Short-term memory": "recent_turns",
    "Times": "timezone day_first recent_days around_days few_days few_weeks few_months few_years summer_months",
    "Search": (
        "dense_weight lexical_weight graph_weight temporal_weight widen_below hops hops_asked fan_out sure_entity "
        "route_budget_ms ef_search answer_with unlikely_memories check_days"
    ),
    "Writing": "find_changes find_repeats system_messages tool_messages tool_length",
    "Life of a memory": "fact_days preference_days event_days entity_days procedure_days echo_minutes",
    "Trust": "quarantine approved secrets passwords trust_user trust_assistant trust_tool trust_import",
    "Learning": "learn_after",
}
"""The order of the page; the setting that people change first is at the top."""

router: APIRouter = APIRouter()


Texts = Annotated[Mapping[str, str], Depends(texts_reader(FIELDS))]


@router.get("/settings")
def settings(request: Request, session: PageSession, done: str = "") -> Response:
    with session.act("settings") as act:
        return _settings_page(request, session, own_texts(act.engine), done=confirmation(done))


@router.post("/settings")
def change(request: Request, session: PageSession, form: Texts) -> Response:
    """Only changed fields are stored; an empty field restores the default."""
    try:
        with session.act("configure", "admin") as act:
            before = own_texts(act.engine)
            changed = {name: text for name, text in form.items() if text.strip() != before[name]}
            if changed:
                act.engine.configure(**{name: value_of(FIELDS[name], text) for name, text in changed.items()})
    except InvalidInput as error:
        return _settings_page(request, session, {**own_texts(session.engine()), **form}, 422, error)
    return redirect(session, "/settings", done="configured")


def own_texts(engine: Engine) -> dict[str, str]:
    """Each setting of the namespace as text, empty if it has the default."""
    own = engine.own_settings()
    return {name: text_of(own.get(name)) for name in FIELDS}


def _settings_page(
    request: Request,
    session: Session,
    texts: Mapping[str, str],
    status: int = 200,
    error: InvalidInput | None = None,
    done: str = "",
) -> Response:
    at = (error.field or "").partition("[")[0] if error else ""
    groups = {
        title: [form_field(FIELDS[name], texts[name], str(error) if name == at else "") for name in names.split()]
        for title, names in GROUPS.items()
    }
    return page(
        request,
        "settings.html",
        status,
        groups=groups,
        done=done,
        error="" if at in FIELDS else str(error or ""),
        embedder=session.engine().embedder_pin(),
    )
