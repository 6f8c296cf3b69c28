// One session at its hosts: its lease clock, and the connection over which it is attached.
import { randomBytes } from "node:crypto";
import { now } from "../clock.js";
import { SessionLostError, type EndReason } from "../errors.js";
import { fieldsOf, Status } from "../protocol/message.js";
import type { LeaseRecord, LostHoldingsRecord, Messages } from "../protocol/messages.js";
import type { Raw, RawMessage } from "../protocol/reader.js";
import { sessionSlot } from "../protocol/slots.js";
import { Bindings } from "./bindings.js";
import type { AttachedSession, Connection, Handler } from "./connection.js";
import type { Core, Mortal } from "./core.js";
import { Tried, type Host } from "./host.js";
import { detailOf, errorOf, isRetried, refusalOf, slow, statusOf, TransportError } from "./refusal.js";
import { Retries } from "./retry.js";
import { stop } from "./stop.js";
import { Deferred, Scope } from "./waiting.js";

/** Least time that a client gives up before the session may end, and that a host gets for one try. */
const MIN_MARGIN = 10;
const MIN_TRY = 50;

const END_REASONS: Record<number, EndReason> = { 1: "closed", 2: "expired", 3: "destroyed", 4: "node_dropped" };

/** The session of the user, which has one attachment after the other if it is renewed. */
export interface Owner {
  attached(session: Attachment): void;
  detached(session: Attachment): void;
  ended(session: Attachment, reason: EndReason): void;
}

/** Where the latest try of an operation went. */
export interface Try {
  conn: Connection | undefined;
  host: Host | undefined;
}

/** Time before its end at which a client gives a session up: for clocks of different rates, and for acting. */
export function margin(timeout: number): number {
  return Math.min(Math.max(timeout / 10, MIN_MARGIN), timeout / 2);
}

