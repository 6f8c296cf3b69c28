// Real hosts on loopback, for tests: one process per host.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { TOP } from "./paths.js";

/** The program, which `make typescript` builds. */
export const PROGRAM = process.env["SIGNALBOX"] ?? join(TOP, "bin", "signalbox");

/** Time that a host may take to start on a busy machine. */
const START = 60_000;

/** Returns ports of loopback that are free now. */
export async function freePorts(n: number): Promise<number[]> {
  const servers = Array.from({ length: n }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(servers.map((s) => once(s, "listening")));
  const ports = servers.map((s) => (s.address() as AddressInfo).port);
  await Promise.all(servers.map((s) => once(s.close(), "close")));
  return ports;
}

/** One host: its process, its address, its data. */
export class Host {
  process: ChildProcess | undefined;
  private readonly log: string;
  private starts = 0;

  constructor(
    private readonly folder: string, readonly name: string, readonly address: string, private readonly args: string[],
    private readonly environment: Record<string, string>,
  ) {
    this.log = join(folder, `${name}.log`);
  }

  async start(): Promise<void> {
    const log = openSync(this.log, "a");
    const clean = Object.fromEntries(Object.entries(process.env).filter(([k]) => !k.startsWith("SIGNALBOX_")));
    this.process = spawn(PROGRAM, [
      "serve", "--data-dir", join(this.folder, this.name), "--listen", this.address, "--admin-listen", "off",
      "--http-listen", "off", ...this.args,
    ], { stdio: ["ignore", log, log], env: { ...clean, ...this.environment } });
    this.starts++;
    await this.ready();
  }

  private async ready(): Promise<void> {
    const late = Date.now() + START;
    for (;;) {
      const text = readFileSync(this.log, "utf8");
      if (text.split("signalbox is ready").length > this.starts) return;
      if (this.process?.exitCode !== null || Date.now() > late) throw new Error(`host ${this.name} does not start:\n${text}`);
      await sleep(20);
    }
  }

  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const running = this.process;
    this.process = undefined;
    if (running === undefined || running.exitCode !== null) return;
    running.kill(signal);
    await once(running, "exit");
  }
}

/** A cluster of one host, or of three. */
export class Hosts {
  private constructor(readonly all: Host[], private readonly folder: string) {}

  static async start(n = 1, args: string[] = []): Promise<Hosts> {
    const folder = mkdtempSync(join(tmpdir(), "signalbox-typescript-"));
    const ports = await freePorts(2 * n);
    const names = ["a", "b", "c"].slice(0, n);
    const members = names.map((name, i) => `${name}=127.0.0.1:${ports[n + i]}`).join(",");
    const all = names.map((name, i) => new Host(folder, name, `127.0.0.1:${ports[i]}`, args,
      n > 1 ? { SIGNALBOX_INITIAL_HOSTS: members, SIGNALBOX_NAME: name } : {}));
    const hosts = new Hosts(all, folder);
    try {
      await Promise.all(all.map((h) => h.start()));
    } catch (e) {
      await hosts.stop();
      throw e;
    }
    return hosts;
  }

  get addresses(): string[] {
    return this.all.map((h) => h.address);
  }

  async stop(): Promise<void> {
    await Promise.all(this.all.map((h) => h.kill()));
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Blocks the event loop, as a computation does, but takes no processor time from other tests. */
export function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Waits until a condition holds. */
export async function until(what: string, condition: () => boolean | Promise<boolean>, ms = 20_000): Promise<void> {
  const late = Date.now() + ms;
  while (!(await condition())) {
    if (Date.now() > late) throw new Error(`not within ${ms} ms: ${what}`);
    await sleep(10);
  }
}
