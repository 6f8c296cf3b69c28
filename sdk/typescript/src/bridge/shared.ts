// Memory that both threads of a client see: deadlines of sessions, and the progress of the program's thread.
//
// A message would wait until the program's event loop runs. Shared memory lets `lease.check()` read the current deadline
// in the middle of a long computation, and lets the engine see that the program's event loop does not run.

/** Largest number of sessions of a client. */
const MOST_SESSIONS = 1 << 20;
const FIRST_SLOTS = 64;
/** Positions of the progress and of the engine's end. Deadlines follow. */
const PROGRESS = 0;
const CLOSED = 1;
const FIRST_DEADLINE = 2;
/** Time after which the place of an ended session is used again. By then its end was reported. */
const RETIREMENT = 5000;
/** Microseconds in a unit of time of this package. */
const SCALE = 1000;

/** Deadlines by slot, and the time of the latest progress. All times are those of clock.ts. */
export class SharedState {
  private readonly values: BigInt64Array<SharedArrayBuffer>;
  private free: number[] = [];
  private next = FIRST_DEADLINE;

  /** Opens the memory of another thread, or creates one. */
  constructor(readonly buffer = new SharedArrayBuffer(8 * FIRST_SLOTS, { maxByteLength: 8 * MOST_SESSIONS })) {
    this.values = new BigInt64Array(buffer);
  }

  /** Returns an unused slot. Only the engine calls this. */
  take(): number {
    const slot = this.free.pop() ?? this.next++;
    if (8 * (slot + 1) > this.buffer.byteLength) this.buffer.grow(Math.min(2 * this.buffer.byteLength, 8 * MOST_SESSIONS));
    return slot;
  }

  /** Returns a slot whose session is over: its deadline has passed for both threads. */
  retire(slot: number): void {
    this.write(slot, 0);
    setTimeout(() => this.free.push(slot), RETIREMENT).unref();
  }

  /** Reports that the engine has ended its sessions. */
  close(): void {
    Atomics.store(this.values, CLOSED, 1n);
    Atomics.notify(this.values, CLOSED);
  }

  /** Blocks the thread until the engine has ended its sessions, at most for a time. */
  awaitClose(ms: number): void {
    Atomics.wait(this.values, CLOSED, 0n, ms);
  }

  /** Time until which a session can be relied on. */
  deadline(slot: number): number {
    return this.read(slot);
  }

  setDeadline(slot: number, time: number): void {
    this.write(slot, Math.min(time, Number.MAX_SAFE_INTEGER / SCALE));
  }

  /** Time at which the program's event loop ran last. */
  get progress(): number {
    return this.read(PROGRESS);
  }

  set progress(time: number) {
    this.write(PROGRESS, time);
  }

  private read(index: number): number {
    return Number(Atomics.load(this.values, index)) / SCALE;
  }

  private write(index: number, time: number): void {
    Atomics.store(this.values, index, BigInt(Math.floor(time * SCALE)));
  }
}
