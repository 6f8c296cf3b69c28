"""Client for programs without asyncio, with the same names; threads may share all objects.

    import signalbox.sync

    with signalbox.sync.connect("127.0.0.1:7420") as client:
        with client.session("/demo") as session:
            with session.lock("job") as lease:
                store(lease.fence)

An event loop in a separate thread keeps sessions alive, even while the program computes. Threads cannot be cancelled:
if a thread loses its lease within a block, `lease.lost` is true, and `lease.check()` raises `LeaseLostError`, as does
the end of the block.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from .. import _client, _clock, _lease, _node, _semaphore, _session
from .._cluster import TLS, Token
from .._describe import Consistency, SemaphoreInfo, NodeConfig, NodeInfo, SessionInfo
from .._notice import Change
from .._semaphore import ALL
from .._session import DEFAULT_TIMEOUT, State
from .._view import View
from ..errors import (
    AbortedError, AlreadyExistsError, BadRequestError, ClosedError, EndReason, SignalboxError, FencedError,
    ForkedProcessError, LeaseLostError, NotAcquiredError, NotFoundError, NotHeldError, PreconditionFailedError,
    SessionLostError, UnauthorizedError, UnavailableError, UnknownOutcomeError,
)
from ._thread import Block, Loop, close_at_exit, iterate, loop


class Loss:
    """Loss of a lease: false while the lease is held and after a release, true after a loss."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease

    def __bool__(self) -> bool:
        return self.reason is not None

    def is_set(self) -> bool:
        """True if the lease is lost by the current clock."""
        return self.reason is not None

    @property
    def reason(self) -> BaseException | None:
        """Reason for the loss; None while the lease is not lost."""
        over = self._lease._over()
        return None if isinstance(over, _lease.Released) else over

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until the lease is lost or released. Returns True after a loss."""
        async def work() -> None:
            with contextlib.suppress(TimeoutError, NotHeldError):
                async with asyncio.timeout(timeout):
                    await self._lease._lease.lost

        self._lease._loop.run(work())
        return bool(self)

    def __repr__(self) -> str:
        return f"<lost: {self.reason}>" if self else "<not lost>"


class Lease:
    """A session's ownership of a semaphore; see `signalbox.Lease`."""

    def __init__(self, owner: Loop, lease: _lease.Lease) -> None:
        self._loop, self._lease = owner, lease
        #: False while the lease is held; see `Loss`.
        self.lost = Loss(self)

    @property
    def name(self) -> str:
        """The semaphore's name."""
        return self._lease.name

    @property
    def fence(self) -> int:
        """The fencing token: larger than every earlier owner's token. Send the token with every write."""
        return self._lease.fence

    @property
    def count(self) -> int:
        """The lease's units."""
        return self._lease.count

    @property
    def data(self) -> bytes:
        """Owner data shown to other clients."""
        return self._lease.data

    @property
    def held(self) -> bool:
        """True if the lease is held by the current clock."""
        return self._over() is None

    def _over(self) -> BaseException | None:
        # The event loop alone ends a session. Here the clock is only read.
        cause, session = self._lease.cause, self._lease.session
        if cause is None and session.timeout > 0 and _clock.now() >= session.deadline():
            return self._lease.cause or SessionLostError(session.id, EndReason.SILENCE)
        return cause

    def check(self) -> None:
        """Raises `LeaseLostError` after a loss and `NotHeldError` after a release. Call before actions that require the
        lease."""
        over = self._over()
        if isinstance(over, _lease.Released):
            raise NotHeldError(f"the lease for {self.name!r} was released")
        if over is not None:
            raise self._lease.lost_error(over)

    def release(self) -> None:
        """Releases the lease; see `signalbox.Lease.release`."""
        self._loop.run(self._lease.release())

    def update(self, data: bytes) -> None:
        """Replaces the semaphore's data if the lease is held. Otherwise raises `FencedError`."""
        self._loop.run(self._lease.update(data))

    def change(self, *, count: int | None = None, data: bytes | None = None) -> None:
        """Reduces the lease's count, or replaces the owner data shown to other clients."""
        self._loop.run(self._lease.change(count=count, data=data))

    def __repr__(self) -> str:
        return repr(self._lease)


