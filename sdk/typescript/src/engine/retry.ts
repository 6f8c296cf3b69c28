// When a request that failed is sent again. The only backoff of the package is here.
import { Status } from "../protocol/message.js";
import { detailOf, isRetriedStatus, statusOf, TransportError } from "./refusal.js";
import { Deferred, type News, type Scope } from "./waiting.js";

/** Redirections in a row that are followed without a pause. */
const MOVES_AT_ONCE = 4;
/** Times in a row that a host may ask to wait before the client looks for another leader. */
const WAITS_AT_ONCE = 3;
/** Tries after a host said that it does not know the session over the connection. */
const UNKNOWN_TRIES = 8;
/** Time over which clients that waited for a leader spread. */
const SPREAD = 50;

/** A random part of a time that doubles with each failure. */
export class Backoff {
  constructor(readonly first: number, readonly most: number) {}

  /** Returns the pause after a number of failures. */
  pause(failures: number): number {
    return Math.random() * Math.min(this.first * 2 ** Math.min(failures, 10), this.most) + 0.001;
  }
}

/** The backoff of requests to hosts. */
export const REQUESTS = new Backoff(25, 1000);

/** Decides from try to try what to do about a request that failed. */
export class Retries {
  /** Longest pause after a failure to reach a host; 0 for no bound. */
  patience = 0;
  private leaderCount = 0;
  private connectedCount = 0;
  private tries = 0;
  private moves = 0;
  private unknowns = 0;
  private askedToWait = 0;

  constructor(private readonly leaders: News, private readonly connected?: News) {
    this.begin();
  }

  /** Starts a try: news from now on end the pause after it. */
  begin(): void {
    this.leaderCount = this.leaders.count;
    this.connectedCount = this.connected?.count ?? 0;
  }

  /** Forgets failures, because what was tried has worked for a while. */
  reset(): void {
    this.tries = this.moves = this.unknowns = this.askedToWait = 0;
  }

  /** Has the pause after a MOVED from a lagging host begin: the client asks the owner that it knows, which may lag. */
  lags(): void {
    this.moves = MOVES_AT_ONCE;
    this.tries = Math.max(this.tries, 1);
  }

  /** Reports whether the host can answer soon, so that the routing is left alone. A host that keeps asking to wait may be
   * partitioned from the shard's leader. */
  waits(error: unknown): boolean {
    return statusOf(error) === Status.UNAVAILABLE && detailOf(error).wait_ms > 0 && this.askedToWait < WAITS_AT_ONCE;
  }

  /** Counts an answer of a host that does not know the session, and returns false after too many. */
  unknown(): boolean {
    return ++this.unknowns <= UNKNOWN_TRIES;
  }

  /** Waits until the request may be sent again, or throws the error if it may not. */
  async again(error: unknown, scope: Scope): Promise<void> {
    const pause = this.delay(error);
    if (pause === undefined) throw error;
    if (pause <= 0) {
      await nextTurn(scope);
      return;
    }
    if (!(error instanceof TransportError) && statusOf(error) !== Status.UNAVAILABLE) {
      await scope.sleep(pause);
      return;
    }
    await this.pauseOrNews(pause, scope);
    if (this.leaders.count !== this.leaderCount) {
      this.tries = 1;
      await scope.sleep(Math.random() * SPREAD);
    }
  }

  private async pauseOrNews(pause: number, scope: Scope): Promise<void> {
    const d = new Deferred();
    const timer = setTimeout(() => d.resolve(), pause);
    const undo = [this.leaders.add(this.leaderCount, d)];
    if (this.connected !== undefined) undo.push(this.connected.add(this.connectedCount, d));
    try {
      await scope.wait(d);
    } finally {
      clearTimeout(timer);
      for (const f of undo) f();
    }
  }

  /** Time to wait before the request may be sent again; undefined if it may not. */
  private delay(error: unknown): number | undefined {
    let wait = 0;
    const status = statusOf(error);
    if (this.waits(error)) this.askedToWait++;
    else if (detailOf(error).wait_ms === 0) this.askedToWait = 0;
    if (error instanceof TransportError) {
      wait = this.next(0);
      if (this.patience > 0) wait = Math.min(wait, this.patience);
    } else if (!isRetriedStatus(status)) {
      return undefined;
    } else if (status === Status.MOVED) {
      this.moves++;
      return this.moves > MOVES_AT_ONCE ? this.next(0) : 0;
    } else if (status !== Status.STALE) {
      this.tries = Math.max(this.tries, 1); // a host that answered has just been asked
      wait = this.next(detailOf(error).wait_ms);
    }
    this.moves = 0;
    return wait;
  }

  private next(atLeast: number): number {
    this.tries++;
    return this.tries === 1 ? atLeast : Math.max(atLeast, REQUESTS.pause(this.tries - 2));
  }
}

async function nextTurn(scope: Scope): Promise<void> {
  const d = new Deferred();
  setImmediate(() => d.resolve());
  await scope.wait(d);
}
