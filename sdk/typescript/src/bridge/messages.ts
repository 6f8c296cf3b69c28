// What passes between the program's thread and the engine. Everything can be cloned.
import type { Tls } from "../engine/dial.js";
import type { EndReason } from "../errors.js";
import type { NodeConfig, NodeInfo, SemaphoreInfo, SessionInfo, View } from "../types.js";

/** Settings of the engine. */
export interface EngineOptions {
  addresses: string[];
  name: string;
  timeout: number;
  dialTimeout: number;
  addressMap: Record<string, string>;
  /** Token and TLS settings; undefined if functions of the program return them. */
  credentials: { token: Uint8Array; tls: Tls } | undefined;
}

/** A session to be opened. The program's thread chooses its number. */
export interface OpenSession {
  session: number;
  path: string;
  timeout: number;
  description: string;
  renew: boolean;
  maxBlocked: number;
}

/** A lease, as the engine grants it. */
export interface Grant {
  lease: number;
  fence: bigint;
  count: bigint;
  /** The session at its hosts that owns, and the place of its deadline. */
  incarnation: IncarnationInfo;
}

export interface IncarnationInfo {
  id: bigint;
  slot: number;
}

/** A change of a semaphore. */
export type Change =
  | { op: "create"; limit: bigint; data: Uint8Array }
  | { op: "update"; data: Uint8Array; revision: bigint; fence: bigint }
  | { op: "resize"; limit: bigint; revision: bigint }
  | { op: "delete"; force: boolean };

/** A semaphore to be described or watched, by its path or within a session. */
export interface Target {
  session?: number;
  path?: string;
  name: string;
}

/** Consistency of a read. */
export type Consistency = "default" | "strict" | "relaxed";

/** The calls of the engine: arguments and result by name. */
export interface Calls {
  open: [EngineOptions, void];
  close: [{ timeout: number }, void];
  openSession: [OpenSession, bigint];
  closeSession: [{ session: number }, void];
  /** The program's thread has seen that the deadline of a session has passed. */
  giveUp: [{ session: number; incarnation: bigint }, void];
  acquire: [
    {
      session: number; name: string; count: bigint; data: Uint8Array; ephemeral: boolean; wait: number | undefined;
      /** Limit and data with which a missing semaphore is created. */
      create: { limit: bigint; data: Uint8Array } | undefined;
    },
    Grant | undefined,
  ];
  release: [{ lease: number }, void];
  releaseName: [{ session: number; name: string }, boolean];
  /** Reduces the count, or replaces the data of the owner. */
  changeLease: [{ lease: number; count: bigint | undefined; data: Uint8Array | undefined }, bigint];
  updateByLease: [{ lease: number; data: Uint8Array }, bigint];
  change: [{ target: Target; change: Change }, bigint];
  describe: [{ target: Target; owners: boolean; waiters: boolean; consistency: Consistency }, SemaphoreInfo];
  /** Describes, and reports one change after that with the event `changed`. */
  describeAndWatch: [
    {
      session: number; name: string; owners: boolean; waiters: boolean; consistency: Consistency;
      watch: number; watchData: boolean; watchOwners: boolean;
    },
    SemaphoreInfo,
  ];
  openWatch: [{ watch: number; target: Target; data: boolean; owners: boolean }, void];
  /** The newest view that differs from the one returned before. */
  nextView: [{ watch: number }, View];
  closeWatch: [{ watch: number }, void];
  createNode: [{ path: string; config: NodeConfig }, NodeInfo];
  describeNode: [{ path: string }, NodeInfo];
  alterNode: [{ path: string; config: NodeConfig; version: number }, NodeInfo];
  dropNode: [{ path: string }, void];
  listNodes: [{ prefix: string; after: string }, { items: NodeInfo[]; next: string }];
  /** Groups slots by shard. */
  groupSlots: [{ slots: number[] }, number[][]];
  listSemaphores: [{ path: string; prefix: string; data: boolean; part: Part<string> }, ListPage<SemaphoreInfo, string>];
  listSessions: [{ path: string; part: Part<bigint> }, ListPage<SessionInfo, bigint>];
  destroySession: [{ session: bigint }, void];
}

/** What a page of a list is to contain. */
export interface Part<K> {
  slots: number[];
  after: K;
  limit: number;
}

/** A page of a list, from a shard that does not have the missing slots. */
export interface ListPage<T, K> {
  items: T[];
  next: K;
  missing: number[];
  shard: number;
}

export type CallName = keyof Calls;

/** A message to the engine. */
export type ToEngine =
  | { call: number; name: CallName; arguments: Calls[CallName][0] }
  | { cancel: number }
  | { credentials: number; token: Uint8Array; tls: Tls; error?: unknown };

/** What the engine reports by itself. Errors are made portable on the way to another thread. */
export type Event =
  | { event: "lost"; lease: number; error: unknown }
  | { event: "released"; lease: number }
  | {
      event: "session"; session: number; state: "attached" | "detached" | "renewing" | "ended"; error?: unknown;
      incarnation?: IncarnationInfo;
    }
  | { event: "queued"; call: number; order: bigint }
  | { event: "changed"; watch: number; data: boolean; owners: boolean }
  | { event: "warning"; message: string }
  | { event: "defect"; error: unknown }
  /** The engine needs a token and TLS settings from functions of the program. */
  | { event: "credentials"; request: number };

/** A message of the engine. */
export type FromEngine = { reply: number; value: unknown } | { reply: number; error: unknown } | Event;

export type { EndReason };
