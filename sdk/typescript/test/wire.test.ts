// The bytes of the protocol: every vector is read and written, and the table of messages is that of the schema.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { Frames } from "../src/protocol/frames.js";
import {
  encodeFrame, encodeValues, fieldsOf, isAnswer, kindOf, readRecord, recordValue, uintAt,
} from "../src/protocol/message.js";
import { MESSAGES, RECORDS, type MessageName } from "../src/protocol/messages.js";
import { Malformed, readMessage, type RawMessage } from "../src/protocol/reader.js";
import { semaphoreSlot } from "../src/protocol/slots.js";
import type { Value } from "../src/protocol/writer.js";
import { PACKAGE, TOP } from "./paths.js";

const VECTORS = join(TOP, "protocol", "testdata", "vectors");

interface Vector {
  kind: MessageName;
  number: number;
  request_id: number;
  fields: Record<string, unknown>;
  frame: string;
}

function load<T>(name: string): T {
  return JSON.parse(readFileSync(join(VECTORS, name), "utf8")) as T;
}

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(" ", ""), "hex");

/** A value as JSON has it, as the type that this client uses. */
function typed(type: string, value: unknown): unknown {
  if (type.startsWith("*")) return (value as unknown[]).map((v) => typed(type.slice(1), v));
  if (type === "u") return Number(value);
  if (type === "U") return BigInt(value as string);
  if (type === "b") return new Uint8Array(hex(value as string));
  if (type === "t" || type === "o") return value;
  return typedFields(RECORDS[type]!, value as Record<string, unknown>);
}

function typedFields(spec: string, fields: Record<string, unknown>): Record<string, unknown> {
  const types = new Map(spec.split(" ").map((f) => f.split(":") as [string, string]));
  return Object.fromEntries(Object.entries(fields).map(([name, v]) => [name, typed(types.get(name)!, v)]));
}

function vectorFields(v: Vector): Record<string, unknown> {
  const spec = MESSAGES.find(([kind]) => kind === v.number)![2];
  return typedFields(isAnswer(v.number) ? `${spec} status:u detail:Detail` : spec, v.fields);
}

/** Writes the frame of a vector. A client writes no answers: theirs are composed here, from records of the client. */
function written(v: Vector): Buffer {
  const fields = vectorFields(v);
  if (!isAnswer(v.number)) return encodeFrame(v.kind, v.request_id, fields);
  const spec = MESSAGES.find(([kind]) => kind === v.number)![2];
  const values = spec === "" ? [] : spec.split(" ").map((f) => value(f, fields));
  const detail = recordValue("Detail", fields["detail"] as object);
  return encodeValues([v.number, v.request_id, fields["status"] as number, detail, ...values]);
}

function value(field: string, fields: Record<string, unknown>): Value {
  const [name, type] = field.split(":") as [string, string];
  const v = fields[name];
  if (v === undefined) return ZEROS[type] ?? [];
  const record = type.replace("*", "");
  if (record in ZEROS) return v as Value;
  return type.startsWith("*") ? (v as object[]).map((r) => recordValue(record, r)) : recordValue(record, v as object);
}

const ZEROS: Record<string, Value> = { u: 0, U: 0n, t: "", b: new Uint8Array(0), o: false };

function read(raw: RawMessage): Record<string, unknown> {
  const name = MESSAGES.find(([kind]) => kind === raw[0])![1];
  const fields: Record<string, unknown> = { ...fieldsOf(name, raw) };
  if (isAnswer(raw[0])) {
    fields["status"] = uintAt(raw, 2);
    fields["detail"] = readRecord("Detail", raw[3]);
  }
  return fields;
}

/** Removes zero values, which a vector may omit. */
function withoutZeros(v: unknown): unknown {
  if (v instanceof Uint8Array) return v.length === 0 ? undefined : v;
  if (Array.isArray(v)) return v.length === 0 ? undefined : v.map((item) => withoutZeros(item) ?? 0);
  if (typeof v !== "object" || v === null) return v ? v : undefined;
  const left = Object.entries(v).map(([k, x]) => [k, withoutZeros(x)] as const).filter(([, x]) => x !== undefined);
  return left.length === 0 ? undefined : Object.fromEntries(left);
}

