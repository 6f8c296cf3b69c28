// The state of a watched semaphore, as snapshots and deltas build it.
import type { Messages, OwnerRecord } from "../protocol/messages.js";
import type { Owner, View } from "../types.js";

const CREATED = 1;
const DELETED = 2;

/** A change is missing: the host sent one that does not follow the state. */
export class Behind extends Error {}

/** The state of a semaphore, changed in place. */
export class ViewState {
  revision = 0n;
  /** Differs after the semaphore was deleted and created again. */
  birth = 0;
  private exists = false;
  private ephemeral = false;
  private limit = 0n;
  private data: Uint8Array = new Uint8Array(0);
  private readonly owners = new Map<bigint, Owner>();

  /** Starts the state of a snapshot. */
  static of(p: Messages["WATCH_SNAPSHOT"]): ViewState {
    const state = new ViewState();
    state.exists = p.exists;
    state.ephemeral = p.ephemeral;
    state.limit = p.limit;
    state.data = p.data;
    return state;
  }

  /** The state, as a program gets it. */
  view(): View {
    const owners = [...this.owners.values()].sort((a, b) => (a.orderId < b.orderId ? -1 : 1));
    const { exists, revision, ephemeral, limit, data } = this;
    return { exists, revision, ephemeral, limit, data, owners };
  }

  /** Adds or replaces owners, and returns whether that changed anything. */
  join(owners: OwnerRecord[]): boolean {
    let changed = false;
    for (const o of owners) {
      const owner: Owner = { orderId: o.order_id, sessionId: o.session_id, count: o.count, data: o.data };
      const before = this.owners.get(owner.orderId);
      if (before !== undefined && sameOwner(before, owner)) continue;
      this.owners.set(owner.orderId, owner);
      changed = true;
    }
    return changed;
  }

  /** Applies a delta, and returns whether a user can see a change. A delta that starts before the state may end after it. */
  apply(p: Messages["WATCH_DELTA"]): boolean {
    if (p.to <= this.revision) return false; // the view has it all already
    if (p.from > this.revision) throw new Behind();
    this.revision = p.to;
    let changed = this.changeExistence(p);
    if (p.limit > 0n && p.limit !== this.limit) {
      this.limit = p.limit;
      changed = true;
    }
    if (p.data_changed) {
      changed ||= !sameBytes(this.data, p.data);
      this.data = p.data;
    }
    for (const id of p.gone) changed = this.owners.delete(id) || changed;
    return this.join(p.joined) || changed;
  }

  private changeExistence(p: Messages["WATCH_DELTA"]): boolean {
    if (p.existence !== CREATED && p.existence !== DELETED) return false;
    this.owners.clear();
    this.data = new Uint8Array(0);
    this.exists = p.existence === CREATED;
    this.ephemeral = this.exists && p.ephemeral;
    this.limit = this.exists ? p.limit : 0n;
    if (this.exists) this.birth++;
    return true;
  }

  /** Takes over what a new snapshot continues. */
  follow(before: ViewState): void {
    this.birth = before.birth + (this.exists && !before.exists ? 1 : 0);
  }

  /** Reports whether a user sees no difference, except for the revision. */
  looksLike(other: ViewState): boolean {
    if (this.exists !== other.exists || this.birth !== other.birth || this.ephemeral !== other.ephemeral) return false;
    if (this.limit !== other.limit || !sameBytes(this.data, other.data)) return false;
    if (this.owners.size !== other.owners.size) return false;
    return [...this.owners].every(([id, o]) => {
      const there = other.owners.get(id);
      return there !== undefined && sameOwner(o, there);
    });
  }
}

function sameOwner(a: Owner, b: Owner): boolean {
  return a.sessionId === b.sessionId && a.count === b.count && sameBytes(a.data, b.data);
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
