"""The coding agents: the place of each one's hooks, its events, and the form of an entry in its configuration."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from fivefold.errors import InvalidInput
from fivefold.values.serialize import Json

TIMEOUT_S = 5
"""Seconds after which an agent gives up on a hook; it ends long before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """One coding agent. `events` are those that fivefold takes part in."""

    name: str
    title: str
    folder: str
    """Folder of its configuration, in the user's home folder and in a project."""
    file: str
    project_file: str | None = None
    """The file in a project, if it has another name there."""
    home_variable: str | None = None
    """The variable that names the user's folder if it is another one."""
    events: tuple[str, ...] = ("SessionStart", "UserPromptSubmit", "Stop")
    grouped: bool = True
    """True if an event has groups, each with a list of hooks; false for a plain list of hooks."""
    timeout: int = TIMEOUT_S
    """The time limit of a hook in the unit of the agent."""
    plugin: str | None = None
    """A file of the package that becomes the configuration file, if the agent runs plugins and no commands."""
    manifest: str | None = None
    """A file of the package that the agent wants beside its plugin, in a folder of their own."""
    next_step: str = ""
    """Advice on the rest of the installation."""
    last_step: str = ""
    """Advice on the rest of the removal."""

    def config_file(self, project: Path | None = None) -> Path:
        """The file with the hooks of the user, or of a project."""
        if project is not None:
            return project / self.folder / (self.project_file or self.file)
        home = os.environ.get(self.home_variable) if self.home_variable else None
        return (Path(home) if home else Path.home() / self.folder) / self.file

    def entry(self, command: str) -> Json:
        """The entry in the list of an event."""
        if not self.grouped:
            return {"command": command, "timeout": self.timeout}
        hook = {"type": "command", "command": command, "timeout": self.timeout}
        return {"hooks": [hook]}


_COMMANDS = (
    Agent(
        name="claude-code",
        title="Claude Code",
        folder=".claude",
        file="settings.json",
        project_file="settings.local.json",
        home_variable="CLAUDE_CONFIG_DIR",
        events=("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"),
    ),
    Agent(
        name="codex",
        title="Codex",
        folder=".codex",
        file="hooks.json",
        home_variable="CODEX_HOME",
        events=("SessionStart", "UserPromptSubmit", "Stop", "PreCompact"),
    ),
    Agent(
        name="cursor",
        title="Cursor",
        folder=".cursor",
        file="hooks.json",
        events=tuple(
            "sessionStart beforeSubmitPrompt postToolUse afterAgentResponse stop preCompact sessionEnd".split()
        ),
        grouped=False,
    ),
    Agent(
        name="gemini-cli",
        title="Gemini CLI",
        folder=".gemini",
        file="settings.json",
        events=("SessionStart", "BeforeAgent", "AfterAgent", "PreCompress", "SessionEnd"),
        timeout=1_000 * TIMEOUT_S,
    ),
)
_PLUGINS = (
    Agent(
        name="opencode",
        title="OpenCode",
        folder=".opencode",
        file="plugins/fivefold.js",
        home_variable="OPENCODE_CONFIG_DIR",
        plugin="opencode.js",
    ),
    Agent(
        name="openclaw",
        title="OpenClaw",
        folder=".openclaw",
        file="extensions/fivefold/index.js",
        home_variable="OPENCLAW_STATE_DIR",
        plugin="openclaw.js",
        manifest="openclaw.plugin.json",
        next_step="let OpenClaw use it: openclaw config set plugins.slots.memory fivefold && "
        "openclaw config set plugins.entries.fivefold.hooks.allowConversationAccess true",
        last_step="let OpenClaw take it out of its settings: openclaw doctor --fix",
    ),
)
AGENTS = {agent.name: agent for agent in (*_COMMANDS, *_PLUGINS)}


def agent_named(name: str) -> Agent:
    if name not in AGENTS:
        raise InvalidInput(f"{name!r} is unknown; it is one of {', '.join(AGENTS)}", field="agent")
    return AGENTS[name]
