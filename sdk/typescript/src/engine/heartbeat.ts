// The pings of one connection: they keep its sessions alive, and find hosts that hang.
import { now } from "../clock.js";
import { uintAt } from "../protocol/message.js";
import type { RawMessage } from "../protocol/reader.js";
import type { Connection, Handler } from "./connection.js";

/** Longest time between two pings, whatever sessions and hosts ask for. */
const MAX_SILENCE = 5000;
/** Time without answers, while requests are open, after which a host is sent a ping, and for which that may take. */
const PATIENCE = 500;
/** Time for an answer to a ping if another host leads a shard that this one led. */
const DOUBT_PATIENCE = 1000;

/** Sends pings, and closes the connection if they are not answered. */
export class Heartbeat {
  /** Time of the latest ping. */
  pinged = 0;
  /** Number of answers so far. */
  answers = 0;
  private missing = false;
  private doubted = false;
  /** Time at which to look whether the host is silent; 0 while no request is open. */
  private lookAt = 0;
  private answersSeen = 0;
  private readonly timeouts = new Map<number, number>();
  private smallest = 0;
  private idle = MAX_SILENCE;
  private timer: NodeJS.Timeout | undefined;
  private armedFor = Infinity;
  private stopped = true;

  constructor(private readonly conn: Connection) {}

  /** Starts the pings, at least as often as the host asks. */
  start(intervalMs: number): void {
    this.stopped = false;
    if (intervalMs > 0) this.idle = Math.min(intervalMs, MAX_SILENCE);
    this.arm();
  }

  /** Ends the pings. */
  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  /** Pings often enough for a session with the timeout. */
  add(timeout: number): void {
    this.timeouts.set(timeout, (this.timeouts.get(timeout) ?? 0) + 1);
    if (this.smallest === 0 || timeout < this.smallest) {
      this.smallest = timeout;
      this.arm();
    }
  }

  /** Undoes add. */
  remove(timeout: number): void {
    const left = (this.timeouts.get(timeout) ?? 1) - 1;
    if (left > 0) {
      this.timeouts.set(timeout, left);
      return;
    }
    this.timeouts.delete(timeout);
    this.smallest = this.timeouts.size === 0 ? 0 : Math.min(...this.timeouts.keys());
  }

  /** Notes that a request was sent. */
  requested(): void {
    if (this.lookAt !== 0) return;
    this.lookAt = now() + PATIENCE;
    this.answersSeen = this.answers;
    if (this.lookAt < this.armedFor) this.arm();
  }

  /** Requires an answer soon: another host leads a shard that this one led. If it hangs, requests go on elsewhere. */
  doubt(): void {
    if (this.stopped) return;
    this.doubted = true;
    if (!this.missing) this.ping(now());
    this.arm();
  }

  private interval(): number {
    return this.smallest === 0 ? this.idle : Math.max(Math.min(this.smallest / 3, this.idle), 1);
  }

  /** Time of the next ping, or by which the latest must be answered: a quarter of a timeout leaves time to reattach. */
  private due(): number {
    let patience = this.interval();
    if (this.missing) {
      patience *= 0.75;
      if (this.doubted) patience = Math.min(patience, DOUBT_PATIENCE);
    }
    return this.pinged + patience;
  }

  private arm(): void {
    clearTimeout(this.timer);
    if (this.stopped) return;
    this.armedFor = this.lookAt === 0 ? this.due() : Math.min(this.due(), this.lookAt);
    this.timer = setTimeout(() => this.fire(), Math.max(this.armedFor - now(), 0));
  }

  private fire(): void {
    if (this.stopped) return;
    const time = now();
    if (time >= this.due()) {
      if (this.missing) {
        this.conn.fail("the host did not answer a ping");
        return;
      }
      this.ping(time);
    }
    if (this.lookAt !== 0 && time >= this.lookAt) this.look(time);
    this.arm();
  }

  private ping(time: number): void {
    this.pinged = time;
    this.missing = true;
    this.conn.send(this.pong(time), "PING", {});
  }

  /** Confirms sessions from the time at which the ping was sent: its answer may have been in transit for any time. */
  private pong(sent: number): Handler {
    return {
      answered: (conn: Connection, raw: RawMessage) => {
        if (uintAt(raw, 2) !== 0) return false;
        this.missing = this.doubted = false;
        for (const session of conn.sessions.values()) session.confirm(conn, sent);
        return false;
      },
      lost: () => undefined,
    };
  }

  /** Sends a ping to a host without an answer since the last look. If it has not answered a ping either, it is silent. */
  private look(time: number): void {
    if (this.conn.open === 0) {
      this.lookAt = 0;
      return;
    }
    const silent = this.answers === this.answersSeen;
    if (silent && this.missing) this.conn.peer?.silent();
    else if (silent) this.ping(time);
    this.lookAt = time + PATIENCE;
    this.answersSeen = this.answers;
  }
}
