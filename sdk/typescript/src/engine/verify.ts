// What a session has lost while it had no connection.
//
// A lease can be lost without its session: when its semaphore is deleted by force, or when a shard lost its quorum and
// was rebuilt. The host pushes that to the owner, but not while the owner has no connection. So after each gap a session
// asks each shard what it holds there, and sends the acquire of what is missing again, under its sequence: that is
// answered from the state.
//
// What is in flight for the semaphore comes first. A host that refuses it for now, though the shard does not list the
// lease, does not have the lease: a rebuilt shard grants nothing until all owners have noticed what they have lost, so
// the session must not rely on the lease until the request succeeds.
import { LeaseLostError } from "../errors.js";
import { fieldsOf, Status } from "../protocol/message.js";
import { unknownLease } from "./acquire.js";
import type { Try } from "./attachment.js";
import { Tried } from "./host.js";
import type { Incarnation } from "./incarnation.js";
import type { Lease } from "./lease.js";
import { Mutation } from "./mutation.js";
import { slotOf } from "./queue.js";
import { isRetried, statusOf, TransportError } from "./refusal.js";
import { giveBack } from "./release.js";
import { Retries } from "./retry.js";
import { Scope } from "./waiting.js";

/** Consistency of a read that no replica of an earlier group answers. */
const STRICT = 1;
/** Time for which leases wait for their turns in busy queues before their shards are asked again. */
const TURN_PATIENCE = 1000;

/** The leases of one shard that are being verified, with their sequences. Each shard is asked by itself: one that does
 * not answer hides no loss in another. */
interface Look {
  shard: number;
  leases: { lease: Lease; sequence: number }[];
  /** How often news of the leases may have been missed meanwhile. */
  gaps: number;
}

/** Verifies the leases of one session. */
export class Verification {
  private readonly looks = new Map<number, Look>();

  constructor(private readonly inc: Incarnation) {}

  /** Starts a verification, because news of leases may have been missed. Running ones begin again. */
  start(): void {
    if (this.inc.cause !== undefined) return;
    for (const look of this.looks.values()) {
      look.leases = [];
      look.gaps++;
    }
    const started: Look[] = [];
    for (const q of this.inc.queues.all()) {
      if (q.lease === undefined || q.lease.over) continue;
      const shard = this.shardOf(q.slot);
      let look = this.looks.get(shard);
      if (look === undefined) {
        look = { shard, leases: [], gaps: 0 };
        this.looks.set(shard, look);
        started.push(look);
      }
      look.leases.push({ lease: q.lease, sequence: q.lease.sequence });
    }
    for (const look of started) this.inc.core.spawn(this.untilDone(look));
  }

  /** The id of a slot's shard, 0 if it is not known. */
  private shardOf(slot: number): number {
    return this.inc.core.cluster.routing.at(slot)?.id ?? 0;
  }

  private async untilDone(look: Look): Promise<void> {
    const retries = new Retries(this.inc.core.cluster.leaders);
    try {
      while (this.inc.cause === undefined) {
        retries.begin();
        const gaps = look.gaps;
        try {
          await this.verifyAll(look.shard, look.leases);
        } catch (e) {
          if (this.inc.cause === undefined) await this.inc.pauseAfter(retries, e, undefined, undefined);
          continue;
        }
        if (gaps === look.gaps) return;
      }
    } finally {
      this.looks.delete(look.shard);
    }
  }

