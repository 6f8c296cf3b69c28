"""Streaming watches: object views kept up to date across lost connections and hosts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from . import _wire as wire
from ._cluster import Cluster
from ._conn import Connection
from ._retry import REQUESTS, Retries
from .errors import SignalboxError, TransportError, UnavailableError, UnsupportedError, of_status, refused

WATCH = 32
_ANSWER, _SNAPSHOT, _DELTA, _RESYNC, _END = 96, 117, 118, 119, 120
_CREATED, _DELETED = 1, 2


@dataclass(frozen=True, slots=True)
class Owner:
    """A session that owns units of a semaphore."""

    #: The fencing token: the order id assigned when the session joined.
    order_id: int
    session_id: int
    count: int
    #: Wait of the session's latest acquire.
    data: bytes


@dataclass(frozen=True, slots=True)
class View:
    """A semaphore at one time, as shown by a watch."""

    exists: bool = False
    #: Grows with every change; revisions of different names cannot be compared.
    revision: int = 0
    ephemeral: bool = False
    limit: int = 0
    data: bytes = b""
    #: Sorted by order id, which is the join order.
    owners: tuple[Owner, ...] = ()
    #: For other object kinds: row bodies by id.
    rows: dict[int, bytes] = field(default_factory=dict)
    #: Differs from the generation of an earlier object with the same name.
    birth: int = 0
    #: Number of snapshots. Changes between two snapshots are unknown.
    whole: int = 0


class Key(NamedTuple):
    """Parameters of a watch. Loops with equal keys share one watch."""

    node: int
    name: str
    data: bool
    owners: bool
    kind: int = 0
    view: str = ""


class _Behind(Exception):
    """Raised if a delta does not continue the received state."""


class Watching(Protocol):
    """A watch's client, as seen by the watch."""

    loop: asyncio.AbstractEventLoop
    cluster: Cluster
    #: Open watches.
    watches: dict[Key, SharedWatch]

    def check(self) -> None:
        """Raises an exception if the client is not usable."""

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any] | None:
        """Runs a coroutine in the background until the client is closed."""


