"""Semaphores, as used by a session."""

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

#: Count for exclusive ownership of an ephemeral semaphore.
ALL = wire.FOREVER


def _revision(raw: list[Any]) -> int:
    return wire.uint_of(raw, 4)


class SemaphoreSession(LockSession, Protocol):
    """A session, as seen by its semaphores."""

    path: str

    @property
    def _client(self) -> NodeClient:
        """The session's client."""


class Semaphore:
    """A semaphore handle, created by `Session.semaphore` or `Session.ephemeral`. Creating a handle sends no request.

    `async with semaphore as lease:` works like a lock: tasks of the session take turns.
    """

    __slots__ = ("session", "name", "limit", "_data", "_create", "_ephemeral", "_lock")

    def __init__(
        self, session: SemaphoreSession, name: str, limit: int | None, data: bytes, create: bool, ephemeral: bool,
    ) -> None:
        if limit is not None and limit < 1:
            raise BadRequestError(f"limit is {limit}: use at least 1")
        self.session, self.name, self.limit = session, name, limit
        self._data, self._create, self._ephemeral = data, create, ephemeral
        self._lock: Lock | None = None

    async def acquire(
        self, count: int = 1, wait: float | None = None, *, data: bytes = b"",
        on_queued: Callable[[int], None] | None = None,
    ) -> Lease:
        """Waits until the session owns `count` units of the limit. Raises `NotAcquiredError` after `wait` seconds.

        A session has one position per semaphore. If the session already waits, the new acquire takes over the position,
        and the earlier call raises `AbortedError`. If the session is an owner, the acquire reduces the count, replaces
        the data and returns the existing lease. Use a lock, a block or a limiter for tasks that must exclude each
        other. If the task is cancelled, the acquire is undone: no queue position or ownership remains. `on_queued` is
        called with the order id after the acquire has joined the queue.
        """
        inc = await self.session.incarnation()
        r = Request(count, data, self._ephemeral, wait, on_queued)
        lease = await acquire(inc, self.name, r, (self.limit or 1) if self._create else None, self._data)
        if lease is None:
            raise NotAcquiredError(f"{self.name!r} was not acquired within {wait or 0:g} s")
        return lease

    async def try_acquire(self, count: int = 1, *, data: bytes = b"") -> Lease | None:
        """Acquires without waiting in the queue. Returns None if the semaphore is not available."""
        try:
            return await self.acquire(count, 0, data=data)
        except NotAcquiredError:
            return None

    async def release(self) -> bool:
        """Releases the session's units, or withdraws the waiting acquire. Returns False if neither existed.

        `Lease.release` is safer: it releases only that lease.
        """
        return await (await self.session.incarnation()).release(self.name, 0)

    async def create(self, limit: int | None = None, data: bytes | None = None) -> int:
        """Creates the semaphore and returns its revision. If the semaphore exists, raises `AlreadyExistsError` and
        changes nothing."""
        body = ((limit if limit is not None else self.limit) or 1, self._data if data is None else data)
        return await self._change(SEMAPHORE_CREATE, body)

    async def update(self, data: bytes, *, if_revision: int = 0, lease: Lease | None = None) -> None:
        """Replaces the semaphore's data. No lease is required; with `lease`, the host checks that the lease is held.

        With `if_revision`, the update takes effect only if the semaphore's revision is unchanged. Otherwise raises
        `PreconditionFailedError` and changes nothing.
        """
        if lease is None:
            await self._change(SEMAPHORE_UPDATE, (data, 0, if_revision))
        elif lease.name != self.name:
            raise BadRequestError(f"the lease belongs to a different semaphore, {lease.name!r}")
        else:
            await lease._update(data, if_revision)

    async def resize(self, limit: int, *, if_revision: int = 0) -> None:
        """Sets the semaphore's limit. A higher limit admits waiters; a lower limit leaves owners unchanged."""
        if limit < 1:
            raise BadRequestError(f"limit is {limit}: use at least 1")
        await self._change(SEMAPHORE_RESIZE, (limit, if_revision))

    async def delete(self, *, force: bool = False) -> None:
        """Deletes the semaphore. Raises `PreconditionFailedError` if the semaphore is in use, unless `force` removes
        its owners."""
        await self._change(SEMAPHORE_DELETE, (force,))

    async def _change(self, kind: int, body: tuple[Any, ...]) -> int:
        inc = await self.session.incarnation()
        result: int = await inc.change(self.name, kind, body, _revision)
        return result

    async def describe(
        self, *, owners: bool = True, waiters: bool = True, consistency: Consistency = Consistency.DEFAULT,
    ) -> SemaphoreInfo:
        """Describes the semaphore, with owners and waiters."""
        node = Node(self.session._client, self.session.path)
        return await node._describe((await self.session.incarnation()).node_id, self.name, owners, waiters, consistency)

    async def describe_and_watch(
        self, *, data: bool = True, owners: bool = True, waiters: bool = False,
        consistency: Consistency = Consistency.DEFAULT,
    ) -> tuple[SemaphoreInfo, asyncio.Future[Change]]:
        """Returns the semaphore with the first page of owners (and of waiters, if requested), and a future for the next
        change.

        A session has one such watch per semaphore: a second watch completes the first with both flags false, as does a
        lost connection.
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
        """Watches the semaphore: `async for view in semaphore.watch():`. The first view is the current state."""
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
