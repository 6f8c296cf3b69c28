// Leases, as programs hold them.
import { setMaxListeners } from "node:events";
import type { Grant, IncarnationInfo } from "./bridge/messages.js";
import type { Link } from "./bridge/link.js";
import { exactly, now } from "./clock.js";
import { bytes, units } from "./data.js";
import { LeaseLostError, SessionLostError, SignalboxError } from "./errors.js";
import { unlessAborted } from "./pause.js";
import type { Data } from "./types.js";

/** Settings of a call that waits for hosts. */
export interface CallOptions {
  /** Gives the call up. */
  signal?: AbortSignal | undefined;
}

/** The session of a lease, as the lease sees it. */
export interface LeaseSession {
  readonly link: Link;
  /** Ends the incarnation, because its deadline has passed. */
  expire(incarnation: IncarnationInfo): void;
}

/** What a session owns of a semaphore. Several leases of a program may share it. */
export class Ownership {
  readonly id: number;
  readonly fence: bigint;
  readonly incarnation: IncarnationInfo;
  count: bigint;
  /** Why it is over: an error for a loss, "released" for a release. */
  over: Error | "released" | undefined;
  private readonly listeners: (() => void)[] = [];

  constructor(readonly session: LeaseSession, readonly name: string, grant: Grant) {
    this.id = grant.lease;
    this.fence = grant.fence;
    this.count = grant.count;
    this.incarnation = grant.incarnation;
  }

  /** Reports whether it is held now. The engine's messages and the clock are looked at first, so that a program which
   * was stopped or blocked sees a loss before anything else. */
  held(clock = exactly): boolean {
    if (this.over !== undefined) return false;
    this.session.link.drain();
    if (this.over !== undefined) return false;
    if (clock() >= this.session.link.deadline(this.incarnation.slot)) this.session.expire(this.incarnation);
    return (this.over as unknown) === undefined;
  }

  /** Ends it. */
  end(over: Error | "released"): void {
    if (this.over !== undefined) return;
    this.over = over;
    for (const f of this.listeners.splice(0)) f();
  }

  /** Calls a function when it is over. */
  onOver(f: () => void): void {
    if (this.over !== undefined) f();
    else this.listeners.push(f);
  }
}

/** A lock or a part of a semaphore, from the grant to the release or the loss.
 *
 * `await using lease = await session.lock("job")` releases it at the end of the block. */
export class Lease implements AsyncDisposable {
  private controller: AbortController | undefined;
  private given: Promise<void> | undefined;

  /** @internal */
  constructor(private readonly ownership: Ownership, private readonly give: () => Promise<void>) {}

  /** Name of the semaphore. */
  get name(): string {
    return this.ownership.name;
  }

  /** Fencing token: larger than those of all owners before. Send it along with every write to what the lease protects,
   * and let the receiver refuse tokens below the highest that it has seen. */
  get fence(): bigint {
    return this.ownership.fence;
  }

  /** Units of the semaphore. */
  get count(): bigint {
    return this.ownership.count;
  }

  /** Id of the session that owns. */
  get sessionId(): bigint {
    return this.ownership.incarnation.id;
  }

  /** Reports whether the lease is held, by the current clock. */
  get held(): boolean {
    return this.given === undefined && this.ownership.held();
  }

  /** Aborts when the lease is lost, with a LeaseLostError as its reason, before a host may give the lock away. A release
   * does not abort it. `aborted` and `throwIfAborted` look at the current clock. */
  get signal(): AbortSignal {
    if (this.controller === undefined) {
      const controller = (this.controller = new AbortController());
      setMaxListeners(0, controller.signal);
      watchClock(controller.signal, () => this.ownership.held());
      this.ownership.onOver(() => {
        const error = this.lostError();
        if (error !== undefined) controller.abort(error);
      });
    }
    this.ownership.held();
    return this.controller.signal;
  }

  /** Throws if the lease is not held, by the current clock. Call it before work that requires the lease. */
  check(): void {
    if (this.given !== undefined) throw new SignalboxError("NOT_HELD", `the lease of "${this.name}" was released`);
    if (this.ownership.held()) return;
    throw this.lostError() ?? new SignalboxError("NOT_HELD", `the lease of "${this.name}" was released`);
  }

  /** Why the lease is lost; undefined if it is held or was released. */
  private lostError(): LeaseLostError | undefined {
    const { over } = this.ownership;
    if (over === undefined || over === "released") return undefined;
    return new LeaseLostError(`the lease of "${this.name}" is lost: ${over.message}`, over);
  }

  /** Gives the lease back. From the call on it is not held. A second release does nothing.
   *
   * It throws a LeaseLostError if the lease was lost before: others may have owned the lock meanwhile. If the signal
   * aborts, the release continues in the background. */
  async release(options: CallOptions = {}): Promise<void> {
    if (this.given === undefined) {
      const lost = this.ownership.held(now) ? undefined : this.lostError();
      this.given = this.give();
      this.given.catch(() => undefined);
      if (lost !== undefined && !isClosed(lost)) throw lost;
    }
    await unlessAborted(this.given, options.signal);
  }

  /** Replaces the data of the semaphore if the lease is still held: the host decides. Otherwise FENCED is thrown. */
  async update(data: Data, options: CallOptions = {}): Promise<void> {
    if (!this.held) throw new SignalboxError("FENCED", `the lease of "${this.name}" is over`, { cause: this.lostError() });
    await this.ownership.session.link.call("updateByLease", { lease: this.ownership.id, data: bytes(data) }, options);
  }

  /** Gives some units back, or replaces what others can read about the owner. A count only gets smaller. */
  async change(change: { count?: number | bigint; data?: Data } & CallOptions): Promise<void> {
    this.check();
    const { link } = this.ownership.session;
    const count = change.count === undefined ? undefined : units(change.count, 1n, "count");
    const data = change.data === undefined ? undefined : bytes(change.data);
    this.ownership.count = await link.call("changeLease", { lease: this.ownership.id, count, data }, change);
  }

  /** Releases the lease at the end of an `await using` block. A loss is thrown, because work may have overlapped. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}

/** Reports whether a lease is over because the program closed its session. */
function isClosed(lost: LeaseLostError): boolean {
  return lost.cause instanceof SessionLostError && lost.cause.reason === "closed";
}

/** Has a signal look at the clock whenever a program asks it. */
function watchClock(signal: AbortSignal, look: () => void): void {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called with the signal below
  const aborted = Object.getOwnPropertyDescriptor(AbortSignal.prototype, "aborted")!.get!;
  Object.defineProperty(signal, "aborted", {
    configurable: true,
    get: () => {
      look();
      return aborted.call(signal) as boolean;
    },
  });
  Object.defineProperty(signal, "throwIfAborted", {
    configurable: true,
    value: () => {
      look();
      AbortSignal.prototype.throwIfAborted.call(signal);
    },
  });
}
