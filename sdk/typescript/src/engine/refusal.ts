// What a host refused, and lost connections, as errors.
import { abortReason, AbortedError, SessionLostError, SignalboxError, type ErrorCode } from "../errors.js";
import { readRecord, Status, uintAt } from "../protocol/message.js";
import type { DetailRecord, StatusName } from "../protocol/messages.js";
import type { Raw, RawMessage } from "../protocol/reader.js";

/** A connection could not be made, or was lost: the outcome of what was in flight is unknown. */
export class TransportError extends SignalboxError {
  constructor(message: string, cause?: unknown) {
    super("UNAVAILABLE", message, cause === undefined ? undefined : { cause });
  }
}

const NAMES = new Map<number, StatusName>(Object.entries(Status).map(([name, n]) => [n, name as StatusName]));
const answers = new WeakMap<Error, { status: number; detail: DetailRecord }>();
const NO_DETAIL = readRecord("Detail", undefined) as DetailRecord;

/** The error of an answer, by its status and its detail as it was read. */
export function errorOf(status: number, raw: Raw | undefined): SignalboxError {
  const detail = readRecord("Detail", raw) as DetailRecord;
  const error = build(status, detail);
  answers.set(error, { status, detail });
  return error;
}

function build(status: number, detail: DetailRecord): SignalboxError {
  if (status === Status.ABORTED) return new AbortedError(abortReason(detail.reason), detail.message);
  if (status === Status.SESSION_EXPIRED) return new SessionLostError(0n, "unknown", detail.message);
  const name = NAMES.get(status);
  const code = name === undefined ? "UNKNOWN_STATUS" : (name as ErrorCode);
  return new SignalboxError(code, detail.message || name || `status ${status}`);
}

/** Why a host refused a request; undefined if it did not. */
export function refusalOf(raw: RawMessage): SignalboxError | undefined {
  const status = uintAt(raw, 2);
  return status === 0 ? undefined : errorOf(status, raw[3]);
}

/** The status of a host's answer; 0 for any other error. */
export function statusOf(error: unknown): number {
  return (error instanceof Error && answers.get(error)?.status) || 0;
}

/** The detail of a host's answer. */
export function detailOf(error: unknown): DetailRecord {
  return (error instanceof Error && answers.get(error)?.detail) || NO_DETAIL;
}

const RETRIED = new Set<number>([
  Status.MOVED, Status.UNAVAILABLE, Status.OVERLOADED, Status.STORAGE_FULL, Status.HEARTBEAT_TIMEOUT, Status.STALE,
]);

/** Reports whether a status leaves a request as it was, so that it is sent again. */
export function isRetriedStatus(status: number): boolean {
  return RETRIED.has(status);
}

/** Reports whether a request that failed may be sent again. */
export function isRetried(error: unknown): boolean {
  return error instanceof TransportError || isRetriedStatus(statusOf(error));
}

/** Reports whether a failed request may have been executed. A host that asks to wait has done nothing. */
export function isDoubtful(error: unknown): boolean {
  if (error instanceof TransportError) return true;
  return statusOf(error) === Status.UNAVAILABLE && detailOf(error).wait_ms === 0;
}

/** The error of a change that may have been made. */
export function unknownOutcome(error: unknown): SignalboxError {
  const text = error instanceof Error ? error.message : String(error);
  return new SignalboxError("UNKNOWN_OUTCOME", `${text}: the outcome is unknown; look before you try again`, { cause: error });
}

/** The error of a try that took too long. */
export function slow(address: string): TransportError {
  return new TransportError(`host ${address}: it is slow to answer`);
}
