import { ConnectionFailed, FivefoldError, RequestFailed, TooManyRequests, Unavailable, errorOf } from "./errors.js";
import type { components, paths } from "./schema.js";

export * from "./errors.js";
export type { components, operations, paths } from "./schema.js";

type Schemas = components["schemas"];
export type Context = Schemas["Context"];
export type Hit = Schemas["HitSummary"];
export type Memory = Schemas["Memory"];
export type Profile = Schemas["Profile"];
export type RecordFields = Schemas["RecordBody"];
export type Recall = Schemas["RecallSummary"];
export type Report = Schemas["Report"];
export type ContextOptions = Omit<Schemas["ContextBody"], "question">;
export type RecallOptions = Omit<Schemas["RecallBody"], "question">;
export type ProfileOptions = Query<"get", In<"profile">>;

export interface ClientOptions {
  /** The address of the server. */
  url?: string;
  /** An API key, as `fivefold keys create` makes it. */
  key?: string;
  namespace?: string;
  /** How often a request that found no answer is sent again. */
  retries?: number;
  /** How long one try may take until its answer begins. */
  timeoutMs?: number;
  fetch?: typeof fetch;
}

export interface CallOptions {
  signal?: AbortSignal;
  /** A write is sent with a new key unless you give one; give your own to send it again from elsewhere. */
  idempotencyKey?: string;
}

type Method = "get" | "post" | "patch" | "delete";
type In<Rest extends string> = `/v1/namespaces/{namespace}/${Rest}`;
type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, { responses: unknown }> ? P : never;
}[keyof paths];
type Operation<M extends Method, P extends keyof paths> = paths[P][M];
type Query<M extends Method, P extends keyof paths> =
  Operation<M, P> extends { parameters: { query?: infer Q } } ? NonNullable<Q> : never;
type QueryPart<M extends Method, P extends keyof paths> =
  Operation<M, P> extends { parameters: { query: infer Q } } ? { query: Q } : { query?: Query<M, P> };
type PathNames<M extends Method, P extends keyof paths> =
  Operation<M, P> extends { parameters: { path: infer N } } ? Omit<N, "namespace"> : {};
type JsonBody<M extends Method, P extends keyof paths> =
  Operation<M, P> extends { requestBody: { content: { "application/json": infer B } } } ? { body: B } : {};
type JsonOf<R> = R extends { content: { "application/json": infer A } } ? A : never;
type Answer<M extends Method, P extends keyof paths> =
  Operation<M, P> extends { responses: infer R } ? { [S in keyof R]: JsonOf<R[S]> }[keyof R] : never;
type Given<M extends Method, P extends keyof paths> = JsonBody<M, P> &
  ({} extends PathNames<M, P> ? {} : { path: PathNames<M, P> }) & QueryPart<M, P>;
type GivenArgs<M extends Method, P extends keyof paths> = {} extends Given<M, P>
  ? [given?: Given<M, P>, options?: CallOptions]
  : [given: Given<M, P>, options?: CallOptions];

interface Sent {
  path?: Record<string, string | number>;
  query?: Record<string, unknown>;
  body?: unknown;
}

const LINES = "application/x-ndjson";
const MAX_WAIT_MS = 30_000;

/** One namespace of a fivefold server. */
export class Fivefold {
  readonly namespace: string;
  readonly #options: ClientOptions;
  readonly #url: string;
  readonly #fetch: typeof fetch;

