// xxHash64, which assigns names to slots. 64-bit arithmetic on bigints: a name is hashed once and its slot cached.

/** Number of hash slots. */
export const SLOTS = 4096;

const MASK = 0xffffffffffffffffn;
const P1 = 0x9e3779b185ebca87n;
const P2 = 0xc2b2ae3d27d4eb4fn;
const P3 = 0x165667b19e3779f9n;
const P4 = 0x85ebca77c2b2ae63n;
const P5 = 0x27d4eb2f165667c5n;

const multiply = (a: bigint, b: bigint): bigint => (a * b) & MASK;
const rotate = (x: bigint, n: bigint): bigint => ((x << n) | (x >> (64n - n))) & MASK;
const round = (lane: bigint, word: bigint): bigint => multiply(rotate((lane + word * P2) & MASK, 31n), P1);

/** Returns the xxHash64 of the bytes with seed 0. */
export function xxHash64(data: Buffer): bigint {
  let at = 0;
  let hash: bigint;
  if (data.length >= 32) {
    let [a, b, c, d] = [(P1 + P2) & MASK, P2, 0n, -P1 & MASK];
    for (; at + 32 <= data.length; at += 32) {
      a = round(a, data.readBigUInt64LE(at));
      b = round(b, data.readBigUInt64LE(at + 8));
      c = round(c, data.readBigUInt64LE(at + 16));
      d = round(d, data.readBigUInt64LE(at + 24));
    }
    hash = (rotate(a, 1n) + rotate(b, 7n) + rotate(c, 12n) + rotate(d, 18n)) & MASK;
    for (const lane of [a, b, c, d]) hash = (multiply(hash ^ round(0n, lane), P1) + P4) & MASK;
  } else {
    hash = P5;
  }
  hash = (hash + BigInt(data.length)) & MASK;
  for (; at + 8 <= data.length; at += 8) {
    hash = (multiply(rotate(hash ^ round(0n, data.readBigUInt64LE(at)), 27n), P1) + P4) & MASK;
  }
  if (at + 4 <= data.length) {
    hash = (multiply(rotate(hash ^ multiply(BigInt(data.readUInt32LE(at)), P1), 23n), P2) + P3) & MASK;
    at += 4;
  }
  for (; at < data.length; at++) {
    hash = multiply(rotate(hash ^ multiply(BigInt(data.readUInt8(at)), P5), 11n), P1);
  }
  hash = multiply(hash ^ (hash >> 33n), P2);
  hash = multiply(hash ^ (hash >> 29n), P3);
  return hash ^ (hash >> 32n);
}

/** Returns the slot of a semaphore, or of another object with the name. */
export function semaphoreSlot(nodeId: number, name: string): number {
  const text = Buffer.from(name);
  const key = Buffer.alloc(8 + text.length);
  key.writeBigUInt64LE(BigInt(nodeId));
  text.copy(key, 8);
  return Number(xxHash64(key) % BigInt(SLOTS));
}

/** Returns the slot of a session. */
export function sessionSlot(sessionId: bigint): number {
  return Number(sessionId >> 52n);
}