test("every vector is read and written", () => {
  const names = readdirSync(join(VECTORS, "messages")).sort();
  const seen = new Set<number>();
  for (const name of names) {
    const v = load<Vector>(`messages/${name}`);
    const frame = hex(v.frame);
    const raw = readMessage(frame.subarray(4));
    assert.deepEqual(raw.slice(0, 2), [v.number, v.request_id], name);
    assert.deepEqual(withoutZeros(read(raw)), withoutZeros(vectorFields(v)), name);
    assert.equal(written(v).toString("hex"), frame.toString("hex"), name);
    seen.add(v.number);
  }
  assert.ok(names.length >= 256);
  assert.deepEqual(seen, new Set(MESSAGES.map(([kind]) => kind)), "each kind has a vector and is in the table");
});

test("unusual encodings are read", () => {
  for (const c of load<{ why: string; payload: string; same_as: string }[]>("lenient.json")) {
    const same = load<Vector>(`messages/${c.same_as}.json`);
    const raw = readMessage(hex(c.payload));
    assert.deepEqual(raw.slice(0, 2), [same.number, same.request_id], c.why);
    assert.deepEqual(withoutZeros(read(raw)), withoutZeros(vectorFields(same)), c.why);
  }
});

test("payloads that are no message are refused", () => {
  // Hosts refuse more: kinds that are no requests, the id of pushes, and values above their limits.
  const ofHosts = ["not a request kind", "belongs to pushes", "at most 16", "at most 1800000"];
  let refused = 0;
  for (const c of load<{ error: string; payload: string }[]>("rejected.json")) {
    if (ofHosts.some((text) => c.error.includes(text))) continue;
    refused++;
    assert.throws(() => read(readMessage(hex(c.payload))), Malformed, c.error);
  }
  assert.ok(refused > 10);
});

test("unknown nested values are skipped at any depth", () => {
  const payload = Buffer.concat([hex("930202"), Buffer.alloc(100_000, 0x91), hex("c0")]);
  assert.deepEqual(readMessage(payload).slice(0, 2), [2, 2]);
});

test("slots are those of the vectors", () => {
  for (const c of load<{ node_id: string; name: string; slot: number }[]>("slots.json")) {
    assert.equal(semaphoreSlot(Number(c.node_id), c.name), c.slot, c.name);
  }
});

test("frames are split at any byte", () => {
  const payloads = [hex("920202"), hex("c0".repeat(300)), hex("90")];
  const length = (n: number): Buffer => {
    const b = Buffer.alloc(4);
    b.writeUInt32BE(n);
    return b;
  };
  const stream = Buffer.concat(payloads.flatMap((p) => [length(p.length), p]));
  for (const step of [1, 3, 7, stream.length]) {
    const frames = new Frames(1000);
    const found: string[] = [];
    for (let at = 0; at < stream.length; at += step) {
      frames.add(stream.subarray(at, at + step));
      for (let p = frames.next(); p !== undefined; p = frames.next()) found.push(p.toString("hex"));
    }
    assert.deepEqual(found, payloads.map((p) => p.toString("hex")), `steps of ${step} bytes`);
  }
  for (const bad of [0, 1001]) {
    const frames = new Frames(1000);
    frames.add(length(bad));
    assert.throws(() => frames.next(), Malformed);
  }
});

test("the table of messages is that of the schema", async () => {
  const { table } = (await import(join(PACKAGE, "tools", "messages.js"))) as { table: () => string };
  assert.equal(readFileSync(join(PACKAGE, "src", "protocol", "messages.ts"), "utf8"), table(), "run: npm run messages");
  assert.equal(kindOf("ACQUIRE"), 27);
});
