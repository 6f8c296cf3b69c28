// Semaphores, as one session uses them.
import type { Change } from "./bridge/messages.js";
import { bytes, checkName, units, wait } from "./data.js";
import { NotAcquiredError } from "./errors.js";
import { Lease, type CallOptions } from "./lease.js";
import type { Session } from "./session.js";
import type { Changed, Data, ReadConsistency, SemaphoreInfo } from "./types.js";
import { Watch, type WatchOptions } from "./watch.js";

/** Settings of a semaphore. */
export interface SemaphoreOptions {
  /** Limit with which a missing semaphore is created. Default: 1. */
  limit?: number | bigint;
  /** Data with which a missing semaphore is created. */
  data?: Data;
  /** Create a missing semaphore at the first acquire. Default: true. */
  create?: boolean;
}

/** Settings of an acquire. */
export interface AcquireOptions extends CallOptions {
  /** Units of the limit. Default: 1. */
  count?: number | bigint;
  /** Maximum time to wait in the queue, in milliseconds. 0 tries once. Default: the lifetime of the session. */
  wait?: number;
  /** What others can read about the owner. */
  data?: Data;
  /** Called with the position when the acquire waits in the queue. */
  onQueued?: (orderId: bigint) => void;
}

/** Settings of a description. */
export interface DescribeOptions extends CallOptions {
  /** List the owners. Default: true. */
  owners?: boolean;
  /** List the waiters. Default: true. */
  waiters?: boolean;
  consistency?: ReadConsistency;
}

/** A semaphore of a session. Creating the object asks no host.
 *
 * A session has one entry in a semaphore. An acquire of what the session owns reduces the count and replaces the data; an
 * acquire while it waits takes over the queue position, and the earlier one is ABORTED. Tasks that must wait for each
 * other use `session.lock` or a Limiter. */
export class Semaphore {
  /** @internal */
  constructor(
    private readonly session: Session,
    /** Name of the semaphore. */
    readonly name: string,
    private readonly options: SemaphoreOptions,
    private readonly isEphemeral: boolean,
  ) {
    checkName(name);
  }

  /** Waits until the session owns `count` units. It throws NOT_ACQUIRED if `wait` has passed. */
  async acquire(options: AcquireOptions = {}): Promise<Lease> {
    const { create = !this.isEphemeral, limit, data } = this.options;
    const ownership = await this.session.acquire({
      name: this.name, count: units(options.count, 1n, "count"), data: bytes(options.data), wait: wait(options.wait),
      ephemeral: this.isEphemeral, signal: options.signal, onQueued: options.onQueued,
      create: create ? { limit: units(limit, 1n, "limit"), data: bytes(data) } : undefined,
    });
    if (ownership === undefined) {
      throw new NotAcquiredError(`"${this.name}" was not granted${options.wait ? ` within ${options.wait} ms` : ""}`);
    }
    return new Lease(ownership, () => this.session.release(ownership));
  }

  /** Acquires without waiting in the queue; undefined if that would be needed. */
  async tryAcquire(options: Omit<AcquireOptions, "wait"> = {}): Promise<Lease | undefined> {
    try {
      return await this.acquire({ ...options, wait: 0 });
    } catch (e) {
      if (e instanceof NotAcquiredError) return undefined;
      throw e;
    }
  }

  /** Gives back what the session owns, or ends its waiting; false if there was nothing. A lease releases itself more
   * safely: only what it stands for. */
  release(options: CallOptions = {}): Promise<boolean> {
    return this.session.link.call("releaseName", { session: this.session.number, name: this.name }, options);
  }

  /** Creates the semaphore and returns its revision. ALREADY_EXISTS changes nothing. */
  create(options: { limit?: number | bigint; data?: Data } & CallOptions = {}): Promise<bigint> {
    const limit = units(options.limit ?? this.options.limit, 1n, "limit");
    return this.change({ op: "create", limit, data: bytes(options.data ?? this.options.data) }, options);
  }

  /** Replaces the data of the semaphore and returns its revision. With `ifRevision` it takes effect only if the semaphore
   * has the described revision: else PRECONDITION_FAILED. */
  update(data: Data, options: { ifRevision?: bigint } & CallOptions = {}): Promise<bigint> {
    return this.change({ op: "update", data: bytes(data), revision: options.ifRevision ?? 0n, fence: 0n }, options);
  }

  /** Changes the limit. A higher one admits waiters, a lower one revokes nothing. */
  resize(limit: number | bigint, options: { ifRevision?: bigint } & CallOptions = {}): Promise<bigint> {
    return this.change({ op: "resize", limit: units(limit, 1n, "limit"), revision: options.ifRevision ?? 0n }, options);
  }

  /** Deletes the semaphore. One in use is PRECONDITION_FAILED, unless `force` takes it from its owners. */
  async delete(options: { force?: boolean } & CallOptions = {}): Promise<void> {
    await this.change({ op: "delete", force: options.force ?? false }, options);
  }

  private change(change: Change, options: CallOptions): Promise<bigint> {
    const target = { session: this.session.number, name: this.name };
    return this.session.link.call("change", { target, change }, { signal: options.signal });
  }

  /** Describes the semaphore with its owners and waiters. */
  describe(options: DescribeOptions = {}): Promise<SemaphoreInfo> {
    const { owners = true, waiters = true, consistency = "default", signal } = options;
    const target = { session: this.session.number, name: this.name };
    return this.session.link.call("describe", { target, owners, waiters, consistency }, { signal });
  }

  /** Describes the semaphore with its first page of owners, and reports one change after that. A session has one such
   * watch per semaphore: another one, or a lost connection, ends it with a change in which both are false. The signal ends
   * `changed` too. */
  async describeAndWatch(
    options: DescribeOptions & { watchData?: boolean; watchOwners?: boolean } = {},
  ): Promise<{ info: SemaphoreInfo; changed: Promise<Changed> }> {
    const { owners = true, waiters = false, consistency = "default", watchData = true, watchOwners = true, signal } = options;
    const { link, number } = this.session;
    const { watch, changed } = link.expectChange(signal);
    const args = { session: number, name: this.name, owners, waiters, consistency, watch, watchData, watchOwners };
    try {
      return { info: await link.call("describeAndWatch", args, { signal }), changed };
    } catch (e) {
      link.forgetChange(watch);
      throw e;
    }
  }

  /** Watches the semaphore: `for await (const view of semaphore.watch())`. */
  watch(options: WatchOptions = {}): Watch {
    return new Watch(this.session.link, { session: this.session.number, name: this.name }, options);
  }
}
