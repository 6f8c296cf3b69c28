// Names for the values of messages and records. Writers omit trailing zero fields; readers accept missing fields as
// zero and skip unknown trailing fields, so that versions can mix.
import { isUtf8 } from "node:buffer";
import { MESSAGES, RECORDS, type MessageName, type Messages } from "./messages.js";
import { Malformed, readValue, Skipped, type Raw, type RawMessage } from "./reader.js";
import { Writer, type Value } from "./writer.js";

export { Status } from "./messages.js";

/** 2^64-1: forever as a wait, and the whole semaphore as a count. */
export const FOREVER = 0xffffffffffffffffn;

/** One field of a message or record. */
interface Field {
  readonly name: string;
  readonly many: boolean;
  readonly record: string | undefined;
  readonly read: (raw: Raw) => unknown;
  readonly zero: () => unknown;
}

const NO_BYTES = new Uint8Array(0);
const kinds = new Map<string, number>(MESSAGES.map(([kind, name]) => [name, kind]));
const specs = new Map<number, string>(MESSAGES.map(([kind, , spec]) => [kind, spec]));
const messageFields = new Map<number, Field[]>();
const recordFields = new Map<string, Field[]>();
const writer = new Writer(4);

/** Returns the kind of a message. */
export function kindOf(name: MessageName): number {
  return kinds.get(name)!;
}

/** Reports whether the kind is in the table of this client. */
export function isKnown(kind: number): boolean {
  return specs.has(kind);
}

/** Reports whether the kind is that of an answer. */
export function isAnswer(kind: number): boolean {
  return (kind >= 65 && kind <= 111) || (kind >= 192 && kind <= 255);
}

/** Encodes a message with its length first. Fields that are not given are zero. */
export function encodeFrame<N extends MessageName>(name: N, request: number, fields: Partial<Messages[N]>): Buffer {
  const kind = kindOf(name);
  return encodeValues([kind, request, ...compose(fieldsOfKind(kind), fields)]);
}

/** Encodes an array of values with its length first, without trailing zeros behind kind and request id. */
export function encodeValues(values: Value[]): Buffer {
  writer.put(values.slice(0, Math.max(2, usedOf(values))));
  const frame = writer.take();
  frame.writeUInt32BE(frame.length - 4, 0);
  return frame;
}

/** Composes a record, for an answer that a test writes. */
export function recordValue(name: string, fields: object): Value {
  return trimmed(compose(fieldsOfRecord(name), fields));
}

function compose(spec: Field[], fields: object): Value[] {
  const values = fields as Record<string, unknown>;
  return spec.map((f) => {
    const value = values[f.name];
    if (value === undefined) return f.zero() as Value;
    if (f.record === undefined) return value as Value;
    const inner = fieldsOfRecord(f.record);
    if (f.many) return (value as object[]).map((v) => trimmed(compose(inner, v)));
    return trimmed(compose(inner, value as object));
  });
}

function trimmed(values: Value[]): Value[] {
  return values.slice(0, usedOf(values));
}

/** Number of values without trailing zeros. */
function usedOf(values: Value[]): number {
  let used = values.length;
  while (used > 0 && isZero(values[used - 1]!)) used--;
  return used;
}

function isZero(value: Value): boolean {
  return typeof value === "object" ? value.length === 0 : !value;
}

/** Names the fields of a message that was read raw; of an answer those after status and detail. */
export function fieldsOf<N extends MessageName>(name: N, raw: RawMessage): Messages[N] {
  const kind = kindOf(name);
  if (raw[0] !== kind) throw new Malformed(`kind ${raw[0]} instead of ${name}`);
  return named(fieldsOfKind(kind), raw, isAnswer(kind) ? 4 : 2) as Messages[N];
}

/** Names the fields of a record that was read raw. */
export function readRecord(name: string, raw: Raw | undefined): unknown {
  return named(fieldsOfRecord(name), raw === undefined || raw === null ? [] : list(raw), 0);
}

/** Reads a record that is encoded by itself, as overviews and rows are. */
export function decodeRecord(name: string, data: Buffer): unknown {
  return readRecord(name, data.length === 0 ? [] : readValue(data));
}

