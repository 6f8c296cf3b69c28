// The program's end of the channel to the engine: calls, their cancellation, and events.
import { setMaxListeners } from "node:events";
import { now } from "../clock.js";
import { fromPortable, SignalboxError, type PortableError } from "../errors.js";
import { ThreadChannel, type Channel, type Deliver } from "./channel.js";
import type { Changed } from "../types.js";
import type { CallName, Calls, Event, FromEngine, ToEngine } from "./messages.js";

/** Time that the end of the process waits for hosts to end sessions. */
const FAREWELL = 1000;
/** Bounds of the time between two reports of progress. */
const MIN_REPORT = 10;
const MAX_REPORT = 1000;
/** Reports of progress within `maxBlocked`. */
const REPORTS = 10;

/** Links whose sessions are ended at the end of the process. */
const open = new Set<Link>();

process.on("exit", () => {
  for (const link of open) link.farewell();
});

interface Pending {
  resolve(value: unknown): void;
  reject(error: unknown): void;
  /** Called with the value before anything else that the engine has posted is processed. */
  take: ((value: never) => void) | undefined;
  /** Called with the value of a call whose caller has left. */
  late: ((value: never) => void) | undefined;
  left: boolean;
  onQueued: ((order: bigint) => void) | undefined;
}

/** A lease, as the engine's events end it. */
export interface OwnedLease {
  end(over: Error | "released"): void;
}

/** How a call is made. */
export interface CallOptions<N extends CallName> {
  signal?: AbortSignal | undefined;
  take?: (value: Calls[N][1]) => void;
  late?: (value: Calls[N][1]) => void;
  onQueued?: ((order: bigint) => void) | undefined;
}

/** Carries out calls of one client. */
export class Link {
  private readonly channel: Channel;
  private readonly pending = new Map<number, Pending>();
  private last = 0;
  private lastWatch = 0;
  private readonly changes = new Map<number, (changed: Changed) => void>();
  /** What the client's sessions own, by the engine's number of the lease. */
  readonly leases = new Map<number, OwnedLease>();
  private out: ToEngine[] = [];
  private closed: SignalboxError | undefined;
  private reporter: NodeJS.Timeout | undefined;
  private reportEvery = Infinity;
  private readonly inbox: FromEngine[] = [];

  /** Opens a link to an engine on the program's thread, or else on a thread of its own. */
  constructor(Local: (new (deliver: Deliver) => Channel) | undefined, private readonly onEvent: (event: Event) => void) {
    const deliver = (messages: FromEngine[]): void => this.deliver(messages);
    this.channel = Local === undefined ? new ThreadChannel(deliver, (e) => this.fail(e)) : new Local(deliver);
    open.add(this);
  }

  /** Delivers everything that the engine has posted so far, without waiting for the event loop. A program that looks at
   * its leases does not hang. */
  drain(): void {
    this.channel.shared.progress = now();
    this.channel.drain();
  }

  /** Time until which the session with the slot can be relied on. */
  deadline(slot: number): number {
    return this.channel.shared.deadline(slot);
  }

  /** Calls the engine. If the signal aborts, the call is cancelled and the signal's reason thrown. */
  async call<N extends CallName>(name: N, args: Calls[N][0], options: CallOptions<N> = {}): Promise<Calls[N][1]> {
    const { signal } = options;
    signal?.throwIfAborted();
    if (this.closed !== undefined) throw this.closed;
    const call = ++this.last;
    let abort: (() => void) | undefined;
    try {
      return await new Promise<Calls[N][1]>((resolve, reject) => {
        const pending: Pending = {
          resolve, reject, take: options.take, late: options.late, left: false, onQueued: options.onQueued,
        };
        this.pending.set(call, pending);
        this.post({ call, name, arguments: args });
        if (signal === undefined) return;
        abort = () => {
          pending.left = true;
          this.post({ cancel: call });
          reject(signal.reason as Error);
        };
        setMaxListeners(0, signal); // one signal may end many calls
        signal.addEventListener("abort", abort, { once: true });
      });
    } finally {
      if (abort !== undefined) signal!.removeEventListener("abort", abort);
    }
  }

  /** Calls the engine without waiting. */
  tell<N extends CallName>(name: N, args: Calls[N][0]): void {
    this.call(name, args).catch(() => undefined);
  }

  /** Posts a message. All messages of one turn are posted together. */
  post(message: ToEngine): void {
    if (this.closed !== undefined) return;
    if (this.out.length === 0) queueMicrotask(() => this.flush());
    this.out.push(message);
  }

  private flush(): void {
    const messages = this.out;
    this.out = [];
    if (this.closed !== undefined || messages.length === 0) return;
    this.channel.shared.progress = now();
    try {
      this.channel.post(messages);
    } catch {
      for (const m of messages) this.postAlone(m); // something in one of them cannot pass to another thread
    }
  }