class SharedWatch:
    """A watch with its view. If the stream ends, the watch is reopened on another host."""

    def __init__(self, core: Watching, key: Key) -> None:
        self.core, self.key = core, key
        self.readers: set[_Reader] = set()
        self.state = _State()
        self.draft: _State | None = None
        self.stream: _Stream | None = None
        self.version = 0  # grows with each view that differs from the one before
        self.whole = False  # there is a view
        self.shown: View | None = None
        self.error: SignalboxError | None = None  # why nothing more will come
        self.task: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Keeps a stream open until the last reader has left or an error is final."""
        cluster = self.core.cluster
        target = cluster.replica_at(wire.semaphore_slot(self.key.node, self.key.name))
        retries = Retries(cluster.leaders)
        error: SignalboxError
        try:
            await cluster.repeat(target, lambda conn: self._follow(conn, retries), retries)
            error = UnavailableError("the watch is over")
        except SignalboxError as e:
            error = e
        self.error = error
        self._remove()
        self._wake()

    async def _follow(self, conn: Connection, retries: Retries) -> None:
        """Opens a stream over a connection. Raises the reason for the end."""
        stream = self.stream = _Stream(self)
        self.draft = None
        k = self.key
        since = self.state.revision if self.whole and not self.state.behind else 0
        self.state.behind = False
        opened = time.monotonic()
        generation = self.core.cluster.generation(wire.semaphore_slot(k.node, k.name))
        request = conn.send(stream, WATCH, (k.node, k.name, since, k.owners, k.data, k.kind, k.view, generation))
        try:
            await stream.over
        except asyncio.CancelledError:
            self.stream = None
            conn.stop_watch(request)
            raise
        except _Behind:
            self.state.behind = True
            conn.stop_watch(request)
            raise TransportError(f"host {conn.address}: a delta is missing") from None
        finally:
            self.stream = None
            if time.monotonic() - opened > REQUESTS.most:
                retries.reset()

    def show(self, changed: bool) -> None:
        """Publishes a new state. `changed` reports whether users can see a difference."""
        self.shown = None
        self.whole = True
        if changed:
            self.version += 1
            self._wake()

    def view(self) -> View:
        """Returns the newest view, built on demand."""
        if self.shown is None:
            self.shown = self.state.view()
        return self.shown

    def _wake(self) -> None:
        for reader in list(self.readers):
            reader.wake()

    def _remove(self) -> None:
        if self.core.watches.get(self.key) is self:
            del self.core.watches[self.key]

    def leave(self, reader: _Reader) -> None:
        """Removes a reader. The watch ends with its last reader."""
        self.readers.discard(reader)
        if not self.readers:
            self._remove()
            if self.task is not None:
                self.task.cancel()


class _State:
    """A view's state, updated in place."""

    __slots__ = (
        "exists", "revision", "ephemeral", "limit", "data", "owners", "rows", "birth", "whole", "behind", "_sorted",
    )

    def __init__(self) -> None:
        self.exists = self.ephemeral = self.behind = False
        self.revision = self.limit = self.birth = self.whole = 0
        self.data = b""
        self.owners: dict[int, Owner] = {}
        self.rows: dict[int, bytes] = {}
        self._sorted: tuple[Owner, ...] | None = ()

    def view(self) -> View:
        if self._sorted is None:
            self._sorted = tuple(self.owners[i] for i in sorted(self.owners))
        return View(self.exists, self.revision, self.ephemeral, self.limit, self.data, self._sorted, dict(self.rows),
                    self.birth, self.whole)

    def join(self, owners: list[dict[str, Any]], rows: list[dict[str, Any]]) -> bool:
        """Adds owners and rows. Returns whether anything has changed."""
        changed = False
        for o in owners:
            owner = Owner(o["order_id"], o["session_id"], o["count"], o["data"])
            if self.owners.get(owner.order_id) != owner:
                self.owners[owner.order_id] = owner
                self._sorted, changed = None, True
        for r in rows:
            changed = changed or self.rows.get(r["id"]) != r["body"]
            self.rows[r["id"]] = r["body"]
        return changed

    def clear(self) -> None:
        self.owners, self.rows, self.data, self._sorted = {}, {}, b"", ()
        self.limit, self.ephemeral = 0, False

    def apply(self, p: dict[str, Any]) -> bool:
        """Applies a delta. Returns whether users can see a difference."""
        if p["to"] <= self.revision:
            return False  # the view has it all already
        if p["from"] > self.revision:
            raise _Behind
        self.revision = p["to"]
        changed = False
        if p["existence"] == _CREATED:
            self.clear()
            self.exists, self.ephemeral, self.limit, changed = True, p["ephemeral"], p["limit"], True
            self.birth += 1
        elif p["existence"] == _DELETED:
            self.clear()
            self.exists, changed = False, True
        if p["limit"] and p["limit"] != self.limit:
            self.limit, changed = p["limit"], True
        if p["data_changed"]:
            changed = changed or self.data != p["data"]
            self.data = p["data"]
        for id in p["gone"]:
            if self.owners.pop(id, None) is not None:
                self._sorted, changed = None, True
            if self.rows.pop(id, None) is not None:
                changed = True
        return self.join(p["joined"], p["rows"]) or changed

    def looks_like(self, other: _State) -> bool:
        """True if users see no difference, apart from the revision."""
        return (self.exists == other.exists and self.birth == other.birth and self.ephemeral == other.ephemeral
                and self.limit == other.limit and self.data == other.data and self.owners == other.owners
                and self.rows == other.rows)


