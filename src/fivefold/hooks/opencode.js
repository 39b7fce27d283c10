import { spawnSync } from "node:child_process"

const textOf = (parts) =>
  parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text).join("\n")

export const Fivefold = async ({ client, directory }) => {
  const blocks = new Map()
  const helpers = new Set()
  return {
    "chat.message": async ({ sessionID }, { parts }) => {
      const prompt = textOf(parts)
      if (!prompt || helpers.has(sessionID)) return
      const session_id = sessionID
      const start = blocks.get(sessionID)?.[0] ?? (await ask(directory, "SessionStart", { session_id }))
      blocks.set(sessionID, [start, await ask(directory, "UserPromptSubmit", { session_id, prompt })])
    },
    "experimental.chat.system.transform": async ({ sessionID }, { system }) => {
      system.push(...(blocks.get(sessionID) ?? []).filter(Boolean))
    },
    event: async ({ event }) => {
      const { sessionID, info } = event.properties ?? {}
      if (event.type === "session.created" && info?.parentID) helpers.add(info.id)
      if (event.type !== "session.idle" || helpers.has(sessionID)) return
      const { data } = await client.session.messages({ path: { id: sessionID } })
      const last = (data ?? []).findLast((message) => message.info.role === "assistant")
      const said = last ? textOf(last.parts) : ""
      const input = JSON.stringify({ session_id: sessionID, last_assistant_message: said })
      // OpenCode may end as soon as it is idle, so this waits until the event is left.
      if (said) spawnSync(PROGRAM, argumentsOf("Stop"), { cwd: directory, timeout: 5000, input })
    },
  }
}
