// The engine: everything that talks to hosts. It runs on a thread of its own, or on that of the program, and answers
// calls in the way that bridge/messages.ts declares.
import type { CallName, Calls, EngineOptions, Event, FromEngine, Grant, ToEngine } from "../bridge/messages.js";
import type { SharedState } from "../bridge/shared.js";
import { AbortedError, LeaseLostError, SessionLostError, SignalboxError } from "../errors.js";
import { fieldsOf, Status } from "../protocol/message.js";
import { acquire, unknownLease } from "./acquire.js";
import type { Try } from "./attachment.js";
import { Cluster, type Credentials } from "./cluster.js";
import { Core } from "./core.js";
import { consistencyNumber, description } from "./describe.js";
import type { Incarnation } from "./incarnation.js";
import type { Lease } from "./lease.js";
import { changeRequest, Nodes, revisionOf } from "./nodes.js";
import { OneShotWatch } from "./notice.js";
import { slotOf } from "./queue.js";
import { statusOf } from "./refusal.js";
import { release } from "./release.js";
import { Session } from "./session.js";
import { Deferred, Scope } from "./waiting.js";
import { Reader, SharedWatch, type WatchKey } from "./watch.js";

/** Time for which functions of the program may take to return a token, before the last one is used again. */
const CREDENTIALS_WAIT = 1000;

/** A lease with its incarnation. */
interface Held {
  lease: Lease;
  inc: Incarnation;
}

type Handlers = { [N in CallName]: (a: Calls[N][0], scope: Scope, call: number) => Promise<Calls[N][1]> };

/** Executes the calls of one client. */
export class Engine {
  private readonly core: Core;
  private nodes!: Nodes;
  private readonly running = new Map<number, Scope>();
  private readonly sessions = new Map<number, Session>();
  private readonly leases = new Map<number, Held>();
  private readonly watches = new Map<string, SharedWatch>();
  private readonly readers = new Map<number, Reader>();
  private readonly asked = new Map<number, Deferred<Credentials>>();
  private lastCredentials: Credentials | undefined;
  private lastAsked = 0;

  constructor(shared: SharedState, private readonly post: (message: FromEngine) => void, ownThread: boolean) {
    this.core = new Core(shared, (event) => this.report(event), ownThread);
  }

  /** Takes a message of the program's thread. */
  receive(message: ToEngine): void {
    if ("cancel" in message) {
      this.running.get(message.cancel)?.end(new SignalboxError("CLOSED", "the caller has left"));
    } else if ("credentials" in message) {
      const asked = this.asked.get(message.credentials);
      this.asked.delete(message.credentials);
      if (message.error === undefined) asked?.resolve({ token: message.token, tls: message.tls });
      else asked?.reject(message.error);
    } else {
      void this.execute(message.call, message.name, message.arguments);
    }
  }

  /** Ends the sessions whose deadlines have passed, before anything else runs. */
  look(): void {
    this.core.lookAtAll();
  }

  private report(event: Event): void {
    if (event.event === "lost" || event.event === "released") this.leases.delete(event.lease);
    this.post(event);
  }

  private async execute(call: number, name: CallName, args: unknown): Promise<void> {
    const scope = new Scope(this.core.life);
    this.running.set(call, scope);
    try {
      const handler = this.handlers[name] as (a: unknown, scope: Scope, call: number) => Promise<unknown>;
      const value = await handler(args, scope, call);
      this.post({ reply: call, value });
    } catch (error) {
      this.post({ reply: call, error });
    } finally {
      this.running.delete(call);
    }
  }

