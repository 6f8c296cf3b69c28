// Splits the byte stream of a connection into frames: four bytes of length, and the payload.
import { Malformed } from "./reader.js";

/** Collects received bytes and returns whole payloads. */
export class Frames {
  private chunks: Buffer[] = [];
  private size = 0;
  /** Longest payload that is accepted. */
  limit: number;

  constructor(limit: number) {
    this.limit = limit;
  }

  /** Adds received bytes. */
  add(chunk: Buffer): void {
    this.chunks.push(chunk);
    this.size += chunk.length;
  }

  /** Returns the next whole payload, or undefined if there is none yet. The length is checked as soon as it is known. */
  next(): Buffer | undefined {
    if (this.size < 4) return undefined;
    if (this.chunks[0]!.length < 4) this.join();
    const length = this.chunks[0]!.readUInt32BE(0);
    if (length === 0 || length > this.limit) throw new Malformed(`a frame of ${length} bytes`);
    if (this.size < 4 + length) return undefined;
    if (this.chunks[0]!.length < 4 + length) this.join();
    const first = this.chunks[0]!;
    const payload = first.subarray(4, 4 + length);
    this.size -= 4 + length;
    if (first.length === 4 + length) this.chunks.shift();
    else this.chunks[0] = first.subarray(4 + length);
    return payload;
  }

  private join(): void {
    this.chunks = [Buffer.concat(this.chunks, this.size)];
  }
}
