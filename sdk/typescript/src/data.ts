// Conversions of what programs pass.
import { SignalboxError } from "./errors.js";
import { FOREVER } from "./protocol/message.js";
import type { Data } from "./types.js";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Returns data as bytes, in a buffer of their own: a copy for another thread would have all of a shared buffer. */
export function bytes(data: Data | undefined): Uint8Array {
  if (data === undefined) return new Uint8Array(0);
  return typeof data === "string" ? encoder.encode(data) : new Uint8Array(data);
}

/** Returns data of this package as text. */
export function text(data: Uint8Array): string {
  return decoder.decode(data);
}

/** Returns a count or limit as the protocol has it. Infinity is the largest. */
export function units(value: number | bigint | undefined, missing: bigint, what: string): bigint {
  if (value === undefined) return missing;
  if (value === Infinity) return FOREVER;
  if (typeof value === "number" && !Number.isSafeInteger(value)) {
    throw new SignalboxError("BAD_REQUEST", `${what} ${value}: not a whole number`);
  }
  const n = BigInt(value);
  if (n < 1n || n > FOREVER) throw new SignalboxError("BAD_REQUEST", `${what} ${value}: must be at least 1`);
  return n;
}

/** Checks a time to wait, in milliseconds. */
export function wait(ms: number | undefined): number | undefined {
  if (ms === undefined || ms === Infinity) return undefined;
  if (!(ms >= 0 && ms <= 86_400_000)) {
    throw new SignalboxError("BAD_REQUEST", `wait of ${ms} ms: 0 to a day, or nothing for the lifetime of the session`);
  }
  return ms;
}

/** Checks a name of a semaphore. */
export function checkName(name: string): void {
  const size = Buffer.byteLength(name);
  if (size < 1 || size > 1024) throw new SignalboxError("BAD_REQUEST", `a name of ${size} bytes: 1 to 1024`);
}
