// What a session owns of a semaphore, from the grant to the release or the loss.
import type { Core } from "./core.js";

/** A lease, as the engine knows it. */
export class Lease {
  private static last = 0;
  /** Identifies the lease between the threads. */
  readonly id = ++Lease.last;
  /** Of the latest acquire. */
  sequence = 0;
  count = 0n;
  data: Uint8Array = new Uint8Array(0);
  ephemeral = false;
  /** The shard did not list the lease when it was asked last. */
  missing = false;
  /** The lease is released or lost. */
  over = false;
  /** Why the lease is lost. */
  cause: Error | undefined;

  constructor(private readonly core: Core, readonly name: string, readonly fence: bigint) {}

  /** Ends the lease because it is lost. */
  lose(cause: Error): void {
    if (this.over) return;
    this.over = true;
    this.cause = cause;
    this.core.emit({ event: "lost", lease: this.id, error: cause });
  }

  /** Ends the lease because it was released. */
  released(): void {
    if (this.over) return;
    this.over = true;
    this.core.emit({ event: "released", lease: this.id });
  }
}
