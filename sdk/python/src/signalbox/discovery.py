"""Service discovery: programs register addresses, clients watch the list.

    async with discovery.register(session, "api", "10.0.0.7:8080", zone="a"):
        ...  # cancelled if the session ends; published again if it has renew=True

    async for endpoints in discovery.watch(client, "/prod/jobs", "api"):
        ...

A service list is a persistent semaphore without a limit. Every registered session owns one unit, and its owner data is
the endpoint: the address alone, or JSON with address and metadata.
"""

from __future__ import annotations

import asyncio
import builtins
import json
import logging
from collections.abc import AsyncIterator, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ._client import Client
from ._describe import Consistency
from ._lease import Lease, Request, Scope
from ._lock import acquire
from ._retry import Backoff
from ._session import Session
from ._wire import FOREVER
from .errors import BadRequestError, SignalboxError, LeaseLostError, NotFoundError, PreconditionFailedError

#: Backoff before republishing, because most failures affect many endpoints at once.
_REPUBLISH = Backoff(0.05, 5.0)

log = logging.getLogger("signalbox")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A service endpoint."""

    address: str
    #: Information for callers, such as zone, weight or version.
    metadata: Mapping[str, str] = field(default_factory=dict)
    #: Identifies the registration, even among equal addresses.
    order_id: int = 0
    session_id: int = 0

    def encode(self) -> bytes:
        """The published bytes."""
        if not self.address or self.address[0] == "{":
            raise BadRequestError(f"endpoint address {self.address!r} must not be empty or begin with a brace")
        if not self.metadata:
            return self.address.encode()
        return json.dumps({"address": self.address, "metadata": dict(self.metadata)}).encode()


def _decode(owner: Any) -> Endpoint | None:
    """Decodes owner data. Returns None for other data."""
    try:
        text = owner.data.decode()
        if text[:1] != "{":
            return Endpoint(text, {}, owner.order_id, owner.session_id) if text else None
        found = json.loads(text)
        metadata = {str(k): str(v) for k, v in (found.get("metadata") or {}).items()}
        return Endpoint(str(found["address"]), metadata, owner.order_id, owner.session_id)
    except (ValueError, KeyError, AttributeError):
        return None


def _endpoints(owners: Iterable[Any]) -> tuple[Endpoint, ...]:
    return tuple(e for o in owners if (e := _decode(o)) is not None)


class Registration:
    """A published endpoint, from `register` until `close` or the session's end.

    If a session without renewal ends, the registration ends too: a block is cancelled and raises `LeaseLostError`, like
    a lock's block. Without a block, `await registration.lost()` waits for the end.
    """

    def __init__(self, session: Session, name: str, endpoint: Endpoint) -> None:
        self._session, self.name, self._data = session, name, endpoint.encode()
        self._lease: Lease | None = None
        self._publishing = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        #: Reason why the endpoint is not published; None while published.
        self.error: SignalboxError | None = None
        self._cause: SignalboxError | None = None  # why it is over for good; None while it is not
        self._scopes: builtins.list[Scope] | None = None
        self._scope: Scope | None = None

    async def open(self) -> Registration:
        """Publishes the endpoint. Called by `async with` and `await`."""
        await self._publish()
        self._task = self._session._core.spawn(self._keep())
        return self

    def __await__(self) -> Generator[Any, None, Registration]:
        return self.open().__await__()

    async def __aenter__(self) -> Registration:
        await self.open()
        self._scope = Scope(self)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, exc: BaseException | None, trace: object) -> None:
        assert self._scope is not None
        try:
            instead = await self._scope.exit(exc)
        finally:
            await self.close()
        if instead is not None:
            raise instead

    def _over(self) -> SignalboxError | None:
        return self._cause

    def lost_error(self, cause: BaseException) -> LeaseLostError:
        """Returns the exception for an ended registration."""
        error = LeaseLostError(f"the endpoint in {self.name!r} is no longer published: {cause}", cause)
        error.__cause__ = cause
        return error

    async def lost(self) -> LeaseLostError:
        """Waits until the registration has ended with its session, and returns the reason."""
        cause = self._cause or await self._session.lost()
        return self.lost_error(cause)

    @property
    def fence(self) -> int:
        """The latest order id of the published endpoint."""
        return self._lease.fence if self._lease is not None else 0

    async def _publish(self) -> None:
        async with self._publishing:
            inc = await self._session.incarnation()
            lease = await acquire(inc, self.name, Request(1, self._data, False, 0), FOREVER)
            if lease is None:
                raise PreconditionFailedError(f"the semaphore {self.name!r} has reached its limit: endpoint "
                                         "lists need a semaphore without a limit")
            self._lease, self.error = lease, None

    async def _keep(self) -> None:
        """Publishes the endpoint again after each loss, until the registration ends."""
        failures = 0
        while True:
            try:
                if failures == 0 and self._lease is not None:
                    await self._lease.lost
                await self._publish()
                failures = 0
            except asyncio.CancelledError:
                raise
            except SignalboxError as e:
                self.error = e
                if self._session.error is not None:
                    self._cause = e
                    for scope in self._scopes or ():
                        scope.cancel()
                    return
                # Whatever refuses what was published before can be mended by others.
                log.debug("%r is not published: %s", self.name, e)
                await asyncio.sleep(_REPUBLISH.pause(failures))
                failures += 1

    async def update(self, address: str, **metadata: str) -> None:
        """Replaces the published endpoint, keeping the order id."""
        before, self._data = self._data, Endpoint(address, metadata).encode()
        try:
            await self._publish()
        except BaseException:
            self._data = before
            raise

    async def close(self) -> None:
        """Withdraws the endpoint. If no host is reachable, the endpoint expires with the session."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._lease is not None and self._lease.held:
            try:
                async with asyncio.timeout(1):
                    await self._lease.release()
            except (TimeoutError, SignalboxError) as e:
                log.debug("%r will be withdrawn later: %s", self.name, e)


def register(session: Session, name: str, address: str, **metadata: str) -> Registration:
    """Publishes an endpoint: `async with discovery.register(session, "api", "10.0.0.7:8080", zone="a"):`.

    The endpoint stays published until the block or the session ends. If the session ends first, the block is cancelled
    and raises `LeaseLostError`. With `renew=True`, the block continues, and the endpoint is published again under a new
    order id.
    """
    return Registration(session, name, Endpoint(address, metadata))


async def watch(client: Client, path: str, name: str) -> AsyncIterator[tuple[Endpoint, ...]]:
    """Yields the list of endpoints, sorted by order id: at once, even if empty, and after each change."""
    before: tuple[Endpoint, ...] | None = None
    async with client.node(path).watch(name, data=False) as views:
        async for view in views:
            now = _endpoints(view.owners)
            if now != before:
                before = now
                yield now


async def endpoints(client: Client, path: str, name: str) -> tuple[Endpoint, ...]:
    """Returns the current endpoints, including every completed registration. To poll, use `watch` instead."""
    try:
        d = await client.node(path).describe(name, waiters=False, consistency=Consistency.STRICT)
    except NotFoundError:
        await client.describe_node(path)  # a name that was never used is an empty list
        return ()
    return _endpoints(d.owners)


__all__ = ["Endpoint", "Registration", "endpoints", "register", "watch"]
