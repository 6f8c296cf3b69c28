// Nodes, and what can be done in them without a session.
import { randomBytes } from "node:crypto";
import { now } from "../clock.js";
import type { Calls, Change, Consistency } from "../bridge/messages.js";
import { SignalboxError } from "../errors.js";
import { fieldsOf, Status } from "../protocol/message.js";
import type { MessageName, Messages, SlotRangeRecord } from "../protocol/messages.js";
import type { RawMessage } from "../protocol/reader.js";
import { sessionSlot } from "../protocol/slots.js";
import type { NodeConfig, NodeInfo, SemaphoreInfo } from "../types.js";
import type { Cluster, Target } from "./cluster.js";
import type { Connection } from "./connection.js";
import { configRecord, consistencyNumber, description, nodeInfo, semaphoreInfo, sessionInfo } from "./describe.js";
import type { MutationFields } from "./mutation.js";
import { slotOf } from "./queue.js";
import { detailOf, isDoubtful, statusOf, unknownOutcome } from "./refusal.js";
import { Retries } from "./retry.js";
import type { Scope } from "./waiting.js";

/** Time for which a node id is used before a missing semaphore makes the client ask again. */
const NODE_GAP = 1000;
/** Tries of a description of several pages, if the semaphore changes meanwhile. */
const DESCRIBE_TRIES = 4;

/** What an engine does without a session. */
export class Nodes {
  private readonly ids = new Map<string, { id: number; at: number }>();
  /** Identifies this client in the idempotency records of nodes. */
  private readonly clientId = randomBytes(16);
  private lastSequence = 0;

  constructor(private readonly cluster: Cluster, private readonly timeout: number) {}

  /** Bounds an operation without a session by the client's timeout. */
  private async inTime<T>(what: string, doubtful: boolean, scope: Scope, work: (s: Scope) => Promise<T>): Promise<T> {
    const text = `${what}: no host has answered for ${this.timeout} ms`;
    return scope.within(this.timeout, () => doubtful
      ? new SignalboxError("UNKNOWN_OUTCOME", `${text}; it may have been executed`)
      : new SignalboxError("UNAVAILABLE", text), work);
  }

  // Nodes.

  async create(path: string, config: NodeConfig, scope: Scope): Promise<NodeInfo> {
    const a = await this.inTime(`create node ${path}`, true, scope, async (s) =>
      fieldsOf("NODE_CREATE_ANSWER", await this.idempotent("NODE_CREATE", { path, config: configRecord(config) }, s)));
    return nodeInfo(a.node, a.existed);
  }

  async describe(path: string, scope: Scope): Promise<NodeInfo> {
    try {
      const a = await this.inTime(`describe node ${path}`, false, scope, (s) =>
        this.cluster.repeat(this.cluster.metaLeader, s, async (conn) =>
          fieldsOf("NODE_DESCRIBE_ANSWER", await conn.call("NODE_DESCRIBE", { path }, s))));
      return nodeInfo(a.node);
    } catch (e) {
      if (statusOf(e) !== Status.NOT_FOUND) throw e;
      throw new SignalboxError("NOT_FOUND", `there is no node ${path}: create it with client.createNode("${path}")`);
    }
  }

  async alter(path: string, config: NodeConfig, version: number, scope: Scope): Promise<NodeInfo> {
    const a = await this.inTime(`alter node ${path}`, true, scope, async (s) =>
      fieldsOf("NODE_ALTER_ANSWER", await this.idempotent("NODE_ALTER", {
        path, config: configRecord(config), config_version: version,
      }, s)));
    return nodeInfo(a.node);
  }

  async drop(path: string, scope: Scope): Promise<void> {
    const { id } = await this.describe(path, scope);
    // The id makes sure that another try does not hit a node that was created after the first.
    await this.inTime(`drop node ${path}`, true, scope, (s) => this.idempotent("NODE_DROP", { path, node_id: id }, s));
    this.ids.delete(path);
  }

  async list(prefix: string, after: string, scope: Scope): Promise<Calls["listNodes"][1]> {
    const a = await this.inTime("list nodes", false, scope, (s) =>
      this.cluster.repeat(this.cluster.metaLeader, s, async (conn) =>
        fieldsOf("NODE_LIST_ANSWER", await conn.call("NODE_LIST", { prefix, after }, s))));
    return { items: a.nodes.map((n) => nodeInfo(n)), next: a.next };
  }

