"""A session on its hosts: the lease, the connection that the session is attached over, and the connections it is bound
to."""

from __future__ import annotations

import asyncio
import secrets
import threading
from typing import Any, Protocol

from . import _clock
from . import _wire as wire
from ._conn import Connection, Peer
from ._core import Core
from ._host import NOTHING_TRIED, Tried, Try
from ._keeper import Keep
from ._retry import REQUESTS, Retries, plainly
from .errors import (
    EndReason, SignalboxError, SessionLostError, Status, TransportError, is_retried, of_status, refusal, refused,
)

#: Minimum margin before the session's end, and minimum timeout for one attach attempt.
MIN_MARGIN, MIN_TRY = 0.010, 0.050

#: Guards the attach sequences, which the thread of a client with `max_blocked` uses too.
_sequences = threading.Lock()

_END_REASONS = {1: EndReason.CLOSED, 2: EndReason.EXPIRED, 3: EndReason.DESTROYED, 4: EndReason.NODE_DROPPED}
SESSION_ATTACH, SESSION_BIND, SESSION_STOP = 17, 18, 19


class Owner(Protocol):
    """The user's session. With renewal, it has one attachment after the previous has ended."""

    def _is_attached(self, session: Attachment) -> None:
        """Called after the session was attached."""

    def _is_detached(self, session: Attachment, why: BaseException) -> None:
        """Called when the session has lost its home connection."""

    def _has_ended(self, session: Attachment, reason: EndReason) -> None:
        """Called when the session has ended."""


def margin(timeout: float) -> float:
    """Time before the lease ends at which the client gives the session up. Covers clock drift and time to react."""
    return min(max(timeout / 10, MIN_MARGIN), timeout / 2)


