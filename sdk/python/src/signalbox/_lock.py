"""Locks. A session has one position per semaphore; its tasks take turns or share the position."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Generator
from typing import Any, Protocol

from ._core import Core
from ._incarnation import Incarnation
from ._lease import Lease, Request, Scope
from ._mutation import SEMAPHORE_CREATE
from ._wire import FOREVER
from .errors import (
    AlreadyExistsError, BadRequestError, SignalboxError, LeaseLostError, NotAcquiredError, NotFoundError,
    NotHeldError,
)

#: Time a block waits for its lock's release at the end. The release continues in the background.
_FAREWELL = 1.0


async def acquire(inc: Incarnation, name: str, r: Request, limit: int | None, data: bytes = b"") -> Lease | None:
    """Acquires a semaphore. A missing semaphore is created if a limit is given."""
    if not 1 <= len(name) <= 1024 or len(name) > 256 and len(name.encode()) > 1024:
        raise BadRequestError(f"the name has {len(name.encode())} bytes: use 1 to 1024")
    if r.count < 1:
        raise BadRequestError("count must be at least 1")
    if r.wait is not None and not 0 <= r.wait <= 86400:
        raise BadRequestError(f"wait is {r.wait:g} s: use 0 to 86,400, or None for no limit")
    try:
        return await inc.acquire(name, r)
    except NotFoundError:
        if limit is None:
            raise
    if r.count > limit:
        raise BadRequestError(f"count {r.count} is above the limit {limit} for creating {name!r}")
    try:
        await inc.change(name, SEMAPHORE_CREATE, (limit, data))
    except AlreadyExistsError:
        pass
    return await inc.acquire(name, r)


class _Place:
    """A session's position in a semaphore."""

    __slots__ = ("users", "busy", "turns", "group")

    def __init__(self) -> None:
        self.users = 0
        #: A task acquires or exclusively holds the position.
        self.busy = False
        self.turns: deque[asyncio.Future[None]] = deque()
        self.group: _Group | None = None

    def free(self) -> None:
        """Passes the position to the next waiting task, and keeps it busy."""
        while self.turns:
            turn = self.turns.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.busy = False


class _Group:
    """Tasks that share one lease."""

    __slots__ = ("lease", "size", "gone")

    def __init__(self, lease: Lease) -> None:
        self.lease, self.size = lease, 1
        self.gone: list[asyncio.Future[None]] = []  # who waits until the lease is given back


class LockSession(Protocol):
    """A session, as seen by its locks."""

    _core: Core
    _current: Incarnation | None
    _places: Places

    async def incarnation(self) -> Incarnation:
        """Returns the session's current incarnation. Waits while the session is recreated."""


class Places:
    """A session's positions in use."""

    __slots__ = ("_session", "_places")

    def __init__(self, session: LockSession) -> None:
        self._session = session
        self._places: dict[str, _Place] = {}

    async def take(self, lock: Lock) -> tuple[Lease, _Group | None]:
        """Takes the position for a lock."""
        place = self._places.get(lock.name)
        if place is None:
            place = self._places[lock.name] = _Place()
        place.users += 1
        wait = lock.wait
        try:
            if place.busy or place.group is not None:
                loop = asyncio.get_running_loop()
                until = loop.time() + (wait or 0)
                try:
                    async with asyncio.timeout(wait):
                        await self._turn(place, lock)
                except TimeoutError:
                    raise lock.not_acquired() from None
                wait = None if wait is None else max(until - loop.time(), 0)
            place.busy = True
            return await self._acquire(place, lock, wait)
        except BaseException:
            self._drop(lock.name, place)
            raise

    async def _turn(self, place: _Place, lock: Lock) -> None:
        """Waits until no other task acquires or exclusively holds the position."""
        try_only = lock.wait is not None and lock.wait <= 0
        if not place.busy:
            place.busy = True
        elif try_only:
            raise lock.not_acquired()
        else:
            await self._wait(place, place.turns)
        # The group's tasks may still be working after a lease loss.
        while (group := place.group) is not None and not (lock.shared and group.size and group.lease.held):
            try:
                if try_only:
                    raise lock.not_acquired()
                await self._wait(place, group.gone)
            except BaseException:
                place.free()
                raise

    async def _wait(self, place: _Place, where: deque[asyncio.Future[None]] | list[asyncio.Future[None]]) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        where.append(turn)
        try:
            await (self._session._current or await self._session.incarnation()).wait(turn)
        except BaseException:
            if turn in where:
                where.remove(turn)
            elif where is place.turns and turn.done() and not turn.cancelled() and turn.exception() is None:
                place.free()
            raise

    async def _acquire(self, place: _Place, lock: Lock, wait: float | None) -> tuple[Lease, _Group | None]:
        """Joins the group that shares the position, or acquires a lease."""
        if (group := place.group) is not None:
            group.size += 1
            place.free()
            return group.lease, group
        try:
            inc = self._session._current or await self._session.incarnation()
            limit = lock.limit if lock.create else None
            lease = await acquire(inc, lock.name, lock.request(wait), limit)
            if lease is None:
                raise lock.not_acquired()
        except BaseException:
            place.free()
            raise
        if lock.shared:
            group = place.group = _Group(lease)
            place.free()
        return lease, group

    async def give(self, name: str, lease: Lease, group: _Group | None) -> None:
        """Releases the position, and the lease unless other tasks share it."""
        place = self._places[name]
        try:
            if group is not None:
                group.size -= 1
            if (group is None or not group.size) and lease.cause is None:
                await lease.release()
        finally:
            if group is None:
                place.free()
            elif not group.size:
                place.group = None
                for gone in group.gone:
                    if not gone.done():
                        gone.set_result(None)
            self._drop(name, place)

    def _drop(self, name: str, place: _Place) -> None:
        place.users -= 1
        if not place.users and self._places.get(name) is place:
            del self._places[name]


