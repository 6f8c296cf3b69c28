"""One host as the client knows it, the connection to it, and the shards that hosts hold."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._conn import Connection
from ._retry import REQUESTS, Wait, plainly
from .errors import Error, Transport

if TYPE_CHECKING:
    from ._cluster import Cluster

#: How long a request waits for a connection that is being made before it tries another host. The making goes on.
_DIAL_WAIT = 1.0

log = logging.getLogger("signalbox")


class Host:
    """A server process as the client knows it, and the connection to it."""

    __slots__ = ("cluster", "id", "addresses", "conn", "dialing", "began", "failures", "failed_at", "retry_at", "error",
                 "merged")

    def __init__(self, cluster: Cluster, id: int, addresses: list[str]) -> None:
        self.cluster, self.id, self.addresses = cluster, id, addresses
        self.conn: Connection | None = None
        self.dialing: asyncio.Future[Connection] | None = None
        self.began = self.failed_at = self.retry_at = 0.0
        self.failures = 0
        self.error: Error | None = None  # of the latest try
        self.merged: Host | None = None  # the host that this one turned out to be

    @property
    def address(self) -> str:
        """The address that worked last."""
        return self.addresses[0] if self.addresses else f"{self.id}, whose address is not known"

    async def connect(self, wait: Wait = plainly, patience: float = _DIAL_WAIT) -> Connection:
        """A connection to the host, made where there is none."""
        host = self
        while host.merged is not None:
            host = host.merged
        if host.conn is not None:
            return host.conn
        now = time.monotonic()
        if host.dialing is None:
            may = now >= host.retry_at or host.failures > 0 and now >= host.failed_at + patience
            if not may and host.error is not None:
                raise Transport(str(host.error)) if isinstance(host.error, Transport) else host.error
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
            raise Transport(str(error)) if isinstance(error, Transport) or not isinstance(error, Error) else error
        if host.conn is not None:
            return host.conn
        raise Transport(f"host {host.address}: there is no connection yet")

    async def _dial(self, dialing: asyncio.Future[Connection]) -> None:
        error: Error = Transport(f"host {self.address}: it cannot be reached")
        for i, address in enumerate(list(self.addresses)):
            try:
                conn = await self.cluster.dial(address)
                met = self.cluster.meet(self, address, conn)
            except Error as e:
                if i == 0 or not isinstance(e, Transport):
                    error = e
                continue
            except asyncio.CancelledError:
                self.dialing = None
                dialing.cancel()
                raise
            except Exception as e:  # a token source or a TLS source that fails
                error = Transport(f"host {address}: {e!r}")
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
            conn.fail("another connection to the host is used")
            return self.conn
        conn.host, self.conn, self.error, self.failures, self.retry_at = self, conn, None, 0, 0
        if conn.error is not None:
            self.conn = None
            raise conn.error
        log.debug("connected to host %s at %s", self.id, conn.address)
        return conn

    def connection_lost(self, conn: Connection) -> None:
        """The connection is out of use."""
        if self.conn is conn:
            self.conn = None
            log.debug("lost the connection to host %s: %s", self.id, conn.error)
            self.cluster.reconnect()

    def going_away(self, conn: Connection, why: Error) -> None:
        """The client does not come back to the host before it may."""
        self.error = Transport(f"host {conn.address}: {why}")
        self.retry_at = time.monotonic() + max(REQUESTS.pause(1), why.wait)

    def silent(self) -> None:
        """The host answers neither requests nor a ping. If it hangs, another host will lead: a client that is connected
        to no other host asks one, and hears of the leader over the connection that is made for that."""
        c = self.cluster
        if not any(h.conn is not None for h in c.hosts if h is not self):
            c.spawn(c.refresh(self))

    def routing_changed(self, conn: Connection, push: dict[str, Any]) -> None:
        """The host knows a newer routing, or who leads a shard."""
        c = self.cluster
        if push["leader_host_id"] and push["term"] > c.terms.get(push["shard_id"], 0):
            c.terms[push["shard_id"]] = push["term"]
            known = any(h.id == push["leader_host_id"] for h in c.hosts)
            c.led(push["shard_id"], push["leader_host_id"] if known else 0, "", 0, conn)
            c.leaders.report()
        if push["version"] > c.version:
            c.refresh_soon(conn)

    def token_expiring(self, conn: Connection, push: dict[str, Any]) -> None:
        """The token ends soon."""
        log.warning("the token %r expires in %.0f s; host %s closes the connection then", push["token"],
                    push["left_ms"] / 1000, self.address)


class Tried(list[Host]):
    """The hosts that an operation has tried, the latest last: empty when it begins.

    All hosts are kept: an operation that avoided only the latest would go back and forth between two hosts that fail,
    and never ask a third.
    """

    __slots__ = ()

    def add(self, h: Host | None) -> None:
        """Notes a try."""
        if h is None:
            return
        while h.merged is not None:
            h = h.merged
        if h in self:
            self.remove(h)
        self.append(h)

    @property
    def latest(self) -> Host | None:
        """The host that was tried last."""
        return self[-1] if self else None

    def next(self, hosts: list[Host], preferred: Callable[[Host], bool] | None = None) -> Host | None:
        """The first host that was not tried and is preferred, or else the first that was not tried, or else the one
        whose try is the longest ago."""
        if not self:
            for h in hosts:
                if preferred is None or preferred(h):
                    return h
            return hosts[0] if hosts else None
        fresh = [h for h in hosts if h not in self]
        if fresh:
            return next((h for h in fresh if preferred is None or preferred(h)), fresh[0])
        return min(hosts, key=lambda h: self.index(h)) if hosts else None


#: What an operation that begins has tried.
NOTHING_TRIED = Tried()


class Shard:
    """The hosts of one shard."""

    __slots__ = ("id", "leader", "replicas")

    def __init__(self, id: int, leader: Host | None, replicas: list[Host]) -> None:
        self.id, self.leader, self.replicas = id, leader, replicas

    def replica(self, start: int, tried: Tried) -> Host | None:
        """The next host in a ring that holds the shard: preferably one that can be reached."""
        first = start % len(self.replicas) if self.replicas else 0
        return tried.next(self.replicas[first:] + self.replicas[:first], lambda h: not h.failures)

    def near(self, tried: Tried) -> Host | None:
        """The leader, and another host that holds the shard where the leader did not answer."""
        replica = self.replica(random.getrandbits(16), tried)
        if self.leader is None or self.leader is tried.latest:
            return replica
        # Once all were tried, another leader may have been elected meanwhile.
        return self.leader if self.leader not in tried or replica in tried else replica


def _retrieve(future: asyncio.Future[Connection]) -> None:
    if not future.cancelled():
        future.exception()
