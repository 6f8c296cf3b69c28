"""Heartbeats while the event loop is blocked, for clients with `max_blocked`.

A thread watches the progress of the event loop. While the loop is blocked, the thread attaches the sessions over its
own connections and pings the hosts. It stops when the loop runs again, and then the loop attaches the sessions again.
It also stops after `max_blocked` seconds, so that a hung program does not keep its locks: the sessions then end by
their timeout.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterable
from typing import Any, Protocol

from . import _clock
from . import _wire as wire
from ._cluster import DEFAULT_PORT, Cluster
from ._conn import Connection, dial
from ._deadlines import run_first
from .errors import SignalboxError, Status, TransportError, refusal

#: Minimum of `max_blocked`. Shorter blocks are normal work.
MIN_BLOCKED = 0.1
#: Minimum and maximum time between two progress reports.
_MIN_PERIOD, _MAX_PERIOD = 0.01, 1.0
#: Progress reports per `max_blocked`, and per session timeout.
_PER_BLOCKED, _PER_TIMEOUT = 10, 20
#: The event loop counts as blocked after this many missing reports.
_MISSING = 3
#: Part of the session timeout after which a session without a confirmed ping is overdue. The event loop pings after a
#: third.
_OVERDUE = 5 / 12

SESSION_ATTACH = 17


class KeptSession(Protocol):
    """A session, as seen by the thread."""

    id: int
    secret: bytes
    timeout: float
    home: Connection | None
    last: Connection | None
    #: Set while the lease counts from the thread's requests.
    keep: Keep | None

    @property
    def cause(self) -> BaseException | None:
        """Reason for the end; None while the session is alive."""

    def base(self) -> float:
        """Time from which the lease counts."""

    def deadline(self) -> float:
        """Time at which the client gives the session up."""

    def next_attach(self) -> int:
        """Returns a new attach sequence."""

    def reclaim(self) -> None:
        """Attaches the session again over a connection of the event loop."""

    def lose_rebuilt(self, lost: dict[str, Any]) -> None:
        """Called after a shard was rebuilt."""

    def ended(self, reason: int) -> None:
        """Called when the session has ended."""

    def holding_lost(self, push: dict[str, Any]) -> None:
        """Called when the session has lost a semaphore."""


class Keep:
    """A session that the thread keeps alive. Losses that hosts report meanwhile are passed to the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, session: KeptSession) -> None:
        self._loop, self._session = loop, session
        self._sent = session.base()
        self._since = float("inf")
        self._conn: Connection | None = None
        #: Nothing extends the lease: the session is not attached over the connection any more.
        self.over = False

    def base(self) -> float:
        """Time from which the lease counts."""
        conn = self._conn
        return conn.vouched if conn is not None and conn.vouched > self._since else self._sent

    def attached(self, conn: Connection, sent: float) -> None:
        """Counts the lease from an attach request, and later from the pings on the same connection."""
        self._sent, self._since, self._conn = sent, _clock.now(), conn
        conn.add_timeout(self._session.timeout)

    def stop(self) -> None:
        """Extends the lease no longer."""
        self._sent, self._conn, self.over = self.base(), None, True

    # The session, as seen by the connection.

    def detached(self, conn: Connection, status: int, detail: Any) -> None:
        self.stop()

    def connection_lost(self, conn: Connection, error: TransportError) -> None:
        self.stop()

    def ended(self, reason: int) -> None:
        self.stop()
        self.report(self._session.ended, reason)

    def holding_lost(self, push: dict[str, Any]) -> None:
        self.report(self._session.holding_lost, push)

    def inbox(self, conn: Connection, raw: list[Any]) -> None:
        pass  # no inbox is opened over the connection

    def report(self, function: Any, *args: Any) -> None:
        """Calls a function on the client's event loop, once the loop runs."""
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(function, *args)