class _Stream:
    """A watch on one host. Messages for a former stream are ignored."""

    __slots__ = ("watch", "over")

    def __init__(self, watch: SharedWatch) -> None:
        self.watch = watch
        self.over: asyncio.Future[None] = watch.core.loop.create_future()

    def _end(self, error: BaseException) -> None:
        if not self.over.done():
            self.over.set_exception(error)
            self.over.exception()

    def answered(self, conn: Connection, raw: list[Any]) -> bool:
        w, kind = self.watch, raw[0]
        if w.stream is not self:
            return False
        if kind == _ANSWER:
            error = refused(raw)
            if error is None and wire.fields(raw)["object_kind"] != w.key.kind:
                error = UnsupportedError(
                    "the host does not support object kinds, and watches a semaphore")
            if error is not None:
                self._end(error)
            return error is None
        if kind == _SNAPSHOT:
            self._page(wire.fields(raw))
        elif kind == _DELTA:
            try:
                if not w.whole:
                    raise _Behind
                w.show(w.state.apply(wire.fields(raw)))
            except _Behind as e:
                self._end(e)
        elif kind == _END:
            status = wire.uint_of(raw, 2)
            self._end(of_status(status, raw[3] if len(raw) > 3 else None) if status
                      else UnavailableError("the watch ended"))
            return False
        return True

    def _page(self, p: dict[str, Any]) -> None:
        w = self.watch
        if p["first"] or w.draft is None:
            w.draft = _State()
            w.draft.exists, w.draft.ephemeral = p["exists"], p["ephemeral"]
            w.draft.limit, w.draft.data = p["limit"], p["data"]
        w.draft.join(p["owners"], p["rows"])
        if not p["last"]:
            return
        draft, w.draft = w.draft, None
        draft.revision = p["revision"]
        changed = True
        if w.whole:
            draft.birth, draft.whole = w.state.birth, w.state.whole + 1
            if draft.exists and not w.state.exists:
                draft.birth += 1
            changed = w.key.kind > 1 or not draft.looks_like(w.state)
        w.state = draft
        w.show(changed)

    def lost(self, conn: Connection, error: TransportError) -> None:
        self._end(error)


class _Reader:
    """A loop over a watch's views."""

    __slots__ = ("seen", "waiting", "shared", "closed")

    def __init__(self) -> None:
        self.seen = -1  # the version that the loop was given last
        self.waiting: asyncio.Future[None] | None = None
        self.shared: SharedWatch | None = None
        self.closed = False

    def wake(self) -> None:
        if self.waiting is not None and not self.waiting.done():
            self.waiting.set_result(None)

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            if self.shared is not None:
                self.shared.leave(self)
            self.wake()


class Watch:
    """An asynchronous iterator over an object's views: first the current view, then the newest view after each change.

    Slow loops get the newest view and skip older ones. The watch ends when the loop has ended and the iterator is
    garbage collected. To end the watch immediately, use `async with` or call `close`.
    """

    def __init__(self, core: Watching, key: Callable[[], Awaitable[Key]]) -> None:
        self._core, self._key, self._reader = core, key, _Reader()
        core.check()

    async def _join(self) -> SharedWatch:
        core = self._core
        key = await self._key()
        core.check()
        shared = core.watches.get(key)
        if shared is None:
            shared = core.watches[key] = SharedWatch(core, key)
            shared.task = core.spawn(shared.run())
        shared.readers.add(self._reader)
        self._reader.shared = shared
        return shared

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> View:
        reader = self._reader
        if reader.closed:
            raise StopAsyncIteration
        shared = reader.shared or await self._join()
        while True:
            if shared.whole and shared.version != reader.seen:
                reader.seen = shared.version
                return shared.view()
            self._core.check()
            if shared.error is not None:
                reader.close()
                raise shared.error
            reader.waiting = self._core.loop.create_future()
            try:
                await reader.waiting
            finally:
                reader.waiting = None
            if reader.closed:
                raise StopAsyncIteration

    def close(self) -> None:
        """Ends the watch."""
        self._reader.close()

    async def __aenter__(self) -> Watch:
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.close()

    def __del__(self) -> None:
        reader = self._reader
        if not reader.closed and reader.shared is not None and not self._core.loop.is_closed():
            # The collector may run in any thread.
            self._core.loop.call_soon_threadsafe(reader.close)


__all__ = ["Key", "Owner", "SharedWatch", "View", "Watch"]
