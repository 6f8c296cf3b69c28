"""A program that holds the lock "child", for tests that block, stop or kill it: `blocked.py ADDRESSES NODE
TIMEOUT BLOCKED`.

It prints lines, and does what its input says.
"""

import asyncio
import sys
import time

import signalbox


def say(line: str) -> None:
    print(line, flush=True)


def look(lease: signalbox.Lease) -> None:
    """Prints what the program sees of the lease, without waiting."""
    try:
        lease.check()
        say("looked held")
    except signalbox.LeaseLostError as e:
        reason = e.reason.reason.name if isinstance(e.reason, signalbox.SessionLostError) else str(e.reason)
        say(f"looked lost {reason}")


async def main(addresses: str, node: str, timeout: float, max_blocked: float | None) -> None:
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async with signalbox.connect(addresses, max_blocked=max_blocked) as client:
        async with client.session(node, timeout) as session:
            lease = await session.semaphore("child").acquire()
            waiting: asyncio.Task[signalbox.Lease] | None = None
            attachment = session._current
            assert attachment is not None and attachment.home is not None
            say(f"held at {attachment.home.address}")
            while line := (await lines.readline()).decode().split():
                seconds = float(line[1]) if len(line) > 1 else 0.0
                if line[0] == "wait":  # in the queue of another semaphore
                    queued = asyncio.Event()
                    other = session.semaphore("other", create=False)
                    waiting = asyncio.create_task(other.acquire(on_queued=lambda _: queued.set()))
                    await queued.wait()
                    say("waiting")
                elif line[0] == "got":
                    assert waiting is not None
                    say(f"got {(await waiting).held}")
                elif line[0] == "block":
                    say("blocking")
                    time.sleep(seconds)  # noqa: ASYNC251: the loop is blocked
                    look(lease)
                elif line[0] == "compute":
                    end = time.monotonic() + seconds
                    while time.monotonic() < end:
                        time.sleep(0.2)  # noqa: ASYNC251: the loop is blocked
                        lease.held  # noqa: B018: a program that looks at its lease does not hang
                    look(lease)
                elif line[0] == "look":
                    look(lease)
                elif line[0] == "update":
                    await lease.update(b"after the block")
                    say(f"updated in {session.state.name}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4]) or None))
