"""A connection to a host, from WELCOME to close.

Connections are never repaired; the host object opens a new connection instead. Frames sent in one turn of the event
loop are written together; a single request is written immediately.
"""

from __future__ import annotations

import asyncio
import ssl
import struct
from collections import deque
from typing import Any, Protocol

from . import _clock
from . import _wire as wire
from ._messages import MESSAGES
from .errors import (
    BadRequestError, SignalboxError, UnauthenticatedError, Status, TransportError, UnsupportedError, answer_error,
    refused,
)

#: Maximum ping interval in seconds.
MAX_SILENCE = 5.0
#: Silence with open requests before the client sends a ping, and time to answer the ping
#: before the client looks for leaders on another host.
SILENCE = 0.5
#: Time to answer a ping after another host has become leader of the host's shard.
DOUBT_PATIENCE = 1.0
#: Maximum frame size before the host has announced its limits.
_LONGEST = 262144 + 2 * 1048576 + 65536
#: Supported pushes of the second block: INBOX and TOKEN_EXPIRING.
_PUSHES = [256, 260]

_header = struct.Struct(">I").unpack_from

HELLO, PING, ROUTING = 1, 2, 3
#: Requests sent first, because they keep sessions alive: attach, bind, stop, detach, routing, WATCH_STOP.
_URGENT = frozenset({17, 18, 19, 190, ROUTING, 33})
WATCH_STOP = 33


class Handler(Protocol):
    """Receives a request's answer and all pushes with its id, in the order sent by the host."""

    def answered(self, conn: Connection, raw: list[Any]) -> bool:
        """Handles an answer or a push. Returns whether more may follow."""

    def lost(self, conn: Connection, error: TransportError) -> None:
        """Called once when the connection is lost."""


class Attached(Protocol):
    """A session, as seen by a connection."""

    def detached(self, conn: Connection, status: int, detail: Any) -> None:
        """Called when the session is no longer attached or bound over the connection."""

    def ended(self, reason: int) -> None:
        """Called when the session has ended."""

    def holding_lost(self, push: dict[str, Any]) -> None:
        """Called when the session has lost a semaphore."""

    def inbox(self, conn: Connection, raw: list[Any]) -> None:
        """Called with inbox items for a process member."""

    def connection_lost(self, conn: Connection, error: TransportError) -> None:
        """Called when the connection is lost."""


class Peer(Protocol):
    """A connection's host, as seen by the connection."""

    @property
    def merged(self) -> Peer | None:
        """The host that replaces this host, if both turned out to be the same."""

    def routing_changed(self, conn: Connection, push: dict[str, Any]) -> None:
        """Called when the host has a newer routing or a shard leader."""

    def going_away(self, conn: Connection, why: SignalboxError) -> None:
        """Called when the host announces to close the connection."""

    def token_expiring(self, conn: Connection, push: dict[str, Any]) -> None:
        """Called when the token is about to expire."""

    def silent(self) -> None:
        """Called if the host answers neither requests nor a ping."""

    def connection_lost(self, conn: Connection) -> None:
        """Called when the connection is lost."""


class Call:
    """A request with a single answer."""

    __slots__ = ("future",)

    def __init__(self, future: asyncio.Future[list[Any]]) -> None:
        self.future = future

    def answered(self, conn: Connection, raw: list[Any]) -> bool:
        if not self.future.done():
            self.future.set_result(raw)
        return False

    def lost(self, conn: Connection, error: TransportError) -> None:
        if not self.future.done():
            self.future.set_exception(error)


class _Pong:
    """Waits for the answer to one ping."""

    __slots__ = ("sent",)

    def __init__(self, sent: float) -> None:
        self.sent = sent

    def answered(self, conn: Connection, raw: list[Any]) -> bool:
        if wire.uint_of(raw, 2) == 0:
            conn.vouched = self.sent
            conn.pong_missing = conn.doubted = False
        return False

    def lost(self, conn: Connection, error: TransportError) -> None:
        pass


