// Sessions, as programs use them.
import type { Event, Grant, IncarnationInfo } from "./bridge/messages.js";
import type { Link } from "./bridge/link.js";
import { exactly, now } from "./clock.js";
import { bytes, checkName, units, wait } from "./data.js";
import { AbortedError, NotAcquiredError, SessionLostError, SignalboxError } from "./errors.js";
import { Lease, Ownership, type CallOptions } from "./lease.js";
import { FOREVER } from "./protocol/message.js";
import { Semaphore, type SemaphoreOptions } from "./semaphore.js";
import { Turns, type Turn } from "./turns.js";
import type { Data } from "./types.js";

/** Session timeout by default, and its bounds, in milliseconds. */
export const DEFAULT_TIMEOUT = 10_000;
const MIN_TIMEOUT = 200;
const MAX_TIMEOUT = 1_800_000;
/** Least time for which an event loop may be blocked: less could be the program's normal work. */
const MIN_BLOCKED = 100;
/** Session timeouts without progress of the program, after which its sessions are given up. */
const BLOCKED_TIMEOUTS = 5;
/** Time that closing waits for a host. */
const FAREWELL = 1000;

/** State of a session: connected, without connection for the moment, being replaced, or over for good. */
export type SessionState = "attached" | "detached" | "renewing" | "ended";

/** Settings of a session. */
export interface SessionOptions extends CallOptions {
  /** Time without contact, in milliseconds, after which a host ends the session and gives its locks to others. 0 ends the
   * session with its connection. Default: 10 s. */
  timeout?: number;
  /** Time, in milliseconds, for which the program's event loop may be blocked before its locks are given up. Without a
   * thread of its own a client is blocked together with the program. Default: five timeouts. */
  maxBlocked?: number;
  /** Replace an ended session by a new one. Its leases stay lost. Default: false. */
  renew?: boolean;
  /** Text for listings. */
  description?: string;
  /** Called when the state changes. */
  onState?: (state: SessionState, error?: Error) => void;
}

/** Settings of a lock. */
export interface LockOptions extends CallOptions {
  /** Maximum time to wait, in milliseconds. 0 tries once. Default: the lifetime of the session. */
  wait?: number;
  /** Share the lock with other shared owners. Default: false. */
  shared?: boolean;
  /** Limit of the semaphore behind the lock: with it the lock is a counting semaphore. */
  limit?: number | bigint;
  /** Units of the limit. Default: 1. */
  count?: number | bigint;
  /** What others can read about the owner. */
  data?: Data;
  /** Called with the position when the acquire waits in the queue. */
  onQueued?: (orderId: bigint) => void;
}

/** A request for a semaphore. */
export interface AcquireArguments extends CallOptions {
  name: string;
  count: bigint;
  data: Uint8Array;
  ephemeral: boolean;
  wait: number | undefined;
  create: { limit: bigint; data: Uint8Array } | undefined;
  onQueued?: ((orderId: bigint) => void) | undefined;
}

/** A lease in a node: when it ends, everything it owns goes to others. */
export class Session implements AsyncDisposable {
  private static last = 0;
  /** @internal */
  readonly number = ++Session.last;
  private readonly turns = new Turns();
  private readonly owned = new Map<number, Ownership>();
  private incarnation: IncarnationInfo | undefined;
  private currentState: SessionState = "detached";
  private over: Error | undefined;
  private readonly controller = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private closing: Promise<void> | undefined;

  /** @internal */
  constructor(
    /** @internal */
    readonly link: Link,
    /** Path of the node. */
    readonly path: string,
    private readonly options: SessionOptions,
    private readonly onClosed: (session: Session) => void,
  ) {}

  /** Starts the session. @internal */
  async open(clientTimeout: number): Promise<this> {
    const { timeout = DEFAULT_TIMEOUT, renew = false, description = "", signal } = this.options;
    if (timeout !== 0 && !(timeout >= MIN_TIMEOUT && timeout <= MAX_TIMEOUT)) {
      throw new SignalboxError("BAD_REQUEST", `a session timeout of ${timeout} ms: ${MIN_TIMEOUT} to ${MAX_TIMEOUT}, or 0`);
    }
    const maxBlocked = this.options.maxBlocked ?? (timeout || DEFAULT_TIMEOUT) * BLOCKED_TIMEOUTS;
    if (!(maxBlocked >= MIN_BLOCKED)) throw new SignalboxError("BAD_REQUEST", `maxBlocked of ${maxBlocked} ms: at least ${MIN_BLOCKED}`);
    this.link.reportProgress(maxBlocked);
    const bound = AbortSignal.timeout(clientTimeout);
    try {
      await this.link.call("openSession", {
        session: this.number, path: this.path, timeout: Math.round(timeout), description, renew, maxBlocked,
      }, { signal: signal === undefined ? bound : AbortSignal.any([signal, bound]), late: () => void this.close() });
    } catch (e) {
      if (e === bound.reason) throw new SignalboxError("UNAVAILABLE", `no host has started a session within ${clientTimeout} ms`);
      if (!(e instanceof SignalboxError) || e.code !== "NOT_FOUND") throw e;
      throw new SignalboxError("NOT_FOUND", `there is no node ${this.path}: create it with client.createNode("${this.path}")`);
    }
    return this;
  }

