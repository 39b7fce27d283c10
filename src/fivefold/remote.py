"""Calls to a model server that speaks the OpenAI shape: key from the environment, time-outs, retries."""

from __future__ import annotations

import os
import random
import time
from typing import Any

from fivefold.errors import FivefoldError, MissingExtra

TIMEOUT_S = 30.0
ATTEMPTS = 4
_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504})


class RemoteError(FivefoldError):
    """The model server could not be reached or refused."""


def post(path: str, body: dict[str, Any]) -> dict[str, Any]:
    """POST to `OPENAI_BASE_URL` + path; retried with growing pauses while the server is busy or away."""
    try:
        import httpx
    except ImportError:
        raise MissingExtra("a remote model", "openai") from None

    base = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1").rstrip("/")
    key = os.environ.get("OPENAI_API_KEY")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    pause, problem = 0.5, ""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(pause + random.random() * pause / 2)
            pause *= 2
        try:
            answer = httpx.post(f"{base}{path}", json=body, headers=headers, timeout=TIMEOUT_S)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            problem = f"{type(error).__name__}: {error}"
            continue
        if answer.status_code == 200:
            return dict(answer.json())
        problem = f"HTTP {answer.status_code}: {answer.text[:200]}"
        if answer.status_code not in _AGAIN:
            break
    hint = "" if key else " (OPENAI_API_KEY is not set)"
    raise RemoteError(f"{base}{path} did not answer{hint}: {problem}")