  constructor(options: ClientOptions = {}) {
    this.#options = options;
    this.namespace = options.namespace ?? "default";
    this.#url = (options.url ?? "http://127.0.0.1:8484").replace(/\/+$/, "");
    if (!/^https?:/.test(this.#url) || !URL.canParse(this.#url))
      throw new FivefoldError(`url "${this.#url}" is not an address; give one such as http://127.0.0.1:8484`);
    if (options.key && !/^[\x21-\x7e]+$/.test(options.key))
      throw new FivefoldError("key has a character that no key has; give it as `fivefold keys create` showed it");
    this.#fetch = options.fetch ?? ((...args) => fetch(...args));
  }

  /** The same server and key, with another namespace. */
  withNamespace(namespace: string): Fivefold {
    return new Fivefold({ ...this.#options, namespace });
  }

  /** Remember a text, or a record with its speaker, session, time and so on. */
  remember(record: string | RecordFields, options?: CallOptions): Promise<Report> {
    const body = typeof record === "string" ? { content: record } : record;
    return this.request("post", "/v1/namespaces/{namespace}/memories", { body }, options) as Promise<Report>;
  }

  /** Remember many records; they are stored together or not at all. */
  rememberMany(records: RecordFields[], options?: CallOptions): Promise<Report> {
    const body = { records };
    return this.request("post", "/v1/namespaces/{namespace}/memories/batch", { body }, options) as Promise<Report>;
  }

  /** The memories that answer a question best. */
  recall(question: string, { signal, ...fields }: RecallOptions & CallOptions = {}): Promise<Recall> {
    const body = { question, ...fields };
    const options = signal ? { signal } : {};
    return this.request("post", "/v1/namespaces/{namespace}/recall", { body }, options) as Promise<Recall>;
  }

  /** A block of text for a prompt, with its sources. */
  context(question: string, { signal, ...fields }: ContextOptions & CallOptions = {}): Promise<Context> {
    const body = { question, ...fields };
    return this.request("post", "/v1/namespaces/{namespace}/context", { body }, signal ? { signal } : {});
  }

  /** The known facts of the user, or of `about`. */
  profile(query: ProfileOptions = {}, options?: CallOptions): Promise<Profile> {
    return this.request("get", "/v1/namespaces/{namespace}/profile", { query }, options);
  }

  /** Forget a memory for good; the answer says what it was. */
  forget(id: string, options?: CallOptions): Promise<Schemas["ForgottenMemory"]> {
    return this.request("delete", "/v1/namespaces/{namespace}/memories/{id}", { path: { id } }, options);
  }

  /** Every memory of the namespace, oldest first, as it arrives. */
  async *export(options: CallOptions = {}): AsyncGenerator<Record<string, unknown>> {
    const response = await this.#send("get", "/v1/namespaces/{namespace}/export", {}, options);
    const decoder = new TextDecoder();
    const reader = response.body!.getReader();
    let rest = "";
    try {
      for (;;) {
        const { done, value } = await reader.read().catch((cause) => failed(cause, options.signal));
        rest += decoder.decode(value, { stream: !done });
        const lines = rest.split("\n");
        rest = lines.pop()!;
        for (const line of lines) yield JSON.parse(line);
        if (done) break;
      }
    } finally {
      await reader.cancel().catch(() => {});
    }
    if (rest) throw new ConnectionFailed("the export broke off; start it again");
  }

  /** Store exported memories, or records with at least a content. The same ones again add nothing. */
  async import(
    records: Iterable<object> | AsyncIterable<object>,
    options: CallOptions = {},
  ): Promise<Report> {
    let lines = "";
    for await (const record of records) lines += `${JSON.stringify(record)}\n`;
    const response = await this.#send("post", "/v1/namespaces/{namespace}/import", { body: lines }, options, LINES);
    return (await json(response, options.signal)) as Report;
  }

  /** Any other operation of REST that answers in JSON; types say which there are and what they take. */
  async request<M extends Method, P extends PathOf<M>>(
    method: M,
    path: P,
    ...[given, options = {}]: GivenArgs<M, P>
  ): Promise<Answer<M, P>> {
    const response = await this.#send(method, path, (given ?? {}) as Sent, options);
    return (await json(response, options.signal)) as Answer<M, P>;
  }

  async #send(method: Method, path: string, sent: Sent, options: CallOptions, type?: string): Promise<Response> {
    const names: Record<string, string | number> = { namespace: this.namespace, ...sent.path };
    const place = path.replace(/{(\w+)}/g, (_, name: string) => segment(name, names[name]));
    const url = new URL(this.#url + place);
    for (const [name, value] of Object.entries(sent.query ?? {}))
      if (value !== undefined && value !== null) url.searchParams.set(name, String(value));
    const headers = new Headers();
    if (this.#options.key) headers.set("Authorization", `Bearer ${this.#options.key}`);
    if (sent.body !== undefined) headers.set("Content-Type", type ?? "application/json");
    if (method !== "get") headers.set("Idempotency-Key", options.idempotencyKey ?? crypto.randomUUID());
    const body = type ? sent.body : sent.body === undefined ? undefined : JSON.stringify(sent.body);
    const init: RequestInit = { method: method.toUpperCase(), headers };
    if (body !== undefined) init.body = body as string;

    for (let tries = 0; ; tries++) {
      let failure: FivefoldError;
      let waitMs = 250 * 2 ** tries * (0.5 + Math.random());
      try {
        const response = await this.#once(url, init, options.signal);
        if (response.ok) return response;
        failure = await errorOf(response);
        if (!worthwhile(failure as RequestFailed)) throw failure;
        waitMs = Math.max(waitMs, Number(response.headers.get("Retry-After") ?? 0) * 1_000 || 0);
      } catch (error) {
        if (!(error instanceof ConnectionFailed)) throw error;
        failure = error;
      }
      if (tries >= (this.#options.retries ?? 2) || waitMs > MAX_WAIT_MS) throw failure;
      await pause(waitMs, options.signal);
    }
  }

  /** One try. The time limit ends where the answer begins, since an export may take longer. */
  async #once(url: URL, init: RequestInit, signal?: AbortSignal): Promise<Response> {
    signal?.throwIfAborted();
    const own = new AbortController();
    const timeoutMs = this.#options.timeoutMs ?? 60_000;
    const timer = setTimeout(() => own.abort(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
    try {
      return await this.#fetch(url, { ...init, signal: signal ? AbortSignal.any([signal, own.signal]) : own.signal });
    } catch (cause) {
      return failed(cause, signal);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** A name as one segment of a path; "." and ".." would be read as folders. */
function segment(name: string, value: string | number | undefined): string {
  if (value === undefined || value === "") throw new FivefoldError(`${name} is empty; name one`);
  if (value === "." || value === "..") throw new FivefoldError(`${name} cannot be "${value}" in an address`);
  return encodeURIComponent(value);
}

function worthwhile(error: RequestFailed): boolean {
  return error instanceof TooManyRequests || error instanceof Unavailable || error.kind === "under-way";
}

function failed(cause: unknown, signal?: AbortSignal): never {
  signal?.throwIfAborted();
  const reason = cause instanceof Error ? (cause.cause instanceof Error ? cause.cause : cause).message : String(cause);
  throw new ConnectionFailed(`the server did not answer: ${reason}`, { cause });
}

async function json(response: Response, signal?: AbortSignal): Promise<unknown> {
  const text = await response.text().catch((cause) => failed(cause, signal));
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ConnectionFailed("the answer is not JSON; is there a fivefold server at this address?", { cause });
  }
}

/** Waits, or less if it is aborted; the next try then ends at once. */
function pause(waitMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, signal?.aborted ? 0 : waitMs);
    signal?.addEventListener("abort", end);
  });
}