  /** Id of the session; 0 while it is renewed. */
  get id(): bigint {
    return this.incarnation?.id ?? 0n;
  }

  /** State of the session, by the current clock. */
  get state(): SessionState {
    this.look();
    return this.currentState;
  }

  /** Why the session is over for good. */
  get error(): Error | undefined {
    this.look();
    return this.over;
  }

  /** Aborts when the session is over for good, with the error as its reason. */
  get signal(): AbortSignal {
    this.look();
    return this.controller.signal;
  }

  private look(): void {
    this.link.drain();
    const current = this.incarnation;
    if (current === undefined || this.over !== undefined || this.options.timeout === 0) return;
    if (exactly() >= this.link.deadline(current.slot)) this.expire(current);
  }

  // Locks and semaphores.

  /** Acquires a lock. Tasks of the session take turns; the lock is not recursive.
   *
   * It throws NOT_ACQUIRED if `wait` has passed, and SESSION_LOST if the session has ended. */
  async lock(name: string, options: LockOptions = {}): Promise<Lease> {
    checkName(name);
    const { shared = false, limit, data, signal, onQueued } = options;
    if (shared && limit !== undefined) throw new SignalboxError("BAD_REQUEST", "shared and limit exclude each other");
    const size = limit === undefined ? undefined : units(limit, 1n, "limit");
    const count = size === undefined ? (shared ? 1n : FOREVER) : units(options.count, 1n, "count");
    if (size !== undefined && count > size) {
      throw new SignalboxError("BAD_REQUEST", `count ${count}: from 1 to the limit ${size}`);
    }
    const turn = await this.turns.take(name, shared, wait(options.wait), signal);
    try {
      const ownership = turn.shared ?? await this.acquire({
        name, count, data: bytes(data), ephemeral: size === undefined, wait: turn.wait, signal, onQueued,
        create: size === undefined ? undefined : { limit: size, data: new Uint8Array(0) },
      });
      if (ownership === undefined) {
        throw new NotAcquiredError(`lock "${name}" was not granted${options.wait ? ` within ${options.wait} ms` : ""}`);
      }
      return this.leaseOf(ownership, turn);
    } catch (e) {
      turn.leave();
      throw e;
    }
  }

  /** Tries to acquire a lock without waiting; undefined if that would be needed. */
  async tryLock(name: string, options: Omit<LockOptions, "wait"> = {}): Promise<Lease | undefined> {
    try {
      return await this.lock(name, { ...options, wait: 0 });
    } catch (e) {
      if (e instanceof NotAcquiredError) return undefined;
      throw e;
    }
  }

  /** Runs a function under a lock. If the lock is lost, a LeaseLostError is thrown once the function has ended. */
  async withLock<T>(name: string, options: LockOptions, work: (lease: Lease) => Promise<T> | T): Promise<T> {
    const lease = await this.lock(name, options);
    let result: T;
    try {
      result = await work(lease);
    } catch (e) {
      await lease.release().catch(() => undefined);
      throw e;
    }
    await lease.release();
    return result;
  }

  private leaseOf(ownership: Ownership, turn: Turn): Lease {
    turn.granted(ownership);
    ownership.onOver(() => turn.leave());
    return new Lease(ownership, async () => {
      if (turn.leave()) await this.release(ownership);
    });
  }

  /** The persistent semaphore with the name. The first acquire creates it if it is missing, unless `create` is false. */
  semaphore(name: string, options: SemaphoreOptions = {}): Semaphore {
    return new Semaphore(this, name, options, false);
  }

  /** The ephemeral semaphore with the name: it exists from its first owner to its last. */
  ephemeral(name: string): Semaphore {
    return new Semaphore(this, name, {}, true);
  }

