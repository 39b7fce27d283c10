import type { components } from "./schema.js";

export type Problem = components["schemas"]["Problem"];

/** Any failure that this client reports. */
export class FivefoldError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The server could not be reached, did not answer in time, or its answer broke off. */
export class ConnectionFailed extends FivefoldError {}

/** The server refused a request; `kind` names the reason, such as "invalid-input". */
export class RequestFailed extends FivefoldError {
  constructor(
    readonly status: number,
    readonly problem: Partial<Problem>,
  ) {
    super(problem.detail ?? `the server answered with status ${status}`);
  }

  get kind(): string {
    return this.problem.type?.replace("urn:fivefold:problem:", "") ?? "unknown";
  }

  /** Each value that cannot be used, with its field. */
  get faults(): Problem["errors"] {
    return this.problem.errors ?? [];
  }
}

/** 401: the key is missing, unknown, revoked or expired. */
export class Unauthorized extends RequestFailed {}
/** 403: the key does not allow it, or the store can only be read. */
export class Forbidden extends RequestFailed {}
/** 404: there is no such memory, session, entity or path. */
export class NotFound extends RequestFailed {}
/** 409 and 410: another model, the same request under way, or an answer that is gone. */
export class Conflict extends RequestFailed {}
/** 400, 413, 415 and 422: the request must be changed. */
export class InvalidInput extends RequestFailed {}
/** 429: too many requests, or too much waits to be stored. */
export class TooManyRequests extends RequestFailed {}
/** 502 to 504: the server, its store or a model does not answer. */
export class Unavailable extends RequestFailed {}

const CLASSES: Record<number, typeof RequestFailed> = {
  400: InvalidInput,
  401: Unauthorized,
  403: Forbidden,
  404: NotFound,
  409: Conflict,
  410: Conflict,
  413: InvalidInput,
  415: InvalidInput,
  422: InvalidInput,
  429: TooManyRequests,
  502: Unavailable,
  503: Unavailable,
  504: Unavailable,
};

/** The error of an answer; a proxy may have answered with something else than a problem. */
export async function errorOf(response: Response): Promise<RequestFailed> {
  const text = await response.text().catch(() => "");
  let problem: Partial<Problem> = {};
  try {
    const read: unknown = JSON.parse(text);
    if (typeof read === "object" && read !== null) problem = read;
  } catch {
    // The status says enough.
  }
  return new (CLASSES[response.status] ?? RequestFailed)(response.status, problem);
}
