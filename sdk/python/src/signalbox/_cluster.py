"""The hosts known to a client, the connections, and the shard leaders."""

from __future__ import annotations

import asyncio
import inspect
import random
import secrets
import ssl
import time
from collections.abc import Awaitable, Callable
from typing import Any

from . import _wire as wire
from ._conn import Connection, Peer, dial, split_address
from ._host import NOTHING_TRIED, Host, Shard, Tried
from ._retry import Backoff, News, Retries, Wait, plainly
from .errors import (
    SignalboxError, InternalError, Status, TransportError, UnavailableError, UnknownOutcomeError, is_doubtful,
    is_retried,
)

DEFAULT_PORT = 7420
#: Number of sessions started on one host before the client moves to the next.
SESSIONS_AT_HOME = 1000
#: At start: time before the next host is tried in parallel.
_OPEN_STAGGER = 0.2
#: Timeout of a routing request, and time for which its answer is reused.
_ASK_TIMEOUT, _REFRESH_GAP = 1.0, 0.01
#: Time before an idle client without connections reconnects.
_RECONNECTING = Backoff(1.0, 10.0)

Token = str | bytes | Callable[[], "str | bytes | Awaitable[str | bytes]"] | None
TLS = bool | ssl.SSLContext | Callable[[], ssl.SSLContext] | None


#: Chooses the host for an operation's next attempt; None for any host.
Target = Callable[[Tried], Host | None]


