// The clock of leases, in milliseconds: it continues while the machine is suspended, which Node's clocks do not.
//
// The suspended time is the difference between the uptime of the machine and the monotonic clock, as far as it grew
// since the start. Both threads of a client count from the same start, so their times can be compared. Only Linux
// reports an uptime that fits: elsewhere the clock stands still while the machine is suspended.
import { uptime } from "node:os";

/** Differences below this are inaccuracies of the uptime, which counts in hundredths of a second. */
const SMALLEST_SUSPENSION = 50;
/** Time for which a look at the uptime is good. */
const FRESH = 1;

const canSuspend = process.platform === "linux";
let start = difference();
let suspended = 0;
let looked = 0;

function monotonic(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
}

function difference(): number {
  return canSuspend ? uptime() * 1e3 - monotonic() : 0;
}

/** Returns the time from which suspensions are counted, for another thread. */
export function startOfClock(): number {
  return start - suspended;
}

/** Counts suspensions from the same time as another thread. */
export function adoptClock(startOfOther: number): void {
  start = startOfOther;
  suspended = 0;
  exactly();
}

/** Returns the current time. */
export function now(): number {
  const time = monotonic();
  return time - looked < FRESH ? time + suspended : exactly();
}

/** Returns the current time after a look at the uptime: a suspension before this call is always noticed. */
export function exactly(): number {
  looked = monotonic();
  const grown = difference() - start;
  if (grown - suspended > SMALLEST_SUSPENSION) suspended = grown;
  return looked + suspended;
}
