// The connections that a session may act over besides the one over which it is attached.
import type { Attachment } from "./attachment.js";
import type { Connection } from "./connection.js";
import { slow } from "./refusal.js";
import { Deferred, type Scope } from "./waiting.js";

/** The bindings of one session. */
export class Bindings {
  /** A promise of the outcome while the host is asked. */
  private readonly bound = new Map<Connection, Deferred<unknown> | true>();
  private waiting: Deferred[] = [];

  constructor(private readonly session: Attachment) {}

  /** Reports whether the session is bound, or the host is being asked. */
  has(conn: Connection): boolean {
    return this.bound.has(conn);
  }

  isBound(conn: Connection): boolean {
    return this.bound.get(conn) === true;
  }

  delete(conn: Connection): void {
    this.bound.delete(conn);
  }

  /** Forgets all connections, and returns them. */
  clear(): Connection[] {
    const all = [...this.bound.keys()];
    this.bound.clear();
    return all;
  }

  /** The session is attached again. */
  returned(): void {
    for (const d of this.waiting.splice(0)) d.resolve();
  }

  /** Makes sure that the session may act over a connection.
   *
   * While the session is detached it binds to nothing new: a host that serves it proves nothing about its lease, and
   * the attach comes first. */
  async bind(conn: Connection, scope: Scope): Promise<void> {
    const { session } = this;
    while (session.cause === undefined && session.home === undefined && !this.bound.has(conn)) {
      const returned = new Deferred();
      this.waiting.push(returned);
      await scope.wait(returned);
    }
    session.scope.check();
    if (conn === session.home) return;
    const binding = this.bound.get(conn) ?? this.start(conn);
    if (binding === true) return;
    const done = new Deferred<unknown>();
    void binding.promise.then((error) => done.resolve(error));
    const error = await scope.wait(done);
    if (error !== undefined) throw error;
  }

  private start(conn: Connection): Deferred<unknown> {
    if (conn.error !== undefined) throw conn.error;
    conn.sessions.set(this.session.id, this.session);
    const binding = new Deferred<unknown>();
    this.bound.set(conn, binding);
    void this.ask(conn, binding);
    return binding;
  }

  private async ask(conn: Connection, binding: Deferred<unknown>): Promise<void> {
    const { session } = this;
    let error: unknown;
    try {
      await session.scope.within(session.tryTimeout(), () => slow(conn.address), (scope) =>
        conn.call("SESSION_BIND", { session_id: session.id, session_secret: session.secret }, scope));
    } catch (e) {
      error = e;
    }
    if (this.bound.get(conn) === binding) {
      if (error === undefined) {
        this.bound.set(conn, true);
      } else {
        this.bound.delete(conn);
        if (conn !== session.home) session.leave(conn);
      }
    }
    binding.resolve(error);
  }
}
