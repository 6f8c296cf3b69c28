"""Limiters: limit concurrent blocks across all tasks of all processes.

    async with limiter.Limiter(client, "/prod/jobs", "exports", 5) as exports:
        async with exports.slot() as slot:
            await export(slot.fence)

The limit is stored in a persistent semaphore, created on first use. A session has one position per semaphore, so a
limiter uses one session per held or awaited slot, and keeps some sessions for reuse. The sessions share the client's
connections and pings.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque

from ._client import Client
from ._lease import Lease
from ._lock import Lock
from ._session import DEFAULT_TIMEOUT, Session
from .errors import (
    AbortedError, AbortReason, BadRequestError, ClosedError, SignalboxError, NotAcquiredError, NotFoundError,
    SessionLostError,
)

#: Time after which an unused session is closed.
_IDLE = 60.0
#: Pause after a lost session before a new session joins the queue.
_RETRY = 0.05


class Limiter:
    """Limits concurrent blocks. A process needs one limiter per name."""

    def __init__(
        self, client: Client, path: str, name: str, limit: int, *, sessions: int = 1000,
        timeout: float = DEFAULT_TIMEOUT, data: bytes = b"",
    ) -> None:
        if limit < 1 or sessions < 1:
            raise BadRequestError(f"limit is {limit} and sessions is {sessions}: use at least 1")
        self._client, self._path, self.name, self.limit = client, path, name, limit
        self._timeout, self._data = timeout, data
        self._room = asyncio.Semaphore(sessions)
        self._idle: deque[tuple[float, Session]] = deque()
        self._all: set[Session] = set()
        self._closed = False

    def slot(self, wait: float | None = None) -> Slot:
        """Returns a slot: `async with limiter.slot() as lease:`. The block is cancelled if the slot is lost.

        `wait` is the maximum wait in seconds: None waits without limit, 0 tries once. Raises `NotAcquiredError` if no
        slot was free in time.
        """
        return Slot(self, wait)

    async def _take(self) -> Session:
        if self._closed:
            raise ClosedError("the limiter is closed")
        while self._idle:
            _, session = self._idle.pop()
            if session.error is None:
                return session
            self._all.discard(session)
        session = self._client.session(self._path, self._timeout, description=f"limiter {self.name}")
        self._all.add(session)
        try:
            await session.open()
        except BaseException:
            self._all.discard(session)
            raise
        return session

    def _give(self, session: Session) -> None:
        """Keeps a session for the next slot, and closes sessions unused for long."""
        now = time.monotonic()
        if session.error is None and not self._closed:
            self._idle.append((now, session))
        else:
            self._all.discard(session)
        while self._idle and self._idle[0][0] < now - _IDLE:
            _, old = self._idle.popleft()
            self._all.discard(old)
            self._client._core.spawn(old.close())

    async def close(self) -> None:
        """Closes the limiter: held slots are lost, and waiting calls raise `SessionLostError`."""
        self._closed = True
        sessions, self._all = self._all, set()
        self._idle.clear()
        await asyncio.gather(*(s.close() for s in sessions), return_exceptions=True)

    async def __aenter__(self) -> Limiter:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()


class Slot:
    """A slot, created by `Limiter.slot`. A slot can be used once."""

    def __init__(self, limiter: Limiter, wait: float | None) -> None:
        self._limiter, self._wait = limiter, wait
        self._session: Session | None = None
        self._lock: Lock | None = None

    async def __aenter__(self) -> Lease:
        x = self._limiter
        if self._wait is None:
            return await self._acquire()
        if self._wait <= 0:
            if x._room.locked():
                raise NotAcquiredError(f"no slot in {x.name!r} is free")
            return await self._acquire()
        until = time.monotonic() + self._wait
        try:
            async with asyncio.timeout(self._wait + 0.5):
                return await self._acquire(until)
        except TimeoutError:
            raise NotAcquiredError(f"no slot in {x.name!r} was free for {self._wait:g} s") from None

    async def _acquire(self, until: float | None = None) -> Lease:
        x = self._limiter
        await x._room.acquire()
        try:
            while True:
                session = await x._take()
                wait = self._wait if until is None else max(until - time.monotonic(), 0)
                lock = session.lock(x.name, wait, limit=x.limit, data=x._data)
                try:
                    lease = await lock.__aenter__()
                    self._session, self._lock = session, lock
                    return lease
                except SignalboxError as e:
                    x._give(session)
                    passing = isinstance(e, (SessionLostError, NotFoundError)) or (
                        isinstance(e, AbortedError) and e.reason is AbortReason.DELETED)
                    if not passing or x._closed:
                        raise
                except BaseException:
                    x._give(session)
                    raise
                await asyncio.sleep(_RETRY)
        except BaseException:
            x._room.release()
            raise

    async def __aexit__(self, kind: type[BaseException] | None, exc: BaseException | None, trace: object) -> None:
        assert self._lock is not None and self._session is not None
        try:
            await self._lock.__aexit__(kind, exc, trace)
        finally:
            self._limiter._give(self._session)
            self._limiter._room.release()


__all__ = ["Limiter", "Slot"]
