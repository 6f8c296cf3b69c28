// What the parts of one engine share.
import { now } from "../clock.js";
import { SignalboxError } from "../errors.js";
import type { Event } from "../bridge/messages.js";
import type { SharedState } from "../bridge/shared.js";
import type { Cluster } from "./cluster.js";
import { Deferred, Scope } from "./waiting.js";

/** Sessions that are ended at their hosts at a time, without a caller that waits. */
const STOPS_AT_ONCE = 64;
/** Time between two looks at all deadlines: timers stand still while the machine is suspended, leases do not. */
const LOOK = 1000;

/** A session, as its deadline sees it. */
export interface Mortal {
  /** Ends the session if its time is over, and returns whether it goes on. */
  alive(): boolean;
}

/** The state of one engine. */
export class Core {
  cluster!: Cluster;
  /** Ends when the client is closed. */
  readonly life = new Scope();
  private readonly mortals = new Set<Mortal>();
  private look: NodeJS.Timeout | undefined;
  private stopping = 0;
  private readonly stops: Deferred[] = [];

  constructor(
    readonly shared: SharedState,
    readonly emit: (event: Event) => void,
    /** Whether the engine has a thread of its own, so that the program's thread can be blocked without it. */
    private readonly ownThread: boolean,
  ) {}

  /** Time for which the program's event loop has not run. On the same thread it runs. */
  blockedFor(): number {
    return this.ownThread ? now() - this.shared.progress : 0;
  }

  /** Runs something in the background until it ends or the client is closed. */
  spawn(work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      if (this.life.error !== undefined || error instanceof SignalboxError) return;
      this.emit({ event: "defect", error });
    });
  }

  /** Looks at the deadline of a session until it is over. */
  watch(mortal: Mortal): void {
    this.mortals.add(mortal);
    this.look ??= setInterval(() => this.lookAtAll(), LOOK);
  }

  /** Ends the sessions whose deadlines have passed. */
  lookAtAll(): void {
    for (const m of [...this.mortals]) m.alive();
  }

  /** Forgets a session that is over. */
  unwatch(mortal: Mortal): void {
    this.mortals.delete(mortal);
    if (this.mortals.size > 0) return;
    clearInterval(this.look);
    this.look = undefined;
  }

  /** Runs the end of a session at its host, not too many at a time. */
  async stopLater(stop: () => Promise<void>): Promise<void> {
    if (this.stopping >= STOPS_AT_ONCE) {
      const turn = new Deferred();
      this.stops.push(turn);
      await this.life.wait(turn);
    } else {
      this.stopping++;
    }
    try {
      await stop();
    } catch {
      // The session ends by its timeout.
    } finally {
      const turn = this.stops.shift();
      if (turn === undefined) this.stopping--;
      else turn.resolve();
    }
  }

  /** Ends everything. */
  close(): void {
    clearInterval(this.look);
    this.life.end(new SignalboxError("CLOSED", "the client is closed"));
    this.cluster.close();
  }
}
