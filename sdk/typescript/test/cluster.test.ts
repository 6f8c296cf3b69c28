// Three hosts that are killed and stopped, and a host with TLS and tokens.
import assert from "node:assert/strict";
import { execFileSync, fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, discovery, SignalboxError, type ErrorCode } from "../src/index.js";
import { freePorts, Hosts, PROGRAM, until } from "./hosts.js";
import type { LedgerEntry } from "./worker.js";

const fails = (code: ErrorCode) => (e: unknown) => e instanceof SignalboxError && e.code === code;

/** Critical sections of programs beside kills of hosts: SECTIONS=10000 makes it long. */
const SECTIONS = Number(process.env["SECTIONS"] ?? 300);

/** A ledger outside of the programs, which notices owners that overlap. Programs wait for its answer. */
class Ledger {
  private readonly highest = new Map<string, bigint>();
  private readonly inside = new Map<string, number>();
  readonly violations: string[] = [];
  sections = 0;

  /** Takes a message of a program: it enters or leaves a critical section, or has noticed that its lease is lost. */
  take(program: number, { what, name, fence }: LedgerEntry): void {
    if (what === "enter") {
      const other = this.inside.get(name);
      if (other !== undefined) this.violations.push(`${name}: program ${program} enters beside ${other}`);
      if (BigInt(fence) <= (this.highest.get(name) ?? 0n)) this.violations.push(`${name}: fence ${fence} is not above those before`);
      this.inside.set(name, program);
      this.highest.set(name, BigInt(fence));
    } else {
      if (this.inside.get(name) === program) this.inside.delete(name);
      if (what === "leave") this.sections++;
    }
  }
}

test(`programs of the README have ${SECTIONS} critical sections beside kills of hosts`, async (t) => {
  const hosts = await Hosts.start(3);
  const ledger = new Ledger();
  const programs: ChildProcess[] = [];
  t.after(async () => {
    for (const p of programs) p.kill("SIGKILL");
    await hosts.stop();
  });
  const client = await connect(hosts.addresses);
  await client.createNode("/demo");
  for (let i = 0; i < 4; i++) {
    const program = fork(join(import.meta.dirname, "worker.js"), [hosts.addresses.join(","), String(i)]);
    program.on("message", (m: LedgerEntry & { id: number }) => {
      ledger.take(i, m);
      if (program.connected) program.send({ id: m.id });
    });
    program.on("exit", (code) => code !== 0 && code !== null && ledger.violations.push(`program ${i} ended with ${code}`));
    programs.push(program);
  }
  for (let i = 0; (i < 3 || ledger.sections < SECTIONS) && ledger.violations.length === 0; i++) {
    const host = hosts.all[i % 3]!;
    const before = ledger.sections;
    await host.kill();
    await sleep(300);
    await host.start();
    await until("the programs go on", () => ledger.sections >= before + 20 || ledger.violations.length > 0, 60_000);
  }
  assert.deepEqual(ledger.violations, []);
  assert.ok((await discovery.endpoints(client, "/demo", "workers")).length === 4);
  for (const p of programs) p.send("stop");
  for (const p of programs) if (p.exitCode === null) await once(p, "exit");
  assert.deepEqual(ledger.violations, []);
  await client.close();
});

test("sessions and watches go on while hosts are killed", async () => {
  const hosts = await Hosts.start(3);
  try {
    await using one = await connect(hosts.addresses);
    await using two = await connect(hosts.addresses[0]!, { thread: false });
    await one.createNode("/test");
    const sessions = [await one.session("/test"), await two.session("/test")];
    let sections = 0;
    let done = false;
    const work = sessions.flatMap((s) => ["a", "b"].map(async (name) => {
      while (!done) {
        const lease = await s.lock(name);
        sections++;
        await lease.release();
      }
    }));
    const seen: boolean[] = [];
    const watching = (async () => {
      for await (const v of two.node("/test").watch("a")) {
        seen.push(v.exists);
        if (done) return;
      }
    })();
    for (const h of hosts.all) {
      const before = sections;
      await h.kill();
      await sleep(500);
      await h.start();
      while (sections < before + 20) await sleep(20);
    }
    done = true;
    await Promise.all(work);
    await sessions[0]!.semaphore("a", {}).create().catch(() => undefined); // another change for the watch
    await watching;
    assert.ok(seen.length > 10);
  } finally {
    await hosts.stop();
  }
});

test("a leader that hangs only delays", async () => {
  const hosts = await Hosts.start(3);
  try {
    await using client = await connect(hosts.addresses);
    await client.createNode("/test");
    await using session = await client.session("/test", { timeout: 20_000 });
    for (const h of hosts.all) {
      h.process!.kill("SIGSTOP");
      for (let i = 0; i < 20; i++) await (await session.lock(`hang-${i}`)).release();
      h.process!.kill("SIGCONT");
      await sleep(200);
    }
    assert.equal(session.error, undefined);
  } finally {
    for (const h of hosts.all) h.process?.kill("SIGCONT");
    await hosts.stop();
  }
});

test("TLS with client certificates, and tokens", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-tls-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const [key, cert, tokens] = ["box.key", "box.pem", "tokens.yaml"].map((n) => join(folder, n)) as [string, string, string];
  execFileSync("openssl", [
    "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1", "-subj", "/CN=box",
    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert,
  ], { stdio: "ignore" });
  const generated = execFileSync(PROGRAM, ["token", "generate", "--name", "t"], { encoding: "utf8" });
  writeFileSync(tokens, `principals:\n${generated.trim().split("\n").at(-1)}\n`);
  const token = generated.split(/\s+/).find((w) => w.length > 20 && !w.includes(":"))!;
  const [port] = await freePorts(1);
  const hosts = await Hosts.start(1, [
    "--tls-listen", `127.0.0.1:${port}`, "--tls-cert", cert, "--tls-key", key, "--tls-client-ca", cert, "--token-file", tokens,
  ]);
  t.after(() => hosts.stop());
  const address = `127.0.0.1:${port}`;
  const pem = { ca: readFileSync(cert, "utf8"), cert: readFileSync(cert, "utf8"), key: readFileSync(key, "utf8") };
  for (const thread of [true, false]) {
    let asked = 0;
    const source = (): Promise<string> => {
      asked++;
      return Promise.resolve(token);
    };
    await using client = await connect(address, { token: source, tls: () => pem, thread });
    await client.createNode("/tls");
    await using session = await client.session("/tls");
    await using lease = await session.lock("a");
    assert.ok(lease.held && asked > 0);
    await assert.rejects(connect(address, { token: "wrong", tls: pem, thread }), fails("UNAUTHENTICATED"));
    await assert.rejects(connect(address, { token, tls: true, timeout: 1500, thread }), fails("UNAVAILABLE"));
    await assert.rejects(connect(address, { token, tls: { ca: pem.ca }, timeout: 1500, thread }), fails("UNAVAILABLE"));
    await assert.rejects(connect(address, { token: () => { throw new Error("no vault"); }, tls: pem, timeout: 1500, thread }), /no vault/);
  }
});
