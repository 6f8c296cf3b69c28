"""A node, by path: operations without a session."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from . import _wire as wire
from ._core import Core
from ._describe import (
    Consistency, SemaphoreInfo, NodeInfo, SessionInfo, describe_body, description, semaphore_info, session_info,
)
from ._list import listed, ranges
from ._mutation import slot_of
from ._notice import SEMAPHORE_DESCRIBE
from ._view import Key, Watch
from .errors import SignalboxError, NotFoundError

#: Minimum age of a cached node id before a missing semaphore triggers a new lookup.
_NODE_GAP = 1.0
#: Maximum restarts of a multi-page description because the semaphore changes.
_TRIES = 4


class NodeClient(Protocol):
    """A client, as seen by its nodes."""

    #: By path: the node's id and the lookup time.
    _node_ids: dict[str, tuple[int, float]]

    @property
    def _core(self) -> Core:
        """The client's shared state."""

    async def describe_node(self, path: str) -> NodeInfo:
        """Describes a node."""

    def _in_time(self, what: str, doubtful: bool = False) -> AbstractAsyncContextManager[None]:
        """Applies the client timeout to a request without a session."""


class Node:
    """A node handle, created by `Client.node`. Creating a handle sends no request."""

    def __init__(self, client: NodeClient, path: str) -> None:
        self._client, self._core, self.path = client, client._core, path

    async def _id(self, anew: bool = False) -> int:
        known = self._client._node_ids.get(self.path)
        if known is not None and not (anew and time.monotonic() > known[1] + _NODE_GAP):
            return known[0]
        info = await self._client.describe_node(self.path)
        self._client._node_ids[self.path] = info.id, time.monotonic()
        return info.id

    async def _in_node(self, work: Any) -> Any:
        """Runs an operation with the node's id, and repeats it if the path now belongs to a new node."""
        self._core.check()
        before = await self._id()
        try:
            return await work(before)
        except NotFoundError:
            if await self._id(anew=True) == before:
                raise
        return await work(await self._id())

    async def describe(
        self, name: str, *, owners: bool = True, waiters: bool = True, consistency: Consistency = Consistency.DEFAULT,
    ) -> SemaphoreInfo:
        """Describes a semaphore, with owners and waiters."""
        found: SemaphoreInfo = await self._in_node(
            lambda id: self._describe(id, name, owners, waiters, consistency))
        return found

    async def _describe(
        self, node: int, name: str, owners: bool, waiters: bool, consistency: Consistency,
    ) -> SemaphoreInfo:
        cluster = self._core.cluster
        slot = slot_of(node, name)
        target = cluster.near_leader(slot) if consistency is Consistency.STRICT else cluster.replica_at(slot)
        pages: list[dict[str, Any]] = []
        for _ in range(_TRIES):
            pages, after = [], 0

            async def all_pages(conn: Any) -> None:
                nonlocal after
                while True:
                    body = describe_body(node, name, owners, waiters, consistency, after,
                                         generation=cluster.generation(slot))
                    page = wire.fields(await conn.call(SEMAPHORE_DESCRIBE, body))
                    pages.append(page)
                    after = page["next"]
                    if not after or page["semaphore"]["revision"] != pages[0]["semaphore"]["revision"]:
                        return

            async with self._client._in_time(f"describe {name!r}"):
                await cluster.repeat(target, all_pages)
            if not after:
                break
        return description(pages)

    async def _list(
        self, request: str, field: str, key: str, after: Any, make: Any, **values: Any,
    ) -> AsyncIterator[Any]:
        """Yields the items of a list, sorted by key."""
        node, cluster, kind = await self._id(), self._core.cluster, wire.number_of(request)

        async def read(slots: list[int], after: Any, limit: int) -> dict[str, Any]:
            async def page(conn: Any) -> Any:
                return await conn.call(kind, wire.body(request, values | {
                    "node_id": node, "after": after, "limit": limit, "slots": ranges(slots),
                    "generation": cluster.generation(slots[0]),
                }))

            async with self._client._in_time(request):
                return wire.fields(await cluster.repeat(cluster.near_leader(slots[0]), page))

        async for item in listed(cluster, read, field, key, after):
            yield make(item)

    def semaphores(self, prefix: str = "", *, data: bool = False) -> AsyncIterator[SemaphoreInfo]:
        """Lists semaphores whose names begin with the prefix, sorted by name."""
        return self._list("SEMAPHORE_LIST", "semaphores", "name", "", semaphore_info, prefix=prefix, include_data=data)

    def sessions(self) -> AsyncIterator[SessionInfo]:
        """Lists the node's sessions, sorted by id."""
        return self._list("SESSION_LIST", "sessions", "id", 0, session_info)

    async def destroy_session(self, id: int) -> None:
        """Ends another client's session. Does nothing if the session has already ended."""
        cluster = self._core.cluster
        async with self._client._in_time("destroy a session"):
            try:
                await cluster.do(cluster.leader_at(wire.session_slot(id)), "SESSION_DESTROY", session_id=id)
            except SignalboxError as e:
                if e.status != 9:
                    raise

    async def create(self, name: str, limit: int = 1, data: bytes = b"") -> None:
        """Creates a semaphore without a session. Raises `UnknownOutcomeError` if the semaphore may have been created.
        """
        await self._once("SEMAPHORE_CREATE", name, limit=limit, data=data)

    async def update(self, name: str, data: bytes, *, if_revision: int = 0) -> None:
        """Replaces a semaphore's data without a session; see `Semaphore.update`."""
        await self._once("SEMAPHORE_UPDATE", name, data=data, expected_revision=if_revision)

    async def resize(self, name: str, limit: int, *, if_revision: int = 0) -> None:
        """Sets a semaphore's limit without a session; see `Semaphore.resize`."""
        await self._once("SEMAPHORE_RESIZE", name, limit=limit, expected_revision=if_revision)

    async def delete(self, name: str, *, force: bool = False) -> None:
        """Deletes a semaphore without a session; see `Semaphore.delete`."""
        await self._once("SEMAPHORE_DELETE", name, force=force)

    async def _once(self, request: str, name: str, **values: Any) -> None:
        cluster = self._core.cluster

        async def work(id: int) -> None:
            async with self._client._in_time(f"change {name!r}", doubtful=True):
                await cluster.do_once(cluster.leader_at(slot_of(id, name)), request, node_id=id, name=name, **values)

        await self._in_node(work)

    def watch(self, name: str, *, data: bool = True, owners: bool = True) -> Watch:
        """Watches a semaphore, which need not exist yet: `async for view in node.watch("leader"):`."""
        return self._watch(name, data, owners, 0, "")

    def _watch(self, name: str, data: bool, owners: bool, kind: int, view: str) -> Watch:
        async def key() -> Key:
            return Key(await self._id(), name, data, owners, kind, view)

        return Watch(self._core, key)
