// Acquires. One that is given up leaves nothing behind: no position in the host's queue, and no owner that the client
// does not know. While its outcome is open no other mutation of its queue begins; then a release under the next sequence
// undoes it. The sequence makes sure that a copy of the acquire that is in transit takes no effect any more.
import { AbortedError, LeaseLostError, NotAcquiredError } from "../errors.js";
import type { Incarnation } from "./incarnation.js";
import type { Lease } from "./lease.js";
import { Mutation } from "./mutation.js";
import { TransportError } from "./refusal.js";
import { giveBack } from "./release.js";
import { Deferred, Scope } from "./waiting.js";
import { FOREVER } from "../protocol/message.js";

/** Time beyond its wait for which an acquire is left to a host that cannot be reached, or began to count anew. */
const QUEUE_SLACK = 500;

/** What an acquire asks for. */
export interface AcquireRequest {
  name: string;
  count: bigint;
  data: Uint8Array;
  ephemeral: boolean;
  /** Time to wait in the queue, in milliseconds; undefined waits for the lifetime of the session. */
  wait: number | undefined;
}

/** Acquires a semaphore. It returns undefined if it is not granted in time. */
export async function acquire(
  inc: Incarnation, r: AcquireRequest, caller: Scope, onQueued: (order: bigint) => void,
): Promise<Lease | undefined> {
  const scope = new Scope(inc.scope, caller);
  if (r.wait === undefined || r.wait <= 0) return acquireIn(inc, r, scope, onQueued);
  const late = new NotAcquiredError("not granted in time");
  try {
    return await scope.within(r.wait + QUEUE_SLACK, () => late, (s) => acquireIn(inc, r, s, onQueued));
  } catch (e) {
    if (e === late) return undefined;
    throw e;
  }
}

async function acquireIn(
  inc: Incarnation, r: AcquireRequest, scope: Scope, onQueued: (order: bigint) => void,
): Promise<Lease | undefined> {
  if (!inc.alive()) throw inc.cause!;
  const q = await inc.queues.begin(r.name, scope);
  const m = new Mutation(inc, q, "ACQUIRE", {
    node_id: inc.nodeId, name: r.name, count: r.count, data: r.data, ephemeral: r.ephemeral,
    wait_ms: r.wait === undefined ? FOREVER : BigInt(Math.ceil(Math.max(r.wait, 0))),
  });
  try {
    await inc.sendUntilAnswered(m, scope);
  } catch (e) {
    abandon(inc, m);
    throw e;
  }
  inc.queues.next(q);
  if (m.phase === "queued" || m.phase === "unobserved") {
    onQueued(m.order);
    await awaitOutcome(inc, m, scope);
  }
  return outcome(inc, m);
}

/** Returns what an acquire led to. The clock is checked here, before anything is returned. */
function outcome(inc: Incarnation, m: Mutation): Lease | undefined {
  if (m.phase === "ended") {
    if (m.error instanceof NotAcquiredError) return undefined;
    throw m.error!;
  }
  if (!inc.alive()) throw inc.cause!;
  const lease = m.lease!;
  if (lease.over) throw lease.cause ?? new AbortedError("released");
  return lease;
}

async function awaitOutcome(inc: Incarnation, m: Mutation, scope: Scope): Promise<void> {
  while (m.phase !== "owned" && m.phase !== "ended") {
    if (m.phase === "unobserved") {
      await sendWaiting(inc, m, scope);
      continue;
    }
    m.done = new Deferred();
    try {
      await scope.wait(m.done);
    } catch (e) {
      if (inc.cause === undefined) inc.core.spawn(withdraw(inc, m));
      throw e;
    }
  }
}

/** Sends a waiting acquire again, under its sequence, so that its outcome is reported. */
async function sendWaiting(inc: Incarnation, m: Mutation, scope: Scope): Promise<void> {
  let q;
  try {
    q = await inc.queues.begin(m.queue.name, scope);
  } catch (e) {
    if (inc.cause === undefined) inc.core.spawn(withdraw(inc, m));
    throw e;
  }
  m.queue = q;
  if (m.phase === "unobserved") {
    try {
      await inc.sendUntilAnswered(m, scope);
    } catch (e) {
      abandon(inc, m);
      throw e;
    }
  }
  inc.queues.next(q);
}

/** Ends an acquire that was given up, or refused. */
function abandon(inc: Incarnation, m: Mutation): void {
  if (inc.cause === undefined) { // else the end of the session undoes everything
    if (m.refused()) {
      if (m.waited) m.endAcquire(m.error ?? new AbortedError("unknown"));
    } else if (m.phase === "sent" || m.phase === "owned" || m.phase === "queued" || m.doubt || m.waited) {
      inc.core.spawn(undo(inc, m));
      return;
    } else {
      m.dropSequence();
    }
  }
  inc.queues.next(m.queue);
}

/** Reverses an acquire with an open outcome. No other mutation of its queue is in flight. */
async function undo(inc: Incarnation, m: Mutation): Promise<void> {
  const q = m.queue;
  try {
    const before = m.changes && q.lease !== undefined ? q.lease.fence : 0n;
    if (before > 0n) {
      // The session owns the semaphore anyhow. Only the count is open.
      await inc.sendUntilAnswered(m, inc.scope);
    } else if (m.phase === "sent") {
      if (m.done.settled) m.done = new Deferred();
      await inc.scope.wait(m.done).catch((e: unknown) => {
        if (!(e instanceof TransportError)) throw e;
      });
    }
    if (!isNeedless(m, before)) await giveBack(inc, q, m.order);
    m.dropSequence();
    m.endAcquire(new AbortedError("unknown"));
  } finally {
    inc.queues.next(q);
  }
}

/** Reports whether there is nothing to give back after an acquire. */
function isNeedless(m: Mutation, before: bigint): boolean {
  if ((m.phase === "owned" && m.order === before) || m.phase === "ended" || m.refused()) return true;
  return !m.doubt && !m.waited && m.phase !== "owned" && m.phase !== "queued";
}

/** Removes an acquire that was given up while it waited, or gives back what it was granted meanwhile. */
async function withdraw(inc: Incarnation, m: Mutation): Promise<void> {
  const q = await inc.queues.begin(m.queue.name, inc.scope);
  try {
    const owns = m.phase === "owned" && q.lease !== undefined && q.lease === m.lease && q.lease.sequence === m.sequence;
    if (q.waiting === m || owns) {
      await giveBack(inc, q, m.order);
      m.endAcquire(new AbortedError("unknown"));
    }
  } finally {
    inc.queues.next(q);
  }
}

/** The error of a lease that its host does not know. */
export function unknownLease(): LeaseLostError {
  return new LeaseLostError("the host does not know the lease");
}
