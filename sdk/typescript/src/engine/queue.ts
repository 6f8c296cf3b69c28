// The turns of a session's mutations: at most one mutation of a semaphore is in flight, others wait.
import { semaphoreSlot } from "../protocol/slots.js";
import type { Lease } from "./lease.js";
import type { Mutation } from "./mutation.js";
import { Deferred, type Scope } from "./waiting.js";

/** Slots that are remembered. */
const CACHED_SLOTS = 1 << 16;

/** What a session does with one semaphore. */
export class SemaphoreQueue {
  /** A mutation is in flight, or a turn was given. */
  busy = false;
  readonly turns: Deferred[] = [];
  /** The acquire that is queued at the host. */
  waiting: Mutation | undefined;
  lease: Lease | undefined;
  /** A loss that came before the answer to the acquire that it is about. */
  early: { order: bigint; error: Error } | undefined;
  /** A host without capacity, or that grants nothing for now, has refused the latest try of what is in flight. */
  refused = false;

  constructor(readonly name: string, readonly slot: number) {}

  /** Ends the lease, if there is one, or only the given one. */
  removeLease(cause: Error, of?: Lease): void {
    const lease = this.lease;
    if (lease === undefined || (of !== undefined && of !== lease)) return;
    this.lease = undefined;
    lease.lose(cause);
  }
}

/** The queues of one session by name. */
export class Queues {
  private readonly byName = new Map<string, SemaphoreQueue>();

  constructor(private readonly nodeId: () => number) {}

  get(name: string): SemaphoreQueue | undefined {
    return this.byName.get(name);
  }

  all(): SemaphoreQueue[] {
    return [...this.byName.values()];
  }

  /** Waits until a mutation of the name may be sent. The caller then calls next. */
  async begin(name: string, scope: Scope): Promise<SemaphoreQueue> {
    let q = this.byName.get(name);
    if (q === undefined) {
      q = new SemaphoreQueue(name, slotOf(this.nodeId(), name));
      this.byName.set(name, q);
    }
    if (!q.busy) {
      q.busy = true;
      return q;
    }
    const turn = new Deferred();
    q.turns.push(turn);
    try {
      await scope.wait(turn);
      return q;
    } catch (e) {
      const index = q.turns.indexOf(turn);
      if (index >= 0) q.turns.splice(index, 1);
      else this.next(q); // it was this caller's turn already
      throw e;
    }
  }

  /** Lets the next mutation of a queue begin. */
  next(q: SemaphoreQueue): void {
    q.refused = false;
    const turn = q.turns.shift();
    if (turn !== undefined) {
      turn.resolve();
      return;
    }
    q.busy = false;
    q.early = undefined;
    this.dropIfEmpty(q);
  }

  /** Forgets a queue without content. */
  dropIfEmpty(q: SemaphoreQueue): void {
    if (!q.busy && q.waiting === undefined && q.lease === undefined && this.byName.get(q.name) === q) {
      this.byName.delete(q.name);
    }
  }
}

const slots = new Map<string, number>();

/** Returns the slot of a semaphore. */
export function slotOf(nodeId: number, name: string): number {
  const key = `${nodeId}/${name}`;
  let slot = slots.get(key);
  if (slot === undefined) {
    if (slots.size >= CACHED_SLOTS) slots.clear();
    slots.set(key, (slot = semaphoreSlot(nodeId, name)));
  }
  return slot;
}
