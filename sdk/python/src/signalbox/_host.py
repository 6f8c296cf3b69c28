"""A host as known to the client, its connection, and the shards held by hosts."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable
from typing import Any, Protocol

from ._conn import Connection, Peer
from ._retry import REQUESTS, News, Wait, plainly
from .errors import SignalboxError, TransportError

#: Time a request waits for a new connection before trying another host. The connection attempt continues.
_DIAL_WAIT = 1.0

log = logging.getLogger("signalbox")


class HostCluster(Protocol):
    """The cluster, as seen by a host."""

    #: Reports new connections.
    connections: News

    def spawn(self, work: Any, /) -> Any:
        """Runs a coroutine in the background."""

    async def dial(self, address: str) -> Connection:
        """Opens a connection."""

    def meet(self, h: Host, address: str, conn: Connection) -> Host:
        """Records the host that answered at an address, and returns the host."""

    def reconnect(self) -> None:
        """Reconnects in the background after the last connection was lost."""

    def host_silent(self, h: Host) -> None:
        """Called if a host answers neither requests nor a ping."""

    def routing_changed(self, conn: Connection, push: dict[str, Any]) -> None:
        """Called when a host has a newer routing or a shard leader."""


class Host:
    """A server process as known to the client, with its connection."""

    __slots__ = ("cluster", "id", "addresses", "conn", "dialing", "began", "failures", "failed_at", "retry_at", "error",
                 "merged")

    def __init__(self, cluster: HostCluster, id: int, addresses: list[str]) -> None:
        self.cluster, self.id, self.addresses = cluster, id, addresses
        self.conn: Connection | None = None
        self.dialing: asyncio.Future[Connection] | None = None
        self.began = self.failed_at = self.retry_at = 0.0
        self.failures = 0
        self.error: SignalboxError | None = None  # of the latest try
        self.merged: Host | None = None  # the host that this one turned out to be

    @property
    def address(self) -> str:
        """The last address that worked."""
        return self.addresses[0] if self.addresses else f"{self.id} (unknown address)"

    async def connect(self, wait: Wait = plainly, patience: float = _DIAL_WAIT) -> Connection:
        """Returns the connection to the host, and opens one if necessary."""
        host = self
        while host.merged is not None:
            host = host.merged
        if host.conn is not None:
            return host.conn
        now = time.monotonic()
        if host.dialing is None:
            may = now >= host.retry_at or host.failures > 0 and now >= host.failed_at + patience
            if not may and host.error is not None:
                raise TransportError(str(host.error)) if isinstance(host.error, TransportError) else host.error
            host.began = now
            host.dialing = asyncio.get_running_loop().create_future()
            host.dialing.add_done_callback(_retrieve)
            self.cluster.spawn(host._dial(host.dialing))
        dialing = host.dialing
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def done(_: Any) -> None:
            if not future.done():
                future.set_result(None)

        dialing.add_done_callback(done)
        timer = asyncio.get_running_loop().call_later(min(patience, _DIAL_WAIT), done, None)
        try:
            await wait(future)
        finally:
            timer.cancel()
            dialing.remove_done_callback(done)
        if dialing.done() and not dialing.cancelled():
            if dialing.exception() is None:
                return dialing.result()
            error = dialing.exception()
            raise error if isinstance(error, SignalboxError) and not isinstance(error, TransportError) \
                else TransportError(str(error))
        if host.conn is not None:
            return host.conn
        raise TransportError(f"host {host.address}: not connected yet")

    async def _dial(self, dialing: asyncio.Future[Connection]) -> None:
        error: SignalboxError = TransportError(f"host {self.address}: the host cannot be reached")
        for i, address in enumerate(list(self.addresses)):
            try:
                conn = await self.cluster.dial(address)
                met = self.cluster.meet(self, address, conn)
            except SignalboxError as e:
                if i == 0 or not isinstance(e, TransportError):
                    error = e
                continue
            except asyncio.CancelledError:
                self.dialing = None
                dialing.cancel()
                raise
            except Exception as e:  # a token source or a TLS source that fails
                error = TransportError(f"host {address}: {e!r}")
                error.__cause__ = e
                continue
            used = met._use(conn)
            self.dialing = None
            if not dialing.done():
                dialing.set_result(used)
            self.cluster.connections.report()
            return
        self.error, self.failed_at, self.dialing = error, time.monotonic(), None
        self.retry_at = self.failed_at + REQUESTS.pause(self.failures)
        self.failures += 1
        log.debug("no connection: %s", error)
        if not dialing.done():
            dialing.set_exception(error)

    def _use(self, conn: Connection) -> Connection:
        if self.conn is not None:  # one host was met at two addresses
            conn.fail("a second connection to the host is in use")
            return self.conn
        conn.host, self.conn, self.error, self.failures, self.retry_at = self, conn, None, 0, 0
        if conn.error is not None:
            self.conn = None
            raise conn.error
        log.debug("connected to host %s at %s", self.id, conn.address)
        return conn

    def connection_lost(self, conn: Connection) -> None:
        """Called when the connection is closed."""
        if self.conn is conn:
            self.conn = None
            log.debug("lost the connection to host %s: %s", self.id, conn.error)
            self.cluster.reconnect()

    def going_away(self, conn: Connection, why: SignalboxError) -> None:
        """Delays the next connection to the host as requested by the host."""
        self.error = TransportError(f"host {conn.address}: {why}")
        self.retry_at = time.monotonic() + max(REQUESTS.pause(1), why.wait)

    def silent(self) -> None:
        """Called if the host answers neither requests nor a ping."""
        self.cluster.host_silent(self)

    def routing_changed(self, conn: Connection, push: dict[str, Any]) -> None:
        """Called when the host has a newer routing or a shard leader."""
        self.cluster.routing_changed(conn, push)

    def token_expiring(self, conn: Connection, push: dict[str, Any]) -> None:
        """Called when the token is about to expire."""
        log.warning("the token %r expires in %.0f s; host %s will close the connection", push["token"],
                    push["left_ms"] / 1000, self.address)


class Try:
    """Target of an operation's latest attempt."""

    __slots__ = ("conn", "host")

    def __init__(self) -> None:
        self.conn: Connection | None = None
        self.host: Peer | None = None


