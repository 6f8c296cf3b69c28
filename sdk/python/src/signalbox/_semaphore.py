"""Semaphores, as one session uses them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from . import _wire as wire
from ._describe import Consistency, SemaphoreInfo, description, describe_body
from ._host import Tried, Try
from ._incarnation import Incarnation
from ._lease import SEMAPHORE_UPDATE, Lease, Request
from ._lock import Lock, LockSession, acquire
from ._mutation import SEMAPHORE_CREATE, SEMAPHORE_DELETE, SEMAPHORE_RESIZE, slot_of
from ._node import Node, NodeClient
from ._notice import Change, Notice
from ._view import Key, Watch
from .errors import BadRequestError, NotAcquiredError

#: The count of an acquire that has an ephemeral semaphore alone.
ALL = wire.FOREVER


def _revision(raw: list[Any]) -> int:
    return wire.uint_of(raw, 4)


class SemaphoreSession(LockSession, Protocol):
    """A session, as its semaphores see it."""

    path: str

    @property
    def _client(self) -> NodeClient:
        """The client of the session."""


class Semaphore:
    """A semaphore, as `Session.semaphore` and `Session.ephemeral` make it. Making one asks no host.

    As a block, `async with semaphore as lease:`, it works as a lock does, and tasks of the session take turns.
    """

    __slots__ = ("session", "name", "limit", "_data", "_create", "_ephemeral", "_lock")

    def __init__(
        self, session: SemaphoreSession, name: str, limit: int | None, data: bytes, create: bool, ephemeral: bool,
    ) -> None:
        if limit is not None and limit < 1:
            raise BadRequestError(f"a limit of {limit}: nothing could ever be acquired")
        self.session, self.name, self.limit = session, name, limit
        self._data, self._create, self._ephemeral = data, create, ephemeral
        self._lock: Lock | None = None

    async def acquire(
        self, count: int = 1, wait: float | None = None, *, data: bytes = b"",
        on_queued: Callable[[int], None] | None = None,
    ) -> Lease:
        """Waits until the session owns `count` of the limit. `NotAcquiredError` says that `wait` seconds have passed.

        A session has one place in a semaphore. An acquire while it waits takes the place over, and the earlier one is
        `AbortedError`; an acquire of what it owns makes the count smaller, replaces the data, and returns the lease
        that is
        there. Tasks that are to wait for each other use a lock, a block, or a limiter. Where the task is cancelled
        nothing is left behind: no place in the queue, and no owner. `on_queued` is called with the place in the queue.
        """
        inc = await self.session.incarnation()
        r = Request(count, data, self._ephemeral, wait, on_queued)
        lease = await acquire(inc, self.name, r, (self.limit or 1) if self._create else None, self._data)
        if lease is None:
            raise NotAcquiredError(f"{self.name!r} was not acquired within {wait or 0:g} s")
        return lease

    async def try_acquire(self, count: int = 1, *, data: bytes = b"") -> Lease | None:
        """Acquires without waiting in the queue; None where that would be needed."""
        try:
            return await self.acquire(count, 0, data=data)
        except NotAcquiredError:
            return None

    async def release(self) -> bool:
        """Gives back what the session owns of the semaphore, or ends its waiting. False: there was nothing.

        A lease releases itself more safely: only what it stands for.
        """
        return await (await self.session.incarnation()).release(self.name, 0)

    async def create(self, limit: int | None = None, data: bytes | None = None) -> int:
        """Creates the semaphore and returns its revision. `AlreadyExistsError` says that it was there; it is as it
        was."""
        body = ((limit if limit is not None else self.limit) or 1, self._data if data is None else data)
        return await self._change(SEMAPHORE_CREATE, body)

    async def update(self, data: bytes, *, if_revision: int = 0, lease: Lease | None = None) -> None:
        """Replaces the data of the semaphore. It needs no lease, unless one is given to guard it.

        `if_revision` lets it take effect only if the semaphore has the revision with which it was described; else it is
        `PreconditionFailedError`, and nothing has changed.
        """
        if lease is None:
            await self._change(SEMAPHORE_UPDATE, (data, 0, if_revision))
        elif lease.name != self.name:
            raise BadRequestError(f"the lease is of another semaphore, {lease.name!r}")
        else:
            await lease._update(data, if_revision)

    async def resize(self, limit: int, *, if_revision: int = 0) -> None:
        """Gives the semaphore another limit. A higher one lets in those who wait; a lower one takes nothing away."""
        if limit < 1:
            raise BadRequestError(f"a limit of {limit}: nothing could ever be acquired")
        await self._change(SEMAPHORE_RESIZE, (limit, if_revision))

    async def delete(self, *, force: bool = False) -> None:
        """Deletes the semaphore. One in use is `PreconditionFailedError`, unless `force` takes it from its owners."""
        await self._change(SEMAPHORE_DELETE, (force,))

    async def _change(self, kind: int, body: tuple[Any, ...]) -> int:
        inc = await self.session.incarnation()
        result: int = await inc.change(self.name, kind, body, _revision)
        return result

    async def describe(
        self, *, owners: bool = True, waiters: bool = True, consistency: Consistency = Consistency.DEFAULT,
    ) -> SemaphoreInfo:
        """The semaphore, with its owners and waiters."""
        node = Node(self.session._client, self.session.path)
        return await node._describe((await self.session.incarnation()).node_id, self.name, owners, waiters, consistency)

    async def describe_and_watch(
        self, *, data: bool = True, owners: bool = True, waiters: bool = False,
        consistency: Consistency = Consistency.DEFAULT,
    ) -> tuple[SemaphoreInfo, asyncio.Future[Change]]:
        """The semaphore with its first page of owners, and of waiters if they are asked for; and a future that is done
        once it has changed after that.

        Of a session and a semaphore there is one such watch: another one ends it with a change of which both flags are
        false. So does a lost connection.
        """
        inc: Incarnation = await self.session.incarnation()
        slot, where = slot_of(inc.node_id, self.name), Try()
        notice: Notice | None = None
        found: dict[str, Any] = {}

        async def attempt(tried: Tried) -> None:
            nonlocal notice, found
            conn = await inc.connect(slot, where, tried)
            notice = Notice(inc, conn)
            found = await notice.describe(describe_body(
                inc.node_id, self.name, owners, waiters, consistency, 0, data, owners, inc.id,
                inc.core.cluster.generation(slot)))

        await inc.repeat(attempt, where)
        assert notice is not None
        return description([found]), notice.changed

    def watch(self, *, data: bool = True, owners: bool = True) -> Watch:
        """The views of the semaphore: `async for view in semaphore.watch():`. The present one is the first."""
        async def key() -> Key:
            return Key((await self.session.incarnation()).node_id, self.name, data, owners)

        return Watch(self.session._core, key)

    # As a block.

    async def __aenter__(self) -> Lease:
        if self._lock is None:
            limit = None if self._ephemeral else self.limit or 1
            self._lock = Lock(self.session, self.name, None, False, limit, 1, b"", self._create)
        return await self._lock.__aenter__()

    async def __aexit__(self, kind: type[BaseException] | None, exc: BaseException | None, trace: object) -> None:
        assert self._lock is not None
        await self._lock.__aexit__(kind, exc, trace)
