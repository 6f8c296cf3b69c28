// Limiters: so many tasks run at a time, over all tasks of all programs.
//
// The limit is that of a persistent semaphore, which the first use creates. A session has one entry in a semaphore, so a
// limiter has a session for each slot that is held or waited for, and keeps some for the next ones. They share the
// connections of their client and its pings.
import type { Client } from "./client.js";
import { now } from "./clock.js";
import { AbortedError, NotAcquiredError, SignalboxError } from "./errors.js";
import type { CallOptions, Lease } from "./lease.js";
import { pause, unlessAborted } from "./pause.js";
import { DEFAULT_TIMEOUT, type Session } from "./session.js";
import type { Data } from "./types.js";

/** Time for which an unused session is kept. */
const IDLE = 60_000;
/** Pause after a lost session before another takes its place in the queue. */
const RETRY = 50;

/** Settings of a limiter. */
export interface LimiterOptions {
  /** Maximum number of sessions, and so of tasks that hold a slot or wait for one. Default: 1000. */
  sessions?: number;
  /** Session timeout, in milliseconds. Default: 10 s. */
  timeout?: number;
  /** What others can read about the owner of a slot. */
  data?: Data;
}

/** A slot of a limiter. */
export class Slot implements AsyncDisposable {
  private given: Promise<void> | undefined;

  /** @internal */
  constructor(
    /** The lease of the slot: its signal aborts if the slot is lost. */
    readonly lease: Lease,
    private readonly give: () => void,
  ) {}

  /** Gives the slot back. It throws a LeaseLostError if the slot was lost before. If the signal aborts, the release continues
   * in the background. */
  release(options: CallOptions = {}): Promise<void> {
    this.given ??= this.lease.release().finally(() => this.give());
    return unlessAborted(this.given, options.signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}

/** Lets so many tasks run at a time. A program needs one for a name. */
export class Limiter implements AsyncDisposable {
  private readonly idle: { session: Session; since: number }[] = [];
  private readonly all = new Set<Session>();
  private room: number;
  private readonly waiting: (() => void)[] = [];
  private readonly closing = new AbortController();

  constructor(
    private readonly client: Client, private readonly path: string, readonly name: string, readonly limit: number,
    private readonly options: LimiterOptions = {},
  ) {
    this.room = options.sessions ?? 1000;
    if (!(limit >= 1 && this.room >= 1)) throw new SignalboxError("BAD_REQUEST", "limit and sessions must be at least 1");
  }

  /** Waits for a slot: `await using slot = await limiter.slot()`. It throws NOT_ACQUIRED if `wait` milliseconds have passed. */
  async slot(options: { wait?: number } & CallOptions = {}): Promise<Slot> {
    const { wait, signal } = options;
    const until = wait === undefined ? Infinity : now() + wait;
    await this.takeRoom(until, signal);
    try {
      for (;;) {
        const session = await this.take(signal);
        try {
          const lease = await session.lock(this.name, {
            limit: this.limit, data: this.options.data ?? "", signal, ...(wait !== undefined && { wait: Math.max(until - now(), 0) }),
          });
          return new Slot(lease, () => this.giveAll(session));
        } catch (e) {
          this.give(session);
          this.closing.signal.throwIfAborted();
          if (!isPassing(e)) throw e;
        }
        await pause(RETRY, signal);
      }
    } catch (e) {
      this.giveRoom();
      throw e;
    }
  }

  /** Runs a function in a slot. */
  async run<T>(work: (slot: Slot) => Promise<T> | T, options: { wait?: number } & CallOptions = {}): Promise<T> {
    await using slot = await this.slot(options);
    return await work(slot);
  }

  private async takeRoom(until: number, signal: AbortSignal | undefined): Promise<void> {
    if (this.room > 0) {
      this.room--;
      return;
    }
    signal?.throwIfAborted();
    this.closing.signal.throwIfAborted();
    const left = until - now();
    const bound = AbortSignal.any([
      this.closing.signal, ...(signal ? [signal] : []), ...(left < Infinity ? [AbortSignal.timeout(Math.max(left, 0))] : []),
    ]);
    await new Promise<void>((resolve, reject) => {
      const enter = (): void => {
        bound.removeEventListener("abort", leave);
        resolve();
      };
      const leave = (): void => {
        this.waiting.splice(this.waiting.indexOf(enter), 1);
        const ended = [this.closing.signal, signal].find((s) => s?.aborted);
        reject(ended ? (ended.reason as Error) : new NotAcquiredError(`no slot of "${this.name}" was free`));
      };
      bound.addEventListener("abort", leave, { once: true });
      this.waiting.push(enter);
    });
  }

  private giveRoom(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.room++;
    else next();
  }

  private async take(signal: AbortSignal | undefined): Promise<Session> {
    this.closing.signal.throwIfAborted();
    for (let kept = this.idle.pop(); kept !== undefined; kept = this.idle.pop()) {
      if (kept.session.error === undefined) return kept.session;
      this.all.delete(kept.session);
    }
    const { timeout = DEFAULT_TIMEOUT } = this.options;
    const session = await this.client.session(this.path, { timeout, signal, description: `limiter ${this.name}` });
    this.all.add(session);
    return session;
  }

  /** Keeps a session for the next slot, and closes those that were unused for long. */
  private give(session: Session): void {
    if (session.error === undefined && !this.closing.signal.aborted) this.idle.push({ session, since: now() });
    else this.all.delete(session);
    while (this.idle[0] !== undefined && this.idle[0].since < now() - IDLE) {
      const { session: old } = this.idle.shift()!;
      this.all.delete(old);
      old.close().catch(() => undefined);
    }
  }

  private giveAll(session: Session): void {
    this.give(session);
    this.giveRoom();
  }

  /** Ends the limiter: held slots are lost, and what waits fails. */
  async close(): Promise<void> {
    this.closing.abort(new SignalboxError("CLOSED", "the limiter is closed"));
    this.idle.length = 0;
    await Promise.allSettled([...this.all].map((s) => s.close()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** Reports whether a task may queue again after an error. */
function isPassing(e: unknown): boolean {
  if (e instanceof AbortedError) return e.reason === "deleted";
  return e instanceof SignalboxError && (e.code === "SESSION_LOST" || e.code === "NOT_FOUND");
}