  /** Executes a change of nodes once, however often the request is sent. */
  private async idempotent<N extends "NODE_CREATE" | "NODE_ALTER" | "NODE_DROP">(
    name: N, fields: object, scope: Scope,
  ): Promise<RawMessage> {
    const { cluster } = this;
    let doubt = false;
    let idempotency = { client: this.clientId, sequence: 0, since: 0n };
    return cluster.repeat(cluster.metaLeader, scope, async (conn) => {
      if (!doubt) idempotency = { client: this.clientId, sequence: ++this.lastSequence, since: cluster.since };
      try {
        const raw = await conn.call(name, { ...fields, idempotency } as unknown as Partial<Messages[N]>, scope);
        cluster.heardSince(fieldsOf((name + "_ANSWER") as "NODE_DROP_ANSWER", raw).since);
        return raw;
      } catch (e) {
        const heard = detailOf(e).since;
        cluster.heardSince(heard);
        if (isDoubtful(e)) doubt = true;
        else if (statusOf(e) === Status.STALE && doubt) throw unknownOutcome(e);
        else if (statusOf(e) === Status.STALE && heard <= idempotency.since) {
          throw new SignalboxError("INTERNAL", "a new sequence would be as stale as the last one");
        }
        throw e;
      }
    });
  }

  // Semaphores without a session.

  /** Returns the id of a node. */
  async id(path: string, scope: Scope, again = false): Promise<number> {
    const known = this.ids.get(path);
    if (known !== undefined && !(again && now() > known.at + NODE_GAP)) return known.id;
    const { id } = await this.describe(path, scope);
    this.ids.set(path, { id, at: now() });
    return id;
  }

  /** Does something by the id of a node, and again if it turns out that the path has another node by now. */
  private async inNode<T>(path: string, scope: Scope, work: (id: number) => Promise<T>): Promise<T> {
    const before = await this.id(path, scope);
    try {
      return await work(before);
    } catch (e) {
      if (statusOf(e) !== Status.NOT_FOUND || (await this.id(path, scope, true)) === before) throw e;
    }
    return work(await this.id(path, scope));
  }

  /** Describes a semaphore of a node that is given by its path. */
  async describeIn(
    path: string, name: string, owners: boolean, waiters: boolean, consistency: Consistency, scope: Scope,
  ): Promise<SemaphoreInfo> {
    return this.inNode(path, scope, (id) => this.describeSemaphore(id, name, owners, waiters, consistency, scope));
  }

  /** Describes a semaphore. The pages of a description belong to one revision, if it does not change all the time. */
  async describeSemaphore(
    nodeId: number, name: string, owners: boolean, waiters: boolean, consistency: Consistency, scope: Scope,
  ): Promise<SemaphoreInfo> {
    const { cluster } = this;
    const slot = slotOf(nodeId, name);
    const target = consistency === "strict" ? cluster.nearLeader(slot) : cluster.replicaAt(slot);
    let pages: Messages["SEMAPHORE_DESCRIBE_ANSWER"][] = [];
    const readAll = async (conn: Connection, s: Scope): Promise<boolean> => {
      pages = [];
      for (let after = 0n; ;) {
        const page: Messages["SEMAPHORE_DESCRIBE_ANSWER"] = fieldsOf("SEMAPHORE_DESCRIBE_ANSWER", await conn.call("SEMAPHORE_DESCRIBE", {
          node_id: nodeId, name, include_owners: owners, include_waiters: waiters, after,
          consistency: consistencyNumber(consistency), generation: cluster.routing.generation(slot),
        }, s));
        pages.push(page);
        after = page.next;
        if (after === 0n) return true;
        if (page.semaphore.revision !== pages[0]!.semaphore.revision) return false;
      }
    };
    await this.inTime(`describe "${name}"`, false, scope, async (s) => {
      for (let i = 0; i < DESCRIBE_TRIES; i++) {
        if (await cluster.repeat(target, s, (conn) => readAll(conn, s))) return;
      }
    });
    return description(pages);
  }

  /** Changes a semaphore without a session. There is no sequence, so a try that may have been executed is not repeated. */
  async change(path: string, name: string, change: Change, scope: Scope): Promise<bigint> {
    const [request, fields] = changeRequest(change);
    return this.inNode(path, scope, (id) => this.inTime(`change "${name}"`, true, scope, async (s) => {
      const raw = await this.once(this.cluster.leaderAt(slotOf(id, name)), request, { node_id: id, name, ...fields }, s);
      return revisionOf(request, raw);
    }));
  }

  private async once<N extends MessageName>(
    target: Target, name: N, fields: object, scope: Scope,
  ): Promise<RawMessage> {
    const retries = new Retries(this.cluster.leaders);
    return this.cluster.repeat(target, scope, async (conn) => {
      try {
        return await conn.call(name, fields, scope);
      } catch (e) {
        if (!isDoubtful(e)) throw e;
        void this.cluster.redirect(retries, e, conn, undefined, scope).catch(() => undefined); // for the next request
        throw unknownOutcome(e);
      }
    }, retries);
  }

  // Lists, in pages of slots.

  groupSlots(slots: number[]): number[][] {
    const groups = new Map<number, number[]>();
    for (const slot of slots) {
      const shard = this.shardAt(slot);
      const group = groups.get(shard);
      if (group === undefined) groups.set(shard, [slot]);
      else group.push(slot);
    }
    return [...groups.values()];
  }