  private postAlone(message: ToEngine): void {
    try {
      this.channel.post([message]);
    } catch (e) {
      const text = `an argument cannot pass to the client's thread: ${String(e)}; see the option thread`;
      const error = new SignalboxError("BAD_REQUEST", text);
      if ("call" in message) this.reply({ reply: message.call, error });
      else if ("credentials" in message) this.channel.post([{ ...message, tls: undefined, error }]);
    }
  }

  /** Reports the progress of the program's event loop, often enough for a session with the bound. */
  reportProgress(maxBlocked: number): void {
    const every = Math.max(Math.min(maxBlocked / REPORTS, MAX_REPORT), MIN_REPORT);
    this.channel.shared.progress = now();
    if (!this.channel.ownThread || every >= this.reportEvery) return;
    this.reportEvery = every;
    clearInterval(this.reporter);
    this.reporter = setInterval(() => (this.channel.shared.progress = now()), every).unref();
  }

  /** Processes messages in their order. A listener of the program may have more delivered meanwhile. */
  private deliver(messages: FromEngine[]): void {
    this.channel.shared.progress = now();
    this.inbox.push(...messages);
    for (let m = this.inbox.shift(); m !== undefined; m = this.inbox.shift()) {
      if ("error" in m && m.error !== undefined && !(m.error instanceof Error)) m.error = fromPortable(m.error as PortableError);
      if ("event" in m) {
        this.take(m);
      } else {
        this.reply(m);
      }
    }
  }

  private take(event: Event): void {
    switch (event.event) {
      case "queued":
        this.queued(event.call, event.order);
        break;
      case "lost":
        this.leases.get(event.lease)?.end(event.error as Error);
        break;
      case "released":
        this.leases.get(event.lease)?.end("released");
        break;
      case "changed":
        this.changes.get(event.watch)?.({ data: event.data, owners: event.owners });
        this.changes.delete(event.watch);
        break;
      default:
        this.onEvent(event);
    }
  }

  /** Calls the program outside of the processing of messages, which an error of the program must not end. */
  private queued(call: number, order: bigint): void {
    const onQueued = this.pending.get(call)?.onQueued;
    if (onQueued !== undefined) queueMicrotask(() => onQueued(order));
  }

  /** Returns a number for a one-shot watch, and the change that it will report unless the signal aborts. */
  expectChange(signal: AbortSignal | undefined): { watch: number; changed: Promise<Changed> } {
    const watch = ++this.lastWatch;
    const changed = new Promise<Changed>((resolve, reject) => {
      const abort = (): void => {
        this.changes.delete(watch);
        reject(signal!.reason as Error);
      };
      signal?.addEventListener("abort", abort, { once: true });
      this.changes.set(watch, (change) => {
        signal?.removeEventListener("abort", abort);
        resolve(change);
      });
    });
    changed.catch(() => undefined); // a program may not wait for it any more
    return { watch, changed };
  }

  /** Forgets a one-shot watch that was not opened. */
  forgetChange(watch: number): void {
    this.changes.delete(watch);
  }

  private reply(m: { reply: number; value?: unknown; error?: unknown }): void {
    const pending = this.pending.get(m.reply);
    if (pending === undefined) return;
    this.pending.delete(m.reply);
    if ("error" in m) pending.reject(m.error);
    else if (pending.left) pending.late?.(m.value as never);
    else {
      pending.take?.(m.value as never);
      pending.resolve(m.value);
    }
  }

  /** Closes the channel. Calls that still wait fail. */
  async close(): Promise<void> {
    if (this.closed !== undefined) return;
    this.end(new SignalboxError("CLOSED", "the client is closed"));
    await this.channel.close();
  }

  private fail(error: Error): void {
    if (this.closed !== undefined) return;
    this.end(new SignalboxError("INTERNAL", `the client has failed: ${error.message}`, { cause: error }));
    this.onEvent({ event: "defect", error });
  }

  private end(error: SignalboxError): void {
    this.closed = error;
    open.delete(this);
    clearInterval(this.reporter);
    const pending = [...this.pending.values()];
    this.pending.clear();
    for (const p of pending) p.reject(error);
    for (const report of this.changes.values()) report({ data: false, owners: false });
    this.changes.clear();
  }

  /** At the end of the process: has the sessions ended at their hosts, so that nobody waits for their timeouts. */
  farewell(): void {
    if (!this.channel.ownThread || this.closed !== undefined) return;
    this.channel.post([{ call: ++this.last, name: "close", arguments: { timeout: FAREWELL } }]);
    this.channel.shared.awaitClose(FAREWELL);
  }
}
