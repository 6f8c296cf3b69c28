// One session at its hosts, and what it does with semaphores: mutations that take effect once, leases, watches.
import { AbortedError, abortReason, LeaseLostError, SessionLostError } from "../errors.js";
import { Status } from "../protocol/message.js";
import type { LostHoldingsRecord, Messages } from "../protocol/messages.js";
import type { RawMessage } from "../protocol/reader.js";
import { Attachment, type Owner, type Try } from "./attachment.js";
import type { Connection } from "./connection.js";
import type { Core } from "./core.js";
import { Tried } from "./host.js";
import type { Lease } from "./lease.js";
import { Mutation, type MutationFields, type MutationName, REBUILT } from "./mutation.js";
import { Queues, type SemaphoreQueue } from "./queue.js";
import { isRetried, statusOf } from "./refusal.js";
import { releaseLater } from "./release.js";
import { Retries } from "./retry.js";
import { Sequences } from "./sequences.js";
import { Verification } from "./verify.js";
import { Deferred, type Scope } from "./waiting.js";

/** The lower bits of an order id are the id of the shard that assigned it. */
const SHARD_CLASS = 1n << 10n;

/** A one-shot watch, as its session sees it. */
export interface Notice {
  readonly conn: Connection;
  /** Reports a change, once. Both false: changes may have been missed. */
  notify(data: boolean, owners: boolean): void;
}

/** A session from its start to its end. A renewed session has one after the other. */
export class Incarnation extends Attachment {
  readonly sequences = new Sequences();
  readonly queues = new Queues(() => this.nodeId);
  readonly notices = new Set<Notice>();
  private readonly verification = new Verification(this);
  /** What was lost in rebuilt shards, in the order of the news. */
  readonly lost: LostHoldingsRecord[] = [];

  constructor(core: Core, owner: Owner, timeout: number, maxBlocked: number) {
    super(core, owner, timeout, maxBlocked);
  }

  // The end, and lost connections.

  protected override drop(): void {
    for (const q of this.queues.all()) {
      q.lease?.lose(this.cause!);
      if (q.waiting?.phase === "queued") q.waiting.conn?.forget(q.waiting.request);
    }
    for (const n of [...this.notices]) n.notify(false, false);
  }

  protected override unbound(conn: Connection): void {
    for (const q of this.queues.all()) if (q.waiting?.conn === conn) q.waiting.unobserve();
    for (const n of [...this.notices]) if (n.conn === conn) n.notify(false, false);
    this.verification.start();
  }

  // Losses.

  override holdingLost(push: Messages["HOLDING_LOST"]): void {
    if (push.name === "") {
      if (push.slots.length > 0) this.loseRebuilt({ fence: push.order_id, slots: push.slots });
      else this.verification.start();
      return;
    }
    if (push.node_id !== this.nodeId) return;
    const reason = abortReason(push.reason);
    if (reason === "node_dropped") {
      this.end("node_dropped");
      return;
    }
    const q = this.queues.get(push.name);
    if (q === undefined || push.object_kind > 1) return;
    const error = new AbortedError(reason);
    if (q.lease?.fence === push.order_id) {
      q.removeLease(error);
      this.queues.dropIfEmpty(q);
    } else {
      q.early = { order: push.order_id, error }; // it came before the answer to the acquire that it is about
    }
  }

  /** Ends the leases of a rebuilt shard. No host is asked: one of the group before could confirm what is lost. */
  protected override loseRebuilt(lost: LostHoldingsRecord): void {
    if (this.lost.some((known) => known.fence === lost.fence)) return;
    this.lost.push(lost);
    for (const q of this.queues.all()) {
      if (q.lease !== undefined && this.isLost(q.slot, q.lease.fence, 0)) this.giveUpLease(q, REBUILT);
    }
  }

  /** Reports whether a holding was lost in a rebuilt shard. known is the number of losses of which the client had heard
   * before its first request for the holding: later, only a host of the group before assigns such an order id. */
  isLost(slot: number, order: bigint, known: number): boolean {
    return this.lost.some(({ fence, slots }, i) =>
      order < fence && (slots[slot >> 3]! >> (slot & 7) & 1) !== 0 &&
      (i >= known || order % SHARD_CLASS === fence % SHARD_CLASS));
  }

