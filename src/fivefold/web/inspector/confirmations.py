"""What a page says after a change: the redirect carries a word, the next page shows its sentence."""

from __future__ import annotations

from fastapi.responses import RedirectResponse

from fivefold.service.session import Session
from fivefold.web.inspector.rendering import address

CONFIRMATIONS = {
    "remembered": "The memory is stored.",
    "known": "The namespace has this memory already; nothing is added.",
    "edited": "The memory is changed.",
    "superseded": "The memory is replaced; this is the current one.",
    "reinstated": "The memory is current again.",
    "pinned": "The memory is pinned: it stays until somebody forgets or replaces it.",
    "unpinned": "The memory is no longer pinned.",
    "forgotten": "The memory is deleted, with everything derived from it.",
    "session-forgotten": "The session is deleted, with everything derived from it.",
    "renamed": "The entity is renamed; the old name stays as an alias.",
    "aliased": "The alias is added.",
    "merged": "The two entities are one now.",
    "configured": "The settings are changed.",
    "trained": "The reranker is trained and in use.",
    "not-trained": "The reranker stays off; the reason is below.",
    "unlearned": "What the namespace learned is deleted; the feedback stays.",
}


def confirmation(done: str) -> str:
    """The sentence for the word in an address; empty for any other word."""
    return CONFIRMATIONS.get(done, "")


def redirect(session: Session, path: str, **state: object) -> RedirectResponse:
    """After a change: to a page that can be reloaded without making the change again."""
    return RedirectResponse(address(path, session.namespace, state), status_code=303)
