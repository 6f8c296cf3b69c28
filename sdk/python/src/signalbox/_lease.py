"""Leases: acquire requests, and a lease from grant to release or loss."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Generator
from typing import Any, Protocol

from ._core import Core
from ._wire import FOREVER
from .errors import (
    AbortedError, EndReason, SignalboxError, FencedError, LeaseLostError, NotHeldError, SessionLostError,
)

SEMAPHORE_UPDATE = 25


class Request:
    """An acquire request. A wait of None waits indefinitely."""

    __slots__ = ("count", "data", "ephemeral", "wait", "on_queued")

    def __init__(
        self, count: int = 1, data: bytes = b"", ephemeral: bool = False, wait: float | None = None,
        on_queued: Callable[[int], None] | None = None,
    ) -> None:
        self.count, self.data, self.ephemeral, self.wait, self.on_queued = count, data, ephemeral, wait, on_queued

    @property
    def timeout_ms(self) -> int:
        """The wait in whole milliseconds, rounded up."""
        return FOREVER if self.wait is None else -int(-self.wait * 1000 // 1)


class Holder(Protocol):
    """A session, as seen by its leases."""

    core: Core
    id: int
    timeout: float

    def alive(self) -> bool:
        """True if the session is alive by the current clock. Ends an overdue session."""

    def deadline(self) -> float:
        """Time at which the client gives the session up."""

    async def acquire(self, name: str, r: Request) -> Lease | None:
        """Acquires a semaphore. Returns None if the wait has expired."""

    async def release(self, name: str, order: int) -> bool:
        """Releases the holding with an order id."""

    async def change(self, name: str, kind: int, body: tuple[Any, ...]) -> Any:
        """Executes a change once."""

    def lease_lost(self, lease: Lease, cause: BaseException) -> None:
        """Ends a lease that its host does not know."""


class Loss:
    """Loss of a lease: false while the lease is held and after a release, true after a loss.

    `if lease.lost` checks the current clock. `await lease.lost` waits for the loss and returns the reason.
    """

    __slots__ = ("_lease",)

    def __init__(self, lease: Lease) -> None:
        self._lease = lease

    def __bool__(self) -> bool:
        return self.reason is not None

    def is_set(self) -> bool:
        """True if the lease is lost by the current clock."""
        return self.reason is not None

    @property
    def reason(self) -> BaseException | None:
        """Reason for the loss: a `SessionLostError`, an `AbortedError` or a `LeaseLostError`. None while the lease is
        not lost."""
        cause = self._lease._over()
        return None if isinstance(cause, Released) else cause

    async def wait(self) -> BaseException:
        """Waits for the loss and returns the reason. Raises `NotHeldError` if the lease is released first."""
        return await self._lease._wait_lost()

    def __await__(self) -> Generator[Any, None, BaseException]:
        return self.wait().__await__()

    def __repr__(self) -> str:
        return f"<lost: {self.reason}>" if self else "<not lost>"


class Released(Exception):
    """Marks a lease released by its holder."""


class Lease:
    """A session's ownership of a semaphore.

    A session has at most one lease per semaphore. All tasks on the session's event loop may share the lease.
    """

    __slots__ = ("session", "name", "fence", "sequence", "count", "data", "ephemeral", "missing", "cause", "lost",
                 "_waiters", "_scopes", "__weakref__")

    def __init__(self, session: Holder, name: str, fence: int) -> None:
        self.session, self.name = session, name
        #: The fencing token: larger than every earlier owner's token. Send the token with every write to the protected
        #: resource. The receiver must reject tokens below the highest token seen.
        self.fence = fence
        self.sequence = 0  # of the latest acquire
        #: Owned units.
        self.count = 0
        #: Owner data shown to other clients.
        self.data = b""
        self.ephemeral = False
        self.missing = False  # the shard did not list it when it was asked last
        self.cause: BaseException | None = None
        #: False while the lease is held; see `Loss`.
        self.lost = Loss(self)
        self._waiters: list[asyncio.Future[None]] | None = None
        self._scopes: list[Scope] | None = None
        if session.timeout > 0:
            session.core.deadlines.watch()

    @property
    def held(self) -> bool:
        """True if the lease is held by the current clock."""
        return self._over() is None

    @property
    def session_id(self) -> int:
        """Id of the owning session."""
        return self.session.id

    def check(self) -> None:
        """Raises `LeaseLostError` after a loss and `NotHeldError` after a release.

        Call `check` before actions that require the lease.
        """
        cause = self._over()
        if isinstance(cause, Released):
            raise NotHeldError(f"the lease for {self.name!r} was released")
        if cause is not None:
            raise self.lost_error(cause)

    def lost_error(self, cause: BaseException) -> LeaseLostError:
        """Returns the exception for the lost lease."""
        error = LeaseLostError(f"the lease for {self.name!r} is lost: {cause}", cause)
        error.__cause__ = cause
        return error

    def _over(self) -> BaseException | None:
        if self.cause is None:
            self.session.alive()  # it ends the leases if it is time
        return self.cause

    async def _wait_lost(self) -> BaseException:
        while self._over() is None:
            future: asyncio.Future[None] = self.session.core.loop.create_future()
            if self._waiters is None:
                self._waiters = []
            self._waiters.append(future)
            try:
                await future
            finally:
                if self._waiters and future in self._waiters:
                    self._waiters.remove(future)
        if isinstance(self.cause, Released):
            raise NotHeldError(f"the lease for {self.name!r} was released")
        assert self.cause is not None
        return self.cause

    def lose(self, cause: BaseException) -> None:
        """Ends the lease."""
        if self.cause is not None:
            return
        self.cause = cause
        waiters, self._waiters = self._waiters, None
        for future in waiters or ():
            if not future.done():
                future.set_result(None)
        if not isinstance(cause, Released):
            for scope in list(self._scopes or ()):
                scope.cancel()

    def release_now(self) -> None:
        """Ends the lease after a host has released it."""
        self.lose(Released())

    async def release(self) -> None:
        """Releases the lease. The lease is no longer held from this call on, even if the call fails.

        If the task is cancelled, the release continues in the background. A second release does nothing. Raises
        `LeaseLostError` if the lease was lost before.
        """
        cause = self._over()
        if isinstance(cause, Released) or isinstance(cause, SessionLostError) and cause.reason is EndReason.CLOSED:
            return
        if cause is not None:
            raise self.lost_error(cause)
        self.lose(Released())
        try:
            await self.session.release(self.name, self.fence)
        except FencedError as e:
            raise self.lost_error(e) from e

    async def update(self, data: bytes) -> None:
        """Replaces the semaphore's data if the host confirms that the lease is held. Otherwise raises `FencedError`."""
        await self._update(data, 0)

    async def _update(self, data: bytes, revision: int) -> None:
        cause = self._over()
        if cause is not None:
            raise FencedError(f"the lease for {self.name!r} has ended: {cause}") from cause
        try:
            await self.session.change(self.name, SEMAPHORE_UPDATE, (data, self.fence, revision))
        except FencedError as e:
            self.session.lease_lost(self, LeaseLostError("the host does not know the lease", e))
            raise

    async def change(self, *, count: int | None = None, data: bytes | None = None) -> None:
        """Reduces the lease's count, or replaces the owner data shown to other clients. A count can only be reduced."""
        self.check()
        r = Request(self.count if count is None else count, self.data if data is None else data, self.ephemeral, 0)
        now = await self.session.acquire(self.name, r)
        if now is not self:
            # Another lease was got in its place, or nothing.
            if now is not None:
                self.session.core.spawn(now.release())
            raise self.lost_error(self.cause or AbortedError())

    def __repr__(self) -> str:
        state = "held" if self.cause is None else "released" if isinstance(self.cause, Released) else "lost"
        return f"<Lease of {self.name!r}, fence {self.fence}, {state}>"


