// Turns of the tasks of one session. A session has one entry in a semaphore: its tasks use it one after the other, or
// share it.
import { now } from "./clock.js";
import { NotAcquiredError } from "./errors.js";
import type { Ownership } from "./lease.js";

/** What several tasks share. */
interface Group {
  ownership: Ownership;
  holders: number;
}

interface Waiter {
  shared: boolean;
  resolve(group: Group | undefined): void;
}

/** The entry of a session in one semaphore. */
class Entry {
  /** A task acquires the entry, or has it. */
  busy = false;
  readonly waiters: Waiter[] = [];
  group: Group | undefined;

  /** Joins the tasks that share the entry, if there are any. */
  join(): Group | undefined {
    if (!this.group?.ownership.held()) return undefined;
    this.group.holders++;
    return this.group;
  }

  /** Lets those in whose turn it is. */
  admit(): void {
    for (let w = this.waiters[0]; w !== undefined; w = this.waiters[0]) {
      const group = this.busy && w.shared ? this.join() : undefined;
      if (this.busy && group === undefined) return;
      this.busy = true;
      this.waiters.shift();
      w.resolve(group);
    }
  }
}

/** A turn: the entry is to be acquired, or shared with the tasks that have it. */
export interface Turn {
  /** What other tasks of the session share. */
  readonly shared: Ownership | undefined;
  /** Time that is left to wait. */
  readonly wait: number | undefined;
  /** Notes the grant. */
  granted(ownership: Ownership): void;
  /** Ends the turn. It returns whether the task was the last to share what it got. */
  leave(): boolean;
}

/** The entries of one session by name. */
export class Turns {
  private readonly entries = new Map<string, Entry>();

  /** Waits for the turn of a task. */
  async take(name: string, shared: boolean, wait: number | undefined, signal: AbortSignal | undefined): Promise<Turn> {
    signal?.throwIfAborted();
    let entry = this.entries.get(name);
    if (entry === undefined) this.entries.set(name, (entry = new Entry()));
    const began = now();
    let group: Group | undefined;
    if (!entry.busy) {
      entry.busy = true;
    } else {
      group = shared && entry.waiters.length === 0 ? entry.join() : undefined;
      if (group === undefined && wait === 0) throw taken(name, wait);
      group ??= await this.queue(entry, name, shared, wait, signal);
    }
    return this.turn(entry, name, shared, group, wait === undefined ? undefined : Math.max(wait - (now() - began), 0));
  }

  private queue(
    entry: Entry, name: string, shared: boolean, wait: number | undefined, signal: AbortSignal | undefined,
  ): Promise<Group | undefined> {
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
      };
      const waiter: Waiter = {
        shared,
        resolve: (group) => {
          end();
          resolve(group);
        },
      };
      const giveUp = (error: Error): void => {
        end();
        entry.waiters.splice(entry.waiters.indexOf(waiter), 1);
        reject(error);
        entry.admit();
      };
      const abort = (): void => giveUp(signal!.reason as Error);
      const timer = wait === undefined ? undefined : setTimeout(() => giveUp(taken(name, wait)), wait);
      signal?.addEventListener("abort", abort, { once: true });
      entry.waiters.push(waiter);
      entry.admit();
    });
  }

  private turn(
    entry: Entry, name: string, shared: boolean, joined: Group | undefined, wait: number | undefined,
  ): Turn {
    let group = joined;
    let left = false;
    const leave = (): boolean => {
      if (left) return false;
      left = true;
      if (group !== undefined && --group.holders > 0) return false;
      entry.group = undefined;
      entry.busy = false;
      entry.admit();
      if (!entry.busy && entry.waiters.length === 0 && this.entries.get(name) === entry) this.entries.delete(name);
      return true;
    };
    return {
      shared: group?.ownership, wait, leave,
      granted: (ownership) => {
        if (!shared) return;
        entry.group = group = { ownership, holders: 1 };
        entry.admit();
      },
    };
  }
}

function taken(name: string, wait: number): NotAcquiredError {
  return new NotAcquiredError(`"${name}" is taken${wait === 0 ? "" : `, for all of ${wait} ms`}`);
}
