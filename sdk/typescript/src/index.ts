// The public interface of @signalbox/client.
export { Client, connect, type ConnectOptions } from "./client.js";
export { text } from "./data.js";
export type { Tls } from "./engine/dial.js";
export {
  AbortedError, LeaseLostError, NotAcquiredError, SessionLostError, SignalboxError,
  type AbortReason, type EndReason, type ErrorCode,
} from "./errors.js";
export { Lease, type CallOptions } from "./lease.js";
export { Node } from "./node.js";
export { Semaphore, type AcquireOptions, type DescribeOptions, type SemaphoreOptions } from "./semaphore.js";
export { Session, type LockOptions, type SessionOptions, type SessionState } from "./session.js";
export type {
  Changed, ClientInfo, Data, NodeConfig, NodeInfo, Owner, OwnerInfo, ReadConsistency, SemaphoreInfo, SessionInfo, View, WaiterInfo,
} from "./types.js";
export { Watch, type WatchOptions } from "./watch.js";
export * as config from "./config.js";
export * as discovery from "./discovery.js";
export * as election from "./election.js";
export { Limiter, Slot, type LimiterOptions } from "./limiter.js";
