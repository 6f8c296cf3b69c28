// The hosts of a cluster, the connections to them, and where requests go.
import { SignalboxError } from "../errors.js";
import { Status } from "../protocol/message.js";
import type { Messages } from "../protocol/messages.js";
import { VERSION } from "../version.js";
import { Connection } from "./connection.js";
import { dial, type Tls } from "./dial.js";
import { Host, Tried, type HostCluster } from "./host.js";
import { detailOf, isRetried, statusOf, TransportError } from "./refusal.js";
import { Refresher } from "./refresher.js";
import { Backoff, Retries } from "./retry.js";
import { randomStart, rotated, Routing, shuffled, type RoutingOwner } from "./routing.js";
import { News, type Scope } from "./waiting.js";

/** Sessions that a client starts at one host before it continues with another. */
const SESSIONS_AT_HOST = 1000;
/** Pause of an idle client without a connection before it makes one. */
const RECONNECTING = new Backoff(1000, 10000);

/** What lets connections in. Functions of the program run on its own thread. */
export interface Credentials {
  token: Uint8Array;
  tls: Tls;
}

/** Settings of a cluster's connections. */
export interface ClusterOptions {
  addresses: string[];
  name: string;
  dialTimeout: number;
  /** Addresses to connect to instead of those that hosts advertise. */
  addressMap: Record<string, string>;
  credentials: (scope: Scope) => Promise<Credentials>;
  warn: (message: string) => void;
}

/** Chooses the host for the next try of an operation; undefined if any will do. */
export type Target = (tried: Tried) => Host | undefined;

/** The hosts of a cluster. */
export class Cluster implements HostCluster, RoutingOwner {
  readonly routing = new Routing(this);
  readonly leaders = new News();
  readonly connections = new News();
  readonly hosts: Host[];
  /** The largest `since` that was heard; see the Idempotency record. */
  since = 0n;
  private id = "";
  private readonly start = randomStart();
  private starts = 0;
  private readonly refresher: Refresher;
  private reconnecting = false;

  constructor(private readonly options: ClusterOptions, private readonly life: Scope) {
    this.hosts = options.addresses.map((a) => new Host(this, 0, [a]));
    this.refresher = new Refresher(this.hosts, this.routing, life);
  }

  // Connections.

  async dial(address: string): Promise<Connection> {
    const { name, dialTimeout, addressMap } = this.options;
    const late = (): Error => new TransportError(`host ${address}: no connection within ${dialTimeout} ms`);
    return this.life.within(dialTimeout, late, async (scope) => {
      const { token, tls } = await this.options.credentials(scope);
      const conn = new Connection(address, await dial(address, addressMap[address] ?? address, tls, scope));
      try {
        await conn.greet(name, `typescript/${VERSION}`, token, scope);
        return conn;
      } catch (e) {
        conn.fail("it is given up");
        throw e;
      }
    });
  }

  meet(host: Host, address: string, conn: Connection): Host {
    const w = conn.welcome;
    if (this.id !== "" && w.cluster_id !== this.id) {
      conn.fail("it belongs to another cluster");
      throw new TransportError(`host ${address}: it belongs to another cluster`);
    }
    this.id = w.cluster_id;
    this.heardSince(w.since);
    const met = this.identify(host, address, w.host_id);
    met.addresses = [address, ...met.addresses.filter((a) => a !== address)];
    return met;
  }

  /** Returns the host that answered at the address of another or an unknown one. */
  private identify(host: Host, address: string, id: number): Host {
    if (host.id === id) return host;
    if (host.id !== 0) host.addresses = host.addresses.filter((a) => a !== address); // another host has taken it over
    const other = this.hosts.find((h) => h.id === id);
    if (other !== undefined) {
      if (host.id === 0) {
        host.merged = other;
        this.hosts.splice(this.hosts.indexOf(host), 1);
      }
      return other;
    }
    if (host.id === 0) {
      host.id = id;
      return host;
    }
    const met = new Host(this, id, []);
    this.hosts.push(met);
    return met;
  }

  heardSince(since: bigint): void {
    if (since > this.since) this.since = since;
  }

  connected(): void {
    this.connections.report();
  }

  /** Makes a connection in the background if the last one was lost: over it the client hears of other hosts. */
  connectionLost(): void {
    if (this.reconnecting || this.life.error !== undefined || this.hosts.some((h) => h.conn !== undefined)) return;
    this.reconnecting = true;
    void this.reconnect().catch(() => undefined).finally(() => (this.reconnecting = false));
  }

  private async reconnect(): Promise<void> {
    for (let failures = 0; ; failures++) {
      await this.life.sleep(RECONNECTING.pause(failures));
      if (this.hosts.some((h) => h.conn !== undefined)) return;
      await this.refresh(undefined, this.life);
    }
  }