class Keeper:
    """Keeps a client's sessions alive while its event loop is blocked."""

    def __init__(self, loop: asyncio.AbstractEventLoop, cluster: Cluster, max_blocked: float) -> None:
        self._client_loop, self._cluster, self._max_blocked = loop, cluster, max_blocked
        self._sessions: set[KeptSession] = set()
        self._period = min(max_blocked / _PER_BLOCKED, _MAX_PERIOD)
        # Written by the event loop: the latest progress, and the latest use of a lease.
        self._progress = self._looked = _clock.now()
        #: The event loop was blocked for longer than `max_blocked`, and has not run since.
        self.gave_up = False
        self._closed = False
        self._reporter: asyncio.TimerHandle | None = None
        self._thread: threading.Thread | None = None
        # Used by the thread only.
        self._connections: dict[str, Connection] = {}
        self._tasks: dict[KeptSession, asyncio.Task[None]] = {}

    # Called on the event loop.

    def add(self, session: KeptSession) -> None:
        """Keeps a session until `remove`."""
        self._sessions.add(session)
        self._period = max(min(self._period, session.timeout / _PER_TIMEOUT), _MIN_PERIOD)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="signalbox-heartbeats", daemon=True)
            self._thread.start()
        self._report()

    def remove(self, session: KeptSession) -> None:
        """Keeps a session no longer."""
        self._sessions.discard(session)

    def looked(self) -> None:
        """Records a lease check: the program is not hung."""
        self._looked = _clock.now()

    def _report(self) -> None:
        self._progress, self.gave_up = _clock.now(), False
        if self._reporter is not None:
            self._reporter.cancel()
        self._reporter = None if self._closed else self._client_loop.call_later(self._period, self._report)

    def close(self) -> None:
        """Ends the thread."""
        self._closed = True
        if self._reporter is not None:
            self._reporter.cancel()

    # The thread.

    def _run(self) -> None:
        asyncio.run(self._watch())

    async def _watch(self) -> None:
        while not self._closed and not self._client_loop.is_closed():
            await asyncio.sleep(self._period)
            now = _clock.now()
            if now - self._progress <= _MISSING * self._period:
                self._stop()
            elif now - max(self._progress, self._looked) > self._max_blocked:
                self.gave_up = True
                self._stop()
            else:
                self._keep_overdue(now)
        self._stop()

    def _stop(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        self._tasks.clear()
        for conn in list(self._connections.values()):
            conn.fail("it is no longer needed")
        self._connections.clear()

    def _keep_overdue(self, now: float) -> None:
        for session in list(self._sessions):
            if (session in self._tasks and not self._tasks[session].done()) or session.cause is not None:
                continue
            if session.keep is not None and not session.keep.over:
                continue
            if not session.base() + session.timeout * _OVERDUE <= now < session.deadline():
                continue
            self._tasks[session] = asyncio.get_running_loop().create_task(self._keep(session))

    async def _keep(self, session: KeptSession) -> None:
        """Attaches a session over a connection of the thread, at the first host that agrees."""
        keep = session.keep = Keep(self._client_loop, session)
        keep.over = True
        run_first(self._client_loop, session.reclaim)
        addresses = list(self._addresses(session))
        for address in addresses:
            try:
                async with asyncio.timeout(max(session.timeout / 8, 0.05)):
                    await self._attach(session, keep, await self._connect(address))
                return
            except TimeoutError:
                self._drop(address)
            except SignalboxError as e:
                status = refusal(e)
                if status == Status.MOVED and (leader := e.detail["leader_address"]) not in addresses:
                    addresses.append(leader)
                elif status in (Status.SESSION_EXPIRED, Status.BAD_SESSION, Status.NOT_FOUND):
                    return  # the event loop finds out

    async def _attach(self, session: KeptSession, keep: Keep, conn: Connection) -> None:
        sequence, sent = session.next_attach(), _clock.now()
        conn.sessions[session.id] = keep
        keep.over = False  # messages that follow the answer may end it
        try:
            raw = await conn.call(SESSION_ATTACH, (session.id, session.secret, sequence))
        except BaseException:
            keep.over = True
            conn.sessions.pop(session.id, None)
            raise
        lost = wire.fields(raw)["lease"]["lost"]
        for one in lost:
            keep.report(session.lose_rebuilt, one)
        if lost:
            keep.stop()  # the event loop has to end the lost leases before the session is extended
        elif not keep.over:
            keep.attached(conn, sent)

    def _addresses(self, session: KeptSession) -> Iterable[str]:
        """Addresses to try: of the host that had the session, of the shard's leader, and of all other hosts."""
        seen = dict[str, None]()
        for conn in (session.home, session.last):
            if conn is not None:
                seen[conn.address] = None
        shard = self._cluster.at(wire.session_slot(session.id))
        leader = shard.leader if shard is not None else None
        for host in [*([leader] if leader is not None else []), *self._cluster.hosts]:
            seen |= dict.fromkeys(host.addresses)
        return seen

    async def _connect(self, address: str) -> Connection:
        conn = self._connections.get(address)
        if conn is not None and conn.error is None:
            return conn
        cluster = self._cluster
        tls, token = cluster.credentials
        conn = await dial(asyncio.get_running_loop(), address, DEFAULT_PORT, tls)
        try:
            await conn.greet(cluster.name, cluster.client_version, token)
        except BaseException:
            conn.fail("the connection attempt was cancelled")
            raise
        self._connections[address] = conn
        return conn

    def _drop(self, address: str) -> None:
        conn = self._connections.pop(address, None)
        if conn is not None:
            conn.fail("the host is slow to answer")
