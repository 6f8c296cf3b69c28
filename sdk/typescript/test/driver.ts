// The driver of this client for `signalbox conformance` and for chaos runs: it reads commands from its standard input, as
// lines of JSON, and writes what comes of them to its standard output.
//
// With --main the client runs on the program's thread, where a program can block it.
import { createInterface } from "node:readline";
import {
  AbortedError, connect, LeaseLostError, NotAcquiredError, SessionLostError, SignalboxError, text,
  type Client, type Lease, type Owner, type Semaphore, type SemaphoreInfo, type Session, type SessionState, type Watch,
} from "../src/index.js";
import { block } from "./hosts.js";

const onMain = process.argv.includes("--main");
const CAN = ["node", "describe", "watch", "changed", "change", "update", "ephemeral", "renew", "list", "history"];

type Fields = Record<string, unknown>;

/** A command: all arguments are optional, and numbers may be texts. */
interface Command {
  id: string;
  do: string;
  addresses: string[];
  routes?: Record<string, string>;
  token?: string;
  path: string;
  name: string;
  session: string;
  lease: string;
  watch: string;
  call: string;
  data?: string;
  count?: number | string;
  limit?: number | string;
  wait_ms?: number | string;
  timeout_ms?: number | string;
  revision?: number | string;
  ms?: number;
  renew?: boolean;
  ephemeral?: boolean;
  strict?: boolean;
  force?: boolean;
}

/** Writes a line. Numbers that JSON cannot hold in all languages are texts. */
function say(line: Fields): void {
  process.stdout.write(`${JSON.stringify(line, (_, v: unknown) => (typeof v === "bigint" ? String(v) : v))}\n`);
}

/** What an error is, in a word of the drivers. */
function word(error: unknown): string {
  if (error instanceof LeaseLostError && error.cause !== undefined) error = error.cause;
  if (error instanceof DOMException) return "CANCELLED";
  if (error instanceof NotAcquiredError) return "NOT_ACQUIRED";
  if (error instanceof SessionLostError) return error.reason === "closed" ? "SESSION_CLOSED" : "SESSION_EXPIRED";
  if (error instanceof AbortedError) {
    return ["unknown", "node_dropped"].includes(error.reason) ? "ABORTED" : error.reason.toUpperCase();
  }
  if (!(error instanceof SignalboxError)) return "FAILED";
  return WORDS[error.code] ?? error.code;
}

const WORDS: Partial<Record<string, string>> = {
  BAD_SESSION: "SESSION_EXPIRED", NOT_HELD: "RELEASED", UNAUTHENTICATED: "UNAUTHORIZED", UNKNOWN_STATUS: "FAILED",
};

const states: Record<SessionState, string> = {
  attached: "attached", detached: "detached", renewing: "ended", ended: "ended",
};

/** Why a session has ended. */
function ending(error: Error | undefined): Fields {
  if (!(error instanceof SessionLostError)) return {};
  return { why: word(error), end: error.reason === "blocked" ? "silence" : error.reason };
}

function owners(list: Owner[]): Fields[] {
  return list.map((o) => ({ order_id: o.orderId, session_id: o.sessionId, count: o.count, data: text(o.data) }));
}

function described(d: SemaphoreInfo): Fields {
  return {
    limit: d.limit, count: d.count, revision: d.revision, data: text(d.data),
    owners: owners(d.owners), waiters: owners(d.waiters),
  };
}

/** A client, and what was made with it, by the ids of the commands. */
class Driver {
  private client: Promise<Client> | undefined;
  private readonly sessions = new Map<string, Promise<Session>>();
  private readonly leases = new Map<string, Lease>();
  private readonly watched = new WeakSet<AbortSignal>();
  private readonly calls = new Map<string, AbortController>();
  private readonly watches = new Map<string, Watch>();

  /** Executes a command and replies. */
  async run(c: Command): Promise<void> {
    const cancel = new AbortController();
    this.calls.set(c.id, cancel);
    try {
      const act = this.acts[c.do];
      if (act === undefined) say({ id: c.id, error: "UNSUPPORTED", message: c.do });
      else say({ id: c.id, ok: true, ...((await act(c, cancel.signal)) ?? {}) });
    } catch (e) {
      say({ id: c.id, error: word(e), message: String(e) });
    } finally {
      this.calls.delete(c.id);
    }
  }

  private connected(): Promise<Client> {
    if (this.client === undefined) throw new SignalboxError("CLOSED", "connect comes first");
    return this.client;
  }

  private async semaphore(c: Command): Promise<Semaphore> {
    const session = await this.session(c);
    return c.ephemeral === true ? session.ephemeral(c.name) : session.semaphore(c.name, { create: false });
  }

  private session(c: Command): Promise<Session> {
    return this.sessions.get(c.session) ?? Promise.reject(new Error(`no session ${c.session}`));
  }

  private lease(c: Command): Lease {
    const lease = this.leases.get(c.lease);
    if (lease === undefined) throw new Error(`no lease ${c.lease}`);
    return lease;
  }

