"""Locks taken and released a second: this client, kazoo, and YDB's SDK through the gateway, in turns in the same run.

    python3 bench/race.py --signalbox 127.0.0.1:7420 --kazoo 127.0.0.1:2181 \\
        --ydb grpc://127.0.0.1:2136 --database /local

Each contestant runs with 1, 64 and 512 tasks, or threads where it has no asyncio, each with a name of its own, for some
seconds and in a process of its own, so that nothing of one is left to the next. A contestant that is not named, or whose
package is not installed, is left out; one that has not ended a minute after its seconds is stopped, and said to be.
`--idle 10000` measures instead what so many idle sessions of this client take, in MiB of resident memory.
"""

import argparse
import asyncio
import os
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import signalbox  # noqa: E402
import signalbox.sync  # noqa: E402

TASKS = (1, 64, 512)


async def _race_tasks(address: str, tasks: int, seconds: float) -> float:
    async with signalbox.connect(address) as c:
        await c.create_node("/race")
        async with c.session("/race") as s:
            done = 0
            until = time.monotonic() + seconds

            async def work(i: int) -> None:
                nonlocal done
                while time.monotonic() < until:
                    async with s.lock(f"job{i}"):
                        done += 1

            await asyncio.gather(*(work(i) for i in range(tasks)))
            return done / seconds


def race_signalbox(address: str, tasks: int, seconds: float) -> float:
    """This client, with tasks."""
    return asyncio.run(_race_tasks(address, tasks, seconds))


def race_threads(make: Callable[[int], Callable[[], None]], threads: int, seconds: float) -> float:
    """Something that threads call, again and again."""
    counts = [0] * threads
    ready = threading.Barrier(threads + 1)

    def work(i: int) -> None:
        once = make(i)
        ready.wait()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            once()
            counts[i] += 1

    all_threads = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
    for t in all_threads:
        t.start()
    ready.wait()
    for t in all_threads:
        t.join()
    return sum(counts) / seconds


def race_sync(address: str, tasks: int, seconds: float) -> float:
    """The sync face, with threads."""
    with signalbox.sync.connect(address) as c:
        c.create_node("/race")
        with c.session("/race") as s:
            def make(i: int) -> Callable[[], None]:
                def once() -> None:
                    with s.lock(f"sync{i}"):
                        pass
                return once

            return race_threads(make, tasks, seconds)


def race_kazoo(address: str, tasks: int, seconds: float) -> float:
    """kazoo's Lock, with threads that share a client."""
    from kazoo.client import KazooClient  # type: ignore[import]

    client = KazooClient(hosts=address)
    client.start()
    try:
        def make(i: int) -> Callable[[], None]:
            lock = client.Lock(f"/race/job{i}", "race")

            def once() -> None:
                with lock:
                    pass
            return once

        return race_threads(make, tasks, seconds)
    finally:
        client.stop()


def race_ydb(endpoint: str, database: str, tasks: int, seconds: float) -> float:
    """YDB's SDK with threads: a session each, as its users have."""
    import ydb  # type: ignore[import]

    driver: Any = ydb.Driver(endpoint=endpoint, database=database)
    driver.wait(10)
    path = f"{database}/race"
    driver.coordination_client.create_node(path)

    def make(i: int) -> Callable[[], None]:
        semaphore = driver.coordination_client.session(path).semaphore(f"job{i}", limit=1)

        def once() -> None:
            semaphore.acquire()
            semaphore.release()
        return once

    return race_threads(make, tasks, seconds)


async def _race_ydb_tasks(endpoint: str, database: str, tasks: int, seconds: float) -> float:
    import ydb

    async with ydb.aio.Driver(endpoint=endpoint, database=database) as driver:
        await driver.wait(10)
        path = f"{database}/race"
        await driver.coordination_client.create_node(path)
        async with driver.coordination_client.session(path) as s:
            done = 0
            until = time.monotonic() + seconds

            async def work(i: int) -> None:
                nonlocal done
                semaphore = s.semaphore(f"job{i}", limit=1)
                while time.monotonic() < until:
                    await semaphore.acquire()
                    await semaphore.release()
                    done += 1

            await asyncio.gather(*(work(i) for i in range(tasks)))
            return done / seconds


