// A program for tests that end, stop or block it. It prints lines, and does what its arguments say.
import { connect, LeaseLostError } from "../src/index.js";
import { block } from "./hosts.js";

const [what = "", address = "", timeout = "1000", maxBlocked = "5000"] = process.argv.slice(2);
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const client = await connect(address, { thread: what !== "main" });
const session = await client.session("/test", { timeout: Number(timeout), maxBlocked: Number(maxBlocked) });
const lease = await session.lock("child");
lease.signal.addEventListener("abort", () => say(`aborted ${String(lease.signal.reason)}`));
say(`held ${lease.fence}`);

/** Prints what a program sees of the lease in the middle of a computation. */
function look(): void {
  const { aborted } = lease.signal;
  try {
    lease.check();
    say(`looked ${aborted} held`);
  } catch (e) {
    say(`looked ${aborted} ${e instanceof LeaseLostError ? "lost" : String(e)}`);
  }
}

/** Computes for a time, and looks at the lease now and then. */
function compute(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; block(200)) void lease.held;
}

process.stdin.on("data", (line) => {
  const [command, ms = "0"] = String(line).trim().split(" ");
  if (command === "look") look();
  if (command === "exit") process.exit(3);
  if (command === "throw") throw new Error("a defect of the program");
  if (command === "block" || command === "compute") {
    say("blocking");
    if (command === "block") block(Number(ms));
    else compute(Number(ms));
    look();
  }
});