  /** Verifies leases of one shard, beside each other. */
  private async verifyAll(shard: number, leases: Look["leases"]): Promise<void> {
    if (leases.length === 0) return;
    const hasMoved = (): boolean => leases.some((l) => this.shardOf(slotOf(this.inc.nodeId, l.lease.name)) !== shard);
    let held: Map<string, bigint> | undefined;
    if (shard !== 0) {
      try {
        held = await this.heldOrUnknown(shard, leases[0]!.lease.name);
      } catch (e) {
        if (!hasMoved()) throw e;
      }
      if (hasMoved()) {
        this.start(); // a slot has left the shard meanwhile, so the shard does not list its leases
        return;
      }
    }
    const end = new Scope(this.inc.scope);
    const timer = setTimeout(() => end.end(new TransportError("the lease had no turn yet")), TURN_PATIENCE);
    const asked: Promise<void>[] = [];
    for (const { lease, sequence } of leases) {
      const q = this.inc.queues.get(lease.name);
      if (q?.lease !== lease || held?.get(lease.name) === lease.fence) continue;
      lease.missing = held !== undefined; // if the host does not say, each lease is asked for
      this.inc.loseRefused(q);
      if (q.lease === lease) asked.push(this.verify(lease, sequence, end));
    }
    const results = await Promise.allSettled(asked);
    clearTimeout(timer);
    for (const r of results) if (r.status === "rejected") throw r.reason;
  }

  /** What the session holds in a shard, or undefined if the host refuses to say. */
  private async heldOrUnknown(shard: number, name: string): Promise<Map<string, bigint> | undefined> {
    try {
      return await this.heldAt(shard, name);
    } catch (e) {
      this.inc.scope.check();
      if (isRetried(e) || statusOf(e) === Status.BAD_SESSION) throw e;
      return undefined;
    }
  }

  private async heldAt(shard: number, name: string): Promise<Map<string, bigint>> {
    const { inc } = this;
    const where: Try = { conn: undefined, host: undefined };
    const conn = await inc.connect(slotOf(inc.nodeId, name), where, new Tried(), inc.scope);
    const held = new Map<string, bigint>();
    for (let after: string | bigint = 0n; ;) {
      const a: { holdings: { name: string; order_id: bigint; waiting: boolean }[]; next: bigint } = fieldsOf(
        "SESSION_HOLDINGS_ANSWER",
        await conn.call("SESSION_HOLDINGS", { session_id: inc.id, shard_id: shard, after, consistency: STRICT }, inc.scope));
      for (const h of a.holdings) if (!h.waiting) held.set(h.name, h.order_id);
      after = a.next;
      if (after === 0n) return held;
    }
  }

  /** Sends the acquire of a lease again, in its turn. A repetition changes nothing. */
  private async verify(lease: Lease, sequence: number, end: Scope): Promise<void> {
    const { inc } = this;
    const q = await inc.queues.begin(lease.name, end);
    try {
      if (q.lease !== lease || lease.over || lease.sequence !== sequence) return; // changed since: the host was asked
      const m = new Mutation(inc, q, "ACQUIRE", {
        node_id: inc.nodeId, name: q.name, count: lease.count, wait_ms: 0n, data: lease.data, ephemeral: lease.ephemeral,
      });
      m.sequence = sequence;
      m.changes = true;
      try {
        await inc.sendOnce(m, new Tried(), inc.scope);
      } catch (e) {
        this.refused(e, m, lease);
        return;
      }
      if (m.phase === "owned" && m.order === lease.fence) return;
      // A host that did not know the acquire has executed it as a new one.
      if (m.phase === "owned" || (m.phase as string) === "queued") await giveBack(inc, q, m.order);
      q.removeLease(unknownLease(), lease);
    } finally {
      inc.queues.next(q);
    }
  }

  /** Handles the refusal of a repeated acquire. It throws what is to be tried again. */
  private refused(error: unknown, m: Mutation, lease: Lease): void {
    const { inc } = this;
    inc.scope.check();
    switch (statusOf(error)) {
      case Status.BAD_SESSION:
        if (m.conn !== undefined) inc.unknownAt(m.conn, new Retries(inc.core.cluster.leaders));
        throw new TransportError((error as Error).message);
      case Status.ABORTED:
      case Status.STALE:
      case Status.NOT_FOUND:
        m.queue.removeLease(error instanceof Error ? error : new LeaseLostError("lost"), lease);
        return;
      case Status.SESSION_EXPIRED:
        inc.end("unknown");
        return;
    }
    if (isRetried(error)) throw error; // else the host does not say
  }
}
