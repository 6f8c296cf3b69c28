// Descriptions of semaphores, sessions and nodes, from the records of the protocol.
import type { Consistency } from "../bridge/messages.js";
import { FOREVER } from "../protocol/message.js";
import type {
  Messages, NodeConfigRecord, NodeRecord, OwnerRecord, SemaphoreRecord, SessionRecord, WaiterRecord,
} from "../protocol/messages.js";
import type { NodeConfig, NodeInfo, OwnerInfo, SemaphoreInfo, SessionInfo, WaiterInfo } from "../types.js";

const CONSISTENCIES: Consistency[] = ["default", "strict", "relaxed"];

/** The number of a consistency in the protocol. */
export function consistencyNumber(c: Consistency): number {
  return CONSISTENCIES.indexOf(c);
}

function date(ms: number): Date | undefined {
  return ms === 0 ? undefined : new Date(ms);
}

function owner(o: OwnerRecord): OwnerInfo {
  return {
    orderId: o.order_id, sessionId: o.session_id, count: o.count, data: o.data, since: date(o.since_ms), client: o.client,
  };
}

function waiter(w: WaiterRecord): WaiterInfo {
  return { ...owner(w), wait: w.timeout_ms === FOREVER ? undefined : Number(w.timeout_ms) };
}

/** A semaphore from its record, without owners and waiters. */
export function semaphoreInfo(s: SemaphoreRecord): SemaphoreInfo {
  return {
    name: s.name, limit: s.limit, count: s.count, revision: s.revision, ephemeral: s.ephemeral,
    ownerCount: s.owners, waiterCount: s.waiters, data: s.data, owners: [], waiters: [],
  };
}

/** A semaphore from the pages of a description. */
export function description(pages: Messages["SEMAPHORE_DESCRIBE_ANSWER"][]): SemaphoreInfo {
  return {
    ...semaphoreInfo(pages[0]!.semaphore),
    owners: pages.flatMap((p) => p.owners.map(owner)),
    waiters: pages.flatMap((p) => p.waiters.map(waiter)),
  };
}

/** A session from its record. */
export function sessionInfo(s: SessionRecord): SessionInfo {
  return {
    id: s.id, timeout: s.timeout_ms, attached: s.attached, owned: s.owned, waiting: s.waiting, since: date(s.since_ms),
    client: s.client, description: s.details.description,
  };
}

/** A node from its record. */
export function nodeInfo(n: NodeRecord, existed = false): NodeInfo {
  return { id: n.id, path: n.path, config: nodeConfig(n.config), configVersion: n.config_version, existed };
}

function nodeConfig(c: NodeConfigRecord): NodeConfig {
  return {
    ...(c.self_check_period_ms > 0 && { selfCheckPeriod: c.self_check_period_ms }),
    ...(c.session_grace_period_ms > 0 && { sessionGracePeriod: c.session_grace_period_ms }),
    ...(c.read_consistency > 0 && { readConsistency: CONSISTENCIES[c.read_consistency] ?? "default" }),
    ...(c.attach_consistency > 0 && { attachConsistency: CONSISTENCIES[c.attach_consistency] ?? "default" }),
    ...(c.quota_objects > 0 && { quotaObjects: c.quota_objects }),
    ...(c.quota_bytes > 0 && { quotaBytes: c.quota_bytes }),
  };
}

/** The record of a config. */
export function configRecord(c: NodeConfig): Partial<NodeConfigRecord> {
  return {
    self_check_period_ms: Math.round(c.selfCheckPeriod ?? 0),
    session_grace_period_ms: Math.round(c.sessionGracePeriod ?? 0),
    read_consistency: consistencyNumber(c.readConsistency ?? "default"),
    attach_consistency: consistencyNumber(c.attachConsistency ?? "default"),
    quota_objects: c.quotaObjects ?? 0,
    quota_bytes: c.quotaBytes ?? 0,
  };
}
