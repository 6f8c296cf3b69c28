// The package as others get it: packed, installed where nothing else is, loaded, and the programs of its pages.
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before, suite, test } from "node:test";
import { promisify } from "node:util";
import { connect } from "../src/index.js";
import { Hosts, PROGRAM } from "./hosts.js";
import { PACKAGE, TOP } from "./paths.js";

const PAGES = [join(TOP, "docs", "typescript.md"), join(PACKAGE, "README.md")];

/** What runs a program that is a function, with a client `c` and a session `s` of the node /demo, and what it prints. */
const CALLS: Record<string, { run: string; prints: RegExp }> = {
  lock: { run: "await nightly(s)", prints: /^mine, with fence \d+n$/ },
  semaphore: { run: "await slots(s)", prints: /^3n 3?2n host=worker-1.internal:8080 \[ 'worker-1' \]$/ },
  limiter: { run: "await exportAll(c, ['a', 'b'])", prints: /^[ab] \d+n\n[ab] \d+n$/ },
  election: {
    run: "await Promise.allSettled([replica(s, AbortSignal.timeout(1500)), follow(c, AbortSignal.timeout(1000))])",
    prints: /^(?=[^]*I lead, with fence \d+n)(?=[^]*10.0.0.7:8080)/,
  },
  discovery: { run: "await serve(s, c)", prints: /^\[ \[ '10.0.0.7:8080', 'a' \] \] undefined$/ },
  config: { run: "await settings(c)", prints: /^\{"workers":9\}$/ },
  watch: { run: "await s.semaphore('workers').create(); await look(c, s)", prints: /^true {2}0\ntrue$/ },
  errors: { run: "console.log(await limitOf(c, 'missing'))", prints: /^undefined$/ },
  cancellation: { run: "await using x = await c.session('/demo'); await x.lock('busy'); await withinASecond(s)", prints: /^TimeoutError$/ },
};

/** Programs that run by themselves, and what they print. */
const PROGRAMS: Record<string, RegExp> = {
  start: /^mine, with fence \d+n$/, job: /^mine, with fence \d+n$/, leader: /^I lead, with fence \d+n$/,
  services: /^api \[ '10.0.0.7:8080' \]$/,
};

function blocks(): Map<string, string> {
  const found = new Map<string, string>();
  for (const page of PAGES) {
    for (const [, name, text] of readFileSync(page, "utf8").matchAll(/^```ts ?(\w*)\n([^]*?)^```/gm)) {
      assert.ok(name !== "" && !found.has(name!), `${page}: each program has a name of its own`);
      found.set(name!, text!);
    }
  }
  return found;
}

/** Copies the sources of the package, all with another time of change, and packs the copy. */
function pack(folder: string, name: string, time: number): { file: string; bytes: Buffer } {
  const copy = join(folder, name, "sdk", "typescript");
  mkdirSync(copy, { recursive: true });
  for (const item of ["src", "package.json", "package-lock.json", "tsconfig.json", "tsconfig.build.json", "README.md"]) {
    cpSync(join(PACKAGE, item), join(copy, item), { recursive: true });
    utimesSync(join(copy, item), time, time);
  }
  cpSync(join(TOP, "LICENSE"), join(folder, name, "LICENSE"));
  symlinkSync(join(PACKAGE, "node_modules"), join(copy, "node_modules"));
  const file = execFileSync("npm", ["pack", "--silent"], { cwd: copy, encoding: "utf8" }).trim().split("\n").at(-1)!;
  return { file: join(copy, file), bytes: readFileSync(join(copy, file)) };
}

suite("package", () => {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-package-"));
  const place = join(folder, "program");
  let hosts: Hosts;
  let packed: { file: string; bytes: Buffer };

  before(async () => {
    packed = pack(folder, "one", 1e9);
    mkdirSync(place);
    writeFileSync(join(place, "package.json"), '{"type": "module", "private": true}');
    execFileSync("npm", ["install", "--offline", "--no-audit", "--no-fund", "--silent", packed.file], { cwd: place });
    hosts = await Hosts.start();
  });
  after(async () => {
    await hosts.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const node = async (...args: string[]): Promise<string> => {
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: place, encoding: "utf8" });
    return stdout.trim();
  };

  test("npm pack gives the same bytes twice", () => {
    const again = pack(folder, "two", 1.1e9);
    assert.equal(basename(again.file), basename(packed.file));
    assert.ok(packed.bytes.equals(again.bytes));
    const files = execFileSync("tar", ["-tzf", packed.file], { encoding: "utf8" }).split("\n");
    for (const name of ["dist/index.js", "dist/index.d.ts", "dist/engine/worker.js", "README.md", "LICENSE"]) {
      assert.ok(files.includes(`package/${name}`), name);
    }
    assert.ok(!files.some((f) => /test|build|\.tsbuildinfo/.test(f)), files.join(" "));
    const manifest = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8")) as Record<string, unknown>;
    assert.equal(manifest["dependencies"], undefined);
  });

  test("it is loaded by import and by require, alone", async () => {
    assert.deepEqual(readdirSync(join(place, "node_modules")).filter((n) => !n.startsWith(".")), ["@signalbox"]);
    assert.equal(await node("-e", "import('@signalbox/client').then((m) => console.log(typeof m.connect))"), "function");
    writeFileSync(join(place, "old.cjs"), "console.log(typeof require('@signalbox/client').election.campaign)");
    assert.equal(await node("--no-warnings", "old.cjs"), "function");
  });

  // The compiler of the package is the same for all versions of Node, so one of them runs the pages.
  if (Number(process.versions.node.split(".")[0]) >= 24) return;

  test("programs of the pages are typed, and run", async () => {
    const known = blocks();
    assert.deepEqual([...known.keys()].sort(), [...Object.keys(CALLS), ...Object.keys(PROGRAMS), "tls"].sort());
    const files: string[] = [];
    const write = (name: string, source: string): void => {
      writeFileSync(join(place, name), source.replaceAll("127.0.0.1:7420", hosts.addresses[0]!));
      files.push(name);
    };
    for (const [name, source] of known) write(`${name}.ts`, source);
    for (const [name, { run }] of Object.entries(CALLS)) {
      const used = [...run.matchAll(/\b(\w+)\((?:s|c)\b/g)].map((m) => m[1]).filter((f) => f !== "log");
      write(`${name}_call.ts`, `import { connect } from "@signalbox/client";
import { ${[...new Set(used)].join(", ")} } from "./${name}.js";
await using c = await connect("127.0.0.1:7420");
await using s = await c.session("/demo");
${run};
`);
    }
    const types = join(PACKAGE, "node_modules", "@types");
    execFileSync(join(PACKAGE, "node_modules", ".bin", "tsc"), [
      "--strict", "--target", "ES2022", "--module", "nodenext", "--lib", "ES2024,ESNext.Disposable", "--types", "node",
      "--typeRoots", types, ...files,
    ], { cwd: place, stdio: "inherit" });
    const calls = Object.entries(CALLS).map(([name, { prints }]) => [`${name}_call`, prints] as const);
    for (const [name, prints] of [...Object.entries(PROGRAMS), ...calls]) {
      const client = await connect(hosts.addresses);
      await client.createNode("/demo");
      await client.close();
      assert.match(await node(`${name}.js`), prints, name);
      execFileSync(PROGRAM, ["node", "drop", "/demo", "--yes", "--endpoints", hosts.addresses[0]!], { stdio: "ignore" });
    }
  });
});
