// One change of a semaphore by a session, with all of its tries.
import { AbortedError, LeaseLostError, NotAcquiredError, SignalboxError } from "../errors.js";
import { fieldsOf, FOREVER, kindOf, Status, uintAt } from "../protocol/message.js";
import type { Messages } from "../protocol/messages.js";
import type { RawMessage } from "../protocol/reader.js";
import type { Try } from "./attachment.js";
import type { Connection, Handler } from "./connection.js";
import type { Host } from "./host.js";
import type { Incarnation } from "./incarnation.js";
import { Lease } from "./lease.js";
import type { SemaphoreQueue } from "./queue.js";
import { detailOf, errorOf, isRetried, isRetriedStatus, statusOf, type TransportError } from "./refusal.js";
import { Deferred } from "./waiting.js";

/** The requests that change a semaphore. */
export type MutationName =
  | "SEMAPHORE_CREATE" | "SEMAPHORE_UPDATE" | "SEMAPHORE_RESIZE" | "SEMAPHORE_DELETE" | "ACQUIRE" | "RELEASE";

/** Fields of a mutation that its sender does not set. */
type Given = "session_id" | "sequence" | "acknowledged_sequence";
export type MutationFields<N extends MutationName> = Partial<Omit<Messages[N], Given>>;

/** Where a mutation is. `unobserved` is an acquire that waits and whose outcome is not reported unless it is sent again. */
export type Phase = "idle" | "sent" | "answered" | "broken" | "queued" | "unobserved" | "owned" | "ended";

/** Why a lease in a rebuilt shard is lost. */
export const REBUILT = "its shard lost its quorum and was rebuilt";

const GRANTED = kindOf("GRANTED");
const TIMED_OUT = kindOf("TIMED_OUT");
const ABORTED = kindOf("ABORTED");
const ACQUIRED = 1;
const QUEUED = 2;

/** A change that is sent under one sequence until it has an answer, so that it takes effect once. */
export class Mutation<N extends MutationName = MutationName> implements Try, Handler {
  conn: Connection | undefined;
  host: Host | undefined;
  sequence = 0;
  request = 0;
  tries = 0;
  phase: Phase = "idle";
  status = 0;
  /** What the mutation was refused with, or how its connection ended. */
  error: SignalboxError | undefined;
  /** Some try may have been executed though it was not answered. */
  doubt = false;
  /** An acquire that was in the host's queue. */
  waited = false;
  /** An acquire of a session that owned the semaphore. */
  changes = false;
  /** How many losses in rebuilt shards were known at the first try. */
  losses = 0;
  order = 0n;
  lease: Lease | undefined;
  /** The answer to a success. */
  answer: RawMessage | undefined;
  /** Called when the mutation is answered, if its caller has left. */
  then: (() => void) | undefined;
  done = new Deferred();

  constructor(
    readonly session: Incarnation, public queue: SemaphoreQueue, readonly name: N, readonly fields: MutationFields<N>,
  ) {}

  /** Throws what the latest try failed with. */
  check(): void {
    if (this.error !== undefined && (this.phase === "answered" || this.phase === "broken")) throw this.error;
  }

  /** Reports whether the host has refused the mutation for good. */
  refused(): boolean {
    return this.phase === "answered" && this.error !== undefined && !leavesUnchanged(this.status);
  }

  /** Gives up the sequence of a mutation that was not executed, or whose outcome no longer matters. */
  dropSequence(): void {
    if (this.sequence === 0) return;
    this.session.sequences.done(this.sequence);
    this.sequence = 0;
  }

  /** Sends the mutation over a connection, under its sequence. Sequences are assigned in the order of sending. */
  send(conn: Connection): void {
    const { sequences } = this.session;
    if (this.sequence === 0) this.sequence = sequences.next();
    if (this.tries === 0) {
      this.changes ||= this.queue.lease !== undefined;
      this.losses = this.session.lost.length;
    }
    this.conn = conn;
    this.host = conn.peer as Host;
    this.tries++;
    this.done = new Deferred();
    const before = this.phase;
    this.phase = "sent";
    this.queue.refused = false;
    try {
      const fields = {
        session_id: this.session.id,
        sequence: this.sequence,
        acknowledged_sequence: Math.min(sequences.acknowledged, this.sequence - 1),
        ...this.fields,
      };
      this.request = conn.send<N>(this, this.name, fields as unknown as Partial<Messages[N]>);
    } catch (e) {
      this.phase = before === "unobserved" ? before : "idle";
      throw e;
    }
  }

  // What the host says, in its order: so a loss that arrives later finds the lease.

