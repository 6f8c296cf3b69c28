// Lock and unlock by 1, 64 and 512 callers, each with a name of its own: this client, etcd3, node-redlock, and a loop of
// SET key value NX PX on ioredis. All servers run on this machine and sync what they acknowledge.
//
//   npm ci && node race.js --signalbox ../../../bin/signalbox --etcd PATH [--redis redis-server] [--seconds 3] [--rounds 3]
//
// A contestant whose server is missing is named as missing. The contestants take turns in every round, and the median of
// the rounds counts.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, connect as dial } from "node:net";
import { loadavg, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { connect } from "../dist/index.js";

const { values: flags } = parseArgs({
  options: {
    signalbox: { type: "string", default: "../../../bin/signalbox" }, etcd: { type: "string", default: "etcd" },
    redis: { type: "string", default: "redis-server" }, seconds: { type: "string", default: "3" },
    rounds: { type: "string", default: "3" }, callers: { type: "string", default: "1,64,512" }, only: { type: "string", default: "" },
  },
});
const folder = mkdtempSync(join(tmpdir(), "signalbox-race-"));
const servers = [];

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((done) => server.once("listening", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

/** Starts a server, and waits until it accepts connections. */
async function start(program, port, args) {
  const file = program.includes("/") ? resolve(program) : program; // servers run in another folder
  const server = spawn(file, args, { stdio: "ignore", cwd: folder });
  servers.push(server);
  const failed = new Promise((_, reject) => server.once("error", reject));
  for (let i = 0; i < 500; i++) {
    const open = new Promise((resolve) => {
      const socket = dial(port, "127.0.0.1", () => resolve(true) ?? socket.destroy());
      socket.on("error", () => resolve(false));
    });
    if (await Promise.race([open, failed])) return;
    await new Promise((done) => setTimeout(done, 20));
  }
  throw new Error(`${program} does not start`);
}

/** Contestants: each returns what one caller does in a cycle, and how to end. */
const contestants = {
  "signalbox": () => signalbox(true),
  "signalbox-main": () => signalbox(false),
  "etcd3": async () => {
    const [port, peer] = [await freePort(), await freePort()];
    await start(flags.etcd, port, [
      "--data-dir", join(folder, "etcd"), "--log-level", "error",
      "--listen-client-urls", `http://127.0.0.1:${port}`, "--advertise-client-urls", `http://127.0.0.1:${port}`,
      "--listen-peer-urls", `http://127.0.0.1:${peer}`, "--initial-advertise-peer-urls", `http://127.0.0.1:${peer}`,
      "--initial-cluster", `default=http://127.0.0.1:${peer}`,
    ]);
    const { Etcd3 } = await import("etcd3");
    const client = new Etcd3({ hosts: `127.0.0.1:${port}` });
    await client.put("ready").value("yes");
    return {
      cycle: async (name) => {
        const lock = client.lock(name).ttl(10);
        await lock.acquire();
        await lock.release();
      },
      end: () => client.close(),
    };
  },
  "redlock": async () => {
    const { default: Redlock } = await import("redlock");
    const redis = await openRedis();
    const redlock = new Redlock([redis]);
    return {
      cycle: async (name) => {
        const lock = await redlock.lock(`redlock-${name}`, 10_000);
        await lock.unlock();
      },
      end: () => redis.quit(),
    };
  },
  "SET NX PX": async () => {
    const redis = await openRedis();
    const unlock = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end';
    let token = 0;
    return {
      cycle: async (name) => {
        const mine = String(++token);
        while ((await redis.set(`loop-${name}`, mine, "PX", 10_000, "NX")) !== "OK") await new Promise((done) => setTimeout(done, 50));
        await redis.eval(unlock, 1, `loop-${name}`, mine);
      },
      end: () => redis.quit(),
    };
  },
};

async function signalbox(thread) {
  const port = await freePort();
  await start(flags.signalbox, port, [
    "serve", "--data-dir", join(folder, `signalbox-${thread}`), "--listen", `127.0.0.1:${port}`, "--admin-listen", "off", "--http-listen", "off",
  ]);
  let client;
  for (let i = 0; client === undefined; i++) { // it listens before it serves
    client = await connect(`127.0.0.1:${port}`, { thread }).catch((e) => {
      if (i === 100) throw e;
      return new Promise((done) => setTimeout(done, 50));
    });
  }
  await client.createNode("/race");
  const session = await client.session("/race");
  return {
    cycle: async (name) => {
      const lease = await session.lock(name);
      await lease.release();
    },
    end: () => client.close(),
  };
}

let redisPort;
async function openRedis() {
  if (redisPort === undefined) {
    redisPort = await freePort();
    await start(flags.redis, redisPort, [
      "--port", String(redisPort), "--bind", "127.0.0.1", "--dir", folder, "--appendonly", "yes", "--appendfsync", "always", "--save", "",
    ]);
  }
  const { Redis } = await import("ioredis");
  return new Redis(redisPort, "127.0.0.1");
}

/** Cycles per second of a number of callers, and microseconds of processor time of this program per cycle. */
async function measure({ cycle }, callers, seconds) {
  let cycles = 0;
  let counting = false;
  let done = false;
  const work = Array.from({ length: callers }, async (_, i) => {
    while (!done) {
      await cycle(`name-${i}`);
      if (counting) cycles++;
    }
  });
  await new Promise((ready) => setTimeout(ready, 1000));
  const [began, used] = [performance.now(), process.cpuUsage()];
  counting = true;
  await new Promise((ready) => setTimeout(ready, seconds * 1000));
  counting = false;
  const took = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(used);
  done = true;
  await Promise.all(work);
  return { rate: cycles / took, cpu: (user + system) / cycles };
}

const median = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)];

try {
  const running = new Map();
  for (const [name, open] of Object.entries(contestants)) {
    if (flags.only !== "" && !flags.only.split(",").includes(name)) continue;
    try {
      running.set(name, await open());
    } catch (e) {
      console.log(`${name} is missing: ${e.message}`);
    }
  }
  console.log(`load before: ${loadavg().map((l) => l.toFixed(1)).join(" ")}; figures count on a machine that does nothing else`);
  for (const callers of flags.callers.split(",").map(Number)) {
    const found = new Map([...running.keys()].map((name) => [name, { rates: [], cpus: [] }]));
    for (let round = 0; round < Number(flags.rounds); round++) {
      for (const [name, contestant] of running) {
        const { rate, cpu } = await measure(contestant, callers, Number(flags.seconds));
        found.get(name).rates.push(rate);
        found.get(name).cpus.push(cpu);
      }
    }
    const first = median(found.get("signalbox")?.rates ?? [NaN]);
    for (const [name, { rates, cpus }] of found) {
      const rate = median(rates);
      console.log(`${String(callers).padStart(4)} callers  ${name.padEnd(22)} ${rate.toFixed(0).padStart(7)} a second` +
        `  ${median(cpus).toFixed(0).padStart(6)} us of processor time  signalbox is ${(first / rate).toFixed(1)} times`);
    }
  }
  for (const { end } of running.values()) await end();
} finally {
  for (const s of servers) s.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