  /** Ends the lease of a queue, and releases it, because the session may still have it. */
  giveUpLease(q: SemaphoreQueue, why: string): void {
    const { fence } = q.lease!;
    q.removeLease(new LeaseLostError(why));
    this.core.spawn(releaseLater(this, q.name, fence));
    this.queues.dropIfEmpty(q);
  }

  /** Ends the lease of a queue if its shard does not list it, and a host refuses for now what is in flight.
   *
   * The lease is released: hosts with earlier builds hide what the client may not read. */
  loseRefused(q: SemaphoreQueue): void {
    if (q.refused && q.lease?.missing === true) this.giveUpLease(q, "its shard does not know the lease");
  }

  /** Ends a lease that its host does not know. */
  leaseLost(lease: Lease, cause: Error): void {
    const q = this.queues.get(lease.name);
    if (q === undefined) return;
    q.removeLease(cause, lease);
    this.queues.dropIfEmpty(q);
  }

  // Sending.

  /** Sends a mutation until it is answered for good. It throws the host's refusal, or why it gave up. */
  async sendUntilAnswered(m: Mutation, scope: Scope): Promise<void> {
    await this.repeat(async (tried) => {
      try {
        await this.sendOnce(m, tried, scope);
      } catch (e) {
        if (statusOf(e) === Status.SESSION_EXPIRED && this.cause === undefined) this.end("unknown");
        throw e;
      }
    }, m, scope);
  }

  /** Calls attempt until it succeeds, or fails for good, or the session is over. */
  async repeat<T>(attempt: (tried: Tried) => Promise<T>, where: Try, scope: Scope): Promise<T> {
    const { cluster } = this.core;
    const retries = new Retries(cluster.leaders);
    const tried = new Tried();
    for (;;) {
      retries.begin();
      let error: unknown;
      try {
        return await attempt(tried);
      } catch (e) {
        error = e;
      }
      scope.check();
      tried.add(where.host);
      if (statusOf(error) === Status.BAD_SESSION) {
        if (where.conn === undefined || !this.unknownAt(where.conn, retries)) throw error;
        continue;
      }
      if (!isRetried(error)) throw error;
      await cluster.redirect(retries, error, where.conn, where.host, scope);
      await retries.again(error, scope);
    }
  }

  /** Sends a mutation once and waits for the answer. One that is in flight already is only waited for. */
  async sendOnce(m: Mutation, tried: Tried, scope: Scope): Promise<void> {
    if (m.phase !== "sent") {
      const conn = this.ready(m.queue.slot) ?? (await this.connect(m.queue.slot, m, tried, scope));
      if (m.sequence === 0 && this.sequences.full()) await this.sequences.awaitRoom(scope);
      scope.check();
      m.send(conn);
    } else if (m.done.settled) {
      m.done = new Deferred(); // the caller who waited has left
    }
    await scope.wait(m.done);
    m.check();
  }

  // Changes that need no undoing.

  /** Executes a change, once, and returns its answer. */
  async change<N extends MutationName>(
    name: string, kind: N, fields: MutationFields<N>, scope: Scope,
  ): Promise<RawMessage> {
    const q = await this.queues.begin(name, scope);
    const m = new Mutation(this, q, kind, { node_id: this.nodeId, name, ...fields });
    try {
      await this.sendUntilAnswered(m, scope);
    } catch (e) {
      const over = (): void => {
        m.dropSequence();
        this.queues.next(q);
      };
      if (m.phase === "sent" && this.cause === undefined) m.then = over; // the next one begins once this one is answered
      else over();
      if (this.cause !== undefined && e === this.cause && m.tries > 0 && (m.doubt || m.phase === "sent")) {
        throw new SessionLostError(this.id, this.cause.reason, "whether the change was made is unknown");
      }
      throw e;
    }
    this.queues.next(q);
    return m.answer!;
  }
}
