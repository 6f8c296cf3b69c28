// What reads return.

/** Data of semaphores and owners: a text is sent as UTF-8. */
export type Data = string | Uint8Array;

/** A session that owns a part of a semaphore. */
export interface Owner {
  /** The fencing token. */
  orderId: bigint;
  sessionId: bigint;
  count: bigint;
  /** The data of the session's latest acquire. */
  data: Uint8Array;
}

/** A semaphore at one moment, as a watch shows it. */
export interface View {
  exists: boolean;
  /** Grows with every change. Revisions of different names cannot be compared. */
  revision: bigint;
  ephemeral: boolean;
  limit: bigint;
  data: Uint8Array;
  /** In the order of their order ids. */
  owners: Owner[];
}

/** A change that a one-shot watch reports. If both are false, something may have been missed: describe again. */
export interface Changed {
  data: boolean;
  owners: boolean;
}

/** From where the client of a session connects, and its name. */
export interface ClientInfo {
  address: string;
  name: string;
  version: string;
}

/** An owner, as a description lists it. */
export interface OwnerInfo extends Owner {
  /** When it became an owner, by the wall clock of a host; for people. */
  since: Date | undefined;
  client: ClientInfo;
}

/** A session that waits for a part of a semaphore. */
export interface WaiterInfo extends OwnerInfo {
  /** Time for which its latest acquire waits, in milliseconds; undefined for the lifetime of the session. */
  wait: number | undefined;
}

/** A semaphore at one moment. */
export interface SemaphoreInfo {
  name: string;
  limit: bigint;
  /** The part of the limit that is owned. */
  count: bigint;
  revision: bigint;
  ephemeral: boolean;
  ownerCount: number;
  waiterCount: number;
  data: Uint8Array;
  /** In the order of their order ids; empty if they were not asked for. */
  owners: OwnerInfo[];
  waiters: WaiterInfo[];
}

/** A session, as hosts list it. */
export interface SessionInfo {
  id: bigint;
  /** In milliseconds. */
  timeout: number;
  attached: boolean;
  /** Semaphores of which it owns a part, and for which it waits. */
  owned: number;
  waiting: number;
  since: Date | undefined;
  client: ClientInfo;
  description: string;
}

/** Freshness of reads: the node's default, linearizable, or from the memory of a host. */
export type ReadConsistency = "default" | "strict" | "relaxed";

/** Settings of a node. What is missing is not set. Times are in milliseconds. */
export interface NodeConfig {
  selfCheckPeriod?: number;
  sessionGracePeriod?: number;
  readConsistency?: ReadConsistency;
  attachConsistency?: ReadConsistency;
  /** Semaphores that the node may have in each data shard, and bytes. */
  quotaObjects?: number;
  quotaBytes?: number;
}

/** A node. */
export interface NodeInfo {
  /** A path that is dropped and created again gets another id. */
  id: number;
  path: string;
  config: NodeConfig;
  /** Grows with every change of the config. */
  configVersion: number;
  /** After createNode: the node existed, and nothing was changed. */
  existed: boolean;
}
