"""Clients with `max_blocked`: heartbeats of a program whose event loop is blocked, and the locks of one that hangs."""

import asyncio
import contextlib
import signal
import sys
import time
import unittest
from collections.abc import AsyncIterator
from pathlib import Path

import signalbox
from hosts import Hosts

PROGRAM = Path(__file__).with_name("blocked.py")
one: Hosts


def setUpModule() -> None:
    global one
    one = Hosts()


def tearDownModule() -> None:
    one.stop()


class Program:
    """The program of blocked.py."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.host = ""  # that its session is attached to

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())

    async def says(self) -> str:
        assert self.process.stdout is not None
        async with asyncio.timeout(40):
            return (await self.process.stdout.readline()).decode().strip()


@contextlib.asynccontextmanager
async def program(
    hosts: Hosts, node: str, timeout: float, max_blocked: float,
) -> AsyncIterator[tuple[Program, signalbox.Session]]:
    """A program with a session in a new node, and another session that wants its lock."""
    async with signalbox.connect(hosts.addresses) as client:
        await client.create_node(node)
        async with client.session(node) as session:
            process = await asyncio.create_subprocess_exec(
                sys.executable, str(PROGRAM), ",".join(hosts.addresses), node, str(timeout), str(max_blocked),
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
            try:
                running = Program(process)
                running.host = (await running.says()).removeprefix("held at ")
                yield running, session
            finally:
                process.kill()
                await process.wait()


class Blocked(unittest.IsolatedAsyncioTestCase):
    async def test_programs(self) -> None:
        """The cases run beside each other, because they mostly wait."""
        cases = [self.keeps_its_locks, self.keeps_its_queue_position, self.outlives_a_host, self.loses_without_the_option,
                 self.loses_when_it_hangs, self.computes_and_looks, self.sees_the_loss_first]
        results = await asyncio.gather(*(case() for case in cases), return_exceptions=True)
        for case, result in zip(cases, results, strict=True):
            with self.subTest(case.__name__):
                if result is not None:
                    raise result

    async def keeps_its_locks(self) -> None:
        async with program(one, "/keeps", 1, 30) as (p, session):
            for _ in range(2):  # the session is attached by its event loop in between
                p.tell("block 4")
                self.assertEqual(await p.says(), "blocking")
                with self.assertRaises(signalbox.NotAcquiredError):
                    await session.semaphore("child", create=False).acquire(wait=3.5)
                self.assertEqual(await p.says(), "looked held")
                p.tell("update")
                self.assertEqual(await p.says(), "updated in ATTACHED")
            self.assertEqual((await session.semaphore("child").describe()).data, b"after the block")

    async def keeps_its_queue_position(self) -> None:
        async with program(one, "/queue", 1, 30) as (p, session):
            lease = await session.semaphore("other").acquire()
            p.tell("wait")
            self.assertEqual(await p.says(), "waiting")
            p.tell("block 4")
            self.assertEqual(await p.says(), "blocking")
            await lease.release()  # the program is granted the semaphore while its loop is blocked
            self.assertEqual(await p.says(), "looked held")
            p.tell("got")
            self.assertEqual(await p.says(), "got True")

    async def outlives_a_host(self) -> None:
        hosts = await asyncio.to_thread(Hosts, 3)
        try:
            async with program(hosts, "/hosts", 4, 60) as (p, session):
                p.tell("block 12")
                self.assertEqual(await p.says(), "blocking")
                next(h for h in hosts.all if h.address == p.host).kill()
                with self.assertRaises(signalbox.NotAcquiredError):
                    await session.semaphore("child", create=False).acquire(wait=11)
                self.assertEqual(await p.says(), "looked held")
                p.tell("update")
                self.assertEqual(await p.says(), "updated in ATTACHED")
        finally:
            await asyncio.to_thread(hosts.stop)

    async def loses_without_the_option(self) -> None:
        async with program(one, "/without", 1, 0) as (p, session):
            p.tell("block 6")
            self.assertEqual(await p.says(), "blocking")
            await session.semaphore("child", create=False).acquire(wait=20)
            self.assertEqual(await p.says(), "looked lost SILENCE")

    async def loses_when_it_hangs(self) -> None:
        async with program(one, "/hangs", 1, 1.5) as (p, session):
            p.tell("block 10")
            self.assertEqual(await p.says(), "blocking")
            began = time.monotonic()
            await session.semaphore("child", create=False).acquire(wait=20)
            took = time.monotonic() - began
            # The thread pings until max_blocked. Then the session ends within its timeout; a busy machine adds to that.
            self.assertGreater(took, 1.5)
            self.assertLess(took, 9)
            self.assertEqual(await p.says(), "looked lost BLOCKED")

    async def computes_and_looks(self) -> None:
        async with program(one, "/computes", 1, 1) as (p, _):
            p.tell("compute 5")
            self.assertEqual(await p.says(), "looked held")

    async def sees_the_loss_first(self) -> None:
        async with program(one, "/stopped", 1, 30) as (p, session):
            p.process.send_signal(signal.SIGSTOP)
            await session.semaphore("child", create=False).acquire(wait=20)
            p.tell("look")
            p.process.send_signal(signal.SIGCONT)
            self.assertRegex(await p.says(), "looked lost")

    async def test_bounds(self) -> None:
        for bad in (0, 0.05, -1, float("nan")):
            with self.subTest(bad), self.assertRaises(signalbox.BadRequestError):
                signalbox.connect(one.addresses, max_blocked=bad)


if __name__ == "__main__":
    unittest.main()