def race_ydb_tasks(endpoint: str, database: str, tasks: int, seconds: float) -> float:
    """YDB's SDK with asyncio: tasks that share a session."""
    return asyncio.run(_race_ydb_tasks(endpoint, database, tasks, seconds))


async def idle(address: str, sessions: int) -> None:
    """What idle sessions take."""
    def resident() -> float:
        with open("/proc/self/statm", encoding="ascii") as f:
            return int(f.read().split()[1]) * resource.getpagesize() / 2**20

    async with signalbox.connect(address) as c:
        await c.create_node("/race")
        before, began = resident(), time.monotonic()
        room = asyncio.Semaphore(256)

        async def begin() -> signalbox.Session:
            async with room:
                return await c.session("/race", 60)

        all_sessions = await asyncio.gather(*(begin() for _ in range(sessions)))
        took = time.monotonic() - began
        cpu = time.process_time()
        await asyncio.sleep(10)
        print(f"{sessions} sessions: {resident():.0f} MiB of resident memory, {resident() - before:.0f} of them for "
              f"the sessions; begun in {took:.1f} s; {(time.process_time() - cpu) * 10:.1f} % of a processor, idle; "
              f"{sum(s.state is signalbox.State.ATTACHED for s in all_sessions)} attached")


def main() -> None:
    """Runs the race."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--signalbox", default="127.0.0.1:7420", metavar="ADDRESS")
    parser.add_argument("--kazoo", metavar="ADDRESS")
    parser.add_argument("--ydb", metavar="ENDPOINT")
    parser.add_argument("--database", default="/local")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only", help=argparse.SUPPRESS)
    parser.add_argument("--idle", type=int, metavar="SESSIONS")
    a = parser.parse_args()
    if a.idle:
        asyncio.run(idle(a.signalbox, a.idle))
        return
    contestants: dict[str, Callable[[int], float]] = {
        "signalbox": lambda n: race_signalbox(a.signalbox, n, a.seconds),
        "signalbox.sync": lambda n: race_sync(a.signalbox, n, a.seconds),
    }
    if a.kazoo:
        contestants["kazoo"] = lambda n: race_kazoo(a.kazoo, n, a.seconds)
    if a.ydb:
        contestants["ydb"] = lambda n: race_ydb(a.ydb, a.database, n, a.seconds)
        contestants["ydb.aio"] = lambda n: race_ydb_tasks(a.ydb, a.database, n, a.seconds)
    if a.only:
        name, tasks = a.only.rsplit(":", 1)
        print(contestants[name](int(tasks)), flush=True)
        os._exit(0)  # threads of a contestant that do not end are not waited for
    found: dict[tuple[int, str], list[float]] = {(n, name): [] for n in TASKS for name in contestants}
    for turn in range(a.turns):
        for n, name in found:
            command = [sys.executable, __file__, *sys.argv[1:], "--only", f"{name}:{n}"]
            try:
                done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=a.seconds + 60, check=True)
            except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as e:
                print(f"turn {turn + 1}: {name} with {n} tasks: {type(e).__name__}", file=sys.stderr, flush=True)
                continue
            found[n, name].append(float(done.stdout.split()[-1]))
            print(f"turn {turn + 1}: {name:16} {n:4} tasks  {found[n, name][-1]:9.0f} locks/s", flush=True)
    for (n, name), rates in found.items():
        if rates:
            print(f"{name:16} {n:4} tasks  {statistics.median(rates):9.0f} locks/s, the median of {len(rates)}")


if __name__ == "__main__":
    main()
