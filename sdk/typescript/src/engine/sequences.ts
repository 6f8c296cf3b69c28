// The sequences of a session's mutations, and up to which all are answered.
import { Deferred, type Scope } from "./waiting.js";

/** Mutations of a session that may be unanswered, or answered out of order. A shard caches few answers more. */
const UNANSWERED_MAX = 1000;

/** Assigns sequences. They start at 1 and only grow. */
export class Sequences {
  /** The highest sequence up to which all mutations are answered. */
  acknowledged = 0;
  private last = 0;
  private readonly early = new Set<number>();
  private room: Deferred[] = [];

  /** Waits until another sequence may be assigned. */
  async awaitRoom(scope: Scope): Promise<void> {
    while (this.full()) {
      const d = new Deferred();
      this.room.push(d);
      await scope.wait(d);
    }
  }

  full(): boolean {
    return this.last - this.acknowledged >= UNANSWERED_MAX;
  }

  /** Assigns a sequence. */
  next(): number {
    return ++this.last;
  }

  /** Notes that a sequence will not be used again. */
  done(sequence: number): void {
    if (sequence <= this.acknowledged) return;
    this.early.add(sequence);
    while (this.early.delete(this.acknowledged + 1)) this.acknowledged++;
    if (this.room.length === 0 || this.full()) return;
    const room = this.room;
    this.room = [];
    for (const d of room) d.resolve();
  }
}