  // What semaphores and leases use.

  /** Acquires a semaphore. @internal */
  async acquire(a: AcquireArguments): Promise<Ownership | undefined> {
    const { signal, onQueued, ...args } = a;
    let taken: Ownership | undefined;
    await this.link.call("acquire", { session: this.number, ...args }, {
      signal, onQueued,
      // The lease is known before the engine's next message, which may be that it is lost.
      take: (g) => (taken = g && this.own(a.name, g)),
      late: (g) => g !== undefined && !this.owned.has(g.lease) && this.link.tell("release", { lease: g.lease }),
    });
    const ownership = taken;
    if (ownership !== undefined && !ownership.held(now)) {
      throw ownership.over instanceof Error ? ownership.over : new AbortedError("released");
    }
    return ownership;
  }

  /** Returns what a grant stands for: what the session owned already, or something new. */
  private own(name: string, grant: Grant): Ownership {
    const known = this.owned.get(grant.lease);
    if (known !== undefined) {
      known.count = grant.count;
      return known;
    }
    const ownership = new Ownership(this, name, grant);
    this.owned.set(ownership.id, ownership);
    this.link.leases.set(ownership.id, ownership);
    ownership.onOver(() => {
      this.owned.delete(ownership.id);
      this.link.leases.delete(ownership.id);
    });
    this.arm();
    return ownership;
  }

  /** Gives back what the session owns. From the call on it is not held. @internal */
  async release(ownership: Ownership): Promise<void> {
    if (ownership.over !== undefined) return;
    ownership.end("released");
    try {
      await this.link.call("release", { lease: ownership.id });
    } catch (e) {
      // The end of the session has released it.
      if (!(e instanceof SessionLostError) && !(e instanceof SignalboxError && e.code === "CLOSED")) throw e;
    }
  }

  /** Ends the incarnation, because its deadline has passed. @internal */
  expire(incarnation: IncarnationInfo): void {
    const error = new SessionLostError(incarnation.id, "silence");
    this.loseAll(incarnation.id, error);
    if (this.incarnation?.id !== incarnation.id) return;
    this.link.tell("giveUp", { session: this.number, incarnation: incarnation.id });
    if (this.options.renew === true) {
      this.incarnation = undefined;
      this.setState("renewing", error);
    } else {
      this.finish(error);
    }
  }

  private loseAll(incarnation: bigint, error: Error): void {
    for (const o of [...this.owned.values()]) if (o.incarnation.id === incarnation) o.end(error);
  }

  /** Looks at the deadline when it has come, so that signals abort even if the engine does not say anything. */
  private arm(): void {
    if (this.timer !== undefined || this.incarnation === undefined || this.options.timeout === 0) return;
    const wait = Math.max(this.link.deadline(this.incarnation.slot) - now(), 0) + 1;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.look();
      if (this.owned.size > 0) this.arm();
    }, wait).unref();
  }

  /** Takes an event of the engine. @internal */
  changed(event: Extract<Event, { event: "session" }>): void {
    if (event.incarnation !== undefined) this.incarnation = event.incarnation;
    if (event.state === "ended") {
      this.finish(event.error as Error);
    } else if (event.state === "renewing") {
      this.incarnation = undefined;
      this.setState("renewing", event.error as Error);
    } else {
      this.setState(event.state);
    }
  }

  private finish(error: Error): void {
    if (this.over !== undefined) return;
    this.over = error;
    clearTimeout(this.timer);
    for (const o of [...this.owned.values()]) o.end(error);
    this.onClosed(this);
    this.controller.abort(error);
    this.setState("ended", error);
  }

  private setState(state: SessionState, error?: Error): void {
    if (state === this.currentState || this.currentState === "ended") return;
    this.currentState = state;
    const { onState } = this.options;
    if (onState !== undefined) queueMicrotask(() => onState(state, error));
  }

  // The end.

  /** Ends the session: its leases end at once, and what waits fails. It waits for a host for up to a second; after that the
   * session ends by its timeout at the latest. */
  close(): Promise<void> {
    this.closing ??= this.closeOnce();
    return this.closing;
  }

  private async closeOnce(): Promise<void> {
    const id = this.id;
    const ended = this.link.call("closeSession", { session: this.number }).catch(() => undefined);
    this.finish(new SessionLostError(id, "closed"));
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([ended, new Promise((done) => (timer = setTimeout(done, FAREWELL)))]);
    clearTimeout(timer);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