  private shardAt(slot: number): number {
    return this.cluster.routing.at(slot)?.id ?? 0;
  }

  /** Reads a page of a list. */
  private async page<P extends { missing: SlotRangeRecord[] }>(
    what: string, slots: number[], scope: Scope, read: (conn: Connection, generation: number, s: Scope) => Promise<P>,
  ): Promise<{ page: P; missing: number[]; shard: number }> {
    const { cluster } = this;
    const first = slots[0]!;
    const page = await this.inTime(what, false, scope, (s) =>
      cluster.repeat(cluster.nearLeader(first), s, (conn) => read(conn, cluster.routing.generation(first), s)));
    const missing = page.missing.flatMap((r) => Array.from({ length: r.last - r.first + 1 }, (_, i) => r.first + i));
    if (missing.length > 0) cluster.refreshSoon(undefined);
    return { page, missing, shard: this.shardAt(first) };
  }

  async listSemaphores(r: Calls["listSemaphores"][0], scope: Scope): Promise<Calls["listSemaphores"][1]> {
    const nodeId = await this.id(r.path, scope);
    const { slots, after, limit } = r.part;
    const { page, ...rest } = await this.page("list semaphores", slots, scope, async (conn, generation, s) =>
      fieldsOf("SEMAPHORE_LIST_ANSWER", await conn.call("SEMAPHORE_LIST", {
        node_id: nodeId, prefix: r.prefix, after, limit: BigInt(limit), include_data: r.data, slots: ranges(slots), generation,
      }, s)));
    return { items: page.semaphores.map(semaphoreInfo), next: page.next, ...rest };
  }

  async listSessions(r: Calls["listSessions"][0], scope: Scope): Promise<Calls["listSessions"][1]> {
    const nodeId = await this.id(r.path, scope);
    const { slots, after, limit } = r.part;
    const { page, ...rest } = await this.page("list sessions", slots, scope, async (conn, generation, s) =>
      fieldsOf("SESSION_LIST_ANSWER", await conn.call("SESSION_LIST", {
        node_id: nodeId, after, limit: BigInt(limit), slots: ranges(slots), generation,
      }, s)));
    return { items: page.sessions.map(sessionInfo), next: page.next, ...rest };
  }

  /** Ends a session of another client. One that is over is no error. */
  async destroySession(id: bigint, scope: Scope): Promise<void> {
    await this.inTime("destroy a session", false, scope, (s) =>
      this.cluster.repeat(this.cluster.leaderAt(sessionSlot(id)), s, (conn) =>
        conn.call("SESSION_DESTROY", { session_id: id }, s).then(() => undefined, (e: unknown) => {
          if (statusOf(e) !== Status.SESSION_EXPIRED) throw e;
        })));
  }
}

/** The form of slots in a request. */
function ranges(slots: number[]): SlotRangeRecord[] {
  const found: SlotRangeRecord[] = [];
  for (const slot of slots) {
    const last = found.at(-1);
    if (last?.last === slot - 1) last.last = slot;
    else found.push({ first: slot, last: slot, shard_id: 0, generation: 0 });
  }
  return found;
}

/** The request of a change, and its fields besides node and name. */
export function changeRequest(c: Change): [
  "SEMAPHORE_CREATE" | "SEMAPHORE_UPDATE" | "SEMAPHORE_RESIZE" | "SEMAPHORE_DELETE", MutationFields<"SEMAPHORE_CREATE">,
] {
  switch (c.op) {
    case "create": return ["SEMAPHORE_CREATE", { limit: c.limit, data: c.data }];
    case "update": {
      const fields: MutationFields<"SEMAPHORE_UPDATE"> = { data: c.data, order_id: c.fence, expected_revision: c.revision };
      return ["SEMAPHORE_UPDATE", fields];
    }
    case "resize": {
      const fields: MutationFields<"SEMAPHORE_RESIZE"> = { limit: c.limit, expected_revision: c.revision };
      return ["SEMAPHORE_RESIZE", fields];
    }
    case "delete": {
      const fields: MutationFields<"SEMAPHORE_DELETE"> = { force: c.force };
      return ["SEMAPHORE_DELETE", fields];
    }
  }
}

/** The revision after a change; 0 after a delete. */
export function revisionOf(request: ReturnType<typeof changeRequest>[0], raw: RawMessage): bigint {
  switch (request) {
    case "SEMAPHORE_CREATE": return fieldsOf("SEMAPHORE_CREATE_ANSWER", raw).revision;
    case "SEMAPHORE_UPDATE": return fieldsOf("SEMAPHORE_UPDATE_ANSWER", raw).revision;
    case "SEMAPHORE_RESIZE": return fieldsOf("SEMAPHORE_RESIZE_ANSWER", raw).revision;
    case "SEMAPHORE_DELETE": return 0n;
  }
}