  private readonly acts: Record<string, ((c: Command, signal: AbortSignal) => Promise<Fields | undefined | void>) | undefined> = {
    connect: async (c) => {
      this.client = connect(c.addresses, {
        ...(c.token !== undefined && { token: c.token }), addressMap: c.routes ?? {}, thread: !onMain,
      });
      await this.client;
    },
    session: async (c, signal) => {
      const onState = (state: SessionState, error?: Error): void => {
        say({ event: "state", session: c.id, state: states[state], ...(states[state] === "ended" && ending(error)) });
      };
      const opening = this.connected().then((client) => client.session(c.path, {
        timeout: Number(c.timeout_ms ?? 0), renew: c.renew === true, onState, signal,
      }));
      this.sessions.set(c.id, opening);
      opening.catch(() => undefined);
      return { session_id: (await opening).id };
    },
    close: async (c) => (await this.session(c)).close(),
    acquire: async (c, signal) => {
      const semaphore = await this.semaphore(c);
      const lease = await semaphore.acquire({
        count: BigInt(c.count ?? 1), signal, data: c.data ?? "",
        ...(c.wait_ms !== undefined && { wait: Number(c.wait_ms) }),
        onQueued: (order) => say({ event: "queued", call: c.id, order_id: order }),
      });
      this.leases.set(c.id, lease);
      this.follow(c.id, lease);
      return { fence: lease.fence, count: lease.count };
    },
    change: async (c, signal) => {
      const lease = this.lease(c);
      await lease.change({ count: BigInt(c.count ?? 0), signal });
      return { count: lease.count };
    },
    release: async (c, signal) => {
      if (c.lease === undefined) return { released: await (await this.semaphore(c)).release({ signal }) };
      await this.lease(c).release({ signal });
    },
    lease: (c) => {
      try {
        this.lease(c).check();
      } catch (e) {
        if (!(e instanceof SignalboxError)) throw e;
        return Promise.resolve({ held: false, why: word(e) });
      }
      return Promise.resolve({ held: true });
    },
    state: async (c) => ({ state: states[(await this.session(c)).state] }),
    create: async (c, signal) => {
      const options = { limit: BigInt(c.limit ?? 0), data: c.data ?? "", signal };
      if (c.session !== undefined) await (await this.semaphore(c)).create(options);
      else await (await this.connected()).node(c.path).create(c.name, options);
    },
    update: async (c, signal) => {
      const data = c.data ?? "";
      if (c.lease !== undefined) await this.lease(c).update(data, { signal });
      else if (c.session !== undefined) await (await this.semaphore(c)).update(data, { ifRevision: BigInt(c.revision ?? 0), signal });
      else await (await this.connected()).node(c.path).update(c.name, data, { signal });
    },
    delete: async (c, signal) => {
      const options = { force: c.force === true, signal };
      if (c.session !== undefined) await (await this.semaphore(c)).delete(options);
      else await (await this.connected()).node(c.path).delete(c.name, options);
    },
    node: async (c, signal) => ({ existed: (await (await this.connected()).createNode(c.path, {}, { signal })).existed }),
    drop: async (c, signal) => (await this.connected()).dropNode(c.path, { signal }),
    list: async (c, signal) => {
      const names: string[] = [];
      for await (const s of (await this.connected()).node(c.path).semaphores({ signal })) names.push(s.name);
      return { names };
    },
    describe: async (c, signal) => {
      const options = { consistency: c.strict === true ? "strict" : "default", signal } as const;
      if (c.session !== undefined) return described(await (await this.semaphore(c)).describe(options));
      return described(await (await this.connected()).node(c.path).describe(c.name, options));
    },
    changed: async (c, signal) => {
      const consistency = c.strict === true ? "strict" : "default";
      const { info, changed } = await (await this.semaphore(c)).describeAndWatch({ waiters: true, consistency, signal });
      void changed.then((x) => say({ event: "changed", watch: c.id, data: x.data, owners: x.owners }));
      return described(info);
    },
    watch: async (c) => {
      const watch = (await this.connected()).node(c.path).watch(c.name);
      this.watches.set(c.id, watch);
      void this.views(c.id, watch);
    },
    unwatch: (c) => {
      this.watches.get(c.watch)?.close();
      return Promise.resolve();
    },
    cancel: (c) => {
      this.calls.get(c.call)?.abort();
      return Promise.resolve();
    },
    block: (c) => {
      block(Number(c.ms));
      return Promise.resolve();
    },
    stop: async () => this.stop(),
  };

  /** Reports the loss of a lease, once. */
  private follow(id: string, lease: Lease): void {
    const { signal } = lease;
    if (this.watched.has(signal)) return;
    this.watched.add(signal);
    signal.addEventListener("abort", () => say({ event: "lost", lease: id, why: word(signal.reason) }));
  }

  private async views(id: string, watch: Watch): Promise<void> {
    try {
      for await (const v of watch) {
        say({
          event: "view", watch: id, exists: v.exists, revision: v.revision, limit: v.limit, data: text(v.data),
          owners: owners(v.owners),
        });
      }
    } catch (e) {
      say({ event: "watch_end", watch: id, why: word(e) });
    }
  }

  async stop(): Promise<void> {
    const client = await this.client?.catch(() => undefined);
    await client?.close();
  }
}

const driver = new Driver();
say({ driver: onMain ? "typescript-main" : "typescript", version: "1.0", can: onMain ? [...CAN, "block"] : CAN });
for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line) as Command;
  const done = driver.run(command);
  if (command.do === "stop") {
    await done;
    process.exit(0);
  }
}
await driver.stop();
process.exit(0);
