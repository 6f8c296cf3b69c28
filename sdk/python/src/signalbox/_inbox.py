"""A process member's inbox. Opened on the process shard's leader, and reopened after connection loss."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from . import _wire as wire
from ._conn import Connection
from ._host import Tried, Try
from ._incarnation import Incarnation
from ._mutation import slot_of
from ._retry import REQUESTS, Retries
from .errors import EndReason, SignalboxError, NotFoundError, Status, TransportError, of_status, refusal

INBOX_ACK, INBOX_OPEN = 170, 174
_END = 4
#: Handled items are acknowledged by the next command, or separately after this time or number of items.
_ACK_DELAY, _ACK_ITEMS = 0.1, 64


class EvictedError(SignalboxError):
    """The membership has ended: the member was removed, or the process was deleted."""


class Ends(Protocol):
    """A round, as seen by its membership."""

    def end(self) -> None:
        """Called when the epoch has ended."""


R = TypeVar("R", bound=Ends)


class Ending:
    """Outcome of an ended exchange."""

    __slots__ = ("epoch", "outcome", "replies", "missing", "missed", "done")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.epoch = self.outcome = self.missing = 0
        self.replies: list[dict[str, Any]] = []
        self.missed: list[int] = []
        self.done: asyncio.Future[None] = loop.create_future()


class Part(Generic[R]):
    """One membership: from join to end, by one incarnation of the session."""

    def __init__(self, inc: Incarnation, name: str, early: Callable[[Part[R], dict[str, Any]], R | None]) -> None:
        self.inc, self.name, self._early = inc, name, early
        self.id = self.received = 0
        self.newest: R | None = None
        self.removed: SignalboxError | None = None
        self._queue: deque[tuple[dict[str, Any], R | None]] = deque()
        self._handling = 0  # the seq of the item that is being handled
        self._arrived: asyncio.Future[None] | None = None
        self._endings: dict[int, Ending] = {}
        self._acked = self._since = 0
        self._timer: asyncio.TimerHandle | None = None
        self._acking = self.closed = False
        self._inbox: Inbox[R] | None = None

    def begin(self, id: int, inbox: Inbox[R]) -> None:
        """Called after the session has joined."""
        self.id, self._inbox = id, inbox
        inbox.open()

    def close(self) -> None:
        """Ends the membership on the client side."""
        if self.closed:
            return
        self.closed = True
        if self.newest is not None:
            self.newest.end()
        if self._timer is not None:
            self._timer.cancel()
        if self.inc.inboxes is not None and (box := self.inc.inboxes.get(self.name)) is not None and box.part is self:
            del self.inc.inboxes[self.name]
        self._wake()

    def _wake(self) -> None:
        if self._arrived is not None and not self._arrived.done():
            self._arrived.set_result(None)

    def take(self, items: list[dict[str, Any]]) -> None:
        """Handles new items. Items received earlier may be repeated."""
        for item in items:
            if item["seq"] <= self.received or self.closed:
                continue
            self.received = item["seq"]
            if item["kind"] == _END:
                self._take_end(item)
                self._count()
            else:
                self._queue.append((item, self._early(self, item)))
        self._wake()

    def _take_end(self, item: dict[str, Any]) -> None:
        e = self.ending_of(item["exchange"])
        e.epoch, e.outcome = item["epoch"], item["outcome"]
        e.replies += item["replies"]
        if item["last"]:
            e.missing, e.missed = item["missing"], item["missed"]
            if not e.done.done():
                e.done.set_result(None)

    def ending_of(self, exchange: int) -> Ending:
        """Returns an exchange's end, which may arrive before the answer with the exchange id."""
        if exchange not in self._endings:
            self._endings[exchange] = Ending(self.inc.core.loop)
        return self._endings[exchange]

    def sent(self, raw: list[Any]) -> int:
        """Returns the exchange id from a request's answer."""
        exchange = wire.uint_of(raw, 4)
        self.ending_of(exchange)
        return exchange

    async def ending(self, exchange: int) -> Ending:
        """Waits for an exchange to end."""
        e = self.ending_of(exchange)
        try:
            await asyncio.shield(e.done)
            return e
        finally:
            self._endings.pop(exchange, None)

    async def next(self) -> tuple[dict[str, Any], R | None] | None:
        """Returns the next item to handle, None after the membership has ended."""
        while True:
            if self.closed or self.removed is not None or self.inc.cause is not None:
                return None
            if self._queue:
                found = self._queue.popleft()
                self._handling = found[0]["seq"]
                return found
            self._arrived = self.inc.core.loop.create_future()
            with contextlib.suppress(SignalboxError):
                await self.inc.wait(self._arrived)

    def handled(self, item: dict[str, Any]) -> None:
        """Called after an item was handled. The next command acknowledges the item."""
        self._handling = 0
        self._count()

    def _ack(self) -> int:
        """Returns the seq up to which a command acknowledges items, 0 if nothing is new."""
        seq = self.received
        if self._handling:
            seq = self._handling - 1
        elif self._queue:
            seq = int(self._queue[0][0]["seq"]) - 1
        if seq <= self._acked:
            return 0
        self._acked, self._since = seq, 0
        return seq

    def _count(self) -> None:
        self._since += 1
        if self._since >= _ACK_ITEMS:
            self._ack_alone()
        elif self._timer is None and not self.closed:
            self._timer = self.inc.core.loop.call_later(_ACK_DELAY, self._ack_alone)

    def _ack_alone(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._acking and not self.closed and self.inc.cause is None:
            self._acking = True
            self.inc.core.spawn(self._send_ack())

    async def _send_ack(self) -> None:
        seq = self._ack()
        try:
            if seq:
                await self.inc.change_beside(self.name, INBOX_ACK, (self.id, seq))
        except SignalboxError:
            self._acked = min(self._acked, seq - 1)
        finally:
            self._acking = False

    async def command(
        self, kind: int, epoch: int, body: tuple[Any, ...], read: Callable[[list[Any]], Any] | None = None, *,
        impatient: bool = False,
    ) -> Any:
        """Sends a member command, concurrently with others, and acknowledges handled items with it."""
        seq = self._ack()
        try:
            return await self.inc.change_beside(self.name, kind, (self.id, epoch, seq, *body), read, impatient)
        except BaseException:
            if seq:
                self._acked = min(self._acked, seq - 1)
            raise

    def post(
        self, kind: int, epoch: int, body: tuple[Any, ...], then: Callable[[], object] | None = None,
    ) -> None:
        """Sends a command in the background. Errors are ignored, because no caller waits."""
        async def work() -> None:
            with contextlib.suppress(SignalboxError):
                await self.command(kind, epoch, body)
                if then is not None:
                    then()

        self.inc.core.spawn(work())


class Inbox(Generic[R]):
    """A member's inbox, as seen by its session."""

    def __init__(self, part: Part[R]) -> None:
        self.part = part
        self.conn: Connection | None = None
        self._opening = False
        self._short = 0

    def open(self) -> None:
        """Opens the inbox and keeps it open."""
        p = self.part
        if p.id and self.conn is None and not self._opening and not p.closed and p.inc.cause is None:
            self._opening = True
            p.inc.core.spawn(self._open_until_done())

    def lost(self, conn: Connection) -> None:
        """Called when a connection is lost."""
        if self.conn is conn:
            self.conn = None
            self._short += 1
            self.open()

    def take(self, conn: Connection, push: dict[str, Any]) -> None:
        """Handles pushed items."""
        p = self.part
        if push["member_id"] != p.id or push["node_id"] != p.inc.node_id:
            return
        p.take(push["items"])
        if push["status"] == Status.NOT_FOUND:
            self._removed(of_status(push["status"], None), push["detail"]["message"])
        elif push["status"]:
            if push["status"] == Status.MOVED:
                p.inc.core.cluster.moved(push["detail"], conn)
            self.lost(conn)
        elif push["items"]:
            self._short = 0

    def _removed(self, error: SignalboxError, text: str) -> None:
        self.part.removed = EvictedError(f"the membership in {self.part.name!r} has ended: {text or error}")
        self.part.close()

    async def _open_until_done(self) -> None:
        p = self.part
        inc, where = p.inc, Try()
        retries = Retries(inc.core.cluster.leaders)

        async def attempt(tried: Tried) -> None:
            try:
                async with asyncio.timeout(inc.try_timeout()):
                    conn = await inc.connect(slot_of(inc.node_id, p.name), where, tried)
                    self.conn = conn
                    await conn.call(INBOX_OPEN, (inc.id, inc.node_id, p.name, p.id, p.received))
            except TimeoutError:
                self.conn = None
                raise TransportError("the host is slow to answer") from None
            except BaseException:
                self.conn = None
                raise

        try:
            while not p.closed and inc.cause is None and self.conn is None:
                if self._short > 1:
                    await asyncio.sleep(REQUESTS.pause(self._short - 2))
                try:
                    await inc.repeat(attempt, where)
                except NotFoundError as e:
                    self._removed(e, str(e))
                except SignalboxError as e:
                    if inc.cause is not None:
                        return
                    if refusal(e) == Status.SESSION_EXPIRED:
                        inc.end(EndReason.UNKNOWN)
                        return
                    await inc.pause_after(retries, e, None, None)
        except SignalboxError:
            pass  # the session is over
        finally:
            self._opening = False