  answered(conn: Connection, raw: RawMessage): boolean {
    switch (raw[0]) {
      case GRANTED:
        if (this.phase === "queued" || this.phase === "unobserved") {
          this.own(fieldsOf("GRANTED", raw).order_id);
          this.wake();
        }
        return false;
      case TIMED_OUT:
        this.endAcquire(notGranted());
        return false;
      case ABORTED: {
        const error = errorOf(uintAt(raw, 2), raw[3]);
        if (!isRetried(error)) {
          this.endAcquire(error);
          return false;
        }
        if (statusOf(error) === Status.MOVED) this.session.core.cluster.routing.moved(detailOf(error), conn);
        this.unobserve();
        return false;
      }
    }
    this.status = uintAt(raw, 2);
    this.phase = "answered";
    if (this.status === Status.SUCCESS) this.succeeded(raw);
    else this.failed(raw);
    this.wake();
    return (this.phase as Phase) === "queued";
  }

  private succeeded(raw: RawMessage): void {
    this.error = undefined;
    this.session.sequences.done(this.sequence);
    this.doubt = false;
    this.answer = raw;
    if (this.name === "ACQUIRE") this.acquired(fieldsOf("ACQUIRE_ANSWER", raw));
    else if (this.name === "RELEASE") this.released();
  }

  private failed(raw: RawMessage): void {
    this.error = errorOf(this.status, raw[3]);
    if (this.status === Status.STALE) {
      this.dropSequence();
      this.doubt = false;
    } else if (!leavesUnchanged(this.status)) {
      this.session.sequences.done(this.sequence);
      this.doubt = false;
    } else if (this.status === Status.UNAVAILABLE) {
      this.doubt = true;
    } else if (this.status === Status.OVERLOADED || this.status === Status.STORAGE_FULL) {
      this.queue.refused = true;
      this.session.loseRefused(this.queue);
    }
  }

  lost(conn: Connection, error: TransportError): void {
    if (this.conn !== conn) return;
    if (this.phase === "sent") {
      this.phase = "broken";
      this.error = error;
      this.doubt = true;
      this.wake();
    } else if (this.phase === "queued") {
      this.unobserve();
    }
  }

  private wake(): void {
    if (!this.done.settled) this.done.resolve();
    const then = this.then;
    this.then = undefined;
    then?.();
  }

  private acquired(a: Messages["ACQUIRE_ANSWER"]): void {
    const q = this.queue;
    if (q.waiting !== undefined && q.waiting !== this) {
      // Whatever the newer acquire got, the older one has no position in the host's queue any more.
      q.waiting.endAcquire(new AbortedError("replaced"));
    }
    const fields = this.fields as MutationFields<"ACQUIRE">;
    if (a.outcome === ACQUIRED) {
      this.own(a.order_id);
    } else if (a.outcome === QUEUED) {
      this.phase = "queued";
      this.order = a.order_id;
      this.waited = true;
      q.waiting = this;
    } else if (this.waited && fields.wait_ms === FOREVER) {
      // It cannot have timed out, so it was overtaken while the client was not connected.
      this.endAcquire(new AbortedError("unknown"));
    } else {
      this.endAcquire(notGranted());
    }
  }

  /** Makes the lease of an acquire that owns, or changes the existing one. */
  private own(order: bigint): void {
    const q = this.queue;
    if (q.waiting === this) q.waiting = undefined;
    if (q.lease !== undefined && q.lease.fence !== order) {
      q.removeLease(new LeaseLostError("another acquire of the session replaced it"));
    }
    const fields = this.fields as MutationFields<"ACQUIRE">;
    const lease = (q.lease ??= new Lease(this.session.core, q.name, order));
    lease.sequence = this.sequence;
    lease.count = fields.count ?? 0n;
    lease.data = fields.data ?? new Uint8Array(0);
    lease.ephemeral = fields.ephemeral ?? false;
    lease.missing = false;
    this.phase = "owned";
    this.order = order;
    this.lease = lease;
    if (q.early?.order === order) {
      q.removeLease(q.early.error);
      this.session.queues.dropIfEmpty(q);
    }
    if (q.lease !== undefined && this.session.isLost(q.slot, order, this.losses)) this.session.giveUpLease(q, REBUILT);
  }

  private released(): void {
    const q = this.queue;
    q.waiting?.endAcquire(new AbortedError("released"));
    const lease = q.lease;
    q.lease = undefined;
    lease?.released();
  }

  /** Ends an acquire that owns nothing. */
  endAcquire(error: SignalboxError): void {
    if (this.phase === "owned" || this.phase === "ended") return;
    this.conn?.forget(this.request);
    this.phase = "ended";
    this.error = error;
    if (this.queue.waiting === this) {
      this.queue.waiting = undefined;
      this.session.queues.dropIfEmpty(this.queue);
    }
    this.wake();
  }

  /** Notes that the outcome of a waiting acquire will not be reported any more. */
  unobserve(): void {
    if (this.phase !== "queued") return;
    this.conn?.forget(this.request);
    this.phase = "unobserved";
    this.wake();
  }
}

/** Reports whether a status leaves a mutation as it was. A host that does not know the session has not read it. */
function leavesUnchanged(status: number): boolean {
  return isRetriedStatus(status) || status === Status.BAD_SESSION;
}

function notGranted(): NotAcquiredError {
  return new NotAcquiredError("it was not granted in time");
}
