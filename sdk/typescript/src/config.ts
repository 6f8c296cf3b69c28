// Small pieces of configuration, and programs that see when they change.
//
// A piece of config is the data of a persistent semaphore with the limit 1. It needs no session.
import type { Client } from "./client.js";
import { bytes } from "./data.js";
import { SignalboxError, type ErrorCode } from "./errors.js";
import type { CallOptions } from "./lease.js";
import type { Semaphore } from "./semaphore.js";
import type { Data } from "./types.js";

/** A piece of config at one moment. */
export interface ConfigValue {
  /** An empty value exists too. */
  exists: boolean;
  data: Uint8Array;
  /** Grows with every change. 0 stands for a missing value. */
  revision: bigint;
}

function hasCode(error: unknown, ...codes: ErrorCode[]): boolean {
  return error instanceof SignalboxError && codes.includes(error.code);
}

/** Returns a piece of config. It sees every put that has returned before. Programs that read again and again should watch. */
export async function get(client: Client, path: string, name: string, { signal }: CallOptions = {}): Promise<ConfigValue> {
  try {
    const options = { owners: false, waiters: false, consistency: "strict", signal } as const;
    const d = await client.node(path).describe(name, options);
    return { exists: true, data: d.data, revision: d.revision };
  } catch (e) {
    if (!hasCode(e, "NOT_FOUND")) throw e;
    await client.describeNode(path, { signal }); // a missing piece is no error, a missing node is
    return { exists: false, data: bytes(undefined), revision: 0n };
  }
}

/** Settings of put. */
export interface PutOptions extends CallOptions {
  /** Put only if the config still has this revision, or, with 0, if it does not exist: else PRECONDITION_FAILED. */
  ifRevision?: bigint;
}

/** Stores a piece of config, which is created if it is missing. UNKNOWN_OUTCOME means that it may have been stored. */
export async function put(client: Client, path: string, name: string, data: Data, options: PutOptions = {}): Promise<void> {
  const { ifRevision, signal } = options;
  const node = client.node(path);
  for (;;) {
    if (ifRevision !== 0n) {
      try {
        await node.update(name, data, { ifRevision, signal });
        return;
      } catch (e) {
        if (!hasCode(e, "NOT_FOUND")) throw e;
        if (ifRevision !== undefined) throw new SignalboxError("PRECONDITION_FAILED", `config "${name}" does not exist any more`);
      }
    }
    try {
      await node.create(name, { data, signal });
      return;
    } catch (e) {
      if (!hasCode(e, "ALREADY_EXISTS")) throw e; // else another program has created it in between
      if (ifRevision === 0n) throw new SignalboxError("PRECONDITION_FAILED", `config "${name}" exists`);
    }
  }
}

/** Changes a piece of config to what a function makes of it, and returns that.
 *
 * The function gets what is replaced, or undefined: it is called again if another write came first. While another session
 * owns the semaphore an edit waits. It has a session of its own, so that a write with a lost answer is not made twice. */
export async function edit(
  client: Client, path: string, name: string, change: (old: Uint8Array | undefined) => Data, options: CallOptions = {},
): Promise<Uint8Array> {
  await using session = await client.session(path, { description: "a config edit", signal: options.signal });
  const semaphore = session.semaphore(name, { create: false });
  for (;;) {
    const made = await rewrite(semaphore, change, options);
    if (made !== undefined) return made;
  }
}

/** Replaces the value once, if nothing comes in between. */
async function rewrite(
  semaphore: Semaphore, change: (old: Uint8Array | undefined) => Data, { signal }: CallOptions,
): Promise<Uint8Array | undefined> {
  let d;
  try {
    d = await semaphore.describe({ waiters: false, consistency: "strict", signal });
  } catch (e) {
    if (!hasCode(e, "NOT_FOUND")) throw e;
  }
  if (d !== undefined && d.ownerCount > 0) {
    for await (const view of semaphore.watch({ data: false, signal })) if (view.owners.length === 0) break;
    return undefined;
  }
  const made = bytes(change(d?.data));
  try {
    // The creation itself says whether there still is none.
    if (d === undefined) await semaphore.create({ limit: 1, data: made, signal });
    else await semaphore.update(made, { ifRevision: d.revision, signal });
  } catch (e) {
    if (hasCode(e, "ALREADY_EXISTS", "PRECONDITION_FAILED", "NOT_FOUND")) return undefined;
    throw e;
  }
  return made;
}

/** The values of a piece of config: the current one at once, even if there is none, then the newest after a change. */
export async function* watch(
  client: Client, path: string, name: string, options: CallOptions = {},
): AsyncGenerator<ConfigValue, void> {
  let before: ConfigValue | undefined;
  for await (const view of client.node(path).watch(name, { owners: false, signal: options.signal })) {
    const { exists, data, revision } = view;
    if (before !== undefined && before.exists === exists && Buffer.compare(before.data, data) === 0) continue;
    before = { exists, data, revision };
    yield before;
  }
}
