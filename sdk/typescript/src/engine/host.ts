// One host as the client knows it, and the connection to it.
import { now } from "../clock.js";
import { SignalboxError } from "../errors.js";
import type { Messages } from "../protocol/messages.js";
import type { Connection, Peer } from "./connection.js";
import { detailOf, TransportError } from "./refusal.js";
import { REQUESTS } from "./retry.js";
import { Deferred, type Scope } from "./waiting.js";

/** Time for which a request waits for a connection before it tries another host. The dialing continues. */
const DIAL_WAIT = 1000;

/** The cluster of a host, as the host sees it. */
export interface HostCluster {
  dial(address: string): Promise<Connection>;
  /** Notes which host answered at an address, and returns it. */
  meet(host: Host, address: string, conn: Connection): Host;
  connected(): void;
  connectionLost(host: Host, conn: Connection): void;
  hostSilent(host: Host): void;
  routingChanged(conn: Connection, push: Messages["ROUTING_CHANGED"]): void;
  tokenExpiring(host: Host, push: Messages["TOKEN_EXPIRING"]): void;
}

/** A host: its addresses, and the connection to it. */
export class Host implements Peer {
  conn: Connection | undefined;
  dialing: Deferred<Connection> | undefined;
  /** Failures in a row to connect. */
  failures = 0;
  /** The host that this one turned out to be. */
  merged: Host | undefined;
  private failedAt = 0;
  private retryAt = 0;
  private error: SignalboxError | undefined;

  /** Creates a host. The id is 0 until the host has answered. */
  constructor(private readonly cluster: HostCluster, public id: number, public addresses: string[]) {}

  /** The address that worked last. */
  get address(): string {
    return this.addresses[0] ?? `${this.id}, whose address is unknown`;
  }

  /** Returns a connection to the host, which is made if there is none. */
  async connect(scope: Scope, patience = DIAL_WAIT): Promise<Connection> {
    const host = this.actual();
    if (host.conn !== undefined) return host.conn;
    if (host.dialing === undefined) {
      const time = now();
      const may = time >= host.retryAt || (host.failures > 0 && time >= host.failedAt + patience);
      if (!may && host.error !== undefined) throw host.error;
      host.startDialing();
    }
    return host.awaitDialing(host.dialing!, Math.min(patience, DIAL_WAIT), scope);
  }

  private actual(): Host {
    let host: Host = this;
    while (host.merged !== undefined) host = host.merged;
    return host;
  }

  private async awaitDialing(dialing: Deferred<Connection>, patience: number, scope: Scope): Promise<Connection> {
    const done = new Deferred<Connection | undefined>();
    const timer = setTimeout(() => done.resolve(undefined), patience);
    dialing.promise.then((conn) => done.resolve(conn), (error: unknown) => done.reject(error));
    try {
      const conn = (await scope.wait(done)) ?? this.conn;
      if (conn !== undefined) return conn;
    } finally {
      clearTimeout(timer);
    }
    throw new TransportError(`host ${this.address}: there is no connection yet`);
  }

  private startDialing(): void {
    const dialing = (this.dialing = new Deferred<Connection>());
    void this.dialAll(dialing);
  }

  private async dialAll(dialing: Deferred<Connection>): Promise<void> {
    let error: SignalboxError = new TransportError(`host ${this.address}: it cannot be reached`);
    for (const [i, address] of [...this.addresses].entries()) {
      try {
        const conn = await this.cluster.dial(address);
        const used = this.cluster.meet(this, address, conn).use(conn);
        this.dialing = undefined;
        dialing.resolve(used);
        this.cluster.connected();
        return;
      } catch (e) {
        const failure = e instanceof SignalboxError ? e : new TransportError(`host ${address}: ${String(e)}`, e);
        if (i === 0 || !(failure instanceof TransportError)) error = failure;
      }
    }
    this.error = error;
    this.failedAt = now();
    this.retryAt = this.failedAt + REQUESTS.pause(this.failures);
    this.failures++;
    this.dialing = undefined;
    dialing.reject(error);
  }

  /** Takes a new connection into use, unless there is one: a host may be met at two addresses. */
  private use(conn: Connection): Connection {
    if (this.conn !== undefined) {
      conn.fail("another connection to the host is in use");
      return this.conn;
    }
    if (conn.error !== undefined) throw conn.error;
    conn.peer = this;
    this.conn = conn;
    this.error = undefined;
    this.failures = 0;
    this.retryAt = 0;
    return conn;
  }

  connectionLost(conn: Connection): void {
    if (this.conn !== conn) return;
    this.conn = undefined;
    this.cluster.connectionLost(this, conn);
  }

  /** The client does not return to the host before the host allows it. */
  goingAway(conn: Connection, why: SignalboxError): void {
    this.error = new TransportError(`host ${conn.address}: ${why.message}`);
    this.retryAt = now() + Math.max(REQUESTS.pause(1), detailOf(why).wait_ms);
  }

  silent(): void {
    this.cluster.hostSilent(this);
  }

  routingChanged(conn: Connection, push: Messages["ROUTING_CHANGED"]): void {
    this.cluster.routingChanged(conn, push);
  }

  tokenExpiring(push: Messages["TOKEN_EXPIRING"]): void {
    this.cluster.tokenExpiring(this, push);
  }
}

/** The hosts that an operation has tried, the latest last. All are kept: else it could go back and forth between two. */
export class Tried {
  private readonly hosts: Host[] = [];

  add(host: Host | undefined): void {
    while (host?.merged !== undefined) host = host.merged;
    if (host === undefined) return;
    const index = this.hosts.indexOf(host);
    if (index >= 0) this.hosts.splice(index, 1);
    this.hosts.push(host);
  }

  get latest(): Host | undefined {
    return this.hosts.at(-1);
  }

  get none(): boolean {
    return this.hosts.length === 0;
  }

  has(host: Host | undefined): boolean {
    return host !== undefined && this.hosts.includes(host);
  }

  /** The first host that is untried and preferred, else the first untried one, else the one tried longest ago. */
  next(hosts: Host[], preferred: (h: Host) => boolean = () => true): Host | undefined {
    const fresh = hosts.filter((h) => !this.hosts.includes(h));
    if (fresh.length > 0) return fresh.find(preferred) ?? fresh[0];
    return [...hosts].sort((a, b) => this.hosts.indexOf(a) - this.hosts.indexOf(b))[0];
  }
}
