"""What the client does when hosts are late, silent or gone, and when its own process is: against a fake host."""

import asyncio
import os
import signal
import subprocess
import sys
import time
import unittest
import unittest.mock
from pathlib import Path
from typing import Any

import signalbox
import signalbox.sync
from fake import FakeCluster, FakeConnection, FakeHost, Hook
from signalbox import EndReason, _clock, discovery
from signalbox import _wire as wire
from signalbox.errors import Status
from signalbox._host import Host, Shard, Tried

SOURCE = str(Path(__file__).parents[1] / "src")


class Behaviour(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        asyncio.get_running_loop().slow_callback_duration = 10  # some tests block the loop
        self.host = await self.enterAsyncContext(FakeHost())
        self.client = await self.enterAsyncContext(signalbox.connect(self.host.address))

    async def session(self, timeout: float = 1.0, **options: Any) -> signalbox.Session:
        session = await self.client.session("/x", timeout, **options)
        self.addAsyncCleanup(session.close)
        return session

    async def test_a_lease_counts_from_the_sending_of_a_ping(self) -> None:
        session = await self.session(2.0)
        lease = await session.lock("job").acquire()
        sent = time.monotonic()
        pongs = 0

        def late(c: FakeConnection, values: dict[str, Any]) -> None:
            nonlocal sent, pongs
            if pongs:
                return
            pongs += 1
            sent = time.monotonic()
            asyncio.get_running_loop().call_later(0.3, c.send, "PONG", values["request"])

        self.host.hooks["PING"] = late
        self.host.hooks["SESSION_ATTACH"] = lambda c, v: None
        reason = await lease.lost
        self.assertEqual(pongs, 1)
        self.assertLessEqual(time.monotonic() - sent, 2.0 - 0.2 + 0.15, "it counted from the answer")
        self.assertGreaterEqual(time.monotonic() - sent, 1.7)
        self.assertIsInstance(reason, signalbox.SessionLostError)
        assert isinstance(reason, signalbox.SessionLostError)
        self.assertIs(reason.reason, EndReason.SILENCE)

    async def test_a_block_is_cancelled_when_its_lease_is_lost_and_sees_why(self) -> None:
        session = await self.session()
        self.host.hooks["PING"] = self.host.hooks["SESSION_ATTACH"] = lambda c, v: None
        seen = None
        with self.assertRaises(signalbox.LeaseLostError) as caught:
            async with session.lock("job") as lease:
                try:
                    await asyncio.sleep(10)
                except asyncio.CancelledError:
                    seen = lease.lost.reason
                    raise
        self.assertIsInstance(seen, signalbox.SessionLostError)
        self.assertIs(caught.exception.reason, seen)
        task = asyncio.current_task()
        assert task is not None
        self.assertEqual(task.cancelling(), 0)

    async def test_a_loss_ends_a_task_group_within_the_block(self) -> None:
        session = await self.session()
        self.host.hooks["PING"] = self.host.hooks["SESSION_ATTACH"] = lambda c, v: None
        ended = []

        async def work() -> None:
            try:
                await asyncio.sleep(10)
            finally:
                ended.append(1)

        with self.assertRaises(signalbox.LeaseLostError):
            async with session.lock("job"):
                async with asyncio.TaskGroup() as group:
                    group.create_task(work())
                    group.create_task(work())
        self.assertEqual(ended, [1, 1])

    async def test_another_cancellation_is_not_taken_for_a_loss(self) -> None:
        session = await self.session()

        async def work() -> None:
            async with session.lock("job"):
                await asyncio.sleep(10)

        task = asyncio.create_task(work())
        await self.host.hears("ACQUIRE")
        await asyncio.sleep(0)
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        await self.host.hears("RELEASE")

    async def test_a_timeout_around_a_block_is_a_timeout(self) -> None:
        session = await self.session()
        with self.assertRaises(TimeoutError):
            async with asyncio.timeout(0.05):
                async with session.lock("job"):
                    await asyncio.sleep(10)

    async def test_an_error_of_a_block_that_lost_its_lease_is_the_cause(self) -> None:
        session = await self.session()
        with self.assertRaises(signalbox.LeaseLostError) as caught:
            async with session.lock("job"):
                self.host.connections[0].send("SESSION_ENDED", 0, {"session_id": session.id, "reason": 3})
                try:
                    await asyncio.sleep(10)
                except asyncio.CancelledError:
                    raise ValueError("in the middle of it") from None
        self.assertIsInstance(caught.exception.__cause__, ValueError)

    async def test_after_a_blocked_event_loop_the_lease_is_looked_at_before_anything_else(self) -> None:
        session = await self.session(0.5)
        order: list[str] = []

        async def other() -> None:
            # It is ready to run while the loop is blocked, behind the task that blocks it.
            await ready.wait()
            order.append("other: " + ("held" if lease.cause is None else "lost"))

        ready = asyncio.Event()
        with self.assertRaises(signalbox.LeaseLostError):
            async with session.lock("job") as lease:
                task = asyncio.create_task(other())
                await asyncio.sleep(0)
                ready.set()
                time.sleep(1.0)  # noqa: ASYNC251: the loop is blocked
                await asyncio.sleep(0)
                order.append("the block went on")
        await task
        self.assertEqual(order, ["other: lost"])

    async def test_the_block_of_a_registration_ends_with_its_session(self) -> None:
        for destroyed in (True, False):  # by an operator, or because no host vouches for it
            with self.subTest(destroyed=destroyed):
                self.host.hooks.clear()
                session = await self.session()
                with self.assertRaises(signalbox.LeaseLostError) as caught:
                    async with discovery.register(session, "api", "h:1") as registration:
                        if destroyed:
                            self.host.connections[0].send(
                                "SESSION_ENDED", 0, {"session_id": session.id, "reason": 3})
                        else:
                            self.host.hooks["PING"] = self.host.hooks["SESSION_ATTACH"] = lambda c, v: None
                        await asyncio.sleep(10)
                self.assertIs(caught.exception.reason, registration.error)
                self.assertIsInstance(registration.error, signalbox.SessionLostError)
                self.assertIsInstance(await registration.lost(), signalbox.LeaseLostError)
                task = asyncio.current_task()
                assert task is not None
                self.assertEqual(task.cancelling(), 0)

    async def test_the_block_of_a_registration_goes_on_where_its_session_is_renewed(self) -> None:
        session = await self.session(renew=True)
        async with discovery.register(session, "api", "h:1") as registration:
            first = registration.fence
            self.host.connections[0].send("SESSION_ENDED", 0, {"session_id": session.id, "reason": 3})
            await self.host.hears("ACQUIRE", 2)
            async with asyncio.timeout(5):
                while registration.fence == first:
                    await asyncio.sleep(0.01)
            self.assertIsNone(registration.error)
        await self.host.hears("RELEASE")

    async def test_a_lease_goes_on_while_the_machine_is_suspended(self) -> None:
        real, suspended = _clock.now, 0.0
        self.enterContext(unittest.mock.patch.object(_clock, "now", lambda: real() + suspended))
        session = await self.session(30.0)
        with self.assertRaises(signalbox.LeaseLostError) as caught:
            async with session.lock("job") as lease:
                suspended += 1
                await asyncio.sleep(0.05)
                lease.check()  # as it was short
                self.host.hooks["PING"] = self.host.hooks["SESSION_ATTACH"] = lambda c, v: None
                resumed = time.monotonic()
                suspended += 60
                await asyncio.sleep(10)
        self.assertLess(time.monotonic() - resumed, 2)
        assert isinstance(caught.exception.reason, signalbox.SessionLostError)
        self.assertIs(caught.exception.reason.reason, EndReason.SILENCE)
        self.host.hooks.clear()
        session = await self.session(30.0)
        lease = await session.lock("job").acquire()
        suspended += 60
        with self.assertRaises(signalbox.LeaseLostError):
            lease.check()  # at once

    async def test_a_block_that_ends_by_itself_after_its_lease_is_lost_ends_with_the_loss(self) -> None:
        async def sleepy(lease: signalbox.Lease) -> None:
            time.sleep(0.7)  # noqa: ASYNC251: the loop is blocked

        async def careful(lease: signalbox.Lease) -> None:
            time.sleep(0.7)  # noqa: ASYNC251: the loop is blocked
            lease.check()

        async def curious(lease: signalbox.Lease) -> None:
            time.sleep(0.7)  # noqa: ASYNC251: the loop is blocked
            self.assertTrue(lease.lost)

        for block in (sleepy, careful, curious):
            with self.subTest(block.__name__):
                session = await self.session(0.5)
                with self.assertRaises(signalbox.LeaseLostError) as caught:
                    async with session.lock("job") as lease:
                        await block(lease)
                self.assertIsInstance(caught.exception.reason, signalbox.SessionLostError)
                task = asyncio.current_task()
                assert task is not None
                self.assertEqual(task.cancelling(), 0)
                await asyncio.sleep(0)  # no cancellation is left behind

    async def test_a_cancelled_acquire_that_was_sent_leaves_nothing(self) -> None:
        session = await self.session()
        self.host.hooks["ACQUIRE"] = lambda c, v: None
        task = asyncio.create_task(session.semaphore("job", create=False).acquire())
        asked = await self.host.hears("ACQUIRE")
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        self.assertEqual(self.host.of("RELEASE"), [], "the outcome is open: nothing else of the name may be under way")
        self.host.connections[0].send("ACQUIRE_ANSWER", asked["request"], {"outcome": 1, "order_id": 5})
        released = await self.host.hears("RELEASE")
        self.assertEqual(released["order_id"], 5)
        self.assertGreater(released["sequence"], asked["sequence"])

    async def test_a_cancelled_acquire_that_waits_is_taken_out_of_the_queue(self) -> None:
        session = await self.session()
        self.host.hooks["ACQUIRE"] = lambda c, v: {"outcome": 2, "order_id": 9}
        task = asyncio.create_task(session.semaphore("job", create=False).acquire())
        await self.host.hears("ACQUIRE")
        await asyncio.sleep(0.05)
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        self.assertEqual((await self.host.hears("RELEASE"))["order_id"], 9)

    async def test_a_grant_that_comes_with_the_cancellation_is_given_back(self) -> None:
        session = await self.session()
        self.host.hooks["ACQUIRE"] = lambda c, v: {"outcome": 2, "order_id": 9}
        task = asyncio.create_task(session.semaphore("job", create=False).acquire())
        asked = await self.host.hears("ACQUIRE")
        await asyncio.sleep(0.05)
        inc = session._current
        assert inc is not None
        waiting = inc.queues["job"].waiting
        assert waiting is not None and inc.home is not None
        waiting.answered(inc.home, [112, asked["request"], 9])  # the grant
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        self.assertEqual((await self.host.hears("RELEASE"))["order_id"], 9)

    async def test_one_mutation_of_a_name_is_under_way_at_a_time_and_sequences_are_acknowledged(self) -> None:
        session = await self.session()
        open_of: dict[str, int] = {}
        most: dict[str, int] = {}

        def slow(c: FakeConnection, v: dict[str, Any]) -> None:
            name = v["name"]
            open_of[name] = open_of.get(name, 0) + 1
            most[name] = max(most.get(name, 0), open_of[name])

            def answer() -> None:
                open_of[name] -= 1
                c.send("SEMAPHORE_UPDATE_ANSWER", v["request"], {"revision": 1})

            asyncio.get_running_loop().call_later(0.005, answer)

        self.host.hooks["SEMAPHORE_UPDATE"] = slow
        await asyncio.gather(*(session.semaphore(f"n{i % 4}").update(b"x") for i in range(40)))
        await session.semaphore("last").update(b"x")
        self.assertEqual(set(most.values()), {1})
        asked = self.host.of("SEMAPHORE_UPDATE")
        sent = [v["sequence"] for v in asked]
        self.assertEqual(sent, sorted(sent), "sequences arrive in order")
        self.assertEqual(len(set(sent)), 41)
        self.assertTrue(all(v["acknowledged_sequence"] < v["sequence"] for v in asked))
        self.assertEqual(asked[-1]["acknowledged_sequence"], 40)

    async def test_a_mutation_whose_connection_is_lost_is_sent_again_under_its_sequence(self) -> None:
        session = await self.session()

        def cut(c: FakeConnection, v: dict[str, Any]) -> None:
            self.host.hooks.pop("SEMAPHORE_UPDATE")
            c.close()

        self.host.hooks["SEMAPHORE_UPDATE"] = cut
        await session.semaphore("a").update(b"x")
        first, second = self.host.of("SEMAPHORE_UPDATE")
        self.assertEqual((first["sequence"], first["data"]), (second["sequence"], second["data"]))
        self.assertEqual(len(self.host.of("SESSION_ATTACH")), 1)

    async def test_a_change_that_a_lost_session_leaves_open_is_an_unknown_outcome(self) -> None:
        session = await self.session()

        def end(c: FakeConnection, v: dict[str, Any]) -> None:
            c.send("SESSION_ENDED", 0, {"session_id": session.id, "reason": 3})

        self.host.hooks["SEMAPHORE_UPDATE"] = end
        with self.assertRaises(signalbox.UnknownOutcomeError) as caught:
            await session.semaphore("a").update(b"x")
        self.assertIsInstance(caught.exception, signalbox.SessionLostError)

    async def test_a_change_without_a_session_that_is_not_answered_is_an_unknown_outcome(self) -> None:
        self.host.hooks["NODE_DESCRIBE"] = lambda c, v: {"node": {"id": 1, "path": "/x"}}

        def cut(c: FakeConnection, v: dict[str, Any]) -> None:
            c.close()

        self.host.hooks["SEMAPHORE_UPDATE"] = cut
        with self.assertRaises(signalbox.UnknownOutcomeError):
            await self.client.node("/x").update("a", b"x")
        self.assertEqual(len(self.host.of("SEMAPHORE_UPDATE")), 1)

    async def test_tasks_of_a_session_take_turns_in_the_order_in_which_they_came(self) -> None:
        session = await self.session()
        order: list[int] = []

        async def work(i: int) -> None:
            for _ in range(3):
                async with session.lock("job"):
                    order.append(i)
                    await asyncio.sleep(0)

        await asyncio.gather(*(work(i) for i in range(3)))
        self.assertEqual(order, [0, 1, 2] * 3)

    async def test_requests_beyond_the_limit_wait_in_the_client(self) -> None:
        async with FakeHost() as host:
            most = opened = 0
            base: Any = host.answer

            def answer(name: str, values: dict[str, Any]) -> Any:
                found = base(name, values)
                return {**found, "limits": {"requests_in_flight": 16}} if name == "HELLO" else found

            setattr(host, "answer", answer)

            def slow(c: FakeConnection, v: dict[str, Any]) -> None:
                nonlocal most, opened
                opened += 1
                most = max(most, opened)

                def answer() -> None:
                    nonlocal opened
                    opened -= 1
                    c.send("SEMAPHORE_UPDATE_ANSWER", v["request"])

                asyncio.get_running_loop().call_later(0.002, answer)

            host.hooks["SEMAPHORE_UPDATE"] = slow
            async with signalbox.connect(host.address) as client, client.session("/x") as session:
                await asyncio.gather(*(session.semaphore(f"n{i}").update(b"") for i in range(200)))
            self.assertLessEqual(most, 16)
            self.assertEqual(len(host.of("SEMAPHORE_UPDATE")), 200)

    async def test_a_watch_that_is_left_is_stopped(self) -> None:
        self.host.hooks["NODE_DESCRIBE"] = lambda c, v: {"node": {"id": 1, "path": "/x"}}

        def snapshot(c: FakeConnection, v: dict[str, Any]) -> None:
            c.send("WATCH_ANSWER", v["request"])
            c.send("WATCH_SNAPSHOT", v["request"], {"revision": 3, "first": True, "last": True, "exists": True})

        self.host.hooks["WATCH"] = snapshot
        async for view in self.client.node("/x").watch("a"):
            self.assertEqual(view.revision, 3)
            break
        self.assertEqual((await self.host.hears("WATCH_STOP"))["watch_id"], self.host.of("WATCH")[0]["request"])

    async def test_a_thousand_sessions_share_a_host(self) -> None:
        cluster = self.client._core.cluster
        hosts = [Host(cluster, i, [f"127.0.0.1:{i}"]) for i in range(1, 4)]
        cluster.shards = {i: Shard(i, h, [h]) for i, h in enumerate([hosts[0], *hosts])}
        cluster.meta = 0
        homes = [cluster.session_home(Tried()) for _ in range(2000)]
        first, second = homes[0], homes[1000]
        assert first is not None and second is not None and first is not second
        self.assertEqual(homes, [first] * 1000 + [second] * 1000)
        for _ in range(20):
            tried = Tried()
            for _ in range(3):
                tried.add(cluster.session_home(tried))
            self.assertEqual(set(tried), set(hosts), "each leader is tried before one is tried again")

    async def test_a_read_that_meets_two_bad_hosts_asks_the_third(self) -> None:
        cluster = await self.enterAsyncContext(FakeCluster(3))
        asked: list[int] = []

        def hook(h: FakeHost) -> Hook:
            def answer(c: FakeConnection, values: dict[str, Any]) -> dict[str, Any] | int:
                asked.append(h.id)
                if h.id != 2:
                    return int(Status.UNAVAILABLE)
                return {"semaphore": {"name": "x", "limit": 1}}
            return answer

        for h in cluster.hosts:
            h.hooks["SEMAPHORE_DESCRIBE"] = hook(h)
            h.hooks["NODE_DESCRIBE"] = lambda c, v: {"node": {"id": 1, "path": "/x"}}
        for consistency in (signalbox.Consistency.STRICT, signalbox.Consistency.RELAXED):
            for _ in range(10):  # clients begin at hosts that chance chooses
                asked.clear()
                async with signalbox.connect(cluster.addresses) as client, asyncio.timeout(20):
                    await client.node("/x").describe("x", consistency=consistency)
                self.assertLessEqual(len(asked), 3, f"{consistency}: {asked}")

    async def test_requests_under_way_at_a_hung_leader_go_to_the_next(self) -> None:
        for given in (1, 3):  # hosts that the client knows; it finds the others when the leader is silent
            with self.subTest(given=given):
                cluster = await self.enterAsyncContext(FakeCluster(3))
                leader = cluster.hosts[0]
                leader.hooks["ACQUIRE"] = lambda c, v: None  # it may be carried out, and is not answered
                async with signalbox.connect(cluster.addresses[:given]) as client:
                    session = await client.session("/x", 30)
                    began = time.monotonic()
                    task = asyncio.create_task(session.semaphore("job", create=False).acquire())
                    sent = await leader.hears("ACQUIRE")
                    await asyncio.sleep(0)
                    leader.hang()
                    await asyncio.sleep(2)
                    cluster.lead(cluster.hosts[1])
                    cluster.announce()
                    async with asyncio.timeout(1):
                        lease = await task
                    self.assertLess(time.monotonic() - began, 3)
                    again = await cluster.hosts[1].hears("ACQUIRE")
                    self.assertEqual(again["sequence"], sent["sequence"], "it is sent again under its sequence")
                    self.assertTrue(lease.held)

    async def test_a_slow_leader_keeps_its_connection(self) -> None:
        cluster = await self.enterAsyncContext(FakeCluster(3))
        leader = cluster.hosts[0]
        async with signalbox.connect(cluster.addresses) as client:
            session = await client.session("/x", 30)
            answer = leader.answer("ACQUIRE", {})

            def late(c: FakeConnection, values: dict[str, Any]) -> None:
                asyncio.get_running_loop().call_later(1.7, c.send, "ACQUIRE_ANSWER", values["request"], answer)

            leader.hooks["ACQUIRE"] = late
            lease = await session.semaphore("job", create=False).acquire()
            cluster.lead(cluster.hosts[1])
            cluster.announce()  # it answers pings, so it does not hang
            await asyncio.sleep(1.5)
            self.assertEqual(len(leader.of("HELLO")), 1)
            self.assertTrue(lease.held)
            self.assertIs(session._current and session._current.home and session._current.home.error, None)

    async def test_a_slot_that_moved_is_found_and_named_and_no_older_place_takes_it_back(self) -> None:
        other = await self.enterAsyncContext(FakeHost())
        slot = wire.semaphore_slot(1, "a")

        def routing(c: FakeConnection, v: dict[str, Any]) -> dict[str, Any]:
            return {"version": 1, "meta_shard_id": 0,
                    "hosts": [{"id": 1, "address": self.host.address, "state": 1},
                              {"id": 2, "address": other.address, "state": 1}],
                    "shards": [{"id": 0, "leader_host_id": 1, "replica_host_ids": [1]},
                               {"id": 1, "leader_host_id": 1, "replica_host_ids": [1]},
                               {"id": 2, "leader_host_id": 2, "replica_host_ids": [2]}],
                    "slots": [{"first": 0, "last": 4095, "shard_id": 1}]}

        def moved(shard: int, host: FakeHost, generation: int) -> Hook:
            def hook(c: FakeConnection, v: dict[str, Any]) -> None:
                detail = wire.record("Detail", {
                    "shard_id": shard, "leader_host_id": shard, "leader_address": host.address, "slot": slot,
                    "generation": generation})
                c.writer.write(wire.frame(93, v["request"], (11, detail)))
            return hook

        found = {"semaphore": {"name": "a", "limit": 1, "revision": 3}}
        lagging = iter([moved(1, self.host, 2)])
        for h, id in ((self.host, 1), (other, 2)):
            h.hooks["ROUTING"] = routing
            h.hooks["HELLO"] = lambda c, v, id=id: {  # type: ignore[misc]
                "version": 1, "host_id": id, "cluster_id": "fake", "ping_interval_ms": 10_000,
                "limits": {"requests_in_flight": 1024}}
        self.host.hooks["NODE_DESCRIBE"] = lambda c, v: {"node": {"id": 1, "path": "/x"}}
        self.host.hooks["SEMAPHORE_DESCRIBE"] = moved(2, other, 3)
        other.hooks["SEMAPHORE_DESCRIBE"] = lambda c, v: next(lagging, lambda c, v: found)(c, v)
        client = await self.enterAsyncContext(signalbox.connect(self.host.address))
        for _ in range(3):
            self.assertEqual((await client.node("/x").describe("a")).revision, 3)
        self.assertEqual([v["generation"] for v in self.host.of("SEMAPHORE_DESCRIBE")], [0])
        self.assertEqual([v["generation"] for v in other.of("SEMAPHORE_DESCRIBE")], [3] * 4)

    async def test_leases_in_a_rebuilt_shard_are_lost(self) -> None:
        session = await self.session(30.0)
        first = await session.semaphore("first", 1).acquire()
        kept = await session.semaphore("kept", 1).acquire()
        asked = len(self.host.of("SESSION_HOLDINGS"))
        fence = first.fence + (1 << 10)  # of the same shard
        slots, slot = bytearray(512), wire.semaphore_slot(1, "first")
        slots[slot // 8] = 1 << slot % 8
        for below in first.fence, fence:
            self.host.connections[0].send(
                "HOLDING_LOST", 0, {"session_id": session.id, "order_id": below, "slots": bytes(slots)})
        async with asyncio.timeout(2):
            self.assertIsInstance(await first.lost, signalbox.LeaseLostError)
        self.assertTrue(kept.held)
        self.assertEqual(asked, len(self.host.of("SESSION_HOLDINGS")))

    async def test_what_a_shard_that_was_made_anew_does_not_list_is_lost_at_once(self) -> None:
        for wait in 1, 60_000:  # how long the refused change is to wait, in milliseconds
            with self.subTest(wait=wait):
                session = await self.session(30.0)
                await session.semaphore("stuck", 1).acquire()  # of which the host says nothing any more
                pool = await session.semaphore("pool", 2).acquire(count=2)
                lock = await session.semaphore("lock", 1).acquire()
                kept = await session.semaphore("kept", 1).acquire()
                held = {"name": "kept", "order_id": kept.fence, "count": 1}
                self.host.hooks["SESSION_HOLDINGS"] = lambda c, v, held=held: {"holdings": [held]}  # type: ignore[misc]

                def refused(c: FakeConnection, v: dict[str, Any], wait: int = wait) -> None:
                    if v["name"] == "stuck":
                        return
                    c.writer.write(wire.frame(
                        wire.number_of("ACQUIRE_ANSWER"), v["request"],
                        (int(signalbox.Status.OVERLOADED), wire.record("Detail", {"wait_ms": wait}))))

                self.host.hooks["ACQUIRE"] = refused
                asked = len(self.host.of("ACQUIRE"))
                change = asyncio.create_task(pool.change(count=1))
                await self.host.hears("ACQUIRE", asked + 1)
                await asyncio.sleep(0.05)
                self.host.connections[0].send("HOLDING_LOST", 0, {"session_id": session.id})
                async with asyncio.timeout(2):
                    self.assertIsInstance(await pool.lost, signalbox.LeaseLostError)
                    self.assertIsInstance(await lock.lost, signalbox.LeaseLostError)
                self.assertTrue(kept.held)
                self.assertEqual({v["consistency"] for v in self.host.of("SESSION_HOLDINGS")}, {1})
                change.cancel()
                del self.host.hooks["ACQUIRE"]

    async def test_a_closed_client_leaves_no_task_and_no_connection(self) -> None:
        before = asyncio.all_tasks()
        client = await signalbox.connect(self.host.address)
        session = await client.session("/x")
        lease = await session.lock("a").acquire()
        await client.close()
        self.assertFalse(lease.held)
        await asyncio.sleep(0.05)
        left = {t for t in asyncio.all_tasks() - before if "FakeHost" not in repr(t)}
        self.assertEqual(left, set())
        with self.assertRaises(signalbox.ClosedError):
            await client.create_node("/y")

    async def test_many_idle_sessions_share_their_pings_and_take_little_memory(self) -> None:
        sessions = [await self.session(30.0) for _ in range(200)]
        self.assertEqual(len(self.host.connections), 1)
        self.assertEqual(len({s.id for s in sessions}), 200)


class Processes(unittest.TestCase):
    """What becomes of sessions when a process forks, ends, or stands still."""

    def play(self, program: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([sys.executable, "-c", program, *arguments], env=os.environ | {"PYTHONPATH": SOURCE},
                              capture_output=True, text=True, timeout=60, check=False)

    def with_host(self, program: str) -> tuple[FakeHost, "subprocess.CompletedProcess[str]"]:
        async def run() -> tuple[FakeHost, "subprocess.CompletedProcess[str]"]:
            async with FakeHost() as host:
                found = await asyncio.to_thread(self.play, program, host.address)
                await asyncio.sleep(0.1)
                return host, found

        return asyncio.run(run())

    def test_after_a_fork_the_client_refuses(self) -> None:
        program = """
import os, sys, signalbox, signalbox.sync
client = signalbox.sync.connect(sys.argv[1])
session = client.session("/x")
lease = session.lock("a").acquire()
pid = os.fork()
if pid == 0:
    found = []
    for call in (lambda: session.lock("b").acquire(), lease.check, lambda: client.session("/x")):
        try:
            call()
        except signalbox.SignalboxError as e:
            found.append(type(e).__name__)
    print(found, flush=True)
    os._exit(0)
os.waitpid(pid, 0)
lease.check()
print("held by the parent", flush=True)
client.close()
"""
        host, found = self.with_host(program)
        self.assertEqual(found.stdout.splitlines(), [
            "['ForkedProcessError', 'LeaseLostError', 'ForkedProcessError']", "held by the parent"],
                         found.stderr)
        self.assertEqual(len(host.of("SESSION_STOP")), 1)

    def test_an_interpreter_that_ends_stops_its_sessions(self) -> None:
        for name, program in (
            ("sync", "import sys, signalbox.sync\n"
                     "s = signalbox.sync.connect(sys.argv[1]).session('/x', 600)\n"),
            ("asyncio", "import asyncio, sys, signalbox\n"
                        "async def main():\n"
                        "    global s, c\n"
                        "    c = await signalbox.connect(sys.argv[1])\n"
                        "    s = await c.session('/x', 600)\n"
                        "asyncio.run(main())\n"),
            ("an exception", "import sys, signalbox.sync\n"
                             "s = signalbox.sync.connect(sys.argv[1]).session('/x', 600)\nraise ValueError\n"),
        ):
            with self.subTest(name):
                host, found = self.with_host(program)
                self.assertEqual(len(host.of("SESSION_STOP")), 1, found.stderr)

    def test_an_interrupt_within_a_block_gives_the_lock_back(self) -> None:
        program = """
import os, signal, sys, threading, signalbox.sync
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored where tests run in the background
with signalbox.sync.connect(sys.argv[1]) as client, client.session("/x") as session:
    with session.lock("a") as lease:
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(10)
"""
        host, found = self.with_host(program)
        self.assertEqual(found.returncode, -signal.SIGINT if found.returncode < 0 else 130, found.stderr)
        self.assertEqual((len(host.of("RELEASE")), len(host.of("SESSION_STOP"))), (1, 1))


if __name__ == "__main__":
    unittest.main()
