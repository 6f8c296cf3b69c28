// Elections: one of many programs leads.
//
// An election is a persistent semaphore with the limit 1: its owner leads, waiters are the candidates.
import type { Client } from "./client.js";
import { LeaseLostError, SignalboxError, type ErrorCode } from "./errors.js";
import type { CallOptions, Lease } from "./lease.js";
import { pause } from "./pause.js";
import type { Session } from "./session.js";
import type { Data, Owner } from "./types.js";

/** Time that a candidate waits before it campaigns again, so that others come first. */
const PAUSE = 100;

/** Errors after which a candidate campaigns again, if its session goes on. */
const PASSING = new Set<ErrorCode>([
  "LEASE_LOST", "FENCED", "SESSION_LOST", "ABORTED", "NOT_FOUND", "UNAVAILABLE", "UNKNOWN_OUTCOME", "OVERLOADED", "STORAGE_FULL",
  "QUOTA_EXCEEDED",
]);

/** Who leads. */
export interface Leader {
  /** Fencing token of the term: larger than those of all terms before. */
  fence: bigint;
  sessionId: bigint;
  /** What the leader shows to observers. */
  data: Uint8Array;
}

/** Settings of a candidate. */
export interface CandidateOptions extends CallOptions {
  /** What the leader shows to observers, such as its address. */
  data?: Data;
  /** Maximum time to wait for the leadership, in milliseconds. Default: the lifetime of the session. */
  wait?: number;
}

/** Waits until this program leads. The term ends with the release or the loss of the lease. */
export async function lead(session: Session, name: string, options: CandidateOptions = {}): Promise<Lease> {
  const lease = await session.lock(name, { ...options, limit: 1 });
  try {
    // A semaphore that was created for something else, with a larger limit, would have several leaders.
    const semaphore = session.semaphore(name, { create: false });
    const { limit } = await semaphore.describe({ owners: false, waiters: false, signal: options.signal });
    if (limit !== 1n) {
      throw new SignalboxError("PRECONDITION_FAILED", `semaphore "${name}" has the limit ${limit}, an election has 1: use another name`);
    }
    return lease;
  } catch (e) {
    await lease.release().catch(() => undefined);
    throw e;
  }
}

/** Campaigns, and calls a function in each term, until the signal aborts or the session is over for good.
 *
 * Use a session with `renew: true`. The function gets the lease of the term: its signal aborts when the term is lost. The
 * term ends when the function returns; then the candidate campaigns again, behind those who wait. An error of the function
 * ends the campaign, except for the loss of the term. */
export async function campaign(
  session: Session, name: string, options: CandidateOptions, work: (term: Lease) => Promise<void>,
): Promise<void> {
  const { signal } = options;
  for (;;) {
    try {
      await oneTerm(session, name, options, work);
    } catch (e) {
      if (signal?.aborted || !(e instanceof SignalboxError) || !PASSING.has(e.code) || session.error !== undefined) throw e;
    }
    await pause(PAUSE, signal);
  }
}

async function oneTerm(
  session: Session, name: string, options: CandidateOptions, work: (term: Lease) => Promise<void>,
): Promise<void> {
  const term = await lead(session, name, options);
  try {
    await work(term);
  } catch (e) {
    const lost = !term.held;
    await term.release().catch(() => undefined);
    // What the function throws after the loss is most likely a consequence of the loss.
    throw lost ? new LeaseLostError(`the term of "${name}" was lost`, e) : e;
  }
  await term.release();
}

/** Who leads at the moment; undefined if nobody does. */
export async function leader(client: Client, path: string, name: string, options: CallOptions = {}): Promise<Leader | undefined> {
  return (await read(client, path, name, options)).leader;
}

/** Who leads: the current leader first, then each change in the order of the fences; undefined while nobody leads.
 *
 * It never goes back behind the leader at the time of the call, whichever host it watches at. */
export async function* observe(
  client: Client, path: string, name: string, options: CallOptions = {},
): AsyncGenerator<Leader | undefined, void> {
  const first = await read(client, path, name, options);
  let { revision } = first;
  let shown = first.leader;
  yield shown;
  for await (const view of client.node(path).watch(name, { data: false, signal: options.signal })) {
    if (revision !== undefined && view.revision < revision) continue; // the host is behind what was read
    let next = leaderOf(view.owners);
    if (revision === undefined && view.exists) {
      // It was created after the reading, or is what the reading found deleted.
      const found = await read(client, path, name, options);
      revision = found.revision;
      next = found.leader;
    }
    if (next?.fence === shown?.fence) continue;
    shown = next;
    yield next;
  }
}

async function read(
  client: Client, path: string, name: string, { signal }: CallOptions,
): Promise<{ leader: Leader | undefined; revision: bigint | undefined }> {
  try {
    const d = await client.node(path).describe(name, { waiters: false, consistency: "strict", signal });
    return { leader: leaderOf(d.owners), revision: d.revision };
  } catch (e) {
    if (!(e instanceof SignalboxError) || e.code !== "NOT_FOUND") throw e;
    await client.describeNode(path, { signal }); // an election without any candidate so far is no error
    return { leader: undefined, revision: undefined };
  }
}

function leaderOf(owners: Owner[]): Leader | undefined {
  const o = owners[0];
  return o && { fence: o.orderId, sessionId: o.sessionId, data: o.data };
}