class Connection(asyncio.Protocol):
    """A connection shared by many sessions and requests. Runs on the event loop only."""

    __slots__ = (
        "loop", "address", "host", "transport", "welcome", "error", "vouched", "pong_missing", "doubted", "_buffer",
        "_out", "_look_at", "_answers", "_seen",
        "_flushing", "_together", "_open", "_room", "_held", "_paused", "_last", "_handlers", "sessions", "_timeouts",
        "_smallest", "_idle", "_timer", "_pinged", "_limit_in", "_limit_out", "_requests", "_greeting", "_hello_sent",
    )

    def __init__(self, loop: asyncio.AbstractEventLoop, address: str) -> None:
        self.loop, self.address = loop, address
        self.host: Peer | None = None
        self.transport: asyncio.Transport | None = None
        self.welcome: dict[str, Any] = {}
        self.error: TransportError | None = None
        #: Send time of the latest answered ping, by the lease clock.
        self.vouched = 0.0
        self.pong_missing = False
        #: Another host has become leader of a shard since the latest pong.
        self.doubted = False
        #: Time of the next silence check; 0 while no request is open.
        self._look_at = 0.0
        self._answers = self._seen = 0  # so far, and at the latest look
        self._buffer = b""
        self._out: list[bytes] = []
        self._flushing = self._together = self._paused = False
        self._open = 0
        self._room = 1
        self._held: deque[tuple[int, bytes]] = deque()
        self._last = 1
        self._handlers: dict[int, Handler] = {}
        self.sessions: dict[int, Attached] = {}
        self._timeouts: dict[float, int] = {}
        self._smallest = 0.0
        self._idle = MAX_SILENCE
        self._timer: asyncio.TimerHandle | None = None
        self._pinged = self._hello_sent = 0.0
        self._limit_in = _LONGEST
        self._limit_out = 8192
        self._requests: frozenset[int] = frozenset()
        self._greeting: asyncio.Future[None] | None = loop.create_future()

    # Opening.

    async def greet(self, name: str, version: str, token: bytes) -> None:
        """Sends HELLO and waits for WELCOME."""
        assert self._greeting is not None
        hello = wire.body("HELLO", {"version_min": 1, "version_max": 1, "client_name": name[:64],
                                    "client_version": version, "token": token, "push_kinds": _PUSHES})
        self._hello_sent = _clock.now()
        self._write(wire.frame(HELLO, 1, hello))
        await self._greeting

    def _greeted(self, raw: list[Any]) -> None:
        greeting, self._greeting = self._greeting, None
        assert greeting is not None
        if greeting.done():
            return
        if raw[0] == 124:
            greeting.set_exception(TransportError(f"host {self.address}: the host is going away: {answer_error(raw)}"))
            return
        if raw[0] != 65 or raw[1] != 1:
            greeting.set_exception(TransportError(
                f"host {self.address}: HELLO was answered with message kind {raw[0]}"))
            return
        if (error := refused(raw)) is not None:
            if error.status == Status.UNAUTHORIZED:
                text = f"host {self.address}: {error}: pass a valid token with token="
                error = UnauthenticatedError(text)
            greeting.set_exception(error)
            return
        w = self.welcome = wire.fields(raw)
        limits = w["limits"]
        self._limit_out = limits["request_frame_bytes"] or 131072
        self._limit_in = limits["answer_frame_bytes"] or 458752
        flight = limits["requests_in_flight"] or 1024
        self._room = max(flight - flight // 8 - 2, 1)
        self._requests = frozenset(w["request_kinds"])
        if 0 < w["ping_interval_ms"] / 1000 < self._idle:
            self._idle = w["ping_interval_ms"] / 1000
        self._pinged = self._hello_sent
        self._timer = self.loop.call_later(self._idle, self._fire)
        greeting.set_result(None)

    def knows(self, kind: int) -> bool:
        """True if the host supports a request kind."""
        return kind < 48 or kind in self._requests

    # Sending.

    def send(self, handler: Handler, kind: int, body: tuple[Any, ...]) -> int:
        """Sends a request and returns its id; the handler gets the answer and pushes."""
        if self.error is not None:
            raise self.error
        if kind >= 48 and kind not in self._requests:
            raise UnsupportedError(f"host {self.address} does not support request kind {kind}: the host has an "
                              "older version")
        request = self._last + 1
        frame = wire.frame(kind, request, body)
        if len(frame) - 4 > self._limit_out:
            raise BadRequestError(f"the request has {len(frame) - 4} bytes: the host allows at most {self._limit_out}")
        self._last = request
        self._handlers[request] = handler
        if (self._open >= self._room or self._held or self._paused) and kind != PING and kind not in _URGENT:
            self._held.append((request, frame))
            return request
        self._open += 1
        self._write(frame)
        if not self._look_at:
            self._look_at, self._seen = _clock.now() + SILENCE, self._answers
            self._arm()
        return request

    def _write(self, frame: bytes) -> None:
        if self._open <= 1 and not self._together and not self._out and self.transport is not None:
            self.transport.write(frame)
            return
        self._out.append(frame)
        if not self._flushing:
            self._flushing = True
            self.loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flushing = False
        if self._out and self.transport is not None and self.error is None:
            data = b"".join(self._out)
            self._out.clear()
            self.transport.write(data)

    def _admit(self) -> None:
        while self._held and self._open < self._room and not self._paused:
            _, frame = self._held.popleft()
            self._open += 1
            self._write(frame)

    async def call(self, kind: int, body: tuple[Any, ...]) -> list[Any]:
        """Sends a request and returns the raw answer. Raises the host's error."""
        future: asyncio.Future[list[Any]] = self.loop.create_future()
        request = self.send(Call(future), kind, body)
        try:
            raw = await future
        except asyncio.CancelledError:
            self.forget(request)
            raise
        if (error := refused(raw)) is not None:
            raise error
        return raw

    async def request(self, name: str, **values: Any) -> dict[str, Any]:
        """Sends a request by message name and returns the answer's fields."""
        return wire.fields(await self.call(wire.number_of(name), wire.body(name, values)))

    def forget(self, request: int) -> None:
        """Ignores further messages for a request."""
        self._handlers.pop(request, None)

    def stop_watch(self, request: int) -> None:
        """Ends a watch. A watch request still waiting to be sent is dropped."""
        self._handlers.pop(request, None)
        for i, (held, _) in enumerate(self._held):
            if held == request:
                del self._held[i]
                return
        if self.error is None:
            self.send(_Unheard(), WATCH_STOP, (request,))

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        self._admit()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.fail(str(exc) if exc else "the host closed the connection")

    def data_received(self, data: bytes) -> None:
        if self._buffer:
            data = self._buffer + data
        at, n, seen = 0, len(data), 0
        try:
            while n - at >= 4 and self.error is None:
                size: int = _header(data, at)[0]
                if size == 0 or size > self._limit_in:
                    raise wire.Malformed(f"the frame has {size} bytes")
                if n - at < 4 + size:
                    break
                at += 4
                seen += 1
                self._together = seen > 1 or n - at > size
                self._take(wire.unpack(data[at:at + size]))
                at += size
        except (wire.Malformed, KeyError) as e:
            self.fail(f"the host broke the protocol: {e}")
            return
        self._buffer = data[at:]

    def _take(self, raw: list[Any]) -> None:
        kind, request = raw[0], raw[1]
        if self._greeting is not None:
            self._greeted(raw)
            return
        if request == 0:
            self._pushed(kind, raw)
            return
        handler = self._handlers.get(request)
        if wire.is_answer(kind):
            self._open -= 1
            self._answers += 1
            if len(raw) > 2 and type(raw[2]) is not int and raw[2] is not None:
                raise wire.Malformed("status: expected a uint")
            if self._held:
                self._admit()
            if handler is not None and kind not in _KNOWN and wire.uint_of(raw, 2) == 0:
                raise wire.Malformed(f"an answer has the unknown kind {kind}")
        elif kind not in _KNOWN:
            return
        if handler is not None and not handler.answered(self, raw):
            self._handlers.pop(request, None)

    def _pushed(self, kind: int, raw: list[Any]) -> None:
        if kind in (116, 121, 122, 256):
            session = self.sessions.get(wire.uint_of(raw, 2))
            if session is None:
                return
            if kind == 116:
                session.holding_lost(wire.fields(raw))
            elif kind == 121:
                session.detached(self, wire.uint_of(raw, 3), raw[4] if len(raw) > 4 else None)
            elif kind == 122:
                session.ended(wire.uint_of(raw, 3))
            else:
                session.inbox(self, raw)
        elif kind == 123 and self.host is not None:
            self.host.routing_changed(self, wire.fields(raw))
        elif kind == 124:
            error = answer_error(raw)
            if self.host is not None:
                self.host.going_away(self, error)
            self.fail(f"the host is going away: {error}", error)
        elif kind == 260 and self.host is not None:
            self.host.token_expiring(self, wire.fields(raw))

    # Pings.

    def add_timeout(self, timeout: float) -> None:
        """Raises the ping frequency to suit the given session timeout."""
        self._timeouts[timeout] = self._timeouts.get(timeout, 0) + 1
        if not self._smallest or timeout < self._smallest:
            self._smallest = timeout
            self._arm()

    def remove_timeout(self, timeout: float) -> None:
        """Reverts add_timeout."""
        self._timeouts[timeout] -= 1
        if not self._timeouts[timeout]:
            del self._timeouts[timeout]
            self._smallest = min(self._timeouts, default=0.0)

    def _interval(self) -> float:
        return max(min(self._smallest / 3, self._idle), 0.001) if self._smallest else self._idle

    def _due(self) -> float:
        # A third of a timeout until the ping and a quarter until its answer leave time to attach elsewhere.
        patience = self._interval()
        if self.pong_missing:
            patience *= 0.75
            if self.doubted:
                patience = min(patience, DOUBT_PATIENCE)
        return self._pinged + patience

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self.error is None:
            due = min(self._due(), self._look_at) if self._look_at else self._due()
            self._timer = self.loop.call_later(max(due - _clock.now(), 0), self._fire)

    def _fire(self) -> None:
        if self.error is not None:
            return
        now = _clock.now()
        if now >= self._due():
            if self.pong_missing:
                self.fail("the host did not answer a ping")
                return
            self._ping(now)
        if self._look_at and now >= self._look_at:
            self._look(now)
        self._arm()

    def _ping(self, now: float) -> None:
        self._pinged, self.pong_missing = now, True
        self.send(_Pong(now), PING, ())

    def _look(self, now: float) -> None:
        """Sends a ping if requests are open and nothing has arrived since the last check. If the previous ping is also
        unanswered, reports the host as silent."""
        if not self._open:
            self._look_at = 0.0
            return
        silent = self._answers == self._seen
        if silent and self.pong_missing and self.host is not None:
            self.host.silent()
        elif silent and not self.pong_missing:
            self._ping(now)
        self._look_at, self._seen = now + SILENCE, self._answers

    def doubt(self) -> None:
        """Checks the host after another host has become leader of its shard. If the host does not answer a ping soon,
        it hangs: the connection is closed, and waiting requests are sent to the new leader."""
        if self.error is None:
            self.doubted = True
            if not self.pong_missing:
                self._ping(_clock.now())
            self._arm()

    # The end.

    def fail(self, why: str, cause: SignalboxError | None = None) -> None:
        """Closes the connection and notifies everything that uses it."""
        if self.error is not None:
            return
        self.error = error = TransportError(f"host {self.address}: {why}")
        error.__cause__ = cause
        if self._timer is not None:
            self._timer.cancel()
        if self.transport is not None:
            self.transport.abort()
        if self._greeting is not None and not self._greeting.done():
            self._greeting.set_exception(error)
        handlers, self._handlers = self._handlers, {}
        sessions, self.sessions = self.sessions, {}
        self._held.clear()
        self._out.clear()
        if self.host is not None:
            self.host.connection_lost(self)
        for handler in handlers.values():
            handler.lost(self, TransportError(str(error)))
        for session in sessions.values():
            session.connection_lost(self, error)


class _Unheard:
    """Ignores an answer."""

    __slots__ = ()

    def answered(self, conn: Connection, raw: list[Any]) -> bool:
        return False

    def lost(self, conn: Connection, error: TransportError) -> None:
        pass


_KNOWN = frozenset(MESSAGES)


async def dial(
    loop: asyncio.AbstractEventLoop, address: str, default_port: int, tls: ssl.SSLContext | None,
) -> Connection:
    """Connects to an address. HELLO is not sent yet."""
    host, port = split_address(address, default_port)
    conn = Connection(loop, address)
    try:
        await loop.create_connection(lambda: conn, host, port, ssl=tls, server_hostname=host if tls else None)
    except OSError as e:
        raise TransportError(f"host {address}: {e.strerror or e}") from e
    except BaseException:
        if conn.transport is not None:
            conn.transport.abort()
        raise
    return conn


def split_address(address: str, default_port: int) -> tuple[str, int]:
    """Splits an address into host and port."""
    host, colon, port = address.rpartition(":")
    if not colon or (":" in host and not host.startswith("[")) or not port.isdigit():
        return address.strip("[]"), default_port
    return host.strip("[]"), int(port)
