// Watches, as asynchronous iterators.
import type { Link } from "./bridge/link.js";
import type { Target } from "./bridge/messages.js";
import type { View } from "./types.js";

/** Settings of a watch. */
export interface WatchOptions {
  /** Watch the data. Default: true. */
  data?: boolean;
  /** Watch the owners. Default: true. */
  owners?: boolean;
  /** Ends the watch: the loop throws the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** The views of a semaphore: the current one first, then the newest after each change.
 *
 * A slow loop gets the newest view, and not those in between. Lost connections and leader changes do not end a watch.
 * Leaving a `for await` loop closes the watch. */
export class Watch implements AsyncIterableIterator<View>, AsyncDisposable {
  private static last = 0;
  private readonly watch = ++Watch.last;
  private opened: Promise<void> | undefined;
  private closed = false;

  /** @internal */
  constructor(private readonly link: Link, private readonly target: Target, private readonly options: WatchOptions) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Waits for the next view. */
  async next(): Promise<IteratorResult<View, undefined>> {
    if (this.closed) return { done: true, value: undefined };
    const { signal, data = true, owners = true } = this.options;
    try {
      this.opened ??= this.link.call("openWatch", { watch: this.watch, target: this.target, data, owners }, { signal });
      await this.opened;
      const value = await this.link.call("nextView", { watch: this.watch }, { signal });
      return { done: false, value };
    } catch (e) {
      if ((this.closed as boolean) && !signal?.aborted) return { done: true, value: undefined };
      this.close();
      throw e;
    }
  }

  /** Ends the watch, as leaving a loop does. */
  return(): Promise<IteratorResult<View, undefined>> {
    this.close();
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Ends the watch. A loop that waits for a view ends. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    if (this.opened !== undefined) this.link.tell("closeWatch", { watch: this.watch });
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.close();
    return Promise.resolve();
  }
}