class Lock(Block[_lease.Lease, Lease]):
    """A lock, created by `Session.lock`. Use `with`, or `acquire` and `release`. Locks are not recursive."""


class Semaphore:
    """A semaphore, created by `Session.semaphore` or `Session.ephemeral`; see `signalbox.Semaphore`."""

    def __init__(self, owner: Loop, semaphore: _semaphore.Semaphore) -> None:
        self._loop, self._semaphore, self.name = owner, semaphore, semaphore.name
        self._block: Block[_lease.Lease, Lease] | None = None

    def acquire(self, count: int = 1, wait: float | None = None, *, data: bytes = b"") -> Lease:
        """Waits until the session owns `count` units of the limit. Raises `NotAcquiredError` after `wait` seconds.

        A session has one position per semaphore. Use a block, a lock or separate sessions for threads that must exclude
        each other.
        """
        lease = self._loop.run(self._semaphore.acquire(count, wait, data=data), _lease.Lease.release)
        return Lease(self._loop, lease)

    def try_acquire(self, count: int = 1, *, data: bytes = b"") -> Lease | None:
        """Acquires without waiting in the queue. Returns None if the semaphore is not available."""
        try:
            return self.acquire(count, 0, data=data)
        except NotAcquiredError:
            return None

    def release(self) -> bool:
        """Releases the session's units, or withdraws the waiting acquire. Returns False if neither existed."""
        return self._loop.run(self._semaphore.release())

    def create(self, limit: int | None = None, data: bytes | None = None) -> int:
        """Creates the semaphore. Raises `AlreadyExistsError` if the semaphore exists."""
        return self._loop.run(self._semaphore.create(limit, data))

    def update(self, data: bytes, *, if_revision: int = 0, lease: Lease | None = None) -> None:
        """Replaces the semaphore's data; see `signalbox.Semaphore.update`."""
        guard = lease._lease if lease is not None else None
        self._loop.run(self._semaphore.update(data, if_revision=if_revision, lease=guard))

    def resize(self, limit: int, *, if_revision: int = 0) -> None:
        """Sets the semaphore's limit."""
        self._loop.run(self._semaphore.resize(limit, if_revision=if_revision))

    def delete(self, *, force: bool = False) -> None:
        """Deletes the semaphore; with `force`, even if the semaphore is in use."""
        self._loop.run(self._semaphore.delete(force=force))

    def describe(
        self, *, owners: bool = True, waiters: bool = True, consistency: Consistency = Consistency.DEFAULT,
    ) -> SemaphoreInfo:
        """Describes the semaphore, with owners and waiters."""
        return self._loop.run(self._semaphore.describe(owners=owners, waiters=waiters, consistency=consistency))

    def describe_and_watch(
        self, *, data: bool = True, owners: bool = True,
    ) -> tuple[SemaphoreInfo, Callable[[float | None], Change | None]]:
        """Returns the semaphore, and a function that waits for the next change up to the given seconds, or returns
        None."""
        found, changed = self._loop.run(self._semaphore.describe_and_watch(data=data, owners=owners))

        async def work(timeout: float | None) -> Change | None:
            await asyncio.wait({changed}, timeout=timeout)
            return changed.result() if changed.done() else None

        def wait(timeout: float | None) -> Change | None:
            return self._loop.run(work(timeout))

        return found, wait

    def watch(self, *, data: bool = True, owners: bool = True) -> Iterator[View]:
        """Yields the semaphore's views: first the current view, then the newest view after each change."""
        return iterate(self._loop, lambda: self._semaphore.watch(data=data, owners=owners))

    def __enter__(self) -> Lease:
        if self._block is None:
            self._block = Block(self._loop, lambda: _copy(self._semaphore), lambda x: Lease(self._loop, x))
        return self._block.__enter__()

    def __exit__(self, *exc: Any) -> None:
        assert self._block is not None
        self._block.__exit__(*exc)


