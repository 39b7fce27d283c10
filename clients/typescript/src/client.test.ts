/** Run by tests/test_typescript.py against a server of its own. */
import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { generateText, stepCountIs } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { ConnectionFailed, Fivefold, InvalidInput, NotFound, Unauthorized, type ClientOptions } from "fivefold";
import { memoryTools } from "fivefold/ai";

const url = process.env.FIVEFOLD_TEST_URL!;
const key = process.env.FIVEFOLD_TEST_KEY!;
const client = (namespace: string, options: ClientOptions = {}) => new Fivefold({ url, key, namespace, ...options });

async function listed(memory: Fivefold): Promise<string[]> {
  const page = await memory.request("get", "/v1/namespaces/{namespace}/memories", { query: { limit: 100 } });
  return page.items.map((item) => item.content);
}

async function exported(memory: Fivefold): Promise<object[]> {
  const lines = [];
  for await (const line of memory.export()) lines.push(line);
  return lines;
}

/** A proxy before the server that treats requests by their number; gives its address and what passed. */
async function behind<T>(
  treat: (number: number, response: ServerResponse, forward: () => Promise<Response>) => Promise<void>,
  use: (url: string, keys: string[]) => Promise<T>,
): Promise<T> {
  const keys: string[] = [];
  const proxy = createServer((request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      keys.push(String(request.headers["idempotency-key"]));
      const headers = { "Content-Type": "application/json", Authorization: `Bearer ${key}`, "Idempotency-Key": keys.at(-1)! };
      const body = Buffer.concat(chunks);
      void treat(keys.length, response, () => fetch(url + request.url, { method: request.method!, headers, body }));
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  try {
    return await use(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}/`, keys);
  } finally {
    proxy.closeAllConnections();
    proxy.close();
  }
}

async function pass(response: ServerResponse, answer: Response): Promise<void> {
  response.writeHead(answer.status, { "Content-Type": answer.headers.get("Content-Type")! });
  response.end(await answer.text());
}

test("what is remembered is recalled, filtered, put into a block, and forgotten", async () => {
  const memory = client("höhle / 1");
  const { stored } = await memory.remember("The spare key is with Mrs Okafor");
  await memory.rememberMany([
    { content: "My badge ID is E-47821", speaker: "user", id: "badge/1" },
    { content: "I play the cello in a quartet", speaker: "anna" },
  ]);
  const recall = await memory.recall("who has the spare key?", { k: 3 });
  assert.equal(recall.namespace, "höhle / 1");
  assert.equal(recall.hits[0]!.memory.id, stored[0]);
  assert.equal(recall.found, true);
  const hers = await memory.recall("who plays an instrument?", { filter: "speaker:anna" });
  assert.deepEqual(hers.hits.map((hit) => hit.memory.speaker), ["anna"]);
  const { text, tokens } = await memory.context("what is my badge ID?", { token_budget: 200 });
  assert.match(text, /E-47821/);
  assert.ok(tokens <= 200);
  assert.equal((await memory.profile({ token_budget: 300 })).about, "user");
  // @ts-expect-error A history is of something.
  await assert.rejects(memory.request("get", "/v1/namespaces/{namespace}/history"), InvalidInput);
  assert.equal((await memory.forget("badge/1")).id, "badge/1");
  await assert.rejects(memory.forget("badge/1"), NotFound);
  assert.equal((await listed(memory)).length, 2);
  assert.deepEqual(await listed(memory.withNamespace("elsewhere")), []);
});

test("errors have classes, kinds and fields", async () => {
  const memory = client("errors");
  await assert.rejects(client("errors", { key: "ff_wrong" }).recall("who?"), Unauthorized);
  await assert.rejects(memory.recall("who?", { k: 100_000 }), (error) => {
    assert.ok(error instanceof InvalidInput);
    assert.deepEqual([error.kind, error.status, error.problem.limit], ["k-too-large", 422, 100]);
    return true;
  });
  // @ts-expect-error A record has no such field.
  await assert.rejects(memory.remember({ content: "The door is green", colour: "green" }), (error) => {
    assert.ok(error instanceof InvalidInput);
    assert.deepEqual([error.kind, error.faults[0]!.field, error.name], ["invalid-input", "body.colour", "InvalidInput"]);
    return true;
  });
  await assert.rejects(memory.forget(".."), { name: "FivefoldError" });
  for (const wrong of [{ url: "nonsense" }, { url: "localhost:8484" }, { key: "ff_…" }])
    assert.throws(() => new Fivefold(wrong), { name: "FivefoldError" });
  await assert.rejects(client("errors", { url: "http://127.0.0.1:9", retries: 0 }).recall("who?"), ConnectionFailed);
  assert.deepEqual(await listed(memory), []);
});

test("an export is a stream, and imports as it was", async () => {
  const [from, to] = [client("from"), client("to")];
  await from.rememberMany(Array.from({ length: 150 }, (_, i) => ({ content: `Crate ${i} holds “${i * 7}” ☂`, id: `c${i}` })));
  for await (const first of from.export()) {
    assert.equal(first.id, "c0");
    break;
  }
  assert.equal((await to.import(from.export())).stored.length, 150);
  assert.equal((await to.import(from.export())).stored.length, 0);
  assert.deepEqual(await exported(to), await exported(from));
});

test("a write whose answer is lost is sent again under its key, and done once", async () => {
  const memory = client("retried");
  await behind(
    async (number, response, forward) => {
      if (number === 1) return void response.writeHead(503, { "Retry-After": "1" }).end("no problem document");
      const answer = await forward();
      if (number === 2) return void response.destroy();
      await pass(response, answer);
    },
    async (proxy, keys) => {
      const report = await client("retried", { url: proxy }).remember("The plumber comes on Tuesday");
      assert.equal(report.stored.length, 1);
      assert.equal(keys.length, 3);
      assert.equal(new Set(keys).size, 1);
    },
  );
  assert.deepEqual(await listed(memory), ["The plumber comes on Tuesday"]);
  await memory.remember("Bins go out on Monday", { idempotencyKey: "bins" });
  await assert.rejects(memory.remember("Bins go out on Friday", { idempotencyKey: "bins" }), { kind: "key-used-otherwise" });
});

test("a server that does not answer is given up, and so is what the caller aborts", async () => {
  await behind(
    async () => {},
    async (proxy, keys) => {
      const memory = client("late", { url: proxy, timeoutMs: 100, retries: 1 });
      await assert.rejects(memory.recall("who?"), ConnectionFailed);
      assert.equal(keys.length, 2);
      const patient = client("late", { url: proxy });
      await assert.rejects(patient.recall("who?", { signal: AbortSignal.timeout(100) }), { name: "TimeoutError" });
      assert.equal(keys.length, 3);
    },
  );
  await behind(
    async (_, response) => void response.writeHead(503, { "Retry-After": "20" }).end(),
    async (proxy, keys) => {
      const signal = AbortSignal.timeout(200);
      await assert.rejects(client("late", { url: proxy }).recall("who?", { signal }), { name: "TimeoutError" });
      assert.equal(keys.length, 1);
    },
  );
});

test("a model remembers, recalls and forgets by the tools of the AI SDK", async () => {
  const memory = client("tools");
  const calls: [string, object][] = [
    ["remember", { content: "Anna's cat is called Miso", speaker: "user" }],
    ["remember", { content: "Anna's dog is called Bo", colour: "brown" }],
    ["recall", { question: "what is the cat called?" }],
  ];
  const model = new MockLanguageModelV3({
    doGenerate: async () => {
      const [toolName, input] = calls.shift() ?? [];
      const usage = {
        inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 1, text: 1, reasoning: 0 },
      };
      if (!toolName) return { content: [{ type: "text", text: "Miso" }], finishReason: { unified: "stop", raw: "stop" }, usage, warnings: [] };
      const call = { type: "tool-call" as const, toolCallId: toolName, toolName, input: JSON.stringify(input) };
      return { content: [call], finishReason: { unified: "tool-calls", raw: "tool-calls" }, usage, warnings: [] };
    },
  });
  const tools = memoryTools(memory, { sessionId: "talk", k: 1 });
  const { steps, text } = await generateText({ model, tools, prompt: "What is Anna's cat called?", stopWhen: stepCountIs(5) });
  assert.equal(text, "Miso");
  const outputs = steps.flatMap((step) => step.toolResults.map((result) => result.output as Record<string, any>));
  assert.equal(outputs.length, 3);
  assert.equal(outputs[0]!.stored.length, 1);
  assert.match(outputs[1]!.error, /colour/);
  assert.deepEqual(outputs[2]!.memories.map((one: any) => [one.id, one.content]), [[outputs[0]!.stored[0], "Anna's cat is called Miso"]]);
  const context = { toolCallId: "1", messages: [] };
  assert.deepEqual(await tools.forget.execute!({ id: outputs[0]!.stored[0] }, context), { forgotten: outputs[0]!.stored[0] });
  assert.deepEqual(await listed(memory), []);
  assert.ok("error" in (await tools.forget.execute!({ id: "absent" }, context)));
});
