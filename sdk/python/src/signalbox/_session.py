"""The session, as seen by the user."""

from __future__ import annotations

import asyncio
import enum
import logging
from collections.abc import Callable, Generator
from typing import Any, Protocol

from . import _clock
from ._attachment import RENEWAL, Attachment
from ._incarnation import Incarnation
from ._lock import Lock, Places
from ._node import NodeClient
from ._retry import plainly, sleep
from ._semaphore import Semaphore
from ._start import Start
from ._verify import verify
from .errors import (
    BadRequestError, ClosedError, EndReason, SignalboxError, NotFoundError, SessionLostError, UnavailableError,
)

#: Default, minimum and maximum session timeout, in seconds.
DEFAULT_TIMEOUT, MIN_TIMEOUT, MAX_TIMEOUT = 10.0, 0.2, 1800.0
#: Number of consecutive short-lived sessions before renewal pauses.
_SHORT_LIVED = 3

log = logging.getLogger("signalbox")


class State(enum.Enum):
    """Session state."""

    #: Not opened yet, or being recreated.
    NEW = "new"
    #: Attached to a host.
    ATTACHED = "attached"
    #: Disconnected. The leases stay valid until the client's own deadline.
    DETACHED = "detached"
    #: Ended, with all its leases lost.
    EXPIRED = "expired"
    #: Closed by the user.
    CLOSED = "closed"


class SessionClient(NodeClient, Protocol):
    """A client, as seen by its sessions."""

    timeout: float
    _sessions: set[Session]


