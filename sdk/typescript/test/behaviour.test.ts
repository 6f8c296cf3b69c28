// What programs use, with a real host.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import {
  config, connect, discovery, election, LeaseLostError, Limiter, NotAcquiredError, SessionLostError, SignalboxError, text,
  type Client, type ErrorCode, type Lease, type Session, type SessionState,
} from "../src/index.js";
import { Hosts, until } from "./hosts.js";

const fails = (code: ErrorCode) => (e: unknown) => e instanceof SignalboxError && e.code === code;

for (const thread of [true, false]) {
  suite(thread ? "engine on its own thread" : "engine on the program's thread", () => {
    let hosts: Hosts;
    let client: Client;
    let s: Session;
    let t: Session;

    before(async () => {
      hosts = await Hosts.start();
      client = await connect(hosts.addresses, { thread });
      await client.createNode("/test");
      [s, t] = [await client.session("/test"), await client.session("/test")];
    });
    after(async () => {
      await client.close();
      await hosts.stop();
    });

    test("one session at a time has a lock, and fences grow", async () => {
      const first = await s.lock("exclusive");
      assert.equal(await t.tryLock("exclusive"), undefined);
      await assert.rejects(t.lock("exclusive", { wait: 50 }), NotAcquiredError);
      const waiting = t.lock("exclusive");
      await first.release();
      const second = await waiting;
      assert.ok(second.fence > first.fence);
      assert.throws(() => first.check(), fails("NOT_HELD"));
      second.check();
      await second.release();
      await second.release();
    });

    test("await using releases a lock", async () => {
      let fence: bigint;
      {
        await using lease = await s.lock("block");
        fence = lease.fence;
        assert.ok(lease.held);
      }
      const next = await t.lock("block", { wait: 0 });
      assert.ok(next.fence > fence);
      await next.release();
    });

    test("tasks of a session take turns, or share", async () => {
      let inside = 0;
      let most = 0;
      await Promise.all(Array.from({ length: 10 }, () => s.withLock("turns", {}, async () => {
        most = Math.max(most, ++inside);
        await sleep(1);
        inside--;
      })));
      assert.equal(most, 1);
      const shared = await Promise.all([s, s, t].map((x) => x.lock("shared", { shared: true })));
      assert.equal(shared[0]!.fence, shared[1]!.fence);
      assert.notEqual(shared[0]!.fence, shared[2]!.fence);
      await shared[0]!.release();
      assert.ok(shared[1]!.held);
      assert.ok(!shared[0]!.held);
      const exclusive = t.lock("shared", { wait: 5000 });
      await assert.rejects(client.session("/test").then((u) => u.lock("shared", { wait: 0 })), NotAcquiredError);
      await shared[1]!.release();
      await shared[2]!.release();
      await (await exclusive).release();
    });

    test("a cancelled acquire leaves nothing behind", async () => {
      const held = await s.lock("cancelled");
      const why = new Error("no longer needed");
      const cancel = new AbortController();
      const waiting = t.lock("cancelled", { signal: cancel.signal, onQueued: () => cancel.abort(why) });
      await assert.rejects(waiting, (e) => e === why);
      await assert.rejects(t.lock("cancelled", { signal: AbortSignal.abort(why) }), (e) => e === why);
      await assert.rejects(t.lock("cancelled", { signal: AbortSignal.timeout(30) }), { name: "TimeoutError" });
      await until("the position is free", async () => {
        const found = await client.node("/test").describe("cancelled", { consistency: "strict" });
        return found.waiters.length === 0;
      });
      await held.release();
      await (await t.lock("cancelled", { wait: 5000 })).release();
    });

    test("a signal ends every wait with its reason", { timeout: 20_000 }, async () => {
      const why = new Error("no longer needed");
      const is = (e: unknown): boolean => e === why;
      const later = (): AbortSignal => {
        const cancel = new AbortController();
        setTimeout(() => cancel.abort(why), 20);
        return cancel.signal;
      };
      const held = await s.lock("waits");
      const limiter = new Limiter(client, "/test", "waits-limiter", 1, { sessions: 1 });
      const slot = await limiter.slot();
      const term = await election.lead(s, "waits-led");
      for (const signal of [() => AbortSignal.abort(why), later]) {
        await assert.rejects(s.lock("waits", { signal: signal() }), is); // behind a task of the session
        await assert.rejects(t.lock("waits", { signal: signal() }), is);
        await assert.rejects(limiter.slot({ signal: signal() }), is);
        await assert.rejects(election.lead(t, "waits-led", { signal: signal() }), is);
      }
      const stop = new AbortController();
      await assert.rejects(election.campaign(s, "waits-leader", { signal: stop.signal }, () => {
        stop.abort(why); // the candidate pauses before it campaigns again
        return Promise.resolve();
      }), is);
      const semaphore = s.semaphore("waits-change");
      await semaphore.create();
      const forget = new AbortController();
      const { changed } = await semaphore.describeAndWatch({ signal: forget.signal });
      forget.abort(why);
      await assert.rejects(changed, is);
      // What waits for a slot ends with its limiter too.
      const waiting = assert.rejects(limiter.slot(), fails("CLOSED"));
      await limiter.close();
      await waiting;
      await assert.rejects(slot.release({ signal: AbortSignal.abort(why) }), is);
      await slot.release().catch(() => undefined);
      await term.release();
      await held.release();
    });

    test("a semaphore counts, and its data and owners can be read", async () => {
      const slots = s.semaphore("slots", { limit: 3 });
      const lease = await slots.acquire({ count: 2, data: "one" });
      const other = t.semaphore("slots");
      assert.equal(await other.tryAcquire({ count: 2 }), undefined);
      const small = await other.acquire({ data: "two" });
      await lease.update("shared data");
      const info = await slots.describe();
      assert.deepEqual([info.limit, info.count, text(info.data)], [3n, 3n, "shared data"]);
      assert.deepEqual(info.owners.map((o) => [text(o.data), o.count]), [["one", 2n], ["two", 1n]]);
      await lease.change({ count: 1, data: "less" });
      assert.equal(lease.count, 1n);
      await assert.rejects(lease.change({ count: 3 }), fails("BAD_REQUEST"));
      assert.ok(lease.held);
      await assert.rejects(slots.update("x", { ifRevision: 1n }), fails("PRECONDITION_FAILED"));
      await assert.rejects(slots.create(), fails("ALREADY_EXISTS"));
      await slots.resize(5);
      assert.ok(await other.release());
      assert.ok(!small.held);
      await lease.release();
      await slots.delete();
      await assert.rejects(slots.describe(), fails("NOT_FOUND"));
    });

    test("a lease that is lost aborts its signal", async () => {
      const lease = await s.semaphore("taken").acquire();
      const { signal } = lease;
      const aborted = new Promise((resolve) => signal.addEventListener("abort", resolve));
      await client.node("/test").delete("taken", { force: true });
      await aborted;
      assert.ok(signal.reason instanceof LeaseLostError);
      assert.throws(() => lease.check(), LeaseLostError);
      await assert.rejects(lease.release(), LeaseLostError);
      await assert.rejects(lease.update("x"), fails("FENCED"));
    });

    test("watches show what changes", async () => {
      const seen: [boolean, string, number][] = [];
      const watch = client.node("/test").watch("seen");
      const loop = (async () => {
        for await (const v of watch) seen.push([v.exists, text(v.data), v.owners.length]);
      })();
      await until("the first view", () => seen.length === 1);
      await client.node("/test").create("seen", { data: "a" });
      await until("the creation", () => seen.at(-1)?.[1] === "a");
      const lease = await s.semaphore("seen").acquire();
      await until("an owner", () => seen.at(-1)?.[2] === 1);
      await lease.release();
      await client.node("/test").delete("seen");
      await until("the deletion", () => seen.at(-1)?.[0] === false);
      watch.close();
      await loop;
      const late = client.node("/test").watch("seen", { signal: AbortSignal.timeout(200) });
      await assert.rejects(async () => { for await (const v of late) assert.ok(!v.exists); }, { name: "TimeoutError" });
    });

    test("a one-shot watch reports one change", async () => {
      const semaphore = s.semaphore("once");
      await semaphore.create({ data: "a" });
      const { info, changed } = await semaphore.describeAndWatch();
      assert.equal(text(info.data), "a");
      await semaphore.update("b");
      assert.deepEqual(await changed, { data: true, owners: false });
    });

    test("lists have everything", async () => {
      await client.createNode("/lists");
      for (let i = 0; i < 5; i++) await client.node("/lists").create(`n${i}`);
      const names: string[] = [];
      for await (const x of client.node("/lists").semaphores({ prefix: "n" })) names.push(x.name);
      assert.deepEqual(names.sort(), ["n0", "n1", "n2", "n3", "n4"]);
      await using session = await client.session("/lists", { description: "listed" });
      const ids: bigint[] = [];
      for await (const x of client.node("/lists").sessions()) ids.push(x.id);
      assert.deepEqual(ids, [session.id]);
      const paths: string[] = [];
      for await (const x of client.nodes({ prefix: "/li" })) paths.push(x.path);
      assert.deepEqual(paths, ["/lists"]);
      assert.equal((await client.alterNode("/lists", { sessionGracePeriod: 3000 })).config.sessionGracePeriod, 3000);
      await client.dropNode("/lists");
      await until("the session is over", () => session.error !== undefined);
      assert.equal((session.error as SessionLostError).reason, "node_dropped");
      await assert.rejects(client.session("/lists"), fails("NOT_FOUND"));
    });

    test("sessions end, and are renewed", async () => {
      const states: SessionState[] = [];
      const session = await client.session("/test", { renew: true, onState: (state) => states.push(state) });
      const { id } = session;
      const lease = await session.lock("renewed");
      await client.node("/test").destroySession(id);
      await until("another session", () => session.id !== id && session.id !== 0n);
      assert.ok(lease.signal.aborted);
      await (await session.lock("renewed", { wait: 5000 })).release();
      await session.close();
      assert.deepEqual(states, ["attached", "renewing", "attached", "ended"]);
      await assert.rejects(session.lock("x"), fails("SESSION_LOST"));
      assert.equal((session.signal.reason as SessionLostError).reason, "closed");
    });

    test("one candidate leads at a time", async () => {
      const shown: (string | undefined)[] = [];
      const stop = new AbortController();
      const looking = (async () => {
        for await (const l of election.observe(client, "/test", "leader", { signal: stop.signal })) shown.push(l && text(l.data));
      })().catch(() => undefined);
      const terms: Lease[] = [];
      const lead = (session: Session, data: string): Promise<void> =>
        election.campaign(session, "leader", { data, signal: stop.signal }, async (term) => {
          terms.push(term);
          await sleep(50); // for observers, which see the newest leader only
        }).catch(() => undefined);
      const both = [lead(s, "one"), lead(t, "two")];
      await until("both have led", () => terms.length >= 3);
      assert.ok(terms.every((x, i) => i === 0 || x.fence > terms[i - 1]!.fence));
      await until("both were seen", () => shown.includes("one") && shown.includes("two"));
      stop.abort();
      await Promise.all([...both, looking]);
      await s.semaphore("wide", { limit: 2 }).create();
      await assert.rejects(election.lead(s, "wide"), fails("PRECONDITION_FAILED"));
      assert.equal(await election.leader(client, "/test", "nobody"), undefined);
    });

    test("endpoints are published and withdrawn", async () => {
      const stop = new AbortController();
      let list: string[] = ["none yet"];
      const looking = (async () => {
        for await (const found of discovery.watch(client, "/test", "api", { signal: stop.signal })) {
          list = found.map((e) => e.address + JSON.stringify(e.metadata));
        }
      })().catch(() => undefined);
      await until("an empty list", () => list.length === 0);
      const one = await discovery.register(s, "api", "10.0.0.1:80", { zone: "a" });
      const two = await discovery.register(t, "api", "10.0.0.2:80");
      await until("both", () => list.length === 2);
      assert.deepEqual(list, ['10.0.0.1:80{"zone":"a"}', "10.0.0.2:80{}"]);
      const { fence } = two;
      await two.update("10.0.0.3:80");
      assert.equal(two.fence, fence);
      await until("the update", () => list.includes("10.0.0.3:80{}"));
      await one.close();
      await two.close();
      await until("none", () => list.length === 0);
      assert.deepEqual(await discovery.endpoints(client, "/test", "api"), []);
      stop.abort();
      await looking;
    });

    test("a registration of a renewed session is published again", async () => {
      const session = await client.session("/test", { renew: true });
      await using registration = await discovery.register(session, "again", "10.0.0.1:80");
      const { fence } = registration;
      await client.node("/test").destroySession(session.id);
      await until("it is published again", () => registration.fence > fence && registration.error === undefined);
      assert.equal((await discovery.endpoints(client, "/test", "again")).length, 1);
      await session.close();
    });

    test("a limiter lets so many in", async () => {
      await using limiter = new Limiter(client, "/test", "limited", 3, { sessions: 10 });
      let inside = 0;
      let most = 0;
      await Promise.all(Array.from({ length: 30 }, () => limiter.run(async (slot) => {
        slot.lease.check();
        most = Math.max(most, ++inside);
        await sleep(2);
        inside--;
      })));
      assert.equal(most, 3);
      const held = await Promise.all([limiter.slot(), limiter.slot(), limiter.slot()]);
      await assert.rejects(limiter.slot({ wait: 0 }), NotAcquiredError);
      await Promise.all(held.map((x) => x.release()));
    });

    test("config is stored, edited and watched", async () => {
      assert.equal((await config.get(client, "/test", "limits")).exists, false);
      await config.put(client, "/test", "limits", "1", { ifRevision: 0n });
      await assert.rejects(config.put(client, "/test", "limits", "1", { ifRevision: 0n }), fails("PRECONDITION_FAILED"));
      const value = await config.get(client, "/test", "limits");
      await config.put(client, "/test", "limits", "2", { ifRevision: value.revision });
      await assert.rejects(config.put(client, "/test", "limits", "3", { ifRevision: value.revision }), fails("PRECONDITION_FAILED"));
      const edits = Array.from({ length: 5 }, () =>
        config.edit(client, "/test", "limits", (old) => String(Number(text(old!)) + 1)));
      await Promise.all(edits);
      for await (const v of config.watch(client, "/test", "limits")) {
        assert.equal(text(v.data), "7");
        break;
      }
    });

    test("bad arguments are refused by name", async () => {
      await assert.rejects(client.session("/test", { timeout: 5 }), fails("BAD_REQUEST"));
      await assert.rejects(client.session("/test", { maxBlocked: 5 }), fails("BAD_REQUEST"));
      await assert.rejects(client.session("/missing"), fails("NOT_FOUND"));
      await assert.rejects(s.lock(""), fails("BAD_REQUEST"));
      await assert.rejects(s.lock("x", { wait: -1 }), fails("BAD_REQUEST"));
      await assert.rejects(s.lock("x", { limit: 2, count: 3 }), fails("BAD_REQUEST"));
      await assert.rejects(s.semaphore("x").acquire({ count: 0 }), fails("BAD_REQUEST"));
      await assert.rejects(s.semaphore("x", { limit: 2 }).acquire({ count: 3 }), fails("BAD_REQUEST"));
      // Functions cannot pass to another thread, which must not end the program.
      const tls = { checkServerIdentity: () => undefined };
      await assert.rejects(connect(hosts.addresses, { tls, thread, timeout: 500 }), fails(thread ? "BAD_REQUEST" : "UNAVAILABLE"));
      await assert.rejects(connect(hosts.addresses, { tls: () => tls, thread, timeout: 500 }), SignalboxError);
    });

    test("a closed client refuses, and its calls end", async () => {
      const other = await connect(hosts.addresses, { thread });
      const session = await other.session("/test");
      const held = await s.lock("closing");
      const waiting = session.lock("closing");
      waiting.catch(() => undefined);
      await sleep(50);
      await other.close();
      await assert.rejects(waiting, (e) => fails("SESSION_LOST")(e) || fails("CLOSED")(e));
      await assert.rejects(other.session("/test"), fails("CLOSED"));
      await held.release();
      await assert.rejects(connect("127.0.0.1:1", { timeout: 500, thread }), fails("UNAVAILABLE"));
      await assert.rejects(connect("http://127.0.0.1:1"), fails("BAD_REQUEST"));
    });
  });
}
