// Errors. Programs test `code`; classes exist where an error has more to say than its code and text.

/** What went wrong. */
export type ErrorCode =
  | "BAD_REQUEST" // the request breaks a rule that no state can change, such as a count above the limit
  | "UNAUTHORIZED" // the token lacks the right
  | "UNAUTHENTICATED" // no host accepts the token
  | "NOT_FOUND" // there is no such node or semaphore
  | "ALREADY_EXISTS" // the object to be created exists; nothing was changed
  | "PRECONDITION_FAILED" // the state forbids the request: in use, another revision, of the other sort
  | "ABORTED" // an acquire that waited was overtaken
  | "FENCED" // the lease that guards the change is over; nothing was changed
  | "SESSION_LOST" // the session is over, and everything it owned
  | "BAD_SESSION" // the session belongs to another client
  | "UNAVAILABLE" // no host could be asked in time
  | "UNKNOWN_OUTCOME" // the change may or may not have been made
  | "OVERLOADED" // a limit of the host is reached; nothing happened
  | "STORAGE_FULL" // the host refuses writes until it has disk space; nothing happened
  | "UNSUPPORTED" // the host does not know the request
  | "QUOTA_EXCEEDED" // a node or shard would exceed its quota
  | "INTERNAL" // the host or this package is in an impossible state; please report it
  | "NOT_ACQUIRED" // not granted within the waiting time; nothing is left in the queue
  | "LEASE_LOST" // granted, and lost before its release
  | "NOT_HELD" // the lease was released
  | "CLOSED" // the client, session or limiter was closed by the program
  | "STALE" | "MOVED" | "HEARTBEAT_TIMEOUT" | "SEQUENCE_REUSED" | "UNKNOWN_STATUS";

/** Base of all errors of this package. */
export class SignalboxError extends Error {
  override readonly name: string = "SignalboxError";

  constructor(readonly code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
  }
}

/** The lock or semaphore was not granted within the waiting time. */
export class NotAcquiredError extends SignalboxError {
  override readonly name = "NotAcquiredError";

  constructor(message: string) {
    super("NOT_ACQUIRED", message);
  }
}

/** What ended a session. */
export type EndReason =
  | "silence" // no host confirmed the session in time
  | "blocked" // the program did not run its event loop for longer than `maxBlocked`
  | "expired" // the host did not hear from the client in time
  | "destroyed" // an operator ended it
  | "node_dropped" // its node was dropped
  | "taken" // another client attached it
  | "closed" // the program closed it
  | "unknown";

const ENDS: Record<EndReason, string> = {
  silence: "no host has confirmed it in time",
  blocked: "the program did not run its event loop for longer than maxBlocked",
  expired: "the host has not heard from the client in time",
  destroyed: "an operator ended it",
  node_dropped: "its node was dropped",
  taken: "another client attached it",
  closed: "it was closed",
  unknown: "it is over",
};

/** The session is over, and everything it owned is lost. */
export class SessionLostError extends SignalboxError {
  override readonly name = "SessionLostError";

  constructor(readonly sessionId: bigint, readonly reason: EndReason, readonly detail = "") {
    super("SESSION_LOST", `session ${sessionId} ended: ${ENDS[reason]}${detail && `: ${detail}`}`);
  }
}

/** What overtook an acquire that waited, or took a lease. */
export type AbortReason = "unknown" | "replaced" | "released" | "deleted" | "node_dropped" | "resized";

const ABORTS: Record<AbortReason, string> = {
  unknown: "the host gives no reason",
  replaced: "a newer acquire of the same session took its position",
  released: "it was released",
  deleted: "the semaphore was deleted by force",
  node_dropped: "the node was dropped",
  resized: "the limit was lowered below the requested count",
};

const ABORT_NUMBERS: AbortReason[] = ["unknown", "replaced", "released", "deleted", "node_dropped", "resized"];

/** A waiting acquire was overtaken. */
export class AbortedError extends SignalboxError {
  override readonly name = "AbortedError";

  constructor(readonly reason: AbortReason, message = "") {
    super("ABORTED", message || `the acquire was overtaken: ${ABORTS[reason]}`);
  }
}

/** Returns the reason with the number of the protocol. */
export function abortReason(number: number): AbortReason {
  return ABORT_NUMBERS[number] ?? "unknown";
}

/** The lease was granted, and lost before its release: others may own the lock. `cause` has the reason. */
export class LeaseLostError extends SignalboxError {
  override readonly name = "LeaseLostError";

  constructor(message: string, cause?: unknown) {
    super("LEASE_LOST", message, { cause });
  }
}

/** An error as it passes between threads. */
export interface PortableError {
  code: ErrorCode | "ERROR";
  message: string;
  reason?: string;
  sessionId?: bigint;
  detail?: string;
  cause?: PortableError | undefined;
}

/** Turns an error into what can pass between threads. */
export function toPortable(error: unknown): PortableError {
  if (!(error instanceof SignalboxError)) {
    return { code: "ERROR", message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
  const portable: PortableError = { code: error.code, message: error.message };
  if (error.cause !== undefined) portable.cause = toPortable(error.cause);
  if (error instanceof SessionLostError) {
    portable.reason = error.reason;
    portable.sessionId = error.sessionId;
    portable.detail = error.detail;
  } else if (error instanceof AbortedError) {
    portable.reason = error.reason;
  }
  return portable;
}

/** Restores an error from another thread, with a stack of this thread. */
export function fromPortable(p: PortableError): SignalboxError {
  const cause = p.cause === undefined ? undefined : fromPortable(p.cause);
  switch (p.code) {
    case "NOT_ACQUIRED": return new NotAcquiredError(p.message);
    case "SESSION_LOST": return new SessionLostError(p.sessionId ?? 0n, p.reason as EndReason, p.detail);
    case "ABORTED": return new AbortedError(p.reason as AbortReason, p.message);
    case "LEASE_LOST": return new LeaseLostError(p.message, cause);
    case "ERROR": return new SignalboxError("INTERNAL", `a defect of this package: ${p.message}`);
    default: return new SignalboxError(p.code, p.message, cause && { cause });
  }
}