class Session:
    """A session in a node. When the session ends, its holdings are released to other clients.

    Use `async with client.session("/prod/jobs") as session:`, or `session = await client.session(...)` and finally
    `await session.close()`. All tasks on the session's event loop may share the session.
    """

    def __init__(
        self, client: SessionClient, path: str, timeout: float, details: dict[str, Any], renew: bool,
        on_state: Callable[[State], None] | None,
    ) -> None:
        if timeout != 0 and not MIN_TIMEOUT <= timeout <= MAX_TIMEOUT:
            raise BadRequestError(
                f"the session timeout is {timeout:g} s: use {MIN_TIMEOUT:g} to {MAX_TIMEOUT:g} s, or 0 to end "
                             "the session with its connection")
        if not 1 <= len(path.encode()) <= 1024:
            raise BadRequestError(f"the path has {len(path.encode())} bytes: use 1 to 1024")
        self._client, self._core = client, client._core
        #: The session's node path.
        self.path = path
        #: Session timeout in seconds: how long the session survives without a connection.
        self.timeout = timeout
        self._details, self._renew, self._on_state = details, renew, on_state
        self._current: Incarnation | None = None
        self._ready: asyncio.Future[None] | None = None
        self._error: SignalboxError | None = None  # why it is over for good
        self._state = State.NEW
        self._short = 0
        self._closing = False
        self._over: asyncio.Future[None] | None = None
        self._places = Places(self)

    # Open and close.

    async def open(self) -> Session:
        """Starts the session. Called by `async with` and `await`."""
        if self._state is not State.NEW or self._current is not None:
            raise BadRequestError("the session is already open; open it once")
        self._core = self._client._core
        self._core.check()
        self._over = self._core.loop.create_future()
        try:
            async with asyncio.timeout(self._client.timeout):
                await self._start()
        except TimeoutError:
            text = f"no host has started a session in {self.path} within {self._client.timeout:g} s"
            raise UnavailableError(text) from None
        except NotFoundError as e:
            text = f"there is no node {self.path}: create it with `await client.create_node({self.path!r})`"
            raise NotFoundError(text) from e
        self._client._sessions.add(self)
        return self

    async def _start(self) -> None:
        """Starts a new incarnation and makes it current."""
        cluster = self._core.cluster
        inc: Incarnation

        async def attempt(conn: Any) -> None:
            nonlocal inc
            inc = Incarnation(self._core, self, self.timeout, verify)
            await Start(inc).over(conn, self.path, self._details)

        await cluster.repeat(cluster.session_home, attempt)
        if self._closing:
            inc.end(EndReason.CLOSED)
            self._core.spawn(inc.stop_later())
            raise ClosedError("the session is closed")
        if inc.cause is not None:
            raise inc.lost()
        self._core.sessions.add(inc)
        self._current = inc
        ready, self._ready = self._ready, None
        if ready is not None and not ready.done():
            ready.set_result(None)
        self._set_state(State.ATTACHED if inc.home is not None else State.DETACHED)
        if inc.home is None:
            inc.reattach()

    async def __aenter__(self) -> Session:
        return await self.open()

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def __await__(self) -> Generator[Any, None, Session]:
        return self.open().__await__()

    async def close(self, timeout: float = 1.0) -> None:
        """Ends the session: leases end at once, and pending calls fail.

        Waits for a host up to `timeout` seconds, then continues in the background; at the latest, the session ends by
        its session timeout. Semaphores in other shards are released a moment later. To release a lease immediately,
        call `Lease.release` first.
        """
        self._closing = True
        inc = self._current
        self._client._sessions.discard(self)
        if inc is None or not inc.end(EndReason.CLOSED):
            self._finish(SessionLostError(inc.id if inc else 0, EndReason.CLOSED))
            return
        if self._core.closed or self._core.loop.is_closed():
            return
        task = self._core.spawn(inc.stop_later())
        if task is not None:
            await asyncio.wait({task}, timeout=timeout)

    @property
    def id(self) -> int:
        """Session id, 0 while no session is open."""
        return self._current.id if self._current is not None else 0

    @property
    def state(self) -> State:
        """The session's state by the current clock."""
        if self._current is not None:
            self._current.alive()
        return self._state

    @property
    def error(self) -> SignalboxError | None:
        """Reason for the end; None while the session is open."""
        if self._current is not None:
            self._current.alive()
        return self._error

    async def lost(self) -> SignalboxError:
        """Waits until the session has finally ended, and returns the reason."""
        if self._error is None and self._over is not None:
            await asyncio.shield(self._over)
        return self._error or SessionLostError()

    def __repr__(self) -> str:
        return f"<Session {self.id} in {self.path}, {self._state.value}>"

    # Reports from incarnations.

    def _is_attached(self, session: Attachment) -> None:
        if session is self._current:
            self._set_state(State.ATTACHED)

    def _is_detached(self, session: Attachment, why: BaseException) -> None:
        if session is self._current:
            log.debug("session %d is detached: %s", session.id, why)
            self._set_state(State.DETACHED)

    def _has_ended(self, session: Attachment, reason: EndReason) -> None:
        self._core.sessions.discard(session)
        if session is not self._current:
            return
        self._set_state(State.CLOSED if reason is EndReason.CLOSED else State.EXPIRED)
        final = reason in (EndReason.CLOSED, EndReason.NODE_DROPPED, EndReason.FORKED)
        if not self._renew or self._closing or final or self._core.closed:
            self._finish(session.lost())
            return
        self._current = None
        self._short = self._short + 1 if _clock.now() - session.born < RENEWAL.most else 0
        self._core.spawn(self._renewed(RENEWAL.pause(self._short) if self._short > _SHORT_LIVED else 0))

    async def _renewed(self, wait: float) -> None:
        await sleep(wait, plainly)
        while True:
            try:
                await self._start()
                return
            except SessionLostError as e:
                if e.reason is not EndReason.NODE_DROPPED:
                    continue  # the new one was over before it began
                error: SignalboxError = e
            except SignalboxError as e:
                error = e
            self._set_state(State.EXPIRED)
            self._finish(error)
            return

    def _finish(self, error: SignalboxError) -> None:
        if self._error is None:
            self._error = error
        if self._over is not None and not self._over.done():
            self._over.set_result(None)
        if self._ready is not None and not self._ready.done():
            self._ready.set_result(None)

    def _set_state(self, state: State) -> None:
        changed, self._state = state is not self._state, state
        if changed and self._on_state is not None:
            self._core.loop.call_soon(self._on_state, state)

    async def incarnation(self) -> Incarnation:
        """Returns the session's current incarnation. Waits while the session is recreated."""
        while self._current is None:
            self._core.check()
            if self._error is not None:
                raise self._error
            if self._over is None:
                raise BadRequestError("the session is not open: use `async with client.session(...)`, or await it")
            if self._ready is None:
                self._ready = self._core.loop.create_future()
            await asyncio.shield(self._ready)
        self._core.check()
        return self._current

    # Locks and semaphores.

    def lock(
        self, name: str, wait: float | None = None, *, shared: bool = False, limit: int | None = None, count: int = 1,
        data: bytes = b"",
    ) -> Lock:
        """Returns a lock: `async with session.lock("job") as lease:`.

        The block runs while the lock is held. If the lock is lost, the block's task is cancelled, and the block raises
        `LeaseLostError` with the `reason`. Send `lease.fence`, the fencing token, with every write.

        `wait` is the maximum wait in seconds: None waits for the session's lifetime, 0 tries once. If the lock is not
        acquired in time, `NotAcquiredError` is raised and the block does not run. `shared` requests a shared lock. With
        `limit`, the lock is a counting semaphore, and the holder takes `count` units. `data` is the owner data shown to
        other clients.

        Tasks of one session take turns. Locks are not recursive.
        """
        return Lock(self, name, wait, shared, limit, count, data)

    def semaphore(
        self, name: str, limit: int | None = None, *, data: bytes = b"", create: bool = True,
    ) -> Semaphore:
        """Returns a handle for a persistent semaphore.

        The first acquire creates a missing semaphore with this limit (default 1) and data, unless `create` is False. An
        existing semaphore keeps its limit.
        """
        return Semaphore(self, name, limit, data, create, False)

    def ephemeral(self, name: str) -> Semaphore:
        """Returns a handle for an ephemeral semaphore. It is created with the first owner and deleted with the last."""
        return Semaphore(self, name, None, b"", False, True)