def _copy(s: _semaphore.Semaphore) -> _semaphore.Semaphore:
    return _semaphore.Semaphore(s.session, s.name, s.limit, s._data, s._create, s._ephemeral)


class Session:
    """A session in a node, opened by `Client.session`; see `signalbox.Session`."""

    def __init__(self, owner: Loop, session: _session.Session) -> None:
        self._loop, self._session = owner, session
        self.path, self.timeout = session.path, session.timeout

    @property
    def id(self) -> int:
        """Session id, 0 while no session is open."""
        return self._session.id

    @property
    def state(self) -> State:
        """The session's state."""
        return self._session._state

    @property
    def error(self) -> SignalboxError | None:
        """Reason for the end; None while the session is open."""
        return self._session._error

    def lock(
        self, name: str, wait: float | None = None, *, shared: bool = False, limit: int | None = None, count: int = 1,
        data: bytes = b"",
    ) -> Lock:
        """Returns a lock: `with session.lock("job") as lease:`; see `signalbox.Session.lock`. Threads take turns.

        Threads are not cancelled after a loss: `lease.lost` is true, and `lease.check()` and the end of the block raise
        `LeaseLostError`.
        """
        self._session.lock(name, wait, shared=shared, limit=limit, count=count, data=data)  # it looks at the arguments
        return Lock(self._loop,
                    lambda: self._session.lock(name, wait, shared=shared, limit=limit, count=count, data=data),
                    lambda lease: Lease(self._loop, lease))

    def semaphore(
        self, name: str, limit: int | None = None, *, data: bytes = b"", create: bool = True,
    ) -> Semaphore:
        """Returns a handle for a persistent semaphore; see `signalbox.Session.semaphore`."""
        return Semaphore(self._loop, self._session.semaphore(name, limit, data=data, create=create))

    def ephemeral(self, name: str) -> Semaphore:
        """Returns a handle for an ephemeral semaphore."""
        return Semaphore(self._loop, self._session.ephemeral(name))

    def close(self) -> None:
        """Ends the session and its leases."""
        self._loop.run(self._session.close())

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self._session)


class Node:
    """A node handle, created by `Client.node`; see `signalbox.Node`."""

    def __init__(self, owner: Loop, node: _node.Node) -> None:
        self._loop, self._node, self.path = owner, node, node.path

    def describe(self, name: str, *, consistency: Consistency = Consistency.DEFAULT) -> SemaphoreInfo:
        """Describes a semaphore, with owners and waiters."""
        return self._loop.run(self._node.describe(name, consistency=consistency))

    def semaphores(self, prefix: str = "", *, data: bool = False) -> Iterator[SemaphoreInfo]:
        """Lists semaphores whose names begin with the prefix."""
        return iterate(self._loop, lambda: self._node.semaphores(prefix, data=data))

    def sessions(self) -> Iterator[SessionInfo]:
        """Lists the node's sessions."""
        return iterate(self._loop, self._node.sessions)

    def destroy_session(self, id: int) -> None:
        """Ends another client's session."""
        self._loop.run(self._node.destroy_session(id))

    def create(self, name: str, limit: int = 1, data: bytes = b"") -> None:
        """Creates a semaphore without a session."""
        self._loop.run(self._node.create(name, limit, data))

    def update(self, name: str, data: bytes, *, if_revision: int = 0) -> None:
        """Replaces a semaphore's data without a session."""
        self._loop.run(self._node.update(name, data, if_revision=if_revision))

    def resize(self, name: str, limit: int, *, if_revision: int = 0) -> None:
        """Sets a semaphore's limit without a session."""
        self._loop.run(self._node.resize(name, limit, if_revision=if_revision))

    def delete(self, name: str, *, force: bool = False) -> None:
        """Deletes a semaphore without a session."""
        self._loop.run(self._node.delete(name, force=force))

    def watch(self, name: str, *, data: bool = True, owners: bool = True) -> Iterator[View]:
        """Watches a semaphore, which need not exist yet."""
        return iterate(self._loop, lambda: self._node.watch(name, data=data, owners=owners))


