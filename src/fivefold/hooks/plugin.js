// Written by `fivefold hook __AGENT__ install`, which also brings it up to date; `uninstall` deletes it.
import { spawn } from "node:child_process"

const [PROGRAM, ...ARGUMENTS] = __COMMAND__
const STATE = __STATE__

const argumentsOf = (event) => [...ARGUMENTS, event, STATE]

function ask(directory, event, payload) {
  return new Promise((resolve) => {
    const child = spawn(PROGRAM, argumentsOf(event), { cwd: directory, timeout: 5000, stdio: ["pipe", "pipe", "ignore"] })
    let answer = ""
    child.stdout.setEncoding("utf8").on("data", (part) => (answer += part))
    child.stdin.on("error", () => {})
    child.on("error", () => resolve(""))
    child.on("close", () => {
      try {
        resolve(JSON.parse(answer).hookSpecificOutput.additionalContext)
      } catch {
        resolve("")
      }
    })
    child.stdin.end(JSON.stringify(payload))
  })
}

