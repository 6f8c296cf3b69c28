// Waits that a signal can end.
import { setTimeout as sleep } from "node:timers/promises";

/** Waits for a time. If the signal aborts, its reason is thrown. */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  try {
    await sleep(ms, undefined, signal && { signal });
  } catch (e) {
    signal?.throwIfAborted(); // Node throws an error of its own
    throw e;
  }
}

/** Waits for a promise, but no longer than until the signal aborts: then the signal's reason is thrown. */
export async function unlessAborted(promise: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return promise;
  promise.catch(() => undefined);
  signal.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
