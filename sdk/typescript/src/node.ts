// Nodes: what can be done without a session.
import type { Link } from "./bridge/link.js";
import type { Change } from "./bridge/messages.js";
import { listed } from "./list.js";
import { bytes, units } from "./data.js";
import type { CallOptions } from "./lease.js";
import type { DescribeOptions } from "./semaphore.js";
import type { Data, SemaphoreInfo, SessionInfo } from "./types.js";
import { Watch, type WatchOptions } from "./watch.js";

/** A node, by its path. Creating the object asks no host. */
export class Node {
  /** @internal */
  constructor(private readonly link: Link, readonly path: string) {}

  /** Describes a semaphore with its owners and waiters. */
  describe(name: string, options: DescribeOptions = {}): Promise<SemaphoreInfo> {
    const { owners = true, waiters = true, consistency = "default", signal } = options;
    return this.link.call("describe", { target: { path: this.path, name }, owners, waiters, consistency }, { signal });
  }

  /** Watches a semaphore, which need not exist yet. */
  watch(name: string, options: WatchOptions = {}): Watch {
    return new Watch(this.link, { path: this.path, name }, options);
  }

  /** Lists the semaphores whose names start with the prefix, sorted by name. */
  semaphores(options: { prefix?: string; data?: boolean } & CallOptions = {}): AsyncGenerator<SemaphoreInfo, void> {
    const { prefix = "", data = false, signal } = options;
    const { link, path } = this;
    return listed("", (s) => s.name, this.groups(signal), (part) =>
      link.call("listSemaphores", { path, prefix, data, part }, { signal }));
  }

  /** Lists the sessions of the node, sorted by id. */
  sessions(options: CallOptions = {}): AsyncGenerator<SessionInfo, void> {
    const { signal } = options;
    return listed(0n, (s) => s.id, this.groups(signal), (part) =>
      this.link.call("listSessions", { path: this.path, part }, { signal }));
  }

  private groups(signal: AbortSignal | undefined): (slots: number[]) => Promise<number[][]> {
    return (slots) => this.link.call("groupSlots", { slots }, { signal });
  }

  /** Ends a session of another client. One that is over is no error. */
  destroySession(id: bigint, options: CallOptions = {}): Promise<void> {
    return this.link.call("destroySession", { session: id }, options);
  }

  // Changes without a session have no sequence: UNKNOWN_OUTCOME means that they may have been made.

  /** Creates a semaphore. */
  create(name: string, options: { limit?: number | bigint; data?: Data } & CallOptions = {}): Promise<bigint> {
    return this.change(name, { op: "create", limit: units(options.limit, 1n, "limit"), data: bytes(options.data) }, options);
  }

  /** Replaces the data of a semaphore. */
  update(name: string, data: Data, options: { ifRevision?: bigint } & CallOptions = {}): Promise<bigint> {
    return this.change(name, { op: "update", data: bytes(data), revision: options.ifRevision ?? 0n, fence: 0n }, options);
  }

  /** Changes the limit of a semaphore. */
  resize(name: string, limit: number | bigint, options: { ifRevision?: bigint } & CallOptions = {}): Promise<bigint> {
    return this.change(name, { op: "resize", limit: units(limit, 1n, "limit"), revision: options.ifRevision ?? 0n }, options);
  }

  /** Deletes a semaphore. */
  async delete(name: string, options: { force?: boolean } & CallOptions = {}): Promise<void> {
    await this.change(name, { op: "delete", force: options.force ?? false }, options);
  }

  private change(name: string, change: Change, options: CallOptions): Promise<bigint> {
    return this.link.call("change", { target: { path: this.path, name }, change }, { signal: options.signal });
  }
}
