"""The plugins of OpenCode and OpenClaw, run by Node with what OpenCode 1.18 and OpenClaw 2026.9 give them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import fivefold
from fivefold.errors import InvalidFile
from fivefold.hooks.agents import AGENTS, Agent
from fivefold.hooks.entry import namespace_of
from fivefold.hooks.manage import installation, installed_events, removal
from tests.support.hook_events import DATA, LONG_MS, VARIABLES, new_hooks, wait_for

OPENCODE = """
import { readFileSync } from "node:fs"
const [plugin, directory, turn, prompt, session, parent] = process.argv.slice(2)
const { Fivefold } = await import(plugin)
const data = JSON.parse(readFileSync(turn, "utf8").replaceAll("ses_e0aa62dd6ffepXyDG4LeqJH7V7", session))
const client = { session: { messages: async ({ path }) => ({ data: path.id === session ? data.messages : [] }) } }
const hooks = await Fivefold({ client, directory, worktree: directory })
const info = { id: session, parentID: parent }
if (parent) await hooks.event({ event: { type: "session.created", properties: { info } } })
const { input, output } = data["chat.message"]
if (prompt) output.parts[0].text = prompt
await hooks["chat.message"](input, output)
const system = ["You are helpful."]
await hooks["experimental.chat.system.transform"]({ sessionID: session, model: {} }, { system })
await hooks.event(data["session.idle"])
console.log(JSON.stringify(system))
"""

OPENCLAW = """
import { readFileSync } from "node:fs"
const [plugin, directory, turn, prompt, session, parent] = process.argv.slice(2)
const { default: entry } = await import(plugin)
const data = JSON.parse(readFileSync(turn, "utf8").replaceAll("1fe1cb05-4e84-4893-85a3-362a25dda358", session))
const handlers = {}
entry.register({ on: (name, handler) => (handlers[name] = handler), registerMemoryCapability: () => {} })
const { event, context } = data.before_prompt_build
const helper = parent && { sessionKey: `agent:main:subagent:${session}` }
const of = (own) => ({ ...own, workspaceDir: directory, ...helper })
const first = await handlers.before_prompt_build({ ...event, prompt: prompt || event.prompt }, of(context))
const answer = await handlers.before_prompt_build({ ...event, prompt: prompt || event.prompt }, of(context))
if (JSON.stringify(first) !== JSON.stringify(answer)) throw new Error("a run that is built again is told the same")
await handlers.agent_end(data.agent_end.event, of(data.agent_end.context))
handlers.session_end({ sessionId: session })
const told = [answer?.appendSystemContext, answer?.prependContext]
console.log(JSON.stringify(["You are helpful.", ...told.filter(Boolean)]))
"""
DRIVERS = {"opencode": OPENCODE, "openclaw": OPENCLAW}
PLUGINS = [AGENTS[name] for name in DRIVERS]


@pytest.mark.parametrize("agent", PLUGINS, ids=lambda agent: agent.name)
def test_the_plugin_is_installed_brought_up_to_date_and_removed(tmp_path: Path, agent: Agent) -> None:
    file, state = tmp_path / "fivefold" / "plugin.js", tmp_path / "state"
    installation(agent, file, state).apply()
    assert len(list(file.parent.iterdir())) == (2 if agent.manifest else 1)
    assert not installation(agent, file, state).changes
    assert installed_events(file, agent, state) == dict.fromkeys(agent.events, True)
    assert installed_events(file, agent, tmp_path / "other") == dict.fromkeys(agent.events, False)
    removal(agent, file).apply()
    assert file.parent.exists() is (agent.manifest is None)
    assert installed_events(file, agent, state) == {}
    assert not removal(agent, file).changes
    file.parent.mkdir(exist_ok=True)
    file.write_text("export const Mine = async () => ({})")
    with pytest.raises(InvalidFile, match="was not written by fivefold"):
        installation(agent, file, state)
    with pytest.raises(InvalidFile, match="was not written by fivefold"):
        removal(agent, file)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
@pytest.mark.parametrize("agent", PLUGINS, ids=lambda agent: agent.name)
def test_turns_are_stored_and_later_sessions_are_told(tmp_path: Path, agent: Agent) -> None:
    hooks, plugin, driver = new_hooks(tmp_path), tmp_path / "fivefold.mjs", tmp_path / "driver.mjs"
    installation(agent, plugin, hooks.state.folder).apply()
    driver.write_text(DRIVERS[agent.name])
    turn = str(DATA / agent.name / "turn.json")
    inherited = {name: value for name, value in os.environ.items() if name not in VARIABLES}

    def run(prompt: str, session: str, parent: str = "") -> list[str]:
        command = ["node", str(driver), str(plugin), str(hooks.project), turn, prompt, session, parent]
        done = subprocess.run(
            command, env={**inherited, "FIVEFOLD_HOOK_WAIT_MS": LONG_MS}, capture_output=True, text=True, check=True
        )
        system: list[str] = json.loads(done.stdout)
        return system

    def said(session: str) -> list[str]:
        with fivefold.open(hooks.state.settings().store, namespace=namespace_of(str(hooks.project))) as mem:
            ids = [found.id for found in mem.sessions()]
            name = f"{agent.name}:{session}"
            return [turn.content for turn in mem.turns(name)] if name in ids else []

    assert run("", "ses_one") == ["You are helpful."], "nothing is known yet"
    wait_for(lambda: len(said("ses_one")) == 2)
    assert said("ses_one") == ["The parcels leave from the depot in Leeds.", "Noted: parcels leave from Leeds."]
    first, start, found = run("Where do the parcels leave from?", "ses_two")
    assert first == "You are helpful."
    assert "depot in Leeds" in start
    assert "depot in Leeds" in found
    assert run("Where do the parcels leave from?", "ses_helper", parent="ses_two") == ["You are helpful."]
    hooks.wait_until_stored()
    assert said("ses_helper") == []
    assert not hooks.state.log.exists()
    hooks.end()