  private readonly handlers: Handlers = {
    open: (o, scope) => this.open(o, scope),
    close: (a) => this.close(a.timeout),
    openSession: (a, scope) => this.openSession(a, scope),
    closeSession: async (a) => {
      const session = this.sessions.get(a.session);
      this.sessions.delete(a.session);
      await session?.close();
    },
    giveUp: (a) => {
      const inc = this.sessions.get(a.session)?.current;
      if (inc?.id === a.incarnation) inc.end("silence");
      return Promise.resolve();
    },
    acquire: (a, scope, call) => this.acquire(a, scope, call),
    release: (a) => this.release(a.lease),
    releaseName: async (a, scope) => release(await this.incarnation(a.session, scope), a.name, 0n),
    changeLease: (a, scope) => this.changeLease(a, scope),
    updateByLease: (a, scope) => this.updateByLease(a, scope),
    change: (a, scope) => this.change(a, scope),
    describe: async ({ target, owners, waiters, consistency }, scope) => {
      if (target.session === undefined) {
        return this.nodes.describeIn(target.path!, target.name, owners, waiters, consistency, scope);
      }
      const { nodeId } = await this.incarnation(target.session, scope);
      return this.nodes.describeSemaphore(nodeId, target.name, owners, waiters, consistency, scope);
    },
    describeAndWatch: (a, scope) => this.describeAndWatch(a, scope),
    openWatch: (a, scope) => this.openWatch(a, scope),
    nextView: (a, scope) => this.reader(a.watch).next(scope),
    closeWatch: (a) => {
      this.readers.get(a.watch)?.close();
      this.readers.delete(a.watch);
      return Promise.resolve();
    },
    createNode: (a, scope) => this.nodes.create(a.path, a.config, scope),
    describeNode: (a, scope) => this.nodes.describe(a.path, scope),
    alterNode: (a, scope) => this.nodes.alter(a.path, a.config, a.version, scope),
    dropNode: (a, scope) => this.nodes.drop(a.path, scope),
    listNodes: (a, scope) => this.nodes.list(a.prefix, a.after, scope),
    groupSlots: (a) => Promise.resolve(this.nodes.groupSlots(a.slots)),
    listSemaphores: (a, scope) => this.nodes.listSemaphores(a, scope),
    listSessions: (a, scope) => this.nodes.listSessions(a, scope),
    destroySession: (a, scope) => this.nodes.destroySession(a.session, scope),
  };

  // The client.

  private async open(o: EngineOptions, scope: Scope): Promise<void> {
    this.core.cluster = new Cluster({
      addresses: o.addresses, name: o.name, dialTimeout: o.dialTimeout, addressMap: o.addressMap,
      credentials: o.credentials === undefined ? (s) => this.askCredentials(s) : () => Promise.resolve(o.credentials!),
      warn: (message) => this.post({ event: "warning", message }),
    }, this.core.life);
    this.nodes = new Nodes(this.core.cluster, o.timeout);
    const late = (): Error => new SignalboxError("UNAVAILABLE", `no host has answered within ${o.timeout} ms`);
    await scope.within(o.timeout, late, (s) => this.core.cluster.open(s));
  }