class Hold:
    """A held lock."""

    __slots__ = ("lock", "lease", "group", "scope")

    def __init__(self, lock: Lock, lease: Lease, group: _Group | None) -> None:
        self.lock, self.lease, self.group = lock, lease, group
        self.scope: Scope | None = None

    async def give(self) -> None:
        """Releases the lock."""
        await self.lock.session._places.give(self.lock.name, self.lease, self.group)


class Lock:
    """A lock, created by `Session.lock`. Use `async with`, or `acquire` and `release`."""

    __slots__ = ("session", "name", "wait", "shared", "limit", "count", "data", "create", "_holds")

    def __init__(
        self, session: LockSession, name: str, wait: float | None, shared: bool, limit: int | None, count: int, data:
        bytes,
        create: bool = True,
    ) -> None:
        if limit is not None and shared:
            raise BadRequestError("use either shared or limit")
        if limit is not None and not 1 <= count <= limit:
            raise BadRequestError(f"count {count} must be from 1 to the limit {limit}")
        self.session, self.name, self.wait, self.shared = session, name, wait, shared
        self.limit, self.count, self.data, self.create = limit, count, data, create
        self._holds: dict[asyncio.Task[Any] | None, Hold] = {}

    def request(self, wait: float | None) -> Request:
        """Returns the acquire request for the host."""
        if self.limit is not None:
            return Request(self.count, self.data, False, wait)
        return Request(1 if self.shared else FOREVER, self.data, True, wait)

    def not_acquired(self) -> NotAcquiredError:
        """Returns the exception for a lock that was not acquired."""
        waited = "already held" if not self.wait else f"held by others for {self.wait:g} s"
        return NotAcquiredError(f"the lock {self.name!r} was not acquired: {waited}")

    async def acquire(self) -> Lease:
        """Waits for the lock, for use without a block. Unlock with `release`."""
        return (await self._enter()).lease

    async def _enter(self) -> Hold:
        task = asyncio.current_task()
        if task in self._holds:
            raise BadRequestError(f"the task already holds the lock {self.name!r}: locks are not recursive")
        try:
            hold = Hold(self, *await self.session._places.take(self))
        except SignalboxError as e:
            if not isinstance(e, NotAcquiredError):
                e.add_note(f"while waiting for the lock {self.name!r}")
            raise
        self._holds[task] = hold
        return hold

    async def release(self) -> None:
        """Releases the lock. Raises `LeaseLostError` if the lock was lost before, `NotHeldError` if the lock is not
        held."""
        hold = self._holds.pop(asyncio.current_task(), None)
        if hold is None and len(self._holds) == 1:
            hold = self._holds.pop(next(iter(self._holds)))
        if hold is None:
            raise NotHeldError(f"the lock {self.name!r} is not held")
        lost = hold.lease.lost.reason
        await hold.give()
        if lost is not None:
            raise hold.lease.lost_error(lost)

    async def __aenter__(self) -> Lease:
        hold = await self._enter()
        hold.scope = Scope(hold.lease)
        return hold.lease

    async def __aexit__(self, kind: type[BaseException] | None, exc: BaseException | None, trace: object) -> None:
        hold = self._holds.pop(asyncio.current_task())
        assert hold.scope is not None
        try:
            instead = await hold.scope.exit(exc)
        except BaseException:
            self.session._core.spawn(hold.give())
            raise
        try:
            async with asyncio.timeout(_FAREWELL):
                await hold.give()
        except LeaseLostError as e:
            # Only the host knew about the loss: the block may have run concurrently with another holder.
            instead = instead or (e if exc is None else None)
        except (TimeoutError, SignalboxError):
            pass  # it goes on by itself, or the lock is free when the session ends
        if instead is not None:
            raise instead

    def __await__(self) -> Generator[Any, None, Lease]:
        return self.acquire().__await__()
