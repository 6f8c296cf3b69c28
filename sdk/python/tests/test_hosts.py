"""The client with real hosts: everything with one, and with three of which one after the other is killed."""

import asyncio
import contextlib
import os
import random
import ssl
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path
from typing import Any

import signalbox
import signalbox.sync
from hosts import Hosts, free_ports, program
from signalbox import config, discovery, election, process, rollout
from signalbox.limiter import Limiter
from signalbox.sync import process as sync_process
from signalbox.sync import recipes
from signalbox.sync import rollout as sync_rollout

one: Hosts


def setUpModule() -> None:
    global one
    one = Hosts()


def tearDownModule() -> None:
    one.stop()


class OneHost(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.path = f"/test/{self.id().rsplit('.', 1)[1]}"
        self.client = await self.enterAsyncContext(signalbox.connect(one.addresses))
        await self.client.create_node(self.path)
        self.session = await self.enterAsyncContext(self.client.session(self.path))

    async def test_nodes(self) -> None:
        c = self.client
        wanted = signalbox.NodeConfig(self_check_period=2.0, session_grace_period=15.0, quota_objects=1000,
                                      read_consistency=signalbox.Consistency.STRICT,
                                      counters=signalbox.Counters.DETAILED)
        made = await c.create_node("/nodes/a", wanted)
        self.assertEqual((made.config, made.existed), (wanted, False))
        self.assertTrue((await c.create_node("/nodes/a")).existed)
        altered = await c.alter_node("/nodes/a", signalbox.NodeConfig(session_grace_period=20.0),
                                     if_version=made.config_version)
        self.assertEqual((altered.config.session_grace_period, altered.config.self_check_period), (20.0, 2.0))
        with self.assertRaises(signalbox.PreconditionFailedError):
            await c.alter_node("/nodes/a", wanted, if_version=made.config_version)
        self.assertEqual(await c.describe_node("/nodes/a"), altered)
        self.assertEqual([n.path async for n in c.nodes("/nodes/")], ["/nodes/a"])
        session = await c.session("/nodes/a")
        await c.drop_node("/nodes/a")
        error = await asyncio.wait_for(session.lost(), 5)
        self.assertIsInstance(error, signalbox.SessionLostError)
        with self.assertRaisesRegex(signalbox.NotFoundError, "create_node"):
            await c.describe_node("/nodes/a")
        with self.assertRaisesRegex(signalbox.NotFoundError, "create_node"):
            await c.session("/nodes/a")

    async def test_semaphores(self) -> None:
        s = self.session.semaphore("workers", limit=3, data=b"initial")
        lease = await s.acquire(2, data=b"me")
        found = await s.describe()
        self.assertEqual((found.limit, found.count, found.data, found.owners[0].data), (3, 2, b"initial", b"me"))
        self.assertEqual(found.owners[0].order_id, lease.fence)
        async with self.client.session(self.path) as other:
            o = other.semaphore("workers", create=False)
            self.assertIsNone(await o.try_acquire(2))
            waiting = asyncio.create_task(o.acquire(2))
            await self.until(lambda d: d.waiter_count == 1, s)
            await lease.change(count=1, data=b"less")
            second = await asyncio.wait_for(waiting, 5)
            self.assertGreater(second.fence, lease.fence)
            with self.assertRaises(signalbox.NotAcquiredError):
                await self._third()
            await s.resize(10)
            await s.update(b"new", if_revision=(await s.describe()).revision)
            with self.assertRaises(signalbox.PreconditionFailedError):
                await s.update(b"newer", if_revision=1)
            await lease.update(b"guarded")
            self.assertEqual((await s.describe()).data, b"guarded")
            with self.assertRaises(signalbox.PreconditionFailedError):
                await s.delete()
            await s.delete(force=True)
            lost: BaseException = await asyncio.wait_for(lease.lost.wait(), 5)
            self.assertIsInstance(lost, signalbox.AbortedError)
            await asyncio.wait_for(second.lost.wait(), 5)
            self.assertTrue(second.lost)
        with self.assertRaises(signalbox.LeaseLostError):
            await lease.release()
        with self.assertRaises(signalbox.FencedError):
            await lease.update(b"x")
        with self.assertRaises(signalbox.NotFoundError):
            await self.session.semaphore("missing", create=False).acquire()
        with self.assertRaises(signalbox.BadRequestError):
            await self.session.semaphore("small", limit=2).acquire(3)

    async def _third(self) -> None:
        async with self.client.session(self.path) as third:
            await third.semaphore("workers").acquire(wait=0.1)

    async def until(self, wanted: Any, semaphore: signalbox.Semaphore) -> None:
        async with asyncio.timeout(5):
            while not wanted(await semaphore.describe()):
                await asyncio.sleep(0.01)

    async def test_locks(self) -> None:
        async with self.client.session(self.path) as other:
            async with self.session.lock("job") as lease:
                with self.assertRaises(signalbox.NotAcquiredError):
                    async with other.lock("job", wait=0):
                        self.fail("two have it")
                began = time.monotonic()
                with self.assertRaises(signalbox.NotAcquiredError):
                    async with other.lock("job", wait=0.2):
                        self.fail("two have it")
                self.assertLess(time.monotonic() - began, 2)
            self.assertFalse(lease.held)
            self.assertFalse(lease.lost)
            async with other.lock("job") as next_lease:
                self.assertGreater(next_lease.fence, lease.fence)
            async with self.session.lock("rw", shared=True), other.lock("rw", shared=True):
                with self.assertRaises(signalbox.NotAcquiredError):
                    async with other.lock("rw", wait=0):
                        self.fail("a writer beside readers")

    async def test_watches(self) -> None:
        s = self.session.semaphore("watched", limit=5)
        node = self.client.node(self.path)
        seen: list[tuple[bool, bytes, int]] = []

        async def watch() -> None:
            async for view in node.watch("watched"):
                seen.append((view.exists, view.data, len(view.owners)))
                if view.data == b"last":
                    return

        task = asyncio.create_task(watch())
        lease = await s.acquire()
        for i in range(20):
            await s.update(str(i).encode())
        await lease.release()
        await s.update(b"last")
        await asyncio.wait_for(task, 5)
        self.assertEqual(seen[-1], (True, b"last", 0))
        _, changed = await s.describe_and_watch()
        _, second = await s.describe_and_watch()
        replaced = await asyncio.wait_for(changed, 5)
        self.assertEqual((replaced.data, replaced.owners), (False, False))
        await s.update(b"after")
        self.assertTrue((await asyncio.wait_for(second, 5)).data)

    async def test_lists(self) -> None:
        async with asyncio.TaskGroup() as group:
            for i in range(30):
                group.create_task(self.session.semaphore(f"many/{i}").create(7, b"x"))
        node = self.client.node(self.path)
        found = [d async for d in node.semaphores("many/", data=True)]
        self.assertEqual({(d.name, d.limit, d.data) for d in found}, {(f"many/{i}", 7, b"x") for i in range(30)})
        self.assertIn(self.session.id, [s.id async for s in node.sessions()])
        async with self.client.session(self.path) as other:
            await node.destroy_session(other.id)
            error = await asyncio.wait_for(other.lost(), 5)
            self.assertIs(getattr(error, "reason", None), signalbox.EndReason.DESTROYED)

    async def test_config(self) -> None:
        c, path = self.client, self.path
        self.assertFalse((await config.get(c, path, "limits")).exists)
        await config.put(c, path, "limits", b"0", if_revision=0)
        with self.assertRaises(signalbox.PreconditionFailedError):
            await config.put(c, path, "limits", b"1", if_revision=0)
        await asyncio.gather(*(config.edit(c, path, "limits", lambda old: str(int(old or 0) + 1).encode())
                               for _ in range(10)))
        self.assertEqual((await config.get(c, path, "limits")).data, b"10")
        async for value in config.watch(c, path, "limits"):
            self.assertEqual(value.data, b"10")
            break

    async def test_discovery(self) -> None:
        c, path = self.client, self.path
        seen: list[list[str]] = []

        async def watch() -> None:
            async for endpoints in discovery.watch(c, path, "api"):
                seen.append([e.address for e in endpoints])

        task = asyncio.create_task(watch())
        async with c.session(path, renew=True) as s:
            async with discovery.register(s, "api", "10.0.0.1:80", zone="a") as registration:
                self.assertEqual([dict(e.metadata) for e in await discovery.endpoints(c, path, "api")], [{"zone": "a"}])
                await registration.update("10.0.0.2:80")
                before = registration.fence
                await c.node(path).destroy_session(s.id)  # it is renewed, and the endpoint published again
                async with asyncio.timeout(5):
                    while not (found := await discovery.endpoints(c, path, "api")) or found[0].order_id == before:
                        await asyncio.sleep(0.01)
                self.assertEqual(found[0].address, "10.0.0.2:80")
            self.assertEqual(await discovery.endpoints(c, path, "api"), ())
        task.cancel()
        self.assertIn(["10.0.0.2:80"], seen)

    async def test_elections(self) -> None:
        c, path = self.client, self.path
        terms: list[int] = []

        async def candidate(name: bytes) -> None:
            async def lead(term: election.Term) -> None:
                terms.append(term.fence)
                self.assertEqual((await election.current(c, path, "leader")).data, name)
                raise election.Resign

            async with c.session(path) as s:
                await election.run(s, "leader", name, lead)

        candidates = [asyncio.create_task(candidate(n)) for n in (b"a", b"b")]
        seen: set[bytes] = set()
        async with asyncio.timeout(10):
            async for leader in election.observe(c, path, "leader"):
                seen.add(leader.data)
                if {b"a", b"b"} <= seen:
                    break
        for task in candidates:
            task.cancel()
        await asyncio.gather(*candidates, return_exceptions=True)
        self.assertEqual(terms, sorted(terms))

    async def test_limiters(self) -> None:
        inside = most = 0
        async with Limiter(self.client, self.path, "exports", 3) as exports:
            async def export() -> None:
                nonlocal inside, most
                async with exports.slot() as slot:
                    slot.check()
                    inside += 1
                    most = max(most, inside)
                    await asyncio.sleep(0.01)
                    inside -= 1

            await asyncio.gather(*(export() for _ in range(30)))
            self.assertEqual(most, 3)
            async with exports.slot(), exports.slot(), exports.slot():
                with self.assertRaises(signalbox.NotAcquiredError):
                    async with exports.slot(wait=0):
                        self.fail("a fourth")

    async def test_rollouts(self) -> None:
        def tool(*arguments: str) -> str:
            return subprocess.run([program(), *arguments, "--endpoints", one.addresses[0]], check=True,
                                  capture_output=True, text=True).stdout

        path, used = self.path, []
        await asyncio.to_thread(tool, "rollout", "create", path, "web", "--location", "canary", "--location", "rest")
        async with contextlib.AsyncExitStack() as stack:
            async def instance(name: str, location: str) -> None:
                s = await stack.enter_async_context(self.client.session(path))
                member = await stack.enter_async_context(
                    rollout.join(s, "web", name, location, backoff_initial=0.05, backoff_max=0.1))

                async def bring(target: rollout.Target) -> None:
                    if target.attempt == 1 and target.payload == b"two":
                        raise rollout.TargetFailedError("not yet", code="not-yet")
                    used.append((name, target.payload, target.attempt))

                tasks.append(asyncio.create_task(member.run(bring)))

            tasks: list[asyncio.Task[None]] = []
            await instance("one", "canary")
            await instance("two", "rest")
            for text in ("one", "two"):
                await asyncio.to_thread(tool, "rollout", "publish", path, "web", text)
                async with asyncio.timeout(10):
                    while ("two", text.encode()) not in [u[:2] for u in used]:
                        await asyncio.sleep(0.01)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        self.assertEqual([u[:2] for u in used], [("one", b"one"), ("two", b"one"), ("one", b"two"), ("two", b"two")])

    async def test_a_rollout_that_was_made_anew_is_followed(self) -> None:
        """Its first version has the numbers and the content of the one that was reached last."""
        def tool(*arguments: str) -> str:
            return subprocess.run([program(), "rollout", *arguments, "--endpoints", one.addresses[0]], check=True,
                                  capture_output=True, text=True).stdout

        path, used = self.path, list[bytes]()
        await asyncio.to_thread(tool, "create", path, "web", "--location", "all")
        async with self.client.session(path) as s, rollout.join(s, "web", "one", "all") as member:
            async def bring(target: rollout.Target) -> None:
                used.append(target.payload)

            work = asyncio.create_task(member.run(bring))
            for times in range(1, 4):
                if times > 1:
                    await asyncio.to_thread(tool, "delete", path, "web", "--force", "--yes")
                    await asyncio.to_thread(tool, "create", path, "web", "--location", "all")
                async with asyncio.timeout(20):
                    while "one" not in await asyncio.to_thread(tool, "instances", path, "web"):
                        await asyncio.sleep(0.02)
                await asyncio.to_thread(tool, "publish", path, "web", "the same")
                async with asyncio.timeout(10):
                    while len(used) < times:
                        await asyncio.sleep(0.01)
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
        self.assertEqual(used, [b"the same"] * 3)

    async def test_processes(self) -> None:
        class Work(process.Handler):
            def __init__(self, name: bytes) -> None:
                self.name, self.did = name, list[str]()

            async def prepare(self, round: process.Round) -> None:
                self.did.append("prepare")

            async def coordinate(self, round: process.Round) -> bytes:
                return b",".join(sorted(r.payload for r in await round.broadcast(b"who?")))

            async def request(self, round: process.Round, request: process.Request) -> bytes:
                self.did.append("process")
                return self.name

            async def terminate(self) -> None:
                self.did.append("terminate")

        async with self.client.session(self.path) as a, self.client.session(self.path) as b:
            first, second = Work(b"a"), Work(b"b")
            async with process.join(a, "p", first) as one_member:
                self.assertEqual((await asyncio.wait_for(one_member.result(), 10)).payload, b"a")
                async with process.join(b, "p", second) as two:
                    result = await asyncio.wait_for(two.result(), 10)
                    self.assertEqual(result.payload, b"a,b")
            self.assertEqual(second.did, ["prepare", "process", "terminate"])
            self.assertEqual(first.did[:4], ["prepare", "process", "prepare", "process"])

    def test_rollouts_of_the_sync_face(self) -> None:
        def tool(*arguments: str) -> None:
            subprocess.run([program(), *arguments, "--endpoints", one.addresses[0]], check=True, capture_output=True)

        path, used = "/test/sync_rollouts", list[tuple[bytes, int]]()
        with signalbox.sync.connect(one.addresses) as client:
            client.create_node(path)
            tool("rollout", "create", path, "web", "--location", "canary")
            tool("rollout", "publish", path, "web", "one")

            def bring(target: sync_rollout.Target) -> None:
                used.append((target.payload, target.attempt))
                if target.payload == b"two" and target.attempt == 1:
                    raise sync_rollout.TargetFailedError("not yet", code="not-yet")

            with client.session(path) as s:
                with sync_rollout.join(s, "web", "one", "canary", backoff_initial=0.05, backoff_max=0.1) as member:
                    thread = threading.Thread(target=member.run, args=(bring,))
                    thread.start()
                    for text, wanted in (("one", (b"one", 1)), ("two", (b"two", 2))):
                        if text != "one":
                            tool("rollout", "publish", path, "web", text)
                        until = time.monotonic() + 20
                        while wanted not in used and time.monotonic() < until:
                            time.sleep(0.01)
                thread.join(20)
                self.assertFalse(thread.is_alive(), "the loop ends when the member leaves")
        self.assertEqual(used, [(b"one", 1), (b"two", 1), (b"two", 2)])

    def test_processes_of_the_sync_face(self) -> None:
        did = list[str]()

        class Work(sync_process.Handler):
            def __init__(self, name: bytes) -> None:
                self.name = name

            def prepare(self, round: sync_process.Round) -> None:
                did.append("prepare")

            def coordinate(self, round: sync_process.Round) -> bytes:
                return b",".join(sorted(r.payload for r in round.broadcast(b"who?")))

            def request(self, round: sync_process.Round, request: sync_process.Request) -> bytes:
                return self.name

            def terminate(self) -> None:
                did.append("terminate")

        path = "/test/sync_processes"
        with signalbox.sync.connect(one.addresses) as client:
            client.create_node(path)
            with client.session(path) as a, client.session(path) as b:
                with sync_process.join(a, "p", Work(b"a")) as first:
                    self.assertEqual(first.result().payload, b"a")
                    with sync_process.join(b, "p", Work(b"b")) as second:
                        self.assertEqual(second.result().payload, b"a,b")
                        self.assertNotEqual(first.id, second.id)
        self.assertEqual(did[0], "prepare")
        self.assertEqual(did.count("terminate"), 2)

    def test_the_sync_face(self) -> None:
        with signalbox.sync.connect(one.addresses) as client:
            client.create_node("/sync")
            inside, most, done = [0], [0], [0]

            def worker() -> None:
                with client.session("/sync") as session:
                    for _ in range(5):
                        with session.semaphore("resource", limit=2) as lease:
                            lease.check()
                            inside[0] += 1
                            most[0] = max(most[0], inside[0])
                            time.sleep(0.005)
                            inside[0] -= 1
                            done[0] += 1

            threads = [threading.Thread(target=worker) for _ in range(6)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            self.assertEqual((done[0], most[0]), (30, 2))
            with client.session("/sync") as session:
                semaphore = session.semaphore("plain", limit=3)
                lease = semaphore.acquire(count=2)
                semaphore.update(b"host=a")
                info = semaphore.describe()
                self.assertEqual((info.count, info.data, len(info.owners)), (2, b"host=a", 1))
                views = client.node("/sync").watch("plain")
                self.assertEqual(next(views).data, b"host=a")
                views.close()  # type: ignore[attr-defined]
                self.assertTrue(semaphore.release())
                self.assertFalse(lease.held)
                with self.assertRaises(signalbox.sync.LeaseLostError) as caught, session.lock("job") as held:
                    client.node("/sync").destroy_session(session.id)
                    self.assertTrue(held.lost.wait(5))
                self.assertIsInstance(caught.exception.reason, signalbox.SessionLostError)
            with client.session("/sync") as session:
                recipes.config.put(client, "/sync", "c", b"1")
                self.assertEqual(recipes.config.edit(client, "/sync", "c", lambda old: (old or b"") + b"2"), b"12")
                with recipes.discovery.register(session, "api", "h:1"):
                    self.assertEqual([e.address for e in recipes.discovery.endpoints(client, "/sync", "api")], ["h:1"])
                with recipes.election.lead(session, "leader", b"me") as term:
                    self.assertEqual(recipes.election.current(client, "/sync", "leader").fence, term.fence)
                with recipes.Limiter(client, "/sync", "lim", 2) as limiter, limiter.slot(), limiter.slot():
                    with self.assertRaises(signalbox.sync.NotAcquiredError), limiter.slot(wait=0):
                        self.fail("a third")


class Guarded(unittest.IsolatedAsyncioTestCase):
    """A host with TLS and tokens."""

    async def test_tls_and_tokens(self) -> None:
        try:
            subprocess.run(["openssl", "version"], check=True, capture_output=True)
        except OSError:
            self.skipTest("there is no openssl, which makes the certificate")
        line = subprocess.run([program(), "token", "generate", "--name", "t"], check=True,
                              capture_output=True, text=True).stdout
        with tempfile.TemporaryDirectory() as folder:
            key, cert, tokens = (str(Path(folder) / n) for n in ("box.key", "box.pem", "tokens.yaml"))
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                            "-subj", "/CN=box", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert],
                           check=True, capture_output=True)
            Path(tokens).write_text("principals:\n" + line.strip().splitlines()[-1] + "\n")
            token = next(w for w in line.split() if len(w) > 20 and ":" not in w)
            port = free_ports(1)[0]
            hosts = Hosts(1, ["--tls-listen", f"127.0.0.1:{port}", "--tls-cert", cert, "--tls-key", key,
                              "--token-file", tokens])
            try:
                context = ssl.create_default_context(cafile=cert)
                asked = 0

                async def source() -> str:
                    nonlocal asked
                    asked += 1
                    return token

                async with signalbox.connect(f"127.0.0.1:{port}", source, tls=context) as client:
                    await client.create_node("/tls")
                    async with client.session("/tls") as session, session.lock("a") as lease:
                        self.assertTrue(lease.held)
                self.assertEqual(asked, 1)
                with self.assertRaisesRegex(signalbox.UnauthenticatedError, "token"):
                    await signalbox.connect(f"127.0.0.1:{port}", "wrong", tls=context)
                with self.assertRaises(signalbox.UnavailableError):
                    await signalbox.connect(f"127.0.0.1:{port}", token, tls=True, timeout=2)
            finally:
                hosts.stop()