  /** Asks functions of the program for a token. While the program is blocked the last one is used again. */
  private async askCredentials(scope: Scope): Promise<Credentials> {
    const request = ++this.lastAsked;
    const asked = new Deferred<Credentials>();
    this.asked.set(request, asked);
    this.post({ event: "credentials", request });
    const last = this.lastCredentials;
    const timer = last && setTimeout(() => asked.resolve(last), CREDENTIALS_WAIT);
    try {
      return (this.lastCredentials = await scope.wait(asked));
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends all sessions, waiting for hosts for a time, and closes the connections. */
  private async close(timeout: number): Promise<void> {
    const closing = Promise.allSettled([...this.sessions.values()].map((s) => s.close()));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((done) => (timer = setTimeout(done, timeout)));
    await Promise.race([closing, late]);
    clearTimeout(timer);
    this.core.close();
    this.core.shared.close();
  }

  // Sessions and leases.

  private async openSession(a: Calls["openSession"][0], scope: Scope): Promise<bigint> {
    const session = new Session(this.core, a);
    this.sessions.set(a.session, session);
    try {
      return (await session.start(scope)).id;
    } catch (e) {
      this.sessions.delete(a.session);
      throw e;
    }
  }

  private async incarnation(session: number, scope: Scope): Promise<Incarnation> {
    const s = this.sessions.get(session);
    if (s === undefined) throw new SessionLostError(0n, "closed");
    return s.incarnation(scope);
  }

  private async acquire(a: Calls["acquire"][0], scope: Scope, call: number): Promise<Grant | undefined> {
    const inc = await this.incarnation(a.session, scope);
    const onQueued = (order: bigint): void => this.post({ event: "queued", call, order });
    try {
      return this.grant(inc, await acquire(inc, a, scope, onQueued));
    } catch (e) {
      if (statusOf(e) !== Status.NOT_FOUND || a.create === undefined) throw e;
    }
    await this.createMissing(inc, a.name, a.count, a.create, new Scope(inc.scope, scope));
    return this.grant(inc, await acquire(inc, a, scope, onQueued));
  }

  private async createMissing(
    inc: Incarnation, name: string, count: bigint, create: { limit: bigint; data: Uint8Array }, scope: Scope,
  ): Promise<void> {
    if (count > create.limit) {
      throw new SignalboxError("BAD_REQUEST", `count ${count}: "${name}" would be created with the limit ${create.limit}`);
    }
    try {
      await inc.change(name, "SEMAPHORE_CREATE", create, scope);
    } catch (e) {
      if (statusOf(e) !== Status.ALREADY_EXISTS) throw e;
    }
  }

  private grant(inc: Incarnation, lease: Lease | undefined): Grant | undefined {
    if (lease === undefined) return undefined;
    this.leases.set(lease.id, { lease, inc });
    return { lease: lease.id, fence: lease.fence, count: lease.count, incarnation: { id: inc.id, slot: inc.slot } };
  }

  /** Releases a lease. The caller has made sure that it does not use the lease any more. */
  private async release(id: number): Promise<void> {
    const held = this.leases.get(id);
    if (held === undefined) return;
    try {
      await release(held.inc, held.lease.name, held.lease.fence);
    } catch (e) {
      if (statusOf(e) === Status.FENCED) throw new LeaseLostError(`the lease of "${held.lease.name}" was lost before its release`, e);
      throw e;
    }
  }

  private held(id: number): Held {
    const held = this.leases.get(id);
    if (held === undefined || !held.inc.alive()) throw new SignalboxError("FENCED", "the lease is over");
    return held;
  }

  private async changeLease(a: Calls["changeLease"][0], scope: Scope): Promise<bigint> {
    const { lease, inc } = this.held(a.lease);
    const now = await acquire(inc, {
      name: lease.name, count: a.count ?? lease.count, data: a.data ?? lease.data, ephemeral: lease.ephemeral, wait: 0,
    }, scope, () => undefined);
    if (now === lease) return lease.count;
    // Another lease was granted in its place, or nothing.
    if (now !== undefined) this.core.spawn(release(inc, lease.name, now.fence));
    throw new LeaseLostError(`the lease of "${lease.name}" is lost`, lease.cause ?? new AbortedError("unknown"));
  }

  private async updateByLease(a: Calls["updateByLease"][0], scope: Scope): Promise<bigint> {
    const { lease, inc } = this.held(a.lease);
    try {
      const raw = await inc.change(lease.name, "SEMAPHORE_UPDATE", { data: a.data, order_id: lease.fence }, new Scope(inc.scope, scope));
      return fieldsOf("SEMAPHORE_UPDATE_ANSWER", raw).revision;
    } catch (e) {
      if (statusOf(e) === Status.FENCED) inc.leaseLost(lease, unknownLease());
      throw e;
    }
  }

  private async change({ target, change }: Calls["change"][0], scope: Scope): Promise<bigint> {
    if (target.session === undefined) return this.nodes.change(target.path!, target.name, change, scope);
    const inc = await this.incarnation(target.session, scope);
    const [request, fields] = changeRequest(change);
    return revisionOf(request, await inc.change(target.name, request, fields, new Scope(inc.scope, scope)));
  }

  // Watches.

  private async describeAndWatch(
    a: Calls["describeAndWatch"][0], caller: Scope,
  ): Promise<Calls["describeAndWatch"][1]> {
    const inc = await this.incarnation(a.session, caller);
    const scope = new Scope(inc.scope, caller);
    const slot = slotOf(inc.nodeId, a.name);
    const where: Try = { conn: undefined, host: undefined };
    const answer = await inc.repeat(async (tried) => {
      const conn = await inc.connect(slot, where, tried, scope);
      const report = (data: boolean, owners: boolean): void => this.post({ event: "changed", watch: a.watch, data, owners });
      const watch = new OneShotWatch(inc, conn, report);
      return watch.describe({
        node_id: inc.nodeId, name: a.name, include_owners: a.owners, include_waiters: a.waiters,
        consistency: consistencyNumber(a.consistency), watch_data: a.watchData, watch_owners: a.watchOwners, session_id: inc.id,
        generation: this.core.cluster.routing.generation(slot),
      }, scope);
    }, where, scope);
    return description([answer]);
  }

  private async openWatch(a: Calls["openWatch"][0], scope: Scope): Promise<void> {
    const { target } = a;
    const nodeId = target.session === undefined
      ? await this.nodes.id(target.path!, scope)
      : (await this.incarnation(target.session, scope)).nodeId;
    const key: WatchKey = { nodeId, name: target.name, data: a.data, owners: a.owners };
    const text = `${nodeId} ${a.data} ${a.owners} ${target.name}`;
    let watch = this.watches.get(text);
    if (watch === undefined) {
      const forget = (): void => {
        if (this.watches.get(text) === watch) this.watches.delete(text);
      };
      watch = new SharedWatch(this.core, key, forget);
      this.watches.set(text, watch);
    }
    const shared = watch;
    this.readers.set(a.watch, new Reader(shared, () => {
      if (this.watches.get(text) === shared) this.watches.delete(text);
    }));
  }

  private reader(watch: number): Reader {
    const reader = this.readers.get(watch);
    if (reader === undefined) throw new SignalboxError("CLOSED", "the watch is closed");
    return reader;
  }
}
