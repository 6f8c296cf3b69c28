"""State shared within a client: event loop, hosts, background tasks, and whether the client is usable."""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import Coroutine
from typing import Any, Protocol

from ._cluster import Cluster
from ._conn import Connection
from ._deadlines import Deadlines, Mortal
from ._keeper import Keeper
from ._view import Key, SharedWatch
from .errors import ClosedError, EndReason, ForkedProcessError

#: Maximum number of sessions stopped concurrently in the background.
_STOPS_AT_ONCE = 64

_cores: weakref.WeakSet[Core] = weakref.WeakSet()


class OpenSession(Mortal, Protocol):
    """A session, as seen by fork and exit handling."""

    id: int
    secret: bytes
    #: Sequence of the latest attach.
    attach_sequence: int
    timeout: float
    #: The home connection, and the previous home connection.
    home: Connection | None
    last: Connection | None

    def end(self, reason: EndReason) -> object:
        """Ends the session on the client side."""


class Core:
    """A client's state. Used by its event loop only."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.cluster: Cluster
        self.deadlines = Deadlines(loop)
        #: Heartbeats while the event loop is blocked; None unless the client has `max_blocked`.
        self.keeper: Keeper | None = None
        self.stopping = asyncio.Semaphore(_STOPS_AT_ONCE)
        self.closed = False
        self.forked = False
        self.sessions: set[OpenSession] = set()
        self.watches: dict[Key, SharedWatch] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        _cores.add(self)

    def check(self) -> None:
        """Raises an exception if the client is not usable."""
        if self.forked:
            raise ForkedProcessError(
                "the client was created before a fork, in the parent process: connect again in this process")
        if self.closed:
            raise ClosedError("the client is closed")

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any] | None:
        """Runs a coroutine in the background until the client is closed."""
        if self.closed or self.forked or self.loop.is_closed():
            work.close()
            return None
        task = self.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.loop.call_exception_handler({"message": "a background task of signalbox failed", "exception": error,
                                              "task": task})

    async def close(self) -> None:
        """Ends the background tasks and closes the connections."""
        self.closed = True
        self.deadlines.close()
        if self.keeper is not None:
            self.keeper.close()
        self.cluster.close()
        me = asyncio.current_task()
        tasks = [t for t in self._tasks if t is not me]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _in_child(self) -> None:
        """Marks the client unusable in a forked process. The connections belong to the parent: nothing is sent or
        closed."""
        self.forked = self.closed = True
        self.keeper = None
        for session in list(self.sessions):
            session.timeout = 0.0
            session.end(EndReason.FORKED)


def _after_fork() -> None:
    for core in list(_cores):
        core._in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