class Held(Protocol):
    """Something held by a block: a lease or a published endpoint."""

    _scopes: list[Scope] | None

    def _over(self) -> BaseException | None:
        """Reason for the loss; None while held."""

    def lost_error(self, cause: BaseException) -> LeaseLostError:
        """Returns the exception to raise in the block."""


class Scope:
    """A block guarded by a holding: when the holding is lost, the task in the block is cancelled.

    Works like asyncio.timeout, so it can be combined with task groups and timeouts.
    """

    __slots__ = ("lease", "task", "_cancelling", "fired")

    def __init__(self, lease: Held) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a lease block must run in a task")
        self.lease, self.task, self.fired = lease, task, False
        self._cancelling = task.cancelling()
        if lease._scopes is None:
            lease._scopes = []
        lease._scopes.append(self)

    def cancel(self) -> None:
        """Cancels the task in the block, once."""
        if not self.fired:
            self.fired = True
            cause = self.lease._over()
            assert cause is not None
            self.task.cancel(str(self.lease.lost_error(cause)))

    async def exit(self, exc: BaseException | None) -> SignalboxError | None:
        """Ends the block. Returns the exception to raise instead of the block's own."""
        lease = self.lease
        assert lease._scopes is not None
        lease._scopes.remove(self)
        cause = lease._over()  # by the clock
        lost = None if cause is None or isinstance(cause, Released) else lease.lost_error(cause)
        if self.fired:
            if not isinstance(exc, asyncio.CancelledError):
                # The block ended by itself before its task was stopped: by an error of lease.check(), for example.
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(0)
            if self.task.uncancel() > self._cancelling:  # others want the task to end too
                if isinstance(exc, asyncio.CancelledError):
                    return None
                raise asyncio.CancelledError
        elif exc is not None and not isinstance(exc, Exception):
            return None
        if lost is None or isinstance(exc, LeaseLostError):
            return None
        if isinstance(exc, Exception):
            lost.__cause__ = exc
        return lost