class Cluster:
    """The cluster's hosts and routing."""

    def __init__(
        self, addresses: list[str], *, name: str, version: str, token: Token, tls: TLS, dial_timeout: float,
        spawn: Callable[[Any], Any],
    ) -> None:
        self.name, self.client_version, self.token, self.tls = name, version, token, tls
        self.dial_timeout, self.spawn = dial_timeout, spawn
        #: TLS settings and token of the latest connection.
        self.credentials: tuple[ssl.SSLContext | None, bytes] = None, b""
        self.hosts = [Host(self, 0, [a]) for a in addresses]
        self.id = ""
        self.version = 0
        self.meta = 0
        self.shards: dict[int, Shard] = {}
        self.slots: list[Shard | None] = [None] * wire.SLOTS
        #: Moved slots, with shard and generation. They override `slots`.
        self.places: dict[int, tuple[int, int]] = {}
        self.terms: dict[int, int] = {}
        self.leaders, self.connections = News(), News()
        self.start = random.getrandbits(16)
        self.starts = 0  # of sessions
        self.closed = False
        #: For node changes, which are executed once.
        self.client_id, self.last_sequence, self.since = secrets.token_bytes(16), 0, 0
        self._refreshing: asyncio.Future[SignalboxError | None] | None = None
        self._refreshed = -1e9
        self._failure: SignalboxError | None = None
        self._reconnects = False

    # Connections.

    async def dial(self, address: str) -> Connection:
        """Opens a connection: TCP, TLS if configured, HELLO and WELCOME."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self.dial_timeout):
                tls = self.tls() if callable(self.tls) else self.tls
                if tls is True:
                    tls = ssl.create_default_context()
                conn = await dial(loop, address, DEFAULT_PORT, tls or None)
                try:
                    used = await self._read_token()
                    self.credentials = tls or None, used
                    await conn.greet(self.name, self.client_version, used)
                except BaseException:
                    conn.fail("the connection attempt was cancelled")
                    raise
                return conn
        except TimeoutError:
            raise TransportError(f"host {address}: no connection within {self.dial_timeout:g} s") from None
        except ssl.SSLError as e:
            raise TransportError(f"host {address}: {e}") from e
        except OSError as e:
            raise TransportError(f"host {address}: {e}") from e

    async def _read_token(self) -> bytes:
        token: Any = self.token
        if callable(token):
            token = token()
            if inspect.isawaitable(token):
                token = await token
        return token.encode() if isinstance(token, str) else bytes(token or b"")

    def meet(self, h: Host, address: str, conn: Connection) -> Host:
        """Records the host that answered at an address, and returns the host."""
        w = conn.welcome
        if self.id and w["cluster_id"] != self.id:
            conn.fail("it belongs to another cluster")
            raise TransportError(f"host {address} belongs to another cluster")
        self.id = w["cluster_id"]
        self.since = max(self.since, w["since"])
        met = h
        if h.id != w["host_id"]:
            if h.id:
                h.addresses = [a for a in h.addresses if a != address]  # another host has taken it over
            other = next((o for o in self.hosts if o.id == w["host_id"]), None)
            if other is not None:
                met = other
                if not h.id:
                    h.merged = other
                    self.hosts.remove(h)
            elif h.id:
                met = Host(self, w["host_id"], [])
                self.hosts.append(met)
            else:
                h.id = w["host_id"]
        met.addresses = [address] + [a for a in met.addresses if a != address]
        return met

    async def open(self, timeout: float) -> None:
        """Requests the routing from hosts in random order until one answers."""
        hosts = random.sample(self.hosts, len(self.hosts))
        tasks: set[asyncio.Task[None]] = set()
        errors: list[SignalboxError] = []
        try:
            async with asyncio.timeout(timeout):
                while hosts or tasks:
                    if hosts:
                        tasks.add(asyncio.ensure_future(self._ask_first(hosts.pop())))
                    done, tasks = await asyncio.wait(tasks, timeout=_OPEN_STAGGER if hosts else None,
                                                     return_when=asyncio.FIRST_COMPLETED)
                    for task in done:
                        error = task.exception()
                        if error is None:
                            return
                        if not isinstance(error, SignalboxError):
                            raise error
                        errors.append(error)
        except TimeoutError:
            errors.append(TransportError(f"no host has answered within {timeout:g} s"))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for error in errors:
            if not isinstance(error, TransportError):
                raise error
        raise UnavailableError(
            "; ".join(str(e) for e in errors) + ". Is a host running? `signalbox serve` starts one")

    async def _ask_first(self, h: Host) -> None:
        while True:
            try:
                await self._ask_over(await h.connect())
                return
            except TransportError:
                if h.dialing is None:
                    raise

    def reconnect(self) -> None:
        """Reconnects in the background after the last connection was lost, because hosts announce new hosts over
        connections."""
        if not self._reconnects and not self.closed and all(h.conn is None for h in self.hosts):
            self._reconnects = True
            self.spawn(self._until_connected())

    async def _until_connected(self) -> None:
        failures = 0
        try:
            while True:
                await asyncio.sleep(_RECONNECTING.pause(failures))
                if self.closed or any(h.conn is not None for h in self.hosts):
                    return
                await self.refresh()
                failures += 1
        finally:
            self._reconnects = False

    # Routing.

    def refresh_soon(self, conn: Connection | None) -> None:
        """Requests the routing from a host in the background."""
        self._refreshed = -1e9
        if self._refreshing is None:
            self._begin_refresh(conn, None)

    def _begin_refresh(self, conn: Connection | None, avoid: Peer | None) -> None:
        self._refreshing = asyncio.get_running_loop().create_future()
        self.spawn(self._refresh(self._refreshing, conn, avoid))

    async def _refresh(
        self, done: asyncio.Future[SignalboxError | None], conn: Connection | None, avoid: Peer | None,
    ) -> None:
        error: SignalboxError | None = TransportError("the client is closed")
        try:
            error = await self._ask(conn, avoid)
        finally:
            self._refreshing, self._refreshed, self._failure = None, time.monotonic(), error
            if not done.done():
                done.set_result(error)

    async def refresh(self, avoid: Peer | None = None, wait: Wait = plainly) -> SignalboxError | None:
        """Requests the routing from any host except the one to avoid. Concurrent callers share one request."""
        if time.monotonic() < self._refreshed + _REFRESH_GAP or self.closed:
            return self._failure
        if self._refreshing is None:
            self._begin_refresh(None, avoid)
        refreshing = self._refreshing
        assert refreshing is not None
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def done(_: Any) -> None:
            if not future.done():
                future.set_result(None)

        refreshing.add_done_callback(done)
        try:
            await wait(future)
        finally:
            refreshing.remove_done_callback(done)
        return self._failure

    async def _ask(self, conn: Connection | None, avoid: Peer | None) -> SignalboxError | None:
        error: SignalboxError | None = None
        if conn is not None and conn.error is None:
            try:
                await self._ask_over(conn)
                return None
            except SignalboxError as e:
                error = e
        hosts = random.sample(self.hosts, len(self.hosts))
        for connected in (True, False):
            for h in hosts:
                if h is avoid and len(hosts) > 1 or (h.conn is not None) != connected:
                    continue
                try:
                    await self._ask_over(await h.connect())
                    return None
                except SignalboxError as e:
                    error = e
        return error

    async def _ask_over(self, conn: Connection) -> None:
        try:
            async with asyncio.timeout(_ASK_TIMEOUT):
                # The known version is not sent, because leaders change without a new version.
                self.learn(await conn.request("ROUTING"))
        except TimeoutError:
            raise TransportError(f"host {conn.address}: the host is slow to answer") from None

    def learn(self, a: dict[str, Any]) -> None:
        """Applies a routing answer. Answers with an older version come from lagging hosts and are ignored."""
        if a["version"] < self.version or not a["shards"]:
            return
        hosts = {h["id"]: self.host(h["id"], h["address"]) for h in a["hosts"] if h["state"] != 3}
        old = self.shards
        self.shards = {}
        for s in a["shards"]:
            leader = hosts.get(s["leader_host_id"])
            before = old[s["id"]].leader if s["id"] in old else None
            if leader is None:
                leader = before
            elif before is not None and before is not leader and before.conn is not None:
                before.conn.doubt()
            replicas = [hosts[i] for i in s["replica_host_ids"] if i in hosts]
            self.shards[s["id"]] = Shard(s["id"], leader, replicas)
        self.slots = [None] * wire.SLOTS
        for r in a["slots"]:
            first, last = r["first"], min(r["last"], wire.SLOTS - 1)
            self.slots[first:last + 1] = [self.shards.get(r["shard_id"])] * (last + 1 - first)
            for slot in range(first, last + 1) if r["generation"] else ():
                self.place(slot, r["shard_id"], r["generation"])
        self.version, self.meta = a["version"], a["meta_shard_id"]

    def host(self, id: int, address: str) -> Host:
        """Returns the host with an id and records its address. A new address is tried first, unless the host is
        connected."""
        for h in self.hosts:
            if h.id == id:
                if address and address not in h.addresses:
                    h.addresses.insert(0 if h.conn is None else len(h.addresses), address)
                return h
        for h in self.hosts:
            if h.id == 0 and address in h.addresses:
                h.id = id
                return h
        h = Host(self, id, [address] if address else [])
        self.hosts.append(h)
        return h

    def place(self, slot: int, shard: int, generation: int) -> bool:
        """Records a slot's location. Returns False, and ignores the location, if a higher generation is known."""
        known = self.generation(slot)
        if generation > known:
            self.places[slot] = shard, generation
        return generation >= known

    def generation(self, slot: int) -> int:
        """Returns the slot's known generation. Reads carry the generation, so that no host answers with the state
        before a slot move."""
        return self.places.get(slot, (0, 0))[1]

    def at(self, slot: int) -> Shard | None:
        """Returns the slot's shard."""
        place = self.places.get(slot)
        return self.slots[slot] if place is None else self.shards.get(place[0])

    def moved(self, d: dict[str, Any], conn: Connection | None) -> bool:
        """Applies a MOVED detail. Returns False, and ignores the detail, if a higher slot generation is known: the host
        lags."""
        if d["generation"]:
            if not self.place(d["slot"] % wire.SLOTS, d["shard_id"], d["generation"]):
                self.refresh_soon(None)  # the recorded shard may have another leader
                return False
            if d["shard_id"] not in self.shards and d["leader_host_id"]:
                # Until there is a newer routing, the leader is the only known host of the shard.
                leader = self.host(d["leader_host_id"], d["leader_address"])
                self.shards[d["shard_id"]] = Shard(d["shard_id"], leader, [leader])
        self.led(d["shard_id"], d["leader_host_id"], d["leader_address"], d["routing_version"], conn)
        return True

    def led(self, shard: int, leader: int, address: str, version: int, conn: Connection | None) -> None:
        """Records a shard leader reported by a host."""
        if not leader or shard not in self.shards:
            self.refresh_soon(conn)
            return
        if version > self.version:
            self.refresh_soon(conn)
        before, now = self.shards[shard].leader, self.host(leader, address)
        self.shards[shard].leader = now
        if before is not None and before is not now and before.conn is not None and before.conn is not conn:
            before.conn.doubt()

    def routing_changed(self, conn: Connection, push: dict[str, Any]) -> None:
        """Called when a host has a newer routing or a shard leader."""
        if push["leader_host_id"] and push["term"] > self.terms.get(push["shard_id"], 0):
            self.terms[push["shard_id"]] = push["term"]
            known = any(h.id == push["leader_host_id"] for h in self.hosts)
            self.led(push["shard_id"], push["leader_host_id"] if known else 0, "", 0, conn)
            self.leaders.report()
        if push["version"] > self.version:
            self.refresh_soon(conn)

    def host_silent(self, h: Host) -> None:
        """Called if a host answers neither requests nor a ping. If the host hangs, another host takes over. A client
        without another connection opens one, and learns about the new leader over it."""
        if not any(other.conn is not None for other in self.hosts if other is not h):
            self.spawn(self.refresh(h))

    def data_shards(self) -> list[int]:
        """Returns the ids of all shards except the meta shard."""
        return [i for i in self.shards if i != self.meta]

    # Where a request goes.

    def meta_leader(self, tried: Tried) -> Host | None:
        """Returns the host for node changes."""
        s = self.shards.get(self.meta)
        return s.leader if s else None

    def session_home(self, tried: Tried) -> Host | None:
        """Returns a leader of a data shard for a new session. `SESSIONS_AT_HOME` sessions share one host, so that one
        ping keeps many sessions alive. After a failure, returns a random other leader, because the known leaders may be
        outdated."""
        start = random.getrandbits(16) if tried else self.start + self.starts // SESSIONS_AT_HOME
        self.starts += 1
        leaders = [s.leader for s in self.shards.values()
                   if s.id != self.meta and s.leader is not None and s.leader is not tried.latest]
        first = start % len(leaders) if leaders else 0
        return tried.next(leaders[first:] + leaders[:first])

    def leader_at(self, slot: int) -> Target:
        """Targets the leader of a slot's shard."""
        def target(tried: Tried) -> Host | None:
            s = self.at(slot)
            return s.leader if s else None
        return target

    def replica_at(self, slot: int) -> Target:
        """Targets a replica of a slot's shard. The client stays with one replica while the host is reachable."""
        def target(tried: Tried) -> Host | None:
            s = self.at(slot)
            return s.replica(self.start, tried) if s else None
        return target

    def near_leader(self, slot: int) -> Target:
        """Targets the leader of a slot's shard, or another replica if the leader did not answer."""
        def target(tried: Tried) -> Host | None:
            s = self.at(slot)
            return s.near(tried) if s else None
        return target

    def choose(self, target: Target, tried: Tried = NOTHING_TRIED) -> Host:
        """Returns the target's host. Without a target, returns the next host in random order."""
        h = target(tried)
        if h is None:
            h = tried.next(random.sample(self.hosts, len(self.hosts)), lambda other: other.conn is not None)
        if h is None:
            raise InternalError("no host is known")
        return h

    # Requests that need no session.

    async def redirect(
        self, retries: Retries, error: SignalboxError, conn: Connection | None, h: Peer | None, wait: Wait = plainly,
    ) -> None:
        """Learns a better target from a request's failure."""
        if isinstance(error, TransportError):
            await self.refresh(h, wait)
        elif error.status == Status.MOVED:
            d = error.detail
            if not self.moved(d, conn):
                retries.lags()
            if not d["leader_host_id"] and self._refreshing is not None:
                await self.refresh(None, wait)
        elif error.status == Status.UNAVAILABLE and not retries.waits(error):
            # Ask another host: a partitioned leader does not know that it was replaced.
            await self.refresh(h, wait)

    async def repeat(
        self, target: Target, attempt: Callable[[Connection], Awaitable[Any]], retries: Retries | None = None,
    ) -> Any:
        """Calls attempt with a connection to the target's host until success or a final failure."""
        retries = retries or Retries(self.leaders)
        tried = Tried()
        while True:
            retries.begin()
            h = self.choose(target, tried)
            conn: Connection | None = None
            try:
                conn = await h.connect()
                return await attempt(conn)
            except SignalboxError as e:
                error = e
            tried.add(h)
            if not isinstance(error, TransportError) and not is_retried(error.status):
                raise error
            await self.redirect(retries, error, conn, h)
            await retries.again(error, plainly)

    async def do(self, target: Target, request: str, /, **values: Any) -> dict[str, Any]:
        """Sends a request that may be repeated."""
        kind, body = wire.number_of(request), wire.body(request, values)
        raw = await self.repeat(target, lambda conn: conn.call(kind, body))
        return wire.fields(raw)

    async def do_once(self, target: Target, request: str, /, **values: Any) -> dict[str, Any]:
        """Sends a request that must not be executed twice. Fails if an attempt may have been executed."""
        kind, body = wire.number_of(request), wire.body(request, values)
        sent = False

        async def attempt(conn: Connection) -> list[Any]:
            nonlocal sent
            try:
                sent = True
                raw = await conn.call(kind, body)
            except SignalboxError as e:
                if is_doubtful(e):
                    self.spawn(self.redirect(Retries(self.leaders), e, conn, conn.host))  # for the next request
                    raise _Doubt(e) from e
                sent = False
                raise
            return raw

        try:
            return wire.fields(await self.repeat(target, attempt))
        except _Doubt as d:
            raise unknown(d.error) from d.error
        except asyncio.CancelledError as e:
            e.args = (*e.args, "the outcome is unknown") if sent else e.args
            raise

    async def do_idempotent(self, request: str, /, **values: Any) -> dict[str, Any]:
        """Sends a node change that takes effect once, however often the request is sent."""
        kind, doubt = wire.number_of(request), False
        idempotency: tuple[Any, ...] = ()

        async def attempt(conn: Connection) -> dict[str, Any]:
            nonlocal doubt, idempotency
            if not doubt:
                self.last_sequence += 1
                idempotency = (self.client_id, self.last_sequence, self.since)
            try:
                raw = await conn.call(kind, wire.body(request, values | {"idempotency": idempotency}))
            except SignalboxError as e:
                heard = e.detail.get("since", 0)
                self.since = max(self.since, heard)
                if is_doubtful(e):
                    doubt = True
                elif e.status == Status.STALE and doubt:
                    raise _Doubt(e) from e
                elif e.status == Status.STALE and heard <= idempotency[2]:
                    raise InternalError(f"a new sequence would also be stale: {e}") from e
                raise
            answer = wire.fields(raw)
            self.since = max(self.since, answer["since"])
            return answer

        try:
            answer: dict[str, Any] = await self.repeat(self.meta_leader, attempt)
        except _Doubt as d:
            raise unknown(d.error) from d.error
        return answer

    def close(self) -> None:
        """Closes all connections."""
        self.closed = True
        for h in self.hosts:
            if h.conn is not None:
                h.conn.fail("the client is closed")


class _Doubt(Exception):
    """Raised if an attempt may have been executed."""

    def __init__(self, error: SignalboxError) -> None:
        super().__init__(str(error))
        self.error = error


def unknown(error: SignalboxError) -> UnknownOutcomeError:
    """Returns the exception for a change that may have been made."""
    return UnknownOutcomeError(f"{error}: the outcome is unknown; check the state before trying again")


def addresses_of(endpoints: str | list[str] | tuple[str, ...]) -> list[str]:
    """Returns the addresses in the given endpoints."""
    parts = endpoints.split(",") if isinstance(endpoints, str) else list(endpoints)
    found = [p.strip() for p in parts if p.strip()]
    for address in found:
        if "://" in address:
            raise ValueError(f"endpoint {address!r}: use HOST:PORT without a scheme; for TLS, pass tls=True")
        split_address(address, DEFAULT_PORT)
    if not found:
        raise ValueError("no endpoint given: pass one or more HOST:PORT")
    return found


__all__ = ["Cluster", "Host", "addresses_of", "unknown"]
