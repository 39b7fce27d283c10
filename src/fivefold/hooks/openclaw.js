const textOf = ({ content }) =>
  typeof content === "string" ? content : (content ?? []).filter((part) => part.type === "text").map((part) => part.text).join("\n")
// Neither timed runs nor helpers of an agent are a talk with its user.
const isTalk = ({ sessionId, sessionKey = "", trigger = "user", inputProvenance: { kind } = { kind: "external_user" } }) =>
  sessionId && trigger === "user" && kind === "external_user" && !sessionKey.includes(":subagent:")

export default {
  id: "fivefold",
  name: "fivefold",
  description: "Long-term memory across sessions",
  register(api) {
    const sessions = new Map()
    api.registerMemoryCapability({})
    api.on("before_prompt_build", async (event, context) => {
      const prompt = event.currentUserMessage ?? event.prompt
      if (!prompt || !isTalk(context)) return
      const { sessionId: session_id, workspaceDir, runId } = context
      let known = sessions.get(session_id)
      if (!known || known.runId !== runId || !runId) {
        const start = known?.start ?? (await ask(workspaceDir, "SessionStart", { session_id }))
        known = { runId, start, found: await ask(workspaceDir, "UserPromptSubmit", { session_id, prompt }) }
        sessions.set(session_id, known)
      }
      return { appendSystemContext: known.start || undefined, prependContext: known.found || undefined }
    })
    api.on("agent_end", async ({ messages, success }, context) => {
      const last = messages.findLast((message) => message.role === "assistant")
      const last_assistant_message = success && last ? textOf(last) : ""
      if (!last_assistant_message || !isTalk(context)) return
      await ask(context.workspaceDir, "Stop", { session_id: context.sessionId, last_assistant_message })
    })
    api.on("session_end", ({ sessionId }) => void sessions.delete(sessionId))
  },
}
