// How a client gets the routing: from any host that answers, in one request for all who ask at the same time.
import { now } from "../clock.js";
import { SignalboxError } from "../errors.js";
import { fieldsOf } from "../protocol/message.js";
import type { Connection } from "./connection.js";
import type { Host } from "./host.js";
import { slow, TransportError } from "./refusal.js";
import { shuffled, type Routing } from "./routing.js";
import { Deferred, type Scope } from "./waiting.js";

/** Time for which one host is waited for at the start before the next is asked beside it. */
const OPEN_STAGGER = 200;
/** Bound of one request, and time for which its answer serves others who ask. */
const ASK_TIMEOUT = 1000;
const REFRESH_GAP = 10;

/** Keeps the routing of one cluster current. */
export class Refresher {
  private refreshing: Deferred<unknown> | undefined;
  private refreshedAt = -Infinity;
  private failure: unknown;

  constructor(private readonly hosts: Host[], private readonly routing: Routing, private readonly life: Scope) {}

  /** Reports whether a request is running. */
  get running(): boolean {
    return this.refreshing !== undefined;
  }

  /** Asks hosts in random order, until the first has answered. */
  async open(scope: Scope): Promise<void> {
    const first = new Deferred();
    const errors: unknown[] = [];
    const hosts = shuffled(this.hosts);
    let running = 0;
    const next = (): void => {
      const host = hosts.pop();
      if (host === undefined) return;
      running++;
      this.askFirst(host, scope).then(() => first.resolve(), (e: unknown) => {
        errors.push(e);
        running--;
        next();
        if (running === 0 && hosts.length === 0) first.reject(e);
      });
    };
    next();
    const timer = setInterval(next, OPEN_STAGGER);
    try {
      await scope.wait(first);
    } catch (e) {
      const refused = [...errors, e].find((x) => !(x instanceof TransportError));
      throw refused ?? new SignalboxError("UNAVAILABLE", `${errors.map((x) => (x as Error).message).join("; ")}. ` +
        "Is a host running there? `signalbox serve` starts one");
    } finally {
      clearInterval(timer);
    }
  }

  private async askFirst(host: Host, scope: Scope): Promise<void> {
    for (;;) {
      try {
        await this.askOver(await host.connect(scope), scope);
        return;
      } catch (e) {
        if (!(e instanceof TransportError) || host.dialing === undefined) throw e;
      }
    }
  }

  /** Asks in the background, preferably over a connection. */
  soon(conn: Connection | undefined): void {
    this.refreshedAt = -Infinity;
    if (this.refreshing === undefined) this.begin(conn, undefined);
  }

  private begin(conn: Connection | undefined, avoid: Host | undefined): Deferred<unknown> {
    const refreshing = (this.refreshing = new Deferred<unknown>());
    void this.ask(conn, avoid).catch((e: unknown) => e).then((error) => {
      this.refreshing = undefined;
      this.refreshedAt = now();
      this.failure = error;
      refreshing.resolve(error);
    });
    return refreshing;
  }

  /** Asks, preferably not the host to avoid, and returns why none has answered. */
  async refresh(avoid: Host | undefined, scope: Scope): Promise<unknown> {
    if (now() < this.refreshedAt + REFRESH_GAP) return this.failure;
    const refreshing = this.refreshing ?? this.begin(undefined, avoid);
    const done = new Deferred<unknown>();
    void refreshing.promise.then((e) => done.resolve(e));
    return scope.wait(done);
  }

  /** Asks one host after the other. */
  private async ask(conn: Connection | undefined, avoid: Host | undefined): Promise<unknown> {
    let error: unknown;
    const over = async (get: () => Promise<Connection>): Promise<boolean> => {
      try {
        await this.askOver(await get(), this.life);
        return true;
      } catch (e) {
        error = e;
        return false;
      }
    };
    if (conn !== undefined && conn.error === undefined && (await over(() => Promise.resolve(conn)))) return undefined;
    const hosts = shuffled(this.hosts);
    for (const connected of [true, false]) {
      for (const h of hosts) {
        if ((h === avoid && hosts.length > 1) || (h.conn !== undefined) !== connected) continue;
        if (await over(() => h.connect(this.life))) return undefined;
      }
    }
    return error;
  }

  private async askOver(conn: Connection, scope: Scope): Promise<void> {
    await scope.within(ASK_TIMEOUT, () => slow(conn.address), async (bounded) => {
      // The known version is not sent, because leaders change without a new version.
      this.routing.learn(fieldsOf("ROUTING_ANSWER", await conn.call("ROUTING", {}, bounded)));
    });
  }
}
