// A program as the README shows it: locks around jobs, an election and discovery. It reports each critical section to the
// ledger of its parent, and waits for the answer before it goes on.
import { connect, discovery, election, SignalboxError, type Lease, type Session } from "../src/index.js";

/** What a program reports. */
export interface LedgerEntry {
  what: "enter" | "leave" | "lost";
  name: string;
  fence: string;
}

const [addresses = "", number = ""] = process.argv.slice(2);
const stop = new AbortController();
const answers = new Map<number, () => void>();
let last = 0;

process.on("message", (m: "stop" | { id: number }) => {
  if (m === "stop") stop.abort();
  else answers.get(m.id)?.();
});

function report(what: LedgerEntry["what"], name: string, lease: Lease): Promise<void> {
  const id = ++last;
  return new Promise((resolve) => {
    answers.set(id, () => {
      answers.delete(id);
      resolve();
    });
    process.send!({ id, what, name, fence: String(lease.fence) });
  });
}

/** A critical section. The ledger hears of a loss before it can hear of the next owner. */
async function section(name: string, lease: Lease): Promise<void> {
  const lost = (): void => void report("lost", name, lease);
  lease.signal.addEventListener("abort", lost, { once: true });
  await report("enter", name, lease);
  await report(lease.held ? "leave" : "lost", name, lease);
  lease.signal.removeEventListener("abort", lost);
}

async function jobs(session: Session, name: string): Promise<void> {
  while (!stop.signal.aborted) {
    try {
      await using lease = await session.lock(name, { signal: stop.signal });
      await section(name, lease);
    } catch (e) {
      if (!stop.signal.aborted && !(e instanceof SignalboxError)) throw e;
    }
  }
}

const client = await connect(addresses);
const session = await client.session("/demo", { renew: true });
const registration = await discovery.register(session, "workers", `10.0.0.${number}:80`);
const campaign = election.campaign(session, "leader", { signal: stop.signal }, (term) => section("leader", term)).catch((e: unknown) => {
  if (!stop.signal.aborted) throw e;
});
await Promise.all([jobs(session, "a"), jobs(session, "b"), campaign]);
await registration.close();
await client.close();
process.disconnect();
