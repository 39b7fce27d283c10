"""The coding agents: the place of each one's hooks, its events, and the form of an entry in its configuration."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from fivefold.errors import InvalidInput
from fivefold.values.serialize import Json

TIMEOUT_S = 5
"""Seconds after which an agent gives up on a hook; it ends long before."""


@dataclass(frozen=True, slots=True)
class Agent:
    """One coding agent. `events` are those that fivefold takes part in."""

    name: str
    title: str
    folder: str
    """Folder of its configuration, in the user's home folder and in a project."""
    user_file: str
    project_file: str
    home_variable: str | None
    """The variable that names the user's folder if it is another one."""
    events: tuple[str, ...]
    grouped: bool
    """True if an event has groups, each with a list of hooks; false for a plain list of hooks."""
    timeout: int = TIMEOUT_S
    """The time limit of a hook in the unit of the agent."""
    plugin: str | None = None
    """A file of the package that becomes the configuration file, if the agent runs plugins and no commands."""

    def config_file(self, project: Path | None = None) -> Path:
        """The file with the hooks of the user, or of a project."""
        if project is not None:
            return project / self.folder / self.project_file
        home = os.environ.get(self.home_variable) if self.home_variable else None
        return (Path(home) if home else Path.home() / self.folder) / self.user_file

    def entry(self, command: str) -> Json:
        """The entry in the list of an event."""
        if not self.grouped:
            return {"command": command, "timeout": self.timeout}
        hook = {"type": "command", "command": command, "timeout": self.timeout}
        return {"hooks": [hook]}


AGENTS = {
    agent.name: agent
    for agent in (
        Agent(
            "claude-code",
            "Claude Code",
            ".claude",
            "settings.json",
            "settings.local.json",
            "CLAUDE_CONFIG_DIR",
            ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"),
            True,
        ),
        Agent(
            "codex",
            "Codex",
            ".codex",
            "hooks.json",
            "hooks.json",
            "CODEX_HOME",
            ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact"),
            True,
        ),
        Agent(
            "cursor",
            "Cursor",
            ".cursor",
            "hooks.json",
            "hooks.json",
            None,
            (
                "sessionStart",
                "beforeSubmitPrompt",
                "postToolUse",
                "afterAgentResponse",
                "stop",
                "preCompact",
                "sessionEnd",
            ),
            False,
        ),
        Agent(
            "gemini-cli",
            "Gemini CLI",
            ".gemini",
            "settings.json",
            "settings.json",
            None,
            ("SessionStart", "BeforeAgent", "AfterAgent", "PreCompress", "SessionEnd"),
            True,
            1_000 * TIMEOUT_S,
        ),
        Agent(
            "opencode",
            "OpenCode",
            ".opencode",
            "plugins/fivefold.js",
            "plugins/fivefold.js",
            "OPENCODE_CONFIG_DIR",
            ("SessionStart", "UserPromptSubmit", "Stop"),
            False,
            plugin="opencode.js",
        ),
    )
}


def agent_named(name: str) -> Agent:
    if name not in AGENTS:
        raise InvalidInput(f"{name!r} is unknown; it is one of {', '.join(AGENTS)}", field="agent")
    return AGENTS[name]
