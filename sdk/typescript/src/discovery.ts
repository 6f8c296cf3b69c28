// Service discovery: programs register an address, and others watch the list.
//
// A list is a persistent semaphore without a limit. Every registered session owns a part of it, and the owner's data is
// the endpoint: the address alone, or JSON with address and metadata.
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "./client.js";
import { text } from "./data.js";
import { Backoff } from "./engine/retry.js";
import { SignalboxError } from "./errors.js";
import type { CallOptions, Lease } from "./lease.js";
import { FOREVER } from "./protocol/message.js";
import type { Session } from "./session.js";
import type { Owner } from "./types.js";

/** Pauses between tries to publish again. */
const REPUBLISH = new Backoff(50, 5000);

/** Where a service can be reached. */
export interface Endpoint {
  address: string;
  /** What callers may want to know before they call: a zone, a weight, a version. */
  metadata: Record<string, string>;
  /** Identifies the registration, also among those with the same address. */
  orderId: bigint;
  sessionId: bigint;
}

/** An endpoint that is published until `close` or the end of its session. */
export class Registration implements AsyncDisposable {
  private lease: Lease | undefined;
  private readonly closing = new AbortController();
  private kept: Promise<void> = Promise.resolve();
  /** Why the endpoint is not published at the moment. */
  error: Error | undefined;

  /** @internal */
  constructor(private readonly session: Session, readonly name: string, private data: string) {}

  /** Order id under which the endpoint was published last. */
  get fence(): bigint {
    return this.lease?.fence ?? 0n;
  }

  /** Aborts when the registration is over because its session has ended for good. With a renewed session the endpoint is
   * published again by itself, under another order id. */
  get signal(): AbortSignal {
    return this.session.signal;
  }

  /** @internal */
  async open(options: CallOptions): Promise<this> {
    await this.publish(options.signal);
    this.kept = this.keep().catch(() => undefined);
    return this;
  }

  private async publish(signal: AbortSignal | undefined): Promise<void> {
    const lease = await this.session.semaphore(this.name, { limit: FOREVER }).tryAcquire({ data: this.data, signal });
    if (lease === undefined) {
      const text = `semaphore "${this.name}" has a limit, which is reached: a list of endpoints needs one without`;
      throw new SignalboxError("PRECONDITION_FAILED", text);
    }
    this.lease = lease;
    this.error = undefined;
  }

  /** Publishes the endpoint again whenever it is lost. */
  private async keep(): Promise<void> {
    const { signal } = this.closing;
    for (let failures = 0; !signal.aborted; ) {
      try {
        if (failures === 0) this.error = await lossOf(this.lease!, signal);
        await this.publish(signal);
        failures = 0;
      } catch (e) {
        signal.throwIfAborted();
        this.error = e as Error;
        if (this.session.error !== undefined) return;
        await sleep(REPUBLISH.pause(failures++), undefined, { signal });
      }
    }
  }

  /** Publishes another endpoint in place of the current one, under the same order id. */
  async update(address: string, metadata: Record<string, string> = {}, options: CallOptions = {}): Promise<void> {
    const before = this.data;
    this.data = encode(address, metadata);
    try {
      await this.publish(options.signal);
    } catch (e) {
      this.data = before;
      throw e;
    }
  }

  /** Withdraws the endpoint. If no host can be reached, it disappears with the session at the latest. */
  async close(): Promise<void> {
    this.closing.abort();
    await this.kept;
    if (this.lease?.held === true) await this.lease.release({ signal: AbortSignal.timeout(1000) }).catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** Waits for the loss of a lease, and returns its reason. */
function lossOf(lease: Lease, closing: AbortSignal): Promise<Error> {
  const { signal } = lease;
  const either = AbortSignal.any([signal, closing]);
  return new Promise((resolve, reject) => {
    const end = (): void => (signal.aborted ? resolve(signal.reason as Error) : reject(closing.reason as Error));
    if (either.aborted) end();
    else either.addEventListener("abort", end, { once: true });
  });
}

/** Publishes an endpoint. It stays until `close`, or until the session ends for good. */
export function register(
  session: Session, name: string, address: string, metadata: Record<string, string> = {}, options: CallOptions = {},
): Promise<Registration> {
  return new Registration(session, name, encode(address, metadata)).open(options);
}

/** The endpoints: at once, even if there is none, and then after each change, in the order of their order ids. */
export async function* watch(
  client: Client, path: string, name: string, options: CallOptions = {},
): AsyncGenerator<Endpoint[], void> {
  let before: string | undefined;
  for await (const view of client.node(path).watch(name, { data: false, signal: options.signal })) {
    const found = endpointsOf(view.owners);
    const key = JSON.stringify(found.map((e) => [e.address, e.metadata, String(e.orderId)]));
    if (key === before) continue;
    before = key;
    yield found;
  }
}

/** The endpoints now. It sees every registration that has returned before. Programs that ask again and again should watch. */
export async function endpoints(client: Client, path: string, name: string, { signal }: CallOptions = {}): Promise<Endpoint[]> {
  try {
    const d = await client.node(path).describe(name, { waiters: false, consistency: "strict", signal });
    return endpointsOf(d.owners);
  } catch (e) {
    if (!(e instanceof SignalboxError) || e.code !== "NOT_FOUND") throw e;
    await client.describeNode(path, { signal }); // a name that was never used is an empty list
    return [];
  }
}

function encode(address: string, metadata: Record<string, string>): string {
  if (address === "" || address.startsWith("{")) {
    throw new SignalboxError("BAD_REQUEST", `address "${address}": it must not be empty or start with a brace`);
  }
  return Object.keys(metadata).length === 0 ? address : JSON.stringify({ address, metadata });
}

function endpointsOf(owners: Owner[]): Endpoint[] {
  return owners.map(decode).filter((e) => e !== undefined);
}

/** What an owner has published; undefined if it is no endpoint. */
function decode(o: Owner): Endpoint | undefined {
  const data = text(o.data);
  const ids = { orderId: o.orderId, sessionId: o.sessionId };
  if (!data.startsWith("{")) return data === "" ? undefined : { address: data, metadata: {}, ...ids };
  try {
    const found = JSON.parse(data) as { address?: unknown; metadata?: Record<string, unknown> };
    if (typeof found.address !== "string") return undefined;
    const metadata = Object.fromEntries(Object.entries(found.metadata ?? {}).map(([k, v]) => [k, String(v)]));
    return { address: found.address, metadata, ...ids };
  } catch {
    return undefined;
  }
}