  /** If a silent host hangs, another will lead: a client without a connection to another host asks one. */
  hostSilent(host: Host): void {
    if (this.hosts.some((h) => h !== host && h.conn !== undefined)) return;
    void this.refresh(host, this.life).catch(() => undefined);
  }

  tokenExpiring(host: Host, push: Messages["TOKEN_EXPIRING"]): void {
    const seconds = Math.round(push.left_ms / 1000);
    this.options.warn(`token "${push.token}" expires in ${seconds} s; host ${host.address} closes the connection then`);
  }

  /** Asks hosts for the routing until the first has answered. */
  open(scope: Scope): Promise<void> {
    return this.refresher.open(scope);
  }

  // Routing.

  refreshSoon(conn: Connection | undefined): void {
    this.refresher.soon(conn);
  }

  /** Asks for the routing, preferably not the host to avoid. */
  refresh(avoid: Host | undefined, scope: Scope): Promise<unknown> {
    return this.refresher.refresh(avoid, scope);
  }

  host(id: number, address: string): Host {
    const known = this.hosts.find((h) => h.id === id);
    if (known !== undefined) {
      if (address !== "" && !known.addresses.includes(address)) {
        if (known.conn === undefined) known.addresses.unshift(address);
        else known.addresses.push(address);
      }
      return known;
    }
    const met = this.hosts.find((h) => h.id === 0 && h.addresses.includes(address));
    if (met !== undefined) {
      met.id = id;
      return met;
    }
    const host = new Host(this, id, address === "" ? [] : [address]);
    this.hosts.push(host);
    return host;
  }

  routingChanged(conn: Connection, push: Messages["ROUTING_CHANGED"]): void {
    if (this.routing.changed(push, (id) => this.hosts.some((h) => h.id === id), conn)) this.leaders.report();
  }

  // Where requests go.

  /** The host for changes of nodes. */
  readonly metaLeader: Target = () => this.routing.shards.get(this.routing.meta)?.leader;

  /** A host that leads a data shard, for new sessions: the same for many, so that one ping keeps them alive. */
  readonly sessionHome: Target = (tried) => {
    const start = tried.none ? this.start + Math.floor(this.starts++ / SESSIONS_AT_HOST) : randomStart();
    const leaders = this.routing.dataShards().map((id) => this.routing.shards.get(id)!.leader)
      .filter((h) => h !== undefined && h !== tried.latest) as Host[];
    return tried.next(rotated(leaders, start));
  };

  /** The leader of a slot's shard. */
  leaderAt(slot: number): Target {
    return () => this.routing.at(slot)?.leader;
  }

  /** Some host with a replica of a slot's shard: the client keeps to one while it can be reached. */
  replicaAt(slot: number): Target {
    return (tried) => this.routing.at(slot)?.replica(this.start, tried);
  }

  /** The leader of a slot's shard, and another host with a replica if the leader did not answer. */
  nearLeader(slot: number): Target {
    return (tried) => this.routing.at(slot)?.near(tried);
  }

  /** The target's host, or any host if the target has none. */
  choose(target: Target, tried: Tried): Host {
    const host = target(tried) ?? tried.next(shuffled(this.hosts), (h) => h.conn !== undefined);
    if (host === undefined) throw new SignalboxError("INTERNAL", "no host is known");
    return host;
  }

  // Requests that need no session.

  /** Learns from the failure of a request where to go instead. */
  async redirect(
    retries: Retries, error: unknown, conn: Connection | undefined, host: Host | undefined, scope: Scope,
  ): Promise<void> {
    const status = statusOf(error);
    if (error instanceof TransportError) {
      await this.refresh(host, scope);
    } else if (status === Status.MOVED) {
      if (!this.routing.moved(detailOf(error), conn)) retries.lags();
      if (detailOf(error).leader_host_id === 0 && this.refresher.running) await this.refresh(undefined, scope);
    } else if (status === Status.UNAVAILABLE && !retries.waits(error)) {
      // Another host is asked: a leader that is partitioned does not know that it no longer leads.
      await this.refresh(host, scope);
    }
  }

  /** Calls attempt with a connection to the target's host until it succeeds, or fails for good. */
  async repeat<T>(
    target: Target, scope: Scope, attempt: (conn: Connection) => Promise<T>, retries = new Retries(this.leaders),
  ): Promise<T> {
    const tried = new Tried();
    for (;;) {
      retries.begin();
      const host = this.choose(target, tried);
      let conn: Connection | undefined;
      let error: unknown;
      try {
        conn = await host.connect(scope);
        return await attempt(conn);
      } catch (e) {
        error = e;
      }
      scope.check();
      tried.add(host);
      if (!isRetried(error)) throw error;
      await this.redirect(retries, error, conn, host, scope);
      await retries.again(error, scope);
    }
  }

  /** Closes all connections. */
  close(): void {
    for (const h of this.hosts) h.conn?.fail("the client is closed");
  }
}