class Client:
    """Client for one cluster, created by `connect`; see `signalbox.Client`. Threads may share the client."""

    def __init__(self, owner: Loop, client: _client.Client) -> None:
        self._loop, self._client = owner, client
        self._undo = close_at_exit(self.close)

    def session(
        self, path: str, timeout: float = DEFAULT_TIMEOUT, *, description: str = "", renew: bool = False,
        on_state: Callable[[State], None] | None = None,
    ) -> Session:
        """Opens a session in a node; see `signalbox.Client.session`. `on_state` runs on the event loop's thread."""
        session = self._client.session(path, timeout, description=description, renew=renew, on_state=on_state)

        async def undo(opened: _session.Session) -> None:
            await opened.close()

        return Session(self._loop, self._loop.run(session.open(), undo))

    def node(self, path: str) -> Node:
        """Returns a handle for operations in a node without a session."""
        return Node(self._loop, self._client.node(path))

    def create_node(self, path: str, config: NodeConfig | None = None) -> NodeInfo:
        """Creates a node, or returns the existing node unchanged."""
        return self._loop.run(self._client.create_node(path, config))

    def describe_node(self, path: str) -> NodeInfo:
        """Describes a node."""
        return self._loop.run(self._client.describe_node(path))

    def alter_node(self, path: str, config: NodeConfig, *, if_version: int = 0) -> NodeInfo:
        """Updates the config fields that are set; other fields are unchanged."""
        return self._loop.run(self._client.alter_node(path, config, if_version=if_version))

    def drop_node(self, path: str) -> None:
        """Drops a node with all its semaphores, and ends its sessions."""
        self._loop.run(self._client.drop_node(path))

    def nodes(self, prefix: str = "") -> Iterator[NodeInfo]:
        """Lists nodes whose paths begin with the prefix."""
        def make() -> AsyncIterator[NodeInfo]:
            return self._client.nodes(prefix)

        return iterate(self._loop, make)

    def close(self) -> None:
        """Ends all sessions, waits up to a second for the hosts, and closes the connections."""
        self._undo()
        with contextlib.suppress(ForkedProcessError):
            self._loop.run(self._client.close())

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def connect(
    endpoints: str | Sequence[str], token: Token = None, *, tls: TLS = None, name: str | None = None,
    timeout: float = 30.0, dial_timeout: float = 5.0,
) -> Client:
    """Connects to a cluster: `with signalbox.sync.connect("127.0.0.1:7420") as client:`; see `signalbox.connect`."""
    owner = loop()
    client = _client.connect(endpoints, token, tls=tls, name=name, timeout=timeout, dial_timeout=dial_timeout)

    async def undo(opened: _client.Client) -> None:
        await opened.close()

    return Client(owner, owner.run(client.open(), undo))


__all__ = [
    "ALL", "AbortedError", "AlreadyExistsError", "BadRequestError", "Change", "Client", "ClosedError", "Consistency",
    "SemaphoreInfo", "SignalboxError", "FencedError", "ForkedProcessError", "Lease", "LeaseLostError", "Lock", "Loss",
    "Node", "NodeConfig", "NodeInfo", "NotAcquiredError", "NotFoundError", "NotHeldError", "PreconditionFailedError",
    "Semaphore", "Session", "SessionInfo", "SessionLostError", "State", "UnauthorizedError", "UnavailableError",
    "UnknownOutcomeError", "View", "connect",
]
