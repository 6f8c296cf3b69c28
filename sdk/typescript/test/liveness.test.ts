// Heartbeats of a busy program, the locks of one that hangs, and what a program sees first after it stood still.
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, suite, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, type Client, type Session } from "../src/index.js";
import { block, Hosts, until } from "./hosts.js";

/** A program that holds the lock "child". */
class Program {
  readonly lines: string[] = [];

  private constructor(readonly process: ChildProcess) {
    createInterface({ input: process.stdout! }).on("line", (line) => this.lines.push(line));
  }

  static async start(t: TestContext, what: string, address: string, timeout: number, maxBlocked = 5 * timeout): Promise<Program> {
    const program = new Program(spawn(process.execPath, [
      join(import.meta.dirname, "child.js"), what, address, String(timeout), String(maxBlocked),
    ], { stdio: ["pipe", "pipe", "inherit"] }));
    t.after(() => program.process.kill("SIGKILL"));
    await program.says("held");
    return program;
  }

  tell(line: string): void {
    this.process.stdin!.write(`${line}\n`);
  }

  async says(start: string): Promise<string> {
    await until(`the program says "${start}"`, () => this.lines.some((l) => l.startsWith(start)), 30_000);
    return this.lines.find((l) => l.startsWith(start))!;
  }
}

suite("liveness", { concurrency: 4 }, () => {
  let hosts: Hosts;
  let client: Client;
  let s: Session;

  before(async () => {
    hosts = await Hosts.start();
    client = await connect(hosts.addresses);
    await client.createNode("/test");
    s = await client.session("/test");
  });
  after(async () => {
    await client.close();
    await hosts.stop();
  });

  /** Runs a test with a cluster of its own: all programs use one name. */
  const alone = async (work: (address: string, session: Session) => Promise<void>): Promise<void> => {
    const own = await Hosts.start();
    const c = await connect(own.addresses);
    try {
      await c.createNode("/test");
      await work(own.addresses[0]!, await c.session("/test"));
    } finally {
      await c.close();
      await own.stop();
    }
  };

  test("a busy event loop keeps its locks", (t) => alone(async (address, session) => {
    const program = await Program.start(t, "thread", address, 1000, 20_000);
    program.tell("block 4000");
    await program.says("blocking");
    await sleep(3000);
    assert.equal(await session.tryLock("child"), undefined);
    assert.equal(await program.says("looked"), "looked false held");
  }));

  test("a computation that looks at its lease does not count as hanging", (t) => alone(async (address) => {
    const program = await Program.start(t, "thread", address, 1000, 1000);
    program.tell("compute 5000");
    assert.equal(await program.says("looked"), "looked false held");
  }));

  test("a hung program loses its locks", (t) => alone(async (address, session) => {
    const program = await Program.start(t, "thread", address, 1000, 1500);
    program.tell("block 15000");
    await program.says("blocking");
    const began = performance.now();
    const lease = await session.lock("child");
    const took = performance.now() - began;
    // After maxBlocked the lease is no longer extended, and its session ends within its timeout, of which a third may
    // have been extended just before. Hosts add a little, and a busy machine much.
    assert.ok(took > 1500 && took < 9000, `${took} ms`);
    assert.equal(await program.says("looked"), "looked true lost");
    assert.match(await program.says("aborted"), /maxBlocked/);
    await lease.release();
  }));

  test("a client without a thread loses its locks while it is blocked", (t) => alone(async (address, session) => {
    const program = await Program.start(t, "main", address, 1000);
    program.tell("block 3000");
    await (await session.lock("child")).release();
    assert.equal(await program.says("looked"), "looked true lost");
  }));

  test("the first thing that a stopped program sees is the loss", (t) => alone(async (address, session) => {
    const program = await Program.start(t, "thread", address, 1000);
    program.process.kill("SIGSTOP");
    const lease = await session.lock("child");
    program.tell("look");
    program.process.kill("SIGCONT");
    assert.equal(await program.says("looked"), "looked true lost");
    await program.says("aborted");
    await lease.release();
  }));

  for (const how of ["exit", "throw"]) {
    test(`the locks of a program that ends by ${how} are free at once`, (t) => alone(async (address, session) => {
      const program = await Program.start(t, "thread", address, 60_000);
      const ended = once(program.process, "exit");
      program.tell(how);
      await ended;
      await (await session.lock("child", { wait: 5000 })).release();
    }));
  }

  test("a loss that arrives together with the grant is seen", async () => {
    const other = await connect(hosts.addresses);
    await s.semaphore("together").create();
    const acquiring = s.semaphore("together").acquire();
    await Promise.resolve(); // the call leaves, and no message arrives
    block(1000);
    const deleting = other.node("/test").delete("together", { force: true });
    await Promise.resolve();
    block(1000);
    assert.equal(s.state, "attached"); // delivers the grant and the loss, one after the other
    await assert.rejects(acquiring, { code: "ABORTED" });
    await deleting;
    await other.close();
  });

  test("the locks of a killed program are free after its timeout", async (t) => {
    const program = await Program.start(t, "thread", hosts.addresses[0]!, 1000);
    program.process.kill("SIGKILL");
    await (await s.lock("child", { wait: 20_000 })).release();
  });
});
