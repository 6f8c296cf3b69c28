// A session of the user: one incarnation, or one after the other if it is renewed.
import { now } from "../clock.js";
import { SignalboxError, SessionLostError, type EndReason } from "../errors.js";
import { fieldsOf } from "../protocol/message.js";
import type { Handler, Connection } from "./connection.js";
import type { OpenSession } from "../bridge/messages.js";
import type { Attachment, Owner } from "./attachment.js";
import type { Core } from "./core.js";
import { Incarnation } from "./incarnation.js";
import { refusalOf } from "./refusal.js";
import { REQUESTS } from "./retry.js";
import { Deferred, type Scope } from "./waiting.js";

/** Sessions in a row that may end soon after their start before a renewal pauses. */
const SHORT_LIVED = 3;

/** A session, as the engine runs it for the user. */
export class Session implements Owner {
  current: Incarnation | undefined;
  /** Why the session is over for good. */
  error: Error | undefined;
  private ready: Deferred | undefined;
  private short = 0;
  private closing = false;

  constructor(private readonly core: Core, readonly settings: OpenSession) {}

  /** Starts an incarnation. If the caller leaves, a session that came into being is ended. */
  async start(scope: Scope): Promise<Incarnation> {
    const { core, settings } = this;
    let inc!: Incarnation;
    await core.cluster.repeat(core.cluster.sessionHome, scope, async (conn) => {
      inc = new Incarnation(core, this, settings.timeout, settings.maxBlocked);
      await startOver(inc, conn, settings, scope);
    });
    if (this.closing) {
      inc.end("closed");
      core.spawn(inc.stopLater());
      throw new SignalboxError("CLOSED", "the session is closed");
    }
    if (inc.cause !== undefined) throw inc.cause;
    this.current = inc;
    core.emit({
      event: "session", session: settings.session, state: inc.home === undefined ? "detached" : "attached",
      incarnation: { id: inc.id, slot: inc.slot },
    });
    if (inc.home === undefined) inc.reattach();
    this.ready?.resolve();
    this.ready = undefined;
    return inc;
  }

  /** Returns the incarnation; waits for it while the session is renewed. */
  async incarnation(scope: Scope): Promise<Incarnation> {
    while (this.current === undefined) {
      if (this.error !== undefined) throw this.error;
      this.ready ??= new Deferred();
      const ready = new Deferred();
      this.ready.promise.then(() => ready.resolve(), () => ready.resolve());
      await scope.wait(ready);
    }
    return this.current;
  }

  /** Ends the session. The returned promise resolves once a host has ended it. */
  async close(): Promise<void> {
    this.closing = true;
    const inc = this.current;
    if (inc === undefined || !inc.end("closed")) {
      this.finish(this.error ?? new SessionLostError(inc?.id ?? 0n, "closed"));
      return;
    }
    await inc.stopLater();
  }

  attached(inc: Attachment): void {
    if (inc === this.current) this.core.emit({ event: "session", session: this.settings.session, state: "attached" });
  }

  detached(inc: Attachment): void {
    if (inc === this.current) this.core.emit({ event: "session", session: this.settings.session, state: "detached" });
  }

  ended(inc: Attachment, reason: EndReason): void {
    if (inc !== this.current) return;
    const final = reason === "closed" || reason === "node_dropped";
    if (!this.settings.renew || this.closing || final || this.core.life.error !== undefined) {
      this.finish(inc.cause!);
      return;
    }
    this.core.emit({ event: "session", session: this.settings.session, state: "renewing", error: inc.cause! });
    this.current = undefined;
    this.short = now() - inc.born < REQUESTS.most ? this.short + 1 : 0;
    this.core.spawn(this.renew(this.short > SHORT_LIVED ? REQUESTS.pause(this.short) : 0));
  }

  private async renew(pause: number): Promise<void> {
    await this.core.life.sleep(pause);
    for (;;) {
      try {
        await this.start(this.core.life);
        return;
      } catch (e) {
        if (e instanceof SessionLostError && e.reason !== "node_dropped" && !this.closing) continue; // it was over before it began
        this.finish(e as Error);
        return;
      }
    }
  }

  private finish(error: Error): void {
    if (this.error !== undefined) return;
    this.error = error;
    this.ready?.resolve();
    this.core.emit({ event: "session", session: this.settings.session, state: "ended", error });
  }
}

/** Starts a session over a connection. */
async function startOver(inc: Incarnation, conn: Connection, settings: OpenSession, scope: Scope): Promise<void> {
  const sent = now();
  const done = new Deferred();
  let heard = false;
  let abandoned = false;
  const undo = (): void => {
    inc.end("closed");
    conn.sessions.delete(inc.id);
    inc.last = conn;
    inc.core.spawn(inc.stopLater());
  };
  const handler: Handler = {
    answered: (_, raw) => {
      heard = true;
      const error = refusalOf(raw);
      if (error !== undefined) {
        done.reject(error);
        return false;
      }
      const a = fieldsOf("SESSION_START_ANSWER", raw);
      inc.id = a.session_id;
      inc.nodeId = a.lease.node_id;
      inc.timeout = a.lease.timeout_ms;
      if (abandoned) {
        undo();
      } else {
        inc.attachedOver(conn, inc.attachSequence, sent, a.lease);
        done.resolve();
      }
      return false;
    },
    lost: (_, error) => {
      heard = true;
      done.reject(error);
    },
  };
  conn.send(handler, "SESSION_START", {
    path: settings.path, timeout_ms: settings.timeout, details: { description: settings.description },
    session_secret: inc.secret, attach_sequence: inc.attachSequence,
  });
  try {
    await scope.wait(done);
  } catch (e) {
    abandoned = !heard;
    throw e;
  }
}
