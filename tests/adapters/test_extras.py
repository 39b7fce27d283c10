"""Without its library, an adapter says which extra to install; fivefold itself needs none of them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

LIBRARIES = {
    "langchain": ("langchain_core", "langchain"),
    "llama_index": ("llama_index", "llama-index"),
    "haystack": ("haystack", "haystack"),
    "openai_agents": ("agents", "openai-agents"),
    "anthropic": ("anthropic", "anthropic"),
    "autogen": ("autogen_core", "autogen"),
    "crewai": ("crewai", "crewai"),
    "google_adk": ("google.adk", "google-adk"),
    "pydantic_ai": ("pydantic_ai", "pydantic-ai"),
    "langgraph": ("langgraph.store.base", "langgraph"),
    "hermes": ("agent", "hermes"),
}

ASKED = """
import json, sys
from importlib import import_module
import fivefold, fivefold.adapters, fivefold.transfer.importers, fivefold.engine
from fivefold.errors import MissingExtra
libraries = {libraries!r}
loaded = [library for library, _ in libraries.values() if library in sys.modules]
said = {{}}
for module, (library, _) in libraries.items():
    sys.modules[library] = None
    try:
        import_module(f"fivefold.adapters.{{module}}")
    except MissingExtra as error:
        said[module] = str(error)
print(json.dumps([loaded, said]))
"""


def test_no_library_is_loaded_unasked_and_a_missing_one_is_said() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ASKED.format(libraries=LIBRARIES)], capture_output=True, text=True, check=True
    )
    loaded, said = json.loads(done.stdout)
    assert loaded == []
    for module, (_, extra) in LIBRARIES.items():
        assert said[module].endswith(f"needs an optional package; install it with: pip install 'fivefold[{extra}]'")
