// The client does what the scripts of protocol/testdata/scripts say, and scripts notice mistakes that are planted in it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { PROGRAM } from "./hosts.js";
import { PACKAGE } from "./paths.js";

/** Mistakes, as texts in the compiled source and what replaces them, with a script that notices each. */
const MISTAKES: { name: string; file: string; is: string; becomes: string; script: string }[] = [
  {
    name: "a lease counts from the answer", file: "engine/heartbeat.js",
    is: "session.confirm(conn, sent)", becomes: "session.confirm(conn, now())",
    script: "lease-counts-from-the-sending-of-a-ping",
  },
  {
    name: "a mutation is sent again under a new sequence", file: "engine/mutation.js",
    is: 'this.phase = "broken";', becomes: 'this.phase = "broken"; this.sequence = 0;',
    script: "an-acquire-whose-answer-was-lost-keeps-its-sequence",
  },
  {
    name: "a watch loses its position", file: "engine/watch.js",
    is: "this.state.revision : 0n", becomes: "0n : 0n", script: "a-watch-keeps-its-place-over-a-lost-connection",
  },
  {
    name: "sequences are not acknowledged", file: "engine/mutation.js",
    is: "Math.min(sequences.acknowledged, this.sequence - 1)", becomes: "0", script: "sequences-are-acknowledged",
  },
  {
    name: "mutations of a name go beside each other", file: "engine/queue.js",
    is: "if (!q.busy) {", becomes: "if (true) {", script: "one-mutation-of-a-name-at-a-time",
  },
  {
    name: "a cancelled acquire keeps its position", file: "engine/acquire.js",
    is: "if (q.waiting === m || owns) {", becomes: "if (false) {",
    script: "an-acquire-that-is-given-up-while-it-waits-leaves-no-place",
  },
  {
    name: "losses in a gap are not looked for", file: "engine/verify.js",
    is: "for (const look of started)", becomes: "for (const look of [])",
    script: "a-lease-that-was-lost-in-a-gap-is-found-out",
  },
  {
    name: "a pause is not noticed", file: "engine/attachment.js",
    is: "this.base + this.timeout - margin(this.timeout) : Infinity", becomes: "Infinity : Infinity",
    script: "a-paused-client-looks-at-its-clock-first",
  },
  {
    name: "a rebuilt shard loses only what it granted itself", file: "engine/incarnation.js",
    is: "(i >= known || order % SHARD_CLASS", becomes: "(order % SHARD_CLASS",
    script: "leases-in-the-slots-of-a-rebuilt-shard-are-lost",
  },
  {
    name: "a lagging host sends the client back", file: "engine/routing.js",
    is: "const known = this.generation(slot);", becomes: "const known = 0;",
    script: "a-host-that-lags-does-not-send-a-client-back",
  },
  {
    name: "the location of a moved slot is forgotten", file: "engine/routing.js",
    is: "this.places.get(slot)?.shard ?? this.slots[slot]", becomes: "this.slots[slot]",
    script: "an-acquire-follows-a-slot-that-moved",
  },
  {
    name: "a watch names no generation", file: "engine/watch.js",
    is: "generation: this.core.cluster.routing.generation(slotOf(key.nodeId, key.name))", becomes: "generation: 0",
    script: "a-watch-goes-on-where-its-slot-moved",
  },
  {
    name: "a list forgets slots that have moved", file: "list.js",
    is: "unread.push(...missing);", becomes: "",
    script: "a-list-goes-on-where-its-slots-moved",
  },
  {
    name: "a list names no generation", file: "engine/nodes.js",
    is: "cluster.routing.generation(first)", becomes: "0",
    script: "a-list-names-the-highest-known-generation",
  },
  {
    name: "an unknown shard is looked for at any host", file: "engine/routing.js",
    is: "if (!this.shards.has(d.shard_id) && d.leader_host_id > 0) {", becomes: "if (false) {",
    script: "a-slot-that-moved-to-an-unknown-shard-is-followed",
  },
];

interface Outcome {
  code: number | null;
  output: string;
}

/** Plays scripts with the driver in a folder. */
function play(folder: string, main: boolean, ...flags: string[]): Promise<Outcome> {
  const driver = [process.execPath, join(folder, "test", "driver.js"), ...(main ? ["--main"] : [])];
  const playing = spawn(PROGRAM, ["conformance", ...flags, "--", ...driver], { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [playing.stdout, playing.stderr]) stream.on("data", (chunk) => (output += String(chunk)));
  return new Promise((resolve, reject) => {
    playing.on("error", reject);
    playing.on("close", (code) => resolve({ code, output }));
  });
}

/** Skipped scripts by what they need. */
function skipped(output: string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const [, what] of output.matchAll(/^skipped .*needs the feature "(\w+)"$/gm)) counts[what!] = (counts[what!] ?? 0) + 1;
  return counts;
}

/** The scripts take half a minute of processor time. So each version of Node plays them in one of the two modes, and the
 * earliest version plants mistakes. Behaviour and liveness are tested in both modes with every version. */
const EARLIEST = Number(process.versions.node.split(".")[0]) < 24;

suite("conformance", () => {
  const build = join(PACKAGE, "build");

  for (const main of [!EARLIEST]) {
    test(`the client does what scripts say, ${main ? "on the program's thread" : "on a thread of its own"}`, async () => {
      const found = await play(build, main, "--timing-tolerance", "10s");
      assert.equal(found.code, 0, found.output);
      // Rollouts and processes are not part of this client, and a program in Node does not fork.
      const expected = ["fork", "process", "rollout", ...(main ? [] : ["block"])].sort();
      assert.deepEqual(Object.keys(skipped(found.output)).sort(), expected, found.output);
    });
  }

  suite("planted mistakes", { concurrency: 4 }, () => {
    for (const m of EARLIEST ? MISTAKES : []) {
      test(`${m.name}: noticed`, async (t) => {
        const folder = mkdtempSync(join(tmpdir(), "signalbox-mistake-"));
        t.after(() => rmSync(folder, { recursive: true }));
        cpSync(build, folder, { recursive: true });
        symlinkSync(join(PACKAGE, "package.json"), join(folder, "package.json"));
        const file = join(folder, "src", m.file);
        const source = readFileSync(file, "utf8");
        assert.equal(source.split(m.is).length, 2, `"${m.is}" must be in ${m.file} once`);
        writeFileSync(file, source.replace(m.is, m.becomes));
        const found = await play(folder, false, "--timing-tolerance", "250ms", "--script", m.script);
        assert.equal(found.code, 1, found.output);
        assert.match(found.output, /1 of 1 scripts? failed/);
      });
    }
  });
});