/** A session from its start to its end. */
export abstract class Attachment implements AttachedSession, Mortal {
  id = 0n;
  nodeId = 0;
  readonly secret = randomBytes(16);
  grace = 0;
  readonly born = now();
  /** Why the session is over. */
  cause: SessionLostError | undefined;
  attachSequence = 1;
  /** The connection over which the session is attached, and the one before. */
  home: Connection | undefined;
  last: Connection | undefined;
  /** Everything that waits for the session waits in this scope. */
  readonly scope: Scope;
  /** Place of the deadline in the shared memory; 0 before the start. */
  slot = 0;
  /** Sending time of the latest confirmed ping, start or attach: the lease counts from here. */
  base = 0;
  /** Time of the latest attach: only pings that were sent later confirm it. */
  private since = 0;
  private readonly bindings = new Bindings(this);
  private attaching = false;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    readonly core: Core,
    private readonly owner: Owner,
    /** Timeout in milliseconds. 0 ends the session with its connection. */
    public timeout: number,
    /** Time without progress of the program after which the lease is no longer extended. */
    private readonly maxBlocked: number,
  ) {
    this.scope = new Scope(core.life);
  }

  /** Ends everything that the session has: its leases, and what waits. */
  protected abstract drop(): void;
  /** Nothing that was in flight over a connection arrives any more. */
  protected abstract unbound(conn: Connection): void;
  /** A shard was rebuilt: what the session held there below a fence is lost. */
  protected abstract loseRebuilt(lost: LostHoldingsRecord): void;
  abstract holdingLost(push: Messages["HOLDING_LOST"]): void;

  // The lease clock.

  /** Time at which the client gives the session up. */
  deadline(): number {
    return this.timeout > 0 ? this.base + this.timeout - margin(this.timeout) : Infinity;
  }

  /** Reports whether the session can be relied on now, and ends it if not. */
  alive(): boolean {
    if (this.cause !== undefined) return false;
    if (now() < this.deadline()) return true;
    this.end(this.isBlocked() ? "blocked" : "silence");
    return false;
  }

  /** A hung program must not keep its locks: the lease is not extended while its event loop does not run. */
  private isBlocked(): boolean {
    return this.core.blockedFor() > this.maxBlocked;
  }

  confirm(conn: Connection, sent: number): void {
    if (conn === this.home && sent > this.since) this.extend(sent);
  }

  private extend(sent: number): void {
    if (this.base > 0 && this.isBlocked()) return;
    this.base = Math.max(this.base, sent);
    this.publish();
  }

  private publish(): void {
    this.core.shared.setDeadline(this.slot, this.deadline());
  }

  private arm(): void {
    clearTimeout(this.timer);
    if (this.timeout === 0 || this.cause !== undefined) return;
    this.timer = setTimeout(() => this.alive() && this.arm(), Math.max(this.deadline() - now(), 0));
  }

  // The end.

  /** Ends the session on this side, and returns false if it was over.
   *
   * A host that ends a session whose lease is over by this clock ends nothing that the client relies on: a process that
   * stood still may read the host's message before its timer fires. */
  end(reason: EndReason, detail = ""): boolean {
    if (this.cause !== undefined || (reason === "expired" && !this.alive())) return false;
    this.cause = new SessionLostError(this.id, reason, detail);
    clearTimeout(this.timer);
    this.core.unwatch(this);
    this.drop();
    this.owner.ended(this, reason);
    this.scope.end(this.cause);
    if (this.home !== undefined) {
      this.leave(this.home);
      this.removeHome();
    }
    for (const conn of this.bindings.clear()) this.leave(conn);
    if (this.slot !== 0) this.core.shared.retire(this.slot);
    if (reason === "silence" || reason === "blocked") this.stopAt(this.base + this.timeout);
    return true;
  }

  /** Ends the session at its host once its timeout is over, so that no other client waits for it. */
  private stopAt(time: number): void {
    const wait = Math.max(time - now(), 0);
    this.core.spawn(this.core.life.sleep(wait).then(() => this.stopLater()));
  }

  /** Ends the session at its host, however long that takes. */
  stopLater(): Promise<void> {
    return this.core.stopLater(() => stop(this));
  }

  // The connection over which the session is attached.

  /** Gets no more pushes over a connection. */
  leave(conn: Connection): void {
    if (conn.sessions.get(this.id) === this) conn.sessions.delete(this.id);
  }

  private removeHome(): void {
    const home = this.home!;
    if (this.timeout > 0 && home.error === undefined) home.heartbeat.remove(this.timeout);
    this.home = undefined;
    this.last = home;
  }

  /** Takes the answer to a start or an attach that was sent at a time. */
  attachedOver(conn: Connection, sequence: number, sent: number, lease: LeaseRecord): void {
    if (this.cause !== undefined || sequence !== this.attachSequence || conn.error !== undefined) return;
    if (this.home !== undefined) this.removeHome();
    for (const lost of lease.lost) this.loseRebuilt(lost); // before the attach extends the lease
    conn.sessions.set(this.id, this);
    const first = this.slot === 0;
    if (first) this.slot = this.core.shared.take();
    this.since = now();
    this.home = conn;
    this.grace = lease.grace_ms;
    this.bindings.delete(conn);
    this.extend(sent);
    if (this.timeout > 0) {
      conn.heartbeat.add(this.timeout);
      if (first) {
        this.core.watch(this);
        this.arm();
      }
    }
    this.bindings.returned();
    this.owner.attached(this);
  }

  connectionLost(conn: Connection, error: TransportError): void {
    this.removeConnection(conn, error);
  }

  detached(conn: Connection, status: number, detail: Raw | undefined): void {
    const error = errorOf(status, detail);
    if (conn === this.home) {
      if (status === Status.BAD_SESSION) {
        this.end("taken", error.message);
        return;
      }
      if (status === Status.HEARTBEAT_TIMEOUT) {
        // The host's message is that the end is under way, not that it will come.
        if (this.alive() && this.end("expired", error.message)) this.stopAt(this.base + this.timeout);
        return;
      }
    }
    if (status === Status.MOVED) this.core.cluster.routing.moved(detailOf(error), conn);
    this.leave(conn);
    this.removeConnection(conn, error);
  }

  endedByHost(reason: number): void {
    this.end(END_REASONS[reason] ?? "unknown");
  }

  /** Detaches the session from a connection. */
  private removeConnection(conn: Connection, why: Error): void {
    if (this.cause !== undefined) return;
    this.bindings.delete(conn);
    if (conn === this.home) {
      this.removeHome();
      if (this.timeout === 0) {
        this.end("expired", `it had no timeout, and its connection is lost: ${why.message}`);
        return;
      }
      this.owner.detached(this);
      this.reattach();
    }
    this.unbound(conn);
  }

  /** Starts to attach the session again. */
  reattach(): void {
    if (this.attaching || this.cause !== undefined) return;
    this.attaching = true;
    this.core.spawn(this.attachUntilDone().catch(() => undefined).finally(() => (this.attaching = false)));
  }

  /** Bound of one try to attach or bind, so that a host that does not answer leaves time for others. */
  tryTimeout(): number {
    return Math.max(this.timeout / 8, MIN_TRY);
  }

  private async attachUntilDone(): Promise<void> {
    const { cluster } = this.core;
    const retries = new Retries(cluster.leaders, cluster.connections);
    const tried = new Tried();
    while (this.home === undefined && this.cause === undefined) {
      retries.begin();
      const patience = Math.max((this.deadline() - now()) / 16, MIN_TRY);
      const host = cluster.choose(cluster.leaderAt(sessionSlot(this.id)), tried);
      let conn: Connection | undefined;
      let error: unknown;
      try {
        await this.scope.within(this.tryTimeout(), () => slow(host.address), async (scope) => {
          conn = await host.connect(scope, patience);
          await this.attach(conn, scope);
        });
        continue;
      } catch (e) {
        error = e;
      }
      if (this.cause !== undefined || this.endAfter(error)) return;
      tried.add(host);
      retries.patience = conn === undefined ? patience : 0;
      await this.pauseAfter(retries, error, conn, host);
    }
  }

  /** Ends the session if a refused attach says that it is over. */
  private endAfter(error: unknown): boolean {
    const reasons: Record<number, EndReason> = {
      [Status.SESSION_EXPIRED]: "expired", [Status.BAD_SESSION]: "taken", [Status.NOT_FOUND]: "node_dropped",
    };
    const reason = reasons[statusOf(error)];
    if (reason === undefined) return false;
    this.end(reason, (error as Error).message);
    return true;
  }

  /** Waits before the next try of what the session needs. */
  async pauseAfter(
    retries: Retries, error: unknown, conn: Connection | undefined, host: Host | undefined,
  ): Promise<void> {
    const { cluster } = this.core;
    if (retries.patience > 0) {
      await this.scope.within(retries.patience, () => slow("any"), (s) => cluster.redirect(retries, error, conn, host, s))
        .catch(() => this.scope.check());
    } else {
      await cluster.redirect(retries, error, conn, host, this.scope);
    }
    // What a host refuses now it may allow before the session ends: a token can return.
    await retries.again(isRetried(error) ? error : new TransportError(String(error)), this.scope);
  }

  /** Attaches the session over a connection to the leader of its home shard. */
  async attach(conn: Connection, scope: Scope): Promise<void> {
    const sequence = ++this.attachSequence;
    const sent = now();
    const done = new Deferred();
    const handler: Handler = {
      // The answer is processed before anything else that the host sends.
      answered: (_, raw: RawMessage) => {
        const error = refusalOf(raw);
        if (error === undefined) {
          this.attachedOver(conn, sequence, sent, fieldsOf("SESSION_ATTACH_ANSWER", raw).lease);
          done.resolve();
        } else {
          done.reject(error);
        }
        return false;
      },
      lost: (_, error) => done.reject(error),
    };
    const request = conn.send(handler, "SESSION_ATTACH", {
      session_id: this.id, session_secret: this.secret, attach_sequence: sequence,
    });
    try {
      await scope.wait(done);
    } catch (e) {
      conn.forget(request);
      throw e;
    }
  }

  // Connections that the session may act over.

  /** Returns a connection to the leader of a slot's shard over which the session may act. */
  async connect(slot: number, where: Try, tried: Tried, scope: Scope): Promise<Connection> {
    const { cluster } = this.core;
    where.conn = undefined;
    where.host = cluster.choose(cluster.leaderAt(slot), tried);
    const conn = await where.host.connect(scope);
    where.conn = conn;
    await this.bindings.bind(conn, scope);
    return conn;
  }

  /** The same if nothing has to be waited for. */
  ready(slot: number): Connection | undefined {
    const conn = this.core.cluster.routing.at(slot)?.leader?.conn;
    if (conn === undefined || this.cause !== undefined) return undefined;
    return conn === this.home || this.bindings.isBound(conn) ? conn : undefined;
  }

  /** Handles a host that does not know the session. It returns false if that has happened too often. */
  unknownAt(conn: Connection, retries: Retries): boolean {
    if (!retries.unknown()) return false;
    if (conn === this.home || this.bindings.has(conn)) {
      this.leave(conn);
      this.removeConnection(conn, new TransportError("the host does not know the session"));
    }
    return true;
  }
}
