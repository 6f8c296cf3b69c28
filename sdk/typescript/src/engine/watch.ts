// Streaming watches: a view of a semaphore that is kept current, across lost connections and hosts.
import { now } from "../clock.js";
import { SignalboxError } from "../errors.js";
import { fieldsOf, kindOf, uintAt } from "../protocol/message.js";
import type { RawMessage } from "../protocol/reader.js";
import type { View } from "../types.js";
import type { Connection, Handler } from "./connection.js";
import type { Core } from "./core.js";
import { slotOf } from "./queue.js";
import { errorOf, refusalOf, TransportError } from "./refusal.js";
import { REQUESTS, Retries } from "./retry.js";
import { Behind, ViewState } from "./view.js";
import { Deferred, News, Scope } from "./waiting.js";

const ANSWER = kindOf("WATCH_ANSWER");
const SNAPSHOT = kindOf("WATCH_SNAPSHOT");
const DELTA = kindOf("WATCH_DELTA");
const END = kindOf("WATCH_END");

/** What a watch at a host is for. Readers with the same key share one watch. */
export interface WatchKey {
  nodeId: number;
  name: string;
  data: boolean;
  owners: boolean;
}

/** A watch at some host, which is opened again when it breaks off, and the view that it leads to. */
export class SharedWatch {
  /** Grows with each view that differs from the one before; 0 before the first. */
  version = 0;
  /** Why nothing more follows. */
  error: Error | undefined;
  readonly news = new News();
  readers = 0;
  private state: ViewState | undefined;
  private draft: ViewState | undefined;
  private stream: Handler | undefined;
  private behind = false;
  private readonly scope: Scope;

  constructor(private readonly core: Core, private readonly key: WatchKey, private readonly onEnd: () => void) {
    this.scope = new Scope(core.life);
    core.spawn(this.run());
  }

  /** The newest view. */
  view(): View {
    return this.state!.view();
  }

  /** Ends the watch: no reader wants it any more. */
  close(): void {
    this.scope.end(new SignalboxError("CLOSED", "the watch is closed"));
  }

  /** Opens a stream, and another when it is over, until the watch is closed or has failed for good. */
  private async run(): Promise<void> {
    const { cluster } = this.core;
    const retries = new Retries(cluster.leaders);
    const target = cluster.replicaAt(slotOf(this.key.nodeId, this.key.name));
    try {
      await cluster.repeat(target, this.scope, (conn) => this.follow(conn, retries), retries);
    } catch (e) {
      this.error = e as Error;
    }
    this.onEnd();
    this.news.report();
  }

  /** Follows a stream over a connection. It throws why the stream is over. */
  private async follow(conn: Connection, retries: Retries): Promise<never> {
    const { key } = this;
    const over = new Deferred<never>();
    const stream: Handler = {
      answered: (_, raw) => this.stream === stream && this.take(raw, over),
      lost: (_, error) => over.reject(error),
    };
    this.stream = stream;
    this.draft = undefined;
    const since = this.state !== undefined && !this.behind ? this.state.revision : 0n;
    this.behind = false;
    const opened = now();
    const request = conn.send(stream, "WATCH", {
      node_id: key.nodeId, name: key.name, since, owners: key.owners, data: key.data,
      generation: this.core.cluster.routing.generation(slotOf(key.nodeId, key.name)),
    });
    try {
      return await this.scope.wait(over);
    } catch (e) {
      if (this.scope.error !== undefined || e instanceof Behind) conn.stopWatch(request);
      if (!(e instanceof Behind)) throw e;
      this.behind = true;
      throw new TransportError(`host ${conn.address}: a change is missing`);
    } finally {
      this.stream = undefined;
      if (now() - opened > REQUESTS.most) retries.reset();
    }
  }

  /** Takes a message of the stream, and returns whether more may follow. */
  private take(raw: RawMessage, over: Deferred<never>): boolean {
    switch (raw[0]) {
      case ANSWER: {
        let error = refusalOf(raw);
        if (error === undefined && fieldsOf("WATCH_ANSWER", raw).object_kind !== 0) {
          error = new SignalboxError("UNSUPPORTED", "the host watches an object of another kind");
        }
        if (error !== undefined) over.reject(error);
        return error === undefined;
      }
      case SNAPSHOT:
        this.page(fieldsOf("WATCH_SNAPSHOT", raw));
        return true;
      case DELTA:
        try {
          if (this.state === undefined) throw new Behind();
          if (this.state.apply(fieldsOf("WATCH_DELTA", raw))) this.show();
        } catch (e) {
          over.reject(e);
          return e instanceof Behind;
        }
        return true;
      case END: {
        const status = uintAt(raw, 2);
        over.reject(status === 0 ? new SignalboxError("UNAVAILABLE", "the watch ended") : errorOf(status, raw[3]));
        return false;
      }
    }
    return true; // WATCH_RESYNC: the view stays as it is until the snapshot
  }

  private page(p: Parameters<typeof ViewState.of>[0]): void {
    if (p.first || this.draft === undefined) this.draft = ViewState.of(p);
    this.draft.join(p.owners);
    if (!p.last) return;
    const draft = this.draft;
    this.draft = undefined;
    draft.revision = p.revision;
    const before = this.state;
    if (before !== undefined) draft.follow(before);
    this.state = draft;
    if (before === undefined || !draft.looksLike(before)) this.show();
  }

  private show(): void {
    this.version++;
    this.news.report();
  }
}

/** One loop over the views of a watch. A slow loop gets the newest view, and not those in between. */
export class Reader {
  private seen = 0;
  private readonly life = new Scope();

  constructor(private readonly watch: SharedWatch, private readonly leave: () => void) {
    watch.readers++;
  }

  /** Waits for a view that differs from the one returned before. */
  async next(caller: Scope): Promise<View> {
    const { watch } = this;
    const scope = new Scope(caller, this.life);
    for (;;) {
      if (watch.version !== this.seen) {
        this.seen = watch.version;
        return watch.view();
      }
      if (watch.error !== undefined) throw watch.error;
      const changed = new Deferred();
      const undo = watch.news.add(watch.news.count, changed);
      try {
        await scope.wait(changed);
      } finally {
        undo();
      }
    }
  }

  close(): void {
    this.life.end(new SignalboxError("CLOSED", "the watch is closed"));
    if (--this.watch.readers > 0) return;
    this.watch.close();
    this.leave();
  }
}