/** A uint of a raw message, 0 if it is missing. */
export function uintAt(raw: Raw[], index: number): number {
  const value = raw[index];
  return value === undefined || value === null ? 0 : number(value);
}

/** The session id of a raw message. */
export function bigintAt(raw: Raw[], index: number): bigint {
  const value = raw[index];
  return value === undefined || value === null ? 0n : wide(value);
}

function fieldsOfKind(kind: number): Field[] {
  let fields = messageFields.get(kind);
  if (fields === undefined) messageFields.set(kind, (fields = parse(specs.get(kind) ?? "")));
  return fields;
}

function fieldsOfRecord(name: string): Field[] {
  let fields = recordFields.get(name);
  if (fields === undefined) recordFields.set(name, (fields = parse(RECORDS[name] ?? "")));
  return fields;
}

function parse(spec: string): Field[] {
  return spec === "" ? [] : spec.split(" ").map(field);
}

function field(text: string): Field {
  const [name, type] = text.split(":") as [string, string];
  const many = type.startsWith("*");
  const what = many ? type.slice(1) : type;
  const scalar = SCALARS[what];
  const one = scalar?.read ?? ((raw: Raw) => named(fieldsOfRecord(what), list(raw), 0));
  return {
    name,
    many,
    record: scalar === undefined ? what : undefined,
    read: many ? (raw) => list(raw).map((item) => readOne(one, item, what)) : one,
    zero: many ? () => [] : (scalar?.zero ?? (() => [])),
  };
}

/** Reads an item of a list, in which nil is zero too. */
function readOne(read: (raw: Raw) => unknown, raw: Raw, what: string): unknown {
  if (raw !== null) return read(raw);
  return SCALARS[what]?.zero() ?? read([]);
}

function named(spec: Field[], raw: Raw[], first: number): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (let i = 0; i < spec.length; i++) {
    const f = spec[i]!;
    const value = raw[first + i];
    if (value !== undefined && value !== null) {
      try {
        values[f.name] = f.read(value);
      } catch (e) {
        throw e instanceof Malformed ? new Malformed(`${f.name}: ${e.message}`) : e;
      }
    } else {
      values[f.name] = f.record !== undefined && !f.many ? f.read([]) : f.zero();
    }
  }
  return values;
}

const SCALARS: Record<string, { read: (raw: Raw) => unknown; zero: () => unknown }> = {
  u: { read: number, zero: () => 0 },
  U: { read: wide, zero: () => 0n },
  t: { read: text, zero: () => "" },
  b: { read: bytes, zero: () => NO_BYTES },
  o: { read: bool, zero: () => false },
};

/** A number field. Above 2^53-1 it is read as the nearest number: such a value is larger than anything known. */
function number(raw: Raw): number {
  if (typeof raw === "number" && raw >= 0) return raw;
  return Number(wide(raw));
}

function wide(raw: Raw): bigint {
  if (typeof raw !== "number" && typeof raw !== "bigint") throw new Malformed(`${nameOf(raw)} instead of a uint`);
  if (raw < 0) throw new Malformed(`${raw} is not a uint`);
  return BigInt(raw);
}

function text(raw: Raw): string {
  if (!Buffer.isBuffer(raw)) throw new Malformed(`${nameOf(raw)} instead of text`);
  if (!isUtf8(raw)) throw new Malformed("not UTF-8");
  return raw.toString("utf8");
}

/** Bytes are copied: what was read is a part of a larger buffer. */
function bytes(raw: Raw): Uint8Array {
  if (!Buffer.isBuffer(raw)) throw new Malformed(`${nameOf(raw)} instead of bytes`);
  return raw.length === 0 ? NO_BYTES : new Uint8Array(raw);
}

function bool(raw: Raw): boolean {
  if (typeof raw !== "boolean") throw new Malformed(`${nameOf(raw)} instead of a bool`);
  return raw;
}

function list(raw: Raw): Raw[] {
  if (!Array.isArray(raw)) throw new Malformed(`${nameOf(raw)} instead of an array`);
  return raw;
}

function nameOf(raw: Raw): string {
  if (raw instanceof Skipped) return raw.what;
  if (Array.isArray(raw)) return "an array";
  if (Buffer.isBuffer(raw)) return "a string";
  return typeof raw;
}
