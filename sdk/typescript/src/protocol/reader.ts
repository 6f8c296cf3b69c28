// Reading of msgpack. A message is first read raw, as an array of its values; message.ts gives them names.

/** Bytes that are not a message, or a field with a type that it cannot have. */
export class Malformed extends Error {
  override readonly name = "Malformed";
}

/** A value of a type that no known field has: a float, a map, an extension, or something nested too deep. */
export class Skipped {
  constructor(readonly what: string) {}
}

/** A value as it was read. Texts and bytes are both bytes, because readers accept either form. */
export type Raw = number | bigint | boolean | null | Buffer | Skipped | Raw[];

/** Depth up to which nested arrays are read. Deeper ones are skipped. */
const DEEPEST = 32;

/** Reads the message in a payload: kind, request id, and what follows. */
export function readMessage(payload: Buffer): RawMessage {
  const reader = new Reader(payload);
  const value = reader.whole();
  if (!Array.isArray(value)) throw new Malformed("not an array");
  const [kind, request] = value;
  if (value.length < 2) throw new Malformed(`an array of ${value.length} items: kind and request id come first`);
  if (!isUint(kind) || !isUint(request)) throw new Malformed("kind and request id must be uints");
  if (kind > 0xffff) throw new Malformed(`kind ${kind} is above 65535`);
  return value as RawMessage;
}

function isUint(raw: Raw | undefined): raw is number | bigint {
  return (typeof raw === "number" || typeof raw === "bigint") && raw >= 0;
}

/** A message as it was read. */
export type RawMessage = [kind: number, request: number, ...fields: Raw[]];

/** Reads a record that stands by itself. */
export function readValue(data: Buffer): Raw {
  return new Reader(data).whole();
}

class Reader {
  private at = 0;

  constructor(private readonly data: Buffer) {}

  /** Reads a value that fills the data. */
  whole(): Raw {
    const value = this.value(0);
    if (this.at !== this.data.length) throw new Malformed(`${this.data.length - this.at} bytes after the message`);
    return value;
  }

  private value(depth: number): Raw {
    const code = this.uint(1);
    if (code < 0x80) return code;
    if (code < 0x90) return this.skip("a map", 2 * (code & 0x0f));
    if (code < 0xa0) return this.array(code & 0x0f, depth + 1);
    if (code < 0xc0) return this.bytes(code & 0x1f);
    if (code >= 0xe0) return code - 0x100;
    switch (code) {
      case 0xc0: return null;
      case 0xc2: return false;
      case 0xc3: return true;
      case 0xc4: case 0xd9: return this.bytes(this.uint(1));
      case 0xc5: case 0xda: return this.bytes(this.uint(2));
      case 0xc6: case 0xdb: return this.bytes(this.uint(4));
      case 0xcc: return this.uint(1);
      case 0xcd: return this.uint(2);
      case 0xce: return this.uint(4);
      case 0xcf: return narrow(this.data.readBigUInt64BE(this.advance(8)));
      case 0xd0: return this.data.readInt8(this.advance(1));
      case 0xd1: return this.data.readInt16BE(this.advance(2));
      case 0xd2: return this.data.readInt32BE(this.advance(4));
      case 0xd3: return narrow(this.data.readBigInt64BE(this.advance(8)));
      case 0xdc: return this.array(this.uint(2), depth + 1);
      case 0xdd: return this.array(this.uint(4), depth + 1);
      default:
        this.at--;
        return this.skip("a float, a map or an extension", 1);
    }
  }

  private array(size: number, depth: number): Raw {
    if (size > this.data.length - this.at) throw new Malformed(`an array of ${size} items is longer than its frame`);
    if (depth >= DEEPEST) return this.skip("nested too deep", size);
    const items: Raw[] = [];
    for (let i = 0; i < size; i++) items.push(this.value(depth));
    return items;
  }

  private bytes(size: number): Buffer {
    const from = this.advance(size);
    return this.data.subarray(from, from + size);
  }

  private uint(size: number): number {
    return this.data.readUIntBE(this.advance(size), size);
  }

  /** Moves over some bytes, and returns where they start. */
  private advance(size: number): number {
    const from = this.at;
    if (size > this.data.length - from) throw new Malformed("the frame ends in the middle of a value");
    this.at = from + size;
    return from;
  }

  /** Skips values at any depth, without recursion. */
  private skip(what: string, values: number): Skipped {
    while (values > 0) {
      if (values > this.data.length - this.at) throw new Malformed(`${values} values are longer than their frame`);
      values--;
      const code = this.uint(1);
      if (code < 0x80 || code >= 0xe0) continue;
      if (code < 0xa0) values += (code & 0x0f) * (code < 0x90 ? 2 : 1);
      else if (code < 0xc0) this.advance(code & 0x1f);
      else values += this.skipLong(code);
    }
    return new Skipped(what);
  }

  /** Skips a value with a code from 0xc0 to 0xdf, and returns the number of values in it. */
  private skipLong(code: number): number {
    const fixed = FIXED[code];
    if (fixed !== undefined) {
      this.advance(fixed);
      return 0;
    }
    const sized = SIZED[code];
    if (sized !== undefined) {
      const size = this.uint(sized[0]);
      this.advance(size + sized[1]);
      return 0;
    }
    const counted = COUNTED[code];
    if (counted === undefined) throw new Malformed(`msgpack has no code ${code.toString(16)}`);
    return this.uint(counted[0]) * counted[1];
  }
}

/** Bytes after the code of a value with a fixed size. */
const FIXED: Record<number, number> = {
  0xc0: 0, 0xc2: 0, 0xc3: 0, 0xca: 4, 0xcb: 8, 0xcc: 1, 0xcd: 2, 0xce: 4, 0xcf: 8,
  0xd0: 1, 0xd1: 2, 0xd2: 4, 0xd3: 8, 0xd4: 2, 0xd5: 3, 0xd6: 5, 0xd7: 9, 0xd8: 17,
};

/** Bytes of the length after a code, and bytes besides that length. */
const SIZED: Record<number, [number, number]> = {
  0xc4: [1, 0], 0xc5: [2, 0], 0xc6: [4, 0], 0xc7: [1, 1], 0xc8: [2, 1], 0xc9: [4, 1],
  0xd9: [1, 0], 0xda: [2, 0], 0xdb: [4, 0],
};

/** Bytes of the count after a code, and values per counted item. */
const COUNTED: Record<number, [number, number]> = { 0xdc: [2, 1], 0xdd: [4, 1], 0xde: [2, 2], 0xdf: [4, 2] };

/** A number if it can be one exactly, else a bigint. */
function narrow(value: bigint): number | bigint {
  return value <= 9007199254740991n && value >= -9007199254740991n ? Number(value) : value;
}
