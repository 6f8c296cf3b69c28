// The package as others get it: packed, installed where nothing else is, loaded, and the programs of its pages.
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before, suite, test } from "node:test";
import { promisify } from "node:util";
import { connect } from "../src/index.js";
import { Hosts } from "./hosts.js";
import { PACKAGE, TOP } from "./paths.js";

const PAGES = [join(TOP, "docs", "typescript.md"), join(PACKAGE, "README.md")];

/** What runs a program that is a function, with a client `c` and a session `s` of the node /demo, and what it prints. */
const CALLS: Record<string, { calls: string; prints: RegExp }> = {
  lock: { calls: "await nightly(s)", prints: /^mine, with fence \d+n$/ },
  semaphore: { calls: "await slots(s)", prints: /^3n 3?2n host=worker-1.internal:8080 \[ 'worker-1' \]$/ },
  limiter: { calls: "await exportAll(c, ['a', 'b'])", prints: /^[ab] \d+n\n[ab] \d+n$/ },
  election: {
    calls: "await Promise.allSettled([replica(s, AbortSignal.timeout(1500)), follow(c, AbortSignal.timeout(1000))])",
    prints: /^(?=[^]*I lead, with fence \d+n)(?=[^]*10.0.0.7:8080)/,
  },
  discovery: { calls: "await serve(s, c)", prints: /^\[ \[ '10.0.0.7:8080', 'a' \] \] undefined$/ },
  config: { calls: "await settings(c)", prints: /^\{"workers":9\}$/ },
  watch: { calls: "await s.semaphore('workers').create(); await look(c, s)", prints: /^true {2}0\ntrue$/ },
  errors: { calls: "console.log(await limitOf(c, 'missing'))", prints: /^undefined$/ },
  cancellation: {
    calls: "await using x = await c.session('/demo'); await x.lock('busy'); await withinASecond(s)", prints: /^TimeoutError$/,
  },
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

/** Runs a program in a folder and returns its output. */
async function run(program: string, args: string[], cwd: string): Promise<string> {
  return (await promisify(execFile)(program, args, { cwd, encoding: "utf8" })).stdout.trim();
}

/** Copies the sources of the package, all with another time of change, and packs the copy. The copy is compiled without
 * checks, which take most of the time, unless it is to be packed exactly as a release is. */
async function pack(folder: string, name: string, time: number, asRelease: boolean): Promise<{ file: string; bytes: Buffer }> {
  const copy = join(folder, name, "sdk", "typescript");
  mkdirSync(copy, { recursive: true });
  for (const item of ["src", "package.json", "package-lock.json", "tsconfig.json", "tsconfig.build.json", "README.md"]) {
    cpSync(join(PACKAGE, item), join(copy, item), { recursive: true });
    utimesSync(join(copy, item), time, time);
  }
  cpSync(join(TOP, "LICENSE"), join(folder, name, "LICENSE"));
  symlinkSync(join(PACKAGE, "node_modules"), join(copy, "node_modules"));
  if (!asRelease) {
    await run(join("node_modules", ".bin", "tsc"), ["-p", "tsconfig.build.json", "--noCheck"], copy);
    cpSync(join(TOP, "LICENSE"), join(copy, "LICENSE"));
  }
  const packed = await run("npm", ["pack", "--silent", ...(asRelease ? [] : ["--ignore-scripts"])], copy);
  const file = packed.split("\n").at(-1)!;
  return { file: join(copy, file), bytes: readFileSync(join(copy, file)) };
}

suite("package", () => {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-package-"));
  const place = join(folder, "program");
  let hosts: Hosts;
  let packed: { file: string; bytes: Buffer };

  before(async () => {
    packed = await pack(folder, "one", 1e9, false);
    mkdirSync(place);
    writeFileSync(join(place, "package.json"), '{"type": "module", "private": true}');
    execFileSync("npm", ["install", "--offline", "--no-audit", "--no-fund", "--silent", packed.file], { cwd: place });
    hosts = await Hosts.start();
  });
  after(async () => {
    await hosts.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const node = (...args: string[]): Promise<string> => run(process.execPath, args, place);

  test("the package has what a program needs, and nothing else", () => {
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

  // npm and the compiler are the same for all versions of Node, so one of them packs again and runs the pages.
  if (Number(process.versions.node.split(".")[0]) >= 24) return;

  test("npm pack gives the same bytes twice", async () => {
    const again = await pack(folder, "two", 1.1e9, true);
    assert.equal(basename(again.file), basename(packed.file));
    assert.ok(packed.bytes.equals(again.bytes));
  });

  test("programs of the pages are typed, and run", async () => {
    const known = blocks();
    assert.deepEqual([...known.keys()].sort(), [...Object.keys(CALLS), ...Object.keys(PROGRAMS), "tls"].sort());
    const files: string[] = [];
    // Each program has a node of its own, so that they can run beside each other.
    const write = (name: string, file: string, source: string): void => {
      const changed = source.replaceAll("127.0.0.1:7420", hosts.addresses[0]!).replaceAll('"/demo"', `"/demo/${name}"`)
        .replaceAll("'/demo'", `'/demo/${name}'`);
      writeFileSync(join(place, file), changed);
      files.push(file);
    };
    for (const [name, source] of known) write(name, `${name}.ts`, source);
    for (const [name, { calls }] of Object.entries(CALLS)) {
      const used = [...calls.matchAll(/\b(\w+)\((?:s|c)\b/g)].map((m) => m[1]).filter((f) => f !== "log");
      write(name, `${name}_call.ts`, `import { connect } from "@signalbox/client";
import { ${[...new Set(used)].join(", ")} } from "./${name}.js";
await using c = await connect("127.0.0.1:7420");
await using s = await c.session("/demo");
${calls};
`);
    }
    const types = join(PACKAGE, "node_modules", "@types");
    await run(join(PACKAGE, "node_modules", ".bin", "tsc"), [
      "--strict", "--target", "ES2022", "--module", "nodenext", "--lib", "ES2024,ESNext.Disposable", "--types", "node",
      "--typeRoots", types, ...files,
    ], place);
    await using client = await connect(hosts.addresses);
    for (const name of Object.keys(CALLS)) await client.createNode(`/demo/${name}`);
    const called = Object.entries(CALLS).map(([name, { prints }]) => [`${name}_call`, prints] as const);
    await Promise.all([...Object.entries(PROGRAMS), ...called].map(async ([name, prints]) => {
      assert.match(await node(`${name}.js`), prints, name);
    }));
  });
});
