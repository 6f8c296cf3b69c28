// Writing of the msgpack subset that the protocol uses. Writers use the shortest form of every value.

/** A value of the wire: a uint, a bool, a text, bytes, or an array of values for records and lists. */
export type Value = number | bigint | boolean | string | Uint8Array | readonly Value[];

/** Collects values in one growing buffer. */
export class Writer {
  private buffer = Buffer.allocUnsafe(256);
  private length: number;

  /** Creates a writer that reserves the first bytes, for a frame length. */
  constructor(private readonly reserved: number) {
    this.length = reserved;
  }

  /** Returns the bytes written so far, and starts over with the next value. */
  take(): Buffer {
    const out = Buffer.allocUnsafe(this.length);
    this.buffer.copy(out, 0, 0, this.length);
    this.length = this.reserved;
    return out;
  }

  /** Appends a value. */
  put(value: Value): void {
    switch (typeof value) {
      case "number":
        this.uint(value);
        return;
      case "bigint":
        if (value <= 0xffffffffn) {
          this.uint(Number(value));
          return;
        }
        if (value > 0xffffffffffffffffn) throw new RangeError(`${value} is above 2^64-1`);
        this.reserve(9);
        this.buffer[this.length] = 0xcf;
        this.buffer.writeBigUInt64BE(value, this.length + 1);
        this.length += 9;
        return;
      case "boolean":
        this.byte(value ? 0xc3 : 0xc2);
        return;
      case "string":
        this.text(value);
        return;
      default:
        if (value instanceof Uint8Array) this.bytes(value);
        else this.array(value);
    }
  }

  private uint(value: number): void {
    if (!Number.isInteger(value) || value < 0) throw new RangeError(`${value} is not a uint`);
    if (value < 0x80) this.byte(value);
    else if (value < 0x100) this.head(0xcc, 1, value);
    else if (value < 0x10000) this.head(0xcd, 2, value);
    else if (value < 0x100000000) this.head(0xce, 4, value);
    else this.put(BigInt(value));
  }

  private text(value: string): void {
    const size = Buffer.byteLength(value);
    if (size < 32) this.byte(0xa0 | size);
    else if (size < 0x100) this.head(0xd9, 1, size);
    else if (size < 0x10000) this.head(0xda, 2, size);
    else this.head(0xdb, 4, size);
    this.reserve(size);
    this.buffer.write(value, this.length, "utf8");
    this.length += size;
  }

  private bytes(value: Uint8Array): void {
    if (value.length < 0x100) this.head(0xc4, 1, value.length);
    else if (value.length < 0x10000) this.head(0xc5, 2, value.length);
    else this.head(0xc6, 4, value.length);
    this.reserve(value.length);
    this.buffer.set(value, this.length);
    this.length += value.length;
  }

  private array(items: readonly Value[]): void {
    this.arrayHead(items.length);
    for (const item of items) this.put(item);
  }

  /** Appends the start of an array. */
  arrayHead(size: number): void {
    if (size < 16) this.byte(0x90 | size);
    else if (size < 0x10000) this.head(0xdc, 2, size);
    else this.head(0xdd, 4, size);
  }

  private byte(value: number): void {
    this.reserve(1);
    this.buffer[this.length++] = value;
  }

  private head(code: number, size: 1 | 2 | 4, value: number): void {
    this.reserve(1 + size);
    this.buffer[this.length] = code;
    this.buffer.writeUIntBE(value, this.length + 1, size);
    this.length += 1 + size;
  }

  private reserve(size: number): void {
    if (this.length + size <= this.buffer.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.length + size));
    this.buffer.copy(larger, 0, 0, this.length);
    this.buffer = larger;
  }
}