class ThreeHosts(unittest.IsolatedAsyncioTestCase):
    async def test_locks_go_on_while_hosts_are_killed(self) -> None:
        hosts = await asyncio.to_thread(Hosts, 3)
        self.addCleanup(hosts.stop)
        inside: dict[str, int] = {}
        fences: dict[str, list[int]] = {}
        taken = lost = 0
        over = asyncio.Event()

        async def work(client: signalbox.Client, i: int) -> None:
            nonlocal taken, lost
            name = f"job{i % 4}"
            async with client.session("/kills", timeout=20) as session:
                while not over.is_set():
                    async with session.lock(name) as lease:
                        self.assertEqual(inside.get(name, 0), 0, "two have it")
                        inside[name] = 1
                        fences.setdefault(name, []).append(lease.fence)
                        taken += 1
                        await asyncio.sleep(0.002)
                        inside[name] = 0
                        lost += not lease.held

        views: list[bytes] = []

        async def watch(client: signalbox.Client) -> None:
            async for view in client.node("/kills").watch("count"):
                views.append(view.data)

        async with signalbox.connect(hosts.addresses) as a, signalbox.connect(hosts.addresses) as b:
            await a.create_node("/kills")
            watching = asyncio.create_task(watch(b))
            workers = [asyncio.create_task(work(c, i)) for i in range(8) for c in (a, b)]
            async with a.session("/kills", timeout=20) as session:
                counter = session.semaphore("count")
                await counter.create(1, b"0")
                for turn, host in enumerate(random.sample(hosts.all, 3)):
                    before = taken
                    host.kill()
                    await counter.update(str(turn + 1).encode())
                    await self.grows(lambda: taken, before + 20, workers)
                    await asyncio.to_thread(host.start)
                    await asyncio.to_thread(host.await_ready, 2)
                    before = taken
                    await self.grows(lambda: taken, before + 20, workers)
                self.assertEqual((await counter.describe(consistency=signalbox.Consistency.STRICT)).data, b"3")
                async with asyncio.timeout(20):
                    while views[-1:] != [b"3"]:
                        await asyncio.sleep(0.05)
            over.set()
            await asyncio.wait_for(asyncio.gather(*workers), 30)
            watching.cancel()
        self.assertEqual(lost, 0, "a lease was lost though a majority lived")
        for name, found in fences.items():
            self.assertEqual(found, sorted(set(found)), f"fences of {name} do not grow")

    async def test_callers_go_on_while_the_leader_hangs(self) -> None:
        hosts = await asyncio.to_thread(Hosts, 3)
        self.addCleanup(hosts.stop)
        asked, acquired = [0.0] * 8, [0.0] * 8  # of the latest lock of each caller

        async def work(client: signalbox.Client, i: int) -> None:
            async with client.session("/hangs") as session:
                while True:
                    began = time.monotonic()
                    async with session.lock(f"job{i}"):
                        asked[i], acquired[i] = began, time.monotonic()
                    await asyncio.sleep(0.001)

        async def all_since(moment: float) -> float:
            async with asyncio.timeout(60):
                while min(asked) <= moment:
                    await asyncio.sleep(0.005)
            return max(acquired) - moment

        took = []
        async with contextlib.AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(signalbox.connect(hosts.addresses)) for _ in asked]
            await clients[0].create_node("/hangs")
            workers = [asyncio.create_task(work(c, i)) for i, c in enumerate(clients)]
            for _ in range(int(os.environ.get("HUNG_ROUNDS", "1"))):
                await all_since(time.monotonic())
                cluster = clients[0]._core.cluster
                await cluster.refresh()
                leader = cluster.shards[cluster.data_shards()[0]].leader
                hung = next(h for h in hosts.all if leader is not None and h.address in leader.addresses)
                paused = time.monotonic()
                hung.pause()
                took.append(await all_since(paused))
                hung.resume()
                for w in workers:
                    self.assertFalse(w.done(), "a caller has failed")
            for w in workers:
                w.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        took.sort()
        print(f"until every caller had a lock: median {took[len(took) // 2]:.2f} s, worst {took[-1]:.2f} s")
        self.assertLess(took[-1], 5, "the goal is 3 s on a machine that does nothing else")

    async def grows(self, number: Any, to: int, workers: list[asyncio.Task[None]]) -> None:
        async with asyncio.timeout(30):
            while number() < to:
                for w in workers:
                    if w.done():
                        w.result()
                await asyncio.sleep(0.02)


if __name__ == "__main__":
    unittest.main()