class Attachment:
    """A session from start to end. Runs on the event loop only, so every change is atomic."""

    __slots__ = (
        "core", "owner", "id", "node_id", "secret", "timeout", "grace", "born", "cause", "attach_sequence", "home",
        "last", "sent", "since", "keep", "bound", "attaching", "_returned", "waiting", "__weakref__",
    )

    def __init__(self, core: Core, owner: Owner, timeout: float) -> None:
        self.core, self.owner, self.timeout = core, owner, timeout
        self.id = self.node_id = 0
        self.secret = secrets.token_bytes(16)
        self.grace = 0.0
        self.born = _clock.now()
        #: Reason for the end; None while the session is alive.
        self.cause: SessionLostError | None = None
        self.attach_sequence = 1
        #: The home connection; None while detached.
        self.home: Connection | None = None
        self.last: Connection | None = None
        # The lease counts from `sent`, the send time of the latest answered SESSION_START or SESSION_ATTACH. An
        # answered ping renews the lease if the ping was sent after `since`, while the session was attached.
        self.sent = self.since = 0.0
        #: Set while a thread renews the lease because the event loop is blocked. The next attach clears it.
        self.keep: Keep | None = None
        #: Bound connections; a future while a bind request is open.
        self.bound: dict[Connection, asyncio.Future[SignalboxError | None] | None] = {}
        self.attaching = False
        self._returned: list[asyncio.Future[None]] | None = None
        #: Futures that fail when the session ends.
        self.waiting: set[asyncio.Future[Any]] = set()

    # The lease.

    def base(self) -> float:
        """Time from which the lease counts."""
        keep = self.keep
        if keep is not None:
            return keep.base()
        home = self.home  # threads of the sync face read this too
        if home is not None and home.vouched > self.since:
            return home.vouched
        return self.sent

    def deadline(self) -> float:
        """Time at which the client gives the session up."""
        return self.base() + self.timeout - margin(self.timeout)

    def alive(self) -> bool:
        """True if the session is alive by the current clock. Ends an overdue session."""
        if self.cause is not None:
            return False
        keeper = self.core.keeper
        if keeper is not None:
            keeper.looked()
        if self.timeout > 0 and _clock.now() >= self.deadline():
            self.end(EndReason.BLOCKED if keeper is not None and keeper.gave_up else EndReason.SILENCE)
            return False
        return True

    def lost(self) -> SessionLostError:
        """Returns a new exception with the session's end reason."""
        assert self.cause is not None
        return self.cause.again()

    async def wait(self, future: asyncio.Future[Any]) -> None:
        """Waits for a future, at most until the session ends."""
        if self.cause is not None:
            raise self.lost()
        self.waiting.add(future)
        try:
            await future
        finally:
            self.waiting.discard(future)

    def end(self, reason: EndReason, text: str = "") -> bool:
        """Ends the session on the client side. Returns False if the session had already ended.

        If a host reports an expired session and the deadline has passed by the client's clock too, `alive` ends the
        session: after a stall, the report may be read before the deadline timer runs.
        """
        if self.cause is not None or reason is EndReason.EXPIRED and not self.alive():
            return False
        self.cause = SessionLostError(self.id, reason, text)
        self.drop()
        self.owner._has_ended(self, reason)
        for future in list(self.waiting):
            if not future.done():
                future.set_exception(self.lost())
                future.exception()  # its task may be cancelled before it sees this
        if self.home is not None:
            self._forget(self.home)
            self._remove_home()
        for conn in self.bound:
            self._forget(conn)
        self.bound.clear()
        if self.core.keeper is not None:
            self.core.keeper.remove(self)
        if reason in (EndReason.SILENCE, EndReason.BLOCKED):
            self.core.spawn(self._stop_at(self.base() + self.timeout))
        return True

    # Object operations in the subclass.

    def drop(self) -> None:
        """Ends all leases and pending operations of the session."""

    def holding_lost(self, push: dict[str, Any]) -> None:
        """Called when the session has lost a semaphore."""

    def lose_rebuilt(self, lost: dict[str, Any]) -> None:
        """Called after a shard was rebuilt: holdings in its slots with order ids below the fence are lost."""

    def inbox(self, conn: Connection, raw: list[Any]) -> None:
        """Called with inbox items for a process member."""

    def unbound(self, conn: Connection) -> None:
        """Called when no more messages can arrive over a connection."""

    # The home connection.

    def _forget(self, conn: Connection) -> None:
        if conn.sessions.get(self.id) is self:
            del conn.sessions[self.id]

    def _remove_home(self) -> None:
        assert self.home is not None
        self.sent = self.base()
        if self.timeout > 0 and self.home.error is None:
            self.home.remove_timeout(self.timeout)
        self.home, self.last = None, self.home

    def attached_over(self, conn: Connection, sequence: int, sent: float, lease: dict[str, Any]) -> None:
        """Makes a connection the home connection after a successful attach request, sent at the given time."""
        if self.cause is not None or sequence != self.attach_sequence or conn.error is not None:
            return
        if self.home is not None:
            self._remove_home()
        for lost in lease["lost"]:  # before the attach extends the lease
            self.lose_rebuilt(lost)
        conn.sessions[self.id] = self
        first = not self.sent
        self.sent, self.since, self.keep = sent, _clock.now(), None
        self.home = conn
        self.grace = lease["grace_ms"] / 1000
        self.bound.pop(conn, None)
        if self.timeout > 0:
            conn.add_timeout(self.timeout)
            if first:
                self.core.deadlines.add(self)
                if self.core.keeper is not None:
                    self.core.keeper.add(self)
        returned, self._returned = self._returned, None
        for future in returned or ():
            if not future.done():
                future.set_result(None)
        self.owner._is_attached(self)

    def connection_lost(self, conn: Connection, error: TransportError) -> None:
        self.remove_conn(conn, error)

    def detached(self, conn: Connection, status: int, detail: Any) -> None:
        error = of_status(status, detail)
        if conn is self.home:
            if status == Status.BAD_SESSION and self.keep is None:
                self.end(EndReason.TAKEN, str(error))
                return
            if status == Status.HEARTBEAT_TIMEOUT:
                if self.alive():
                    self.end(EndReason.EXPIRED, str(error))
                    # The host has begun to end the session, and may fail to finish.
                    self.core.spawn(self._stop_at(self.base() + self.timeout))
                return
        if status == Status.MOVED:
            self.core.cluster.moved(error.detail, conn)
        self._forget(conn)
        self.remove_conn(conn, error)

    def ended(self, reason: int) -> None:
        self.end(_END_REASONS.get(reason, EndReason.UNKNOWN))

    def remove_conn(self, conn: Connection, why: BaseException) -> None:
        """Detaches the session from a connection."""
        if self.cause is not None:
            return
        self.bound.pop(conn, None)
        if conn is self.home:
            self._remove_home()
            if self.timeout == 0:
                self.end(EndReason.EXPIRED, "its connection is lost, and its timeout is 0")
                return
            self.owner._is_detached(self, why)
            self.reattach()
        self.unbound(conn)

    def reclaim(self) -> None:
        """Moves the session from the thread's connection back to one of the event loop."""
        if self.cause is None and self.keep is not None and (home := self.home) is not None:
            self._forget(home)
            self.remove_conn(home, TransportError("the event loop was blocked"))

    def next_attach(self) -> int:
        """Returns a new attach sequence."""
        with _sequences:
            self.attach_sequence += 1
            return self.attach_sequence

    def reattach(self) -> None:
        """Starts to reattach the session in the background."""
        if not self.attaching and self.cause is None:
            self.attaching = True
            self.core.spawn(self._attach_until_done())

    def try_timeout(self) -> float:
        """Timeout for one attempt to attach or bind. Leaves time for further attempts on other hosts."""
        return max(self.timeout / 8, MIN_TRY)

    async def _attach_until_done(self) -> None:
        cluster = self.core.cluster
        retries = Retries(cluster.leaders, cluster.connections)
        tried = Tried()
        try:
            while self.home is None and self.cause is None:
                retries.begin()
                patience = max((self.deadline() - _clock.now()) / 16, MIN_TRY)
                h = cluster.choose(cluster.leader_at(wire.session_slot(self.id)), tried)
                conn: Connection | None = None
                try:
                    async with asyncio.timeout(self.try_timeout()):
                        conn = await h.connect(self.wait, patience)
                        await self.attach(conn)
                    continue
                except TimeoutError:
                    error: SignalboxError = TransportError(f"host {h.address}: the host is slow to answer")
                except SignalboxError as e:
                    error = e
                if self.cause is not None:
                    return
                status = refusal(error)
                if status == Status.SESSION_EXPIRED:
                    self.end(EndReason.EXPIRED, str(error))
                elif status == Status.BAD_SESSION:
                    self.end(EndReason.TAKEN, str(error))
                elif status == Status.NOT_FOUND:
                    self.end(EndReason.NODE_DROPPED, str(error))
                else:
                    tried.add(h)
                    retries.patience = patience if conn is None else 0
                    await self.pause_after(retries, error, conn, h)
        except SessionLostError:
            pass
        finally:
            self.attaching = False

    async def pause_after(
        self, retries: Retries, error: SignalboxError, conn: Connection | None, h: Peer | None,
    ) -> None:
        """Waits before the next attempt."""
        try:
            async with asyncio.timeout(retries.patience or None):
                await self.core.cluster.redirect(retries, error, conn, h, self.wait)
        except TimeoutError:
            pass
        if not isinstance(error, TransportError) and not is_retried(error.status):
            # A host may accept a later attempt: a revoked token can be granted again.
            error = TransportError(str(error))
        await retries.again(error, self.wait)

    async def attach(self, conn: Connection) -> None:
        """Attaches the session over a connection to its home shard's leader."""
        handler = Attach(self, self.next_attach())
        request = conn.send(handler, SESSION_ATTACH, (self.id, self.secret, handler.attach_sequence))
        try:
            await handler.future
        except asyncio.CancelledError:
            conn.forget(request)
            raise

    # Bound connections.

    async def connect(self, slot: int, attempt: Try, tried: Tried = NOTHING_TRIED) -> Connection:
        """Returns a connection to the slot's leader, after binding the session to the connection."""
        cluster = self.core.cluster
        attempt.conn = None
        attempt.host = h = cluster.choose(cluster.leader_at(slot), tried)
        conn = await h.connect(self.wait)
        attempt.conn = conn
        await self.bind(conn)
        return conn

    def ready(self, slot: int) -> Connection | None:
        """Returns such a connection if no waiting is needed, otherwise None."""
        shard = self.core.cluster.at(slot)
        if shard is None or shard.leader is None or self.cause is not None:
            return None
        conn = shard.leader.conn
        if conn is not None and (conn is self.home or conn in self.bound and self.bound[conn] is None):
            return conn
        return None

    async def bind(self, conn: Connection) -> None:
        """Makes sure that the session may use a connection.

        A detached session is not bound to new connections: serving hosts prove nothing about its lease, so the session
        must be attached first.
        """
        while self.cause is None and self.home is None and conn not in self.bound:
            returned: asyncio.Future[None] = self.core.loop.create_future()
            if self._returned is None:
                self._returned = []
            self._returned.append(returned)
            await self.wait(returned)
        if self.cause is not None:
            raise self.lost()
        if conn is self.home:
            return
        if conn not in self.bound:
            if conn.error is not None:
                raise TransportError(str(conn.error))
            conn.sessions[self.id] = self
            asked: asyncio.Future[SignalboxError | None] = self.core.loop.create_future()
            self.bound[conn] = asked
            self.core.spawn(self._ask_to_bind(conn, asked))
        binding = self.bound[conn]
        if binding is None:
            return
        done: asyncio.Future[None] = self.core.loop.create_future()
        binding.add_done_callback(lambda _: None if done.done() else done.set_result(None))
        await self.wait(done)
        error = binding.result()
        if error is not None:
            raise TransportError(str(error)) if isinstance(error, TransportError) else error

    async def _ask_to_bind(self, conn: Connection, asked: asyncio.Future[SignalboxError | None]) -> None:
        error: SignalboxError | None = TransportError("the client is closed")
        try:
            async with asyncio.timeout(self.try_timeout()):
                await conn.call(SESSION_BIND, (self.id, self.secret))
            error = None
        except TimeoutError:
            error = TransportError(f"host {conn.address}: the host is slow to answer")
        except SignalboxError as e:
            error = e
        finally:
            if self.bound.get(conn) is asked:
                if error is None:
                    self.bound[conn] = None
                else:
                    del self.bound[conn]
                    if conn is not self.home:
                        self._forget(conn)
            asked.set_result(error)

    def unknown_at(self, conn: Connection, retries: Retries) -> bool:
        """Handles a BAD_SESSION answer. Returns False after too many."""
        if not retries.unknown():
            return False
        if conn is self.home or conn in self.bound:
            self._forget(conn)
            self.remove_conn(conn, TransportError("the host does not know the session"))
        return True

    # The end on the host.

    async def stop(self) -> None:
        """Stops the session on its host after the session has ended for the user.

        Returns when a host confirms the end, or when the session must have expired. A lost attach request may still
        extend the session, if other sessions keep the connection alive.
        """
        conn, tried = self.last, Tried()
        cluster = self.core.cluster
        until = self.base() + self.timeout + self.grace if self.timeout else float("inf")
        retries = Retries(cluster.leaders)
        unknowns = 0
        while True:
            if self.timeout == 0 and (conn is None or conn.error is not None):
                return  # it has ended with its connection
            retries.begin()
            h: Peer | None = None
            try:
                async with asyncio.timeout(max(min(max(self.try_timeout(), 1.0), until - _clock.now()), 0)):
                    if conn is None or conn.error is not None:
                        h = host = cluster.choose(cluster.leader_at(wire.session_slot(self.id)), tried)
                        conn = await host.connect()
                        await self.attach(conn)
                    else:
                        h = conn.host
                    await conn.call(SESSION_STOP, (self.id,))
                return
            except TimeoutError:
                error: SignalboxError = TransportError("the host is slow to answer")
            except SignalboxError as e:
                error = e
            status = refusal(error)
            if status == Status.SESSION_EXPIRED or _clock.now() >= until:
                return
            if status == Status.BAD_SESSION:
                unknowns += 1
                if unknowns > 1:
                    return  # it is another client's
                conn = None
                continue
            if not isinstance(error, TransportError) and not is_retried(status):
                raise error
            await cluster.redirect(retries, error, conn, h)
            conn = None
            tried.add(h)
            async with asyncio.timeout(max(until - _clock.now(), 0.001) if self.timeout else None):
                await retries.again(error, plainly)

    async def _stop_at(self, moment: float) -> None:
        """Stops the session when its semaphores may be granted to others, so that waiters need not wait for the
        timeout."""
        await asyncio.sleep(max(moment - _clock.now(), 0))
        await self.stop_later()

    async def stop_later(self) -> None:
        """Stops the session on its host, with retries."""
        async with self.core.stopping:
            try:
                await self.stop()
            except (SignalboxError, TimeoutError):
                pass  # it ends by its timeout


class Attach:
    """Waits for the SESSION_ATTACH answer and handles the answer before later messages from the host."""

    __slots__ = ("session", "attach_sequence", "sent", "future")

    def __init__(self, session: Attachment, sequence: int) -> None:
        self.session, self.attach_sequence, self.sent = session, sequence, _clock.now()
        self.future: asyncio.Future[None] = session.core.loop.create_future()

    def answered(self, conn: Connection, raw: list[Any]) -> bool:
        error = refused(raw)
        if error is None:
            self.session.attached_over(conn, self.attach_sequence, self.sent, wire.fields(raw)["lease"])
        if not self.future.done():
            if error is None:
                self.future.set_result(None)
            else:
                self.future.set_exception(error)
        return False

    def lost(self, conn: Connection, error: TransportError) -> None:
        if not self.future.done():
            self.future.set_exception(error)


#: Backoff after a short-lived session.
RENEWAL = REQUESTS
