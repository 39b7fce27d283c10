"""What is done through the inspector: by the same engine as in every other face, and noted in the audit log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from fastapi.responses import RedirectResponse

from fivefold.engine import Engine
from fivefold.service.session import Session
from fivefold.values.access import Role
from fivefold.web.inspector.rendering import address

DONE = {
    "remembered": "Remembered.",
    "known": "The namespace held this already; nothing was added.",
    "edited": "Changed.",
    "superseded": "Replaced: this is what holds now.",
    "reinstated": "It holds again.",
    "forgotten": "Forgotten, with everything that was derived from it.",
    "renamed": "Renamed; the old name stays as an alias.",
    "aliased": "The alias was added.",
    "merged": "The two are one now.",
    "configured": "The settings were changed.",
    "taught": "Trained; the reranker serves from now on.",
    "untaught": "The reranker stays off; why is said below.",
    "unlearned": "What was learned from use is forgotten; the feedback stays.",
}
"""What a page says after a change, by the word in its address."""


@contextmanager
def acting(
    visit: Session, action: str, ids: Sequence[str] = (), role: Role = "reader", noted: bool = True
) -> Iterator[Engine]:
    """The engine for one action, if the visitor may do it; what came of it goes to the audit log under REST's name.

    `ids` is what is acted upon; a list may be added to meanwhile. What shows nothing of the namespace, such as an
    empty form, need not be `noted` unless it is refused.
    """
    with visit.act(action, role, audit_success=noted) as under_way:
        try:
            yield under_way.engine
        finally:
            under_way.subject = " ".join(ids) or None


def onward(visit: Session, path: str, **state: object) -> RedirectResponse:
    """After a change: to a page that can be reloaded without changing anything again."""
    return RedirectResponse(address(path, visit.namespace, state), status_code=303)