class Tried(list[Peer]):
    """The hosts tried by an operation, latest last. Empty at the beginning.

    All hosts are recorded: an operation that avoided only the latest host would alternate between two failing hosts,
    and never try a third.
    """

    __slots__ = ()

    def add(self, h: Peer | None) -> None:
        """Records an attempt."""
        if h is None:
            return
        while h.merged is not None:
            h = h.merged
        if h in self:
            self.remove(h)
        self.append(h)

    @property
    def latest(self) -> Peer | None:
        """The last tried host."""
        return self[-1] if self else None

    def next(self, hosts: list[Host], preferred: Callable[[Host], bool] | None = None) -> Host | None:
        """Returns the first untried preferred host, or the first untried host, or the host tried longest ago."""
        if not self:
            for h in hosts:
                if preferred is None or preferred(h):
                    return h
            return hosts[0] if hosts else None
        fresh = [h for h in hosts if h not in self]
        if fresh:
            return next((h for h in fresh if preferred is None or preferred(h)), fresh[0])
        return min(hosts, key=lambda h: self.index(h)) if hosts else None


#: Tried hosts of a new operation: none.
NOTHING_TRIED = Tried()


class Shard:
    """The hosts with a shard's replicas."""

    __slots__ = ("id", "leader", "replicas")

    def __init__(self, id: int, leader: Host | None, replicas: list[Host]) -> None:
        self.id, self.leader, self.replicas = id, leader, replicas

    def replica(self, start: int, tried: Tried) -> Host | None:
        """Returns the next host with a replica, in ring order. Reachable hosts come first."""
        first = start % len(self.replicas) if self.replicas else 0
        return tried.next(self.replicas[first:] + self.replicas[:first], lambda h: not h.failures)

    def near(self, tried: Tried) -> Host | None:
        """Returns the leader, or another replica if the leader did not answer."""
        replica = self.replica(random.getrandbits(16), tried)
        if self.leader is None or self.leader is tried.latest:
            return replica
        # Once all were tried, another leader may have been elected meanwhile.
        return self.leader if self.leader not in tried or replica in tried else replica


def _retrieve(future: asyncio.Future[Connection]) -> None:
    if not future.cancelled():
        future.exception()
