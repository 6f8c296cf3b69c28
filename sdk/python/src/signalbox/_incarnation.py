"""Object operations of a session: changes executed once, acquires, leases."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from . import _wire as wire
from ._attachment import Attachment, Owner
from ._conn import Connection
from ._core import Core
from ._host import NOTHING_TRIED, Tried, Try
from ._lease import Lease, Request
from ._mutation import (
    ACQUIRE, ENDED, IDLE, OWNED, QUEUED, REBUILT, RELEASE, SENT, UNOBSERVED, KeyQueue, Mutation, slot_of,
)
from ._retry import Retries
from .errors import (
    AbortedError, AbortReason, EndReason, SignalboxError, FencedError, LeaseLostError, NotAcquiredError,
    SessionLostError, SessionLostUnknownError, Status, TransportError, is_retried, refusal,
)

#: Maximum number of mutations without an answer, or answered out of order. A shard caches few more answers.
UNANSWERED_MAX = 1000
#: Extra time beyond an acquire's timeout, for a host that is unreachable or has restarted the wait.
QUEUE_SLACK = 0.5

#: The lower bits of an order id are the shard id.
SHARDS = 1 << 10


class Observer(Protocol):
    """A one-shot watch, as seen by its session."""

    conn: Connection

    def notify(self, data: bool, owners: bool) -> None:
        """Reports a change, once. If both flags are false, a change may have been missed."""


class Look:
    """The leases in one shard to be verified, with their sequences, until a host has reported which are lost.

    Each shard is verified separately: a shard that does not answer hides no loss in other shards.
    """

    __slots__ = ("gaps", "leases", "shard")

    def __init__(self, shard: int) -> None:
        self.shard = shard  # 0 where it is not known
        self.leases: list[tuple[Lease, int]] = []
        self.gaps = 0  # how often news of the leases may have been missed meanwhile


class Incarnation(Attachment):
    """A session with its holdings. Mutations are serialized per name; later mutations wait in a queue."""

    __slots__ = ("last_sequence", "low", "early", "room", "queues", "notices", "inboxes", "looks", "_verify", "rebuilt")

    def __init__(self, core: Core, owner: Owner, timeout: float, verify: Callable[[Incarnation], None]) -> None:
        super().__init__(core, owner, timeout)
        self._verify = verify  # called when news of leases may have been missed
        self.last_sequence = self.low = 0  # the highest sequence that was given; up to which all are answered
        self.early: set[int] | None = None  # those above low that are answered
        self.room: list[asyncio.Future[None]] = []
        self.queues: dict[str, KeyQueue] = {}
        self.notices: set[Observer] | None = None
        self.inboxes: dict[str, Any] | None = None
        self.looks: dict[int, Look] = {}  # by shard
        self.rebuilt: list[tuple[int, bytes]] = []  # what was lost in rebuilt shards: fence and slots

    # The end, and lost connections.

    def drop(self) -> None:
        assert self.cause is not None
        for q in list(self.queues.values()):
            if q.lease is not None:
                q.lease.lose(self.lost())
            if (m := q.waiting) is not None and m.phase == QUEUED and m.conn is not None:
                m.conn.forget(m.request)
        for n in list(self.notices or ()):
            n.notify(False, False)

    def unbound(self, conn: Connection) -> None:
        for q in list(self.queues.values()):
            if (m := q.waiting) is not None and m.conn is conn:
                m.unobserve()
        for n in list(self.notices or ()):
            if n.conn is conn:
                n.notify(False, False)
        for b in list((self.inboxes or {}).values()):
            b.lost(conn)
        self._verify(self)

    def lose_refused(self, q: KeyQueue) -> None:
        """Ends a queue's lease if its shard does not list the lease and a host currently refuses the mutation in
        progress.

        The lease is also released, because hosts with earlier builds hide holdings that the client may not read.
        """
        if q.refused and q.lease is not None and q.lease.missing:
            self.give_up_lease(q, "the shard does not know the lease")

    def give_up_lease(self, q: KeyQueue, why: str) -> None:
        """Ends a queue's lease, and releases it, because the session may still have it."""
        lease = q.lease
        assert lease is not None
        q.remove_lease(LeaseLostError(why))
        self.core.spawn(self._release_later(q.name, lease.fence))
        self.drop_if_empty(q)

    def lease_lost(self, lease: Lease, cause: BaseException) -> None:
        """Ends a lease that its host does not know."""
        if (q := self.queues.get(lease.name)) is not None:
            q.remove_lease(cause, lease)
            self.drop_if_empty(q)

    def lose_rebuilt(self, lost: dict[str, Any]) -> None:
        """Ends the leases that the session has lost in a rebuilt shard.

        No host is asked: a host in the former replica group could confirm lost leases and grant new ones.
        """
        fence = lost["fence"]
        if any(fence == known for known, _ in self.rebuilt):
            return
        self.rebuilt.append((fence, lost["slots"]))
        for q in list(self.queues.values()):
            if q.lease is not None and self.is_lost(q.slot, q.lease.fence, 0):
                self.give_up_lease(q, REBUILT)

    def is_lost(self, slot: int, order: int, known: int) -> bool:
        """True if a holding was lost in a rebuilt shard. `known` is the number of losses of which the client had heard
        before its first request for the holding: later, only a host of the former group assigns such an order id."""
        return any(order < fence and slots[slot // 8] >> slot % 8 & 1 and (i >= known or order % SHARDS == fence % SHARDS)
                   for i, (fence, slots) in enumerate(self.rebuilt))

    def holding_lost(self, push: dict[str, Any]) -> None:
        if not push["name"]:
            if push["slots"]:
                self.lose_rebuilt({"fence": push["order_id"], "slots": push["slots"]})
            else:
                self._verify(self)
            return
        if push["node_id"] != self.node_id:
            return
        if push["reason"] == AbortReason.NODE_DROPPED:
            self.end(EndReason.NODE_DROPPED)
            return
        q = self.queues.get(push["name"])
        if q is None or push["object_kind"] > 1:
            return
        why: SignalboxError = AbortedError(reason=push["reason"])
        if q.lease is not None and q.lease.fence == push["order_id"]:
            q.remove_lease(why)
            self.drop_if_empty(q)
        else:  # it came before the answer to the acquire that it is about
            q.early = push["order_id"], why

    def inbox(self, conn: Connection, raw: list[Any]) -> None:
        b = (self.inboxes or {}).get(wire.text_of(raw, 4))
        if b is not None and self.cause is None:
            b.take(conn, wire.fields(raw))

    # Numbers.

    def sequence_done(self, sequence: int) -> None:
        """Records that a sequence will not be used again."""
        if sequence == self.low + 1:
            self.low = sequence
            if self.early:
                while self.low + 1 in self.early:
                    self.low += 1
                    self.early.discard(self.low)
        elif sequence > self.low:
            if self.early is None:
                self.early = set()
            self.early.add(sequence)
        if self.room and self.last_sequence - self.low < UNANSWERED_MAX:
            room, self.room = self.room, []
            for future in room:
                if not future.done():
                    future.set_result(None)

    # The queue of a name.

    def begin_now(self, name: str) -> KeyQueue | None:
        """Returns a name's queue if no mutation is in progress, otherwise None. The caller must call begin_next
        afterwards."""
        q = self.queues.get(name)
        if q is None:
            q = self.queues[name] = KeyQueue(name, slot_of(self.node_id, name))
        elif q.busy:
            return None
        q.busy = True
        return q

    async def begin(self, name: str) -> KeyQueue:
        """Waits for a mutation's turn. The caller must call begin_next afterwards."""
        if not self.alive():
            raise self.lost()
        q = self.begin_now(name)
        if q is not None:
            return q
        q = self.queues[name]
        place: asyncio.Future[None] = self.core.loop.create_future()
        q.places.append(place)
        try:
            await self.wait(place)
        except BaseException:
            if place.done() and not place.cancelled() and place.exception() is None:
                self.begin_next(q)
            else:
                with contextlib.suppress(ValueError):
                    q.places.remove(place)
            raise
        return q

    def begin_next(self, q: KeyQueue) -> None:
        """Starts the next mutation in a queue."""
        q.refused = False
        while q.places:
            place = q.places.popleft()
            if not place.done():
                place.set_result(None)
                return
        q.busy = False
        q.early = None
        self.drop_if_empty(q)

    def drop_if_empty(self, q: KeyQueue) -> None:
        """Deletes an empty queue."""
        if not q.busy and q.waiting is None and q.lease is None and self.queues.get(q.name) is q:
            del self.queues[q.name]

    # Sending.

    async def send_until_answered(self, m: Mutation) -> None:
        """Sends a mutation until its answer is final. Raises the host's error, or the reason for giving up."""
        try:
            await self.send_once(m)
            return
        except SignalboxError as e:
            first: SignalboxError | None = e

        async def attempt(tried: Tried) -> None:
            nonlocal first
            error, first = first, None
            if error is None:
                try:
                    await self.send_once(m, tried)
                    return
                except SignalboxError as e:
                    error = e
            status = refusal(error)
            if status == Status.SESSION_EXPIRED and self.cause is None:
                self.end(EndReason.UNKNOWN)
            if status == Status.OVERLOADED and m.impatient and not m.doubt:
                raise _Impatient(error)
            raise error

        try:
            await self.repeat(attempt, m)
        except _Impatient as e:
            raise e.error from None

    async def repeat(self, attempt: Callable[[Tried], Awaitable[None]], where: Try) -> None:
        """Calls attempt until success, a final failure, or the end of the session."""
        cluster = self.core.cluster
        retries = Retries(cluster.leaders)
        tried = Tried()
        while True:
            retries.begin()
            try:
                await attempt(tried)
                return
            except SignalboxError as e:
                error = e
            tried.add(where.host)
            if self.cause is not None:
                raise self.lost()
            if refusal(error) == Status.BAD_SESSION:
                if where.conn is None or not self.unknown_at(where.conn, retries):
                    raise error
                continue
            if not isinstance(error, TransportError) and not is_retried(error.status):
                raise error
            await cluster.redirect(retries, error, where.conn, where.host, self.wait)
            await retries.again(error, self.wait)

    async def send_once(self, m: Mutation, tried: Tried = NOTHING_TRIED) -> None:
        """Sends a mutation once and waits for the answer. If the mutation is already in flight, only waits."""
        if m.phase != SENT:
            conn = self.ready(m.queue.slot)
            if conn is None:
                conn = await self.connect(m.queue.slot, m, tried)
            while not m.sequence and self.last_sequence - self.low >= UNANSWERED_MAX:
                future: asyncio.Future[None] = self.core.loop.create_future()
                self.room.append(future)
                await self.wait(future)
            if self.cause is not None:
                raise self.lost()
            self._send(m, conn)
        elif m.future.done():
            m.future = self.core.loop.create_future()  # the task that waited was cancelled
        await self.wait(m.future)
        m.check()

    def _send(self, m: Mutation, conn: Connection) -> None:
        # A sequence is assigned and sent without a pause, so that sequences arrive in order.
        if not m.sequence:
            self.last_sequence += 1
            m.sequence = self.last_sequence
        if not m.tries:
            m.changes, m.losses = m.changes or m.queue.lease is not None, len(self.rebuilt)
        m.conn, m.host = conn, conn.host
        m.tries += 1
        m.future = self.core.loop.create_future()
        before, m.phase, m.queue.refused = m.phase, SENT, False
        try:
            m.request = conn.send(m, m.kind, (self.id, m.sequence, min(self.low, m.sequence - 1), *m.body))
        except BaseException:
            m.phase = before if before == UNOBSERVED else IDLE
            raise

    # Changes that need no undoing.

    async def change(
        self, name: str, kind: int, body: tuple[Any, ...], read: Callable[[list[Any]], Any] | None = None,
    ) -> Any:
        """Executes a change once. `read` converts the answer to the result."""
        q = await self.begin(name)
        return await self._change(q, kind, body, read, False)

    async def change_beside(
        self, name: str, kind: int, body: tuple[Any, ...], read: Callable[[list[Any]], Any] | None = None,
        impatient: bool = False,
    ) -> Any:
        """Executes a change once, in any order with other changes for the name. An impatient change fails if the host
        is overloaded."""
        q = KeyQueue(name, slot_of(self.node_id, name))
        q.busy = True
        return await self._change(q, kind, body, read, impatient)

    async def _change(
        self, q: KeyQueue, kind: int, body: tuple[Any, ...], read: Callable[[list[Any]], Any] | None, impatient: bool,
    ) -> Any:
        m = Mutation(self, q, kind, (self.node_id, q.name, *body))
        m.read, m.impatient = read, impatient
        try:
            await self.send_until_answered(m)
        except BaseException as e:
            m.read = None

            def over() -> None:
                m.drop_sequence()
                self.begin_next(q)

            if m.phase == SENT and self.cause is None:
                m.then = over  # the next one begins when this one is answered
            else:
                over()
            if isinstance(e, SessionLostError) and m.tries and (m.doubt or m.phase == SENT):
                assert self.cause is not None
                raise SessionLostUnknownError(
                    self.id, self.cause.reason, "the change may have been made") from e
            raise
        self.begin_next(q)
        return m.result

    # Acquires.

    async def acquire(self, name: str, r: Request) -> Lease | None:
        """Acquires a semaphore. Returns None if the wait has expired."""
        if r.wait is None or r.wait <= 0:
            return await self._acquire(name, r)
        try:
            async with asyncio.timeout(r.wait + QUEUE_SLACK):
                return await self._acquire(name, r)
        except TimeoutError:
            return None

    async def _acquire(self, name: str, r: Request) -> Lease | None:
        if not self.alive():
            raise self.lost()
        q = self.begin_now(name) or await self.begin(name)
        m = Mutation(self, q, ACQUIRE, (self.node_id, name, r.count, r.timeout_ms, r.data, r.ephemeral))
        try:
            await self.send_until_answered(m)
        except BaseException:
            self._abandon(m)
            raise
        self.begin_next(q)
        if m.phase in (QUEUED, UNOBSERVED):
            if r.on_queued is not None:
                r.on_queued(m.order)
            await self._await_outcome(m)
        return self._outcome(m)

    def _outcome(self, m: Mutation) -> Lease | None:
        """Returns an acquire's result, after a last check that the lease is alive."""
        if m.phase == ENDED:
            if isinstance(m.error, NotAcquiredError):
                return None
            assert m.error is not None
            raise m.error
        if m.phase != OWNED:
            return None
        if not self.alive():
            raise self.lost()
        assert m.lease is not None
        if (cause := m.lease.cause) is not None:
            raise cause if isinstance(cause, SignalboxError) else LeaseLostError(str(cause))
        return m.lease

    async def _await_outcome(self, m: Mutation) -> None:
        while m.phase not in (OWNED, ENDED):
            if m.phase == UNOBSERVED:
                await self._send_waiting(m)
                continue
            m.future = self.core.loop.create_future()
            try:
                await self.wait(m.future)
            except BaseException:
                if self.cause is None:
                    self.core.spawn(self._withdraw(m))
                raise

    async def _send_waiting(self, m: Mutation) -> None:
        """Resends a waiting acquire under its sequence to learn its outcome."""
        try:
            q = await self.begin(m.queue.name)
        except BaseException:
            if self.cause is None:
                self.core.spawn(self._withdraw(m))
            raise
        m.queue = q
        if m.phase == UNOBSERVED:
            try:
                await self.send_until_answered(m)
            except BaseException:
                self._abandon(m)
                raise
        self.begin_next(q)

    # An abandoned acquire is undone: no queue position and no unknown ownership may remain on the host. While its
    # outcome is unknown, no other mutation in its queue begins. Then a release under the next sequence reverts the
    # acquire; the higher sequence also prevents a delayed copy of the acquire from taking effect.

    def _abandon(self, m: Mutation) -> None:
        """Ends an abandoned or refused acquire."""
        if self.cause is None:  # otherwise the end of the session undoes everything
            if m.refused():
                if m.waited:
                    m.end_acquire(m.error or AbortedError())
            elif m.phase in (SENT, OWNED, QUEUED) or m.doubt or m.waited:
                self.core.spawn(self._undo(m))
                return
            else:
                m.drop_sequence()
        self.begin_next(m.queue)

    async def _undo(self, m: Mutation) -> None:
        """Reverts an acquire with an unknown outcome, while no other mutation in its queue is in progress."""
        q = m.queue
        try:
            before = q.lease.fence if m.changes and q.lease is not None else 0
            if before:
                # The session owns the semaphore anyhow. What is open is only how much of it.
                await self.send_until_answered(m)
            elif m.phase == SENT:
                if m.future.done():
                    m.future = self.core.loop.create_future()
                with contextlib.suppress(TransportError):
                    await self.wait(m.future)
            order = m.order
            needless = (m.phase == OWNED and order == before or m.phase == ENDED or m.refused()
                        or not m.doubt and not m.waited and m.phase not in (OWNED, QUEUED))
            if not needless:
                await self.give_back(q, order)
            m.drop_sequence()
            m.end_acquire(AbortedError())
        except SignalboxError:
            pass  # the session is over
        finally:
            self.begin_next(q)

    async def _withdraw(self, m: Mutation) -> None:
        """Withdraws an abandoned acquire from the queue, or releases the lease granted meanwhile."""
        try:
            q = await self.begin(m.queue.name)
        except SessionLostError:
            return  # the end of the session does it
        try:
            owns = m.phase == OWNED and q.lease is not None and q.lease is m.lease and q.lease.sequence == m.sequence
            if q.waiting is m or owns:
                await self.give_back(q, m.order)
                m.end_acquire(AbortedError())
        except SignalboxError:
            pass  # the session is over
        finally:
            self.begin_next(q)

    # Releases.

    async def release(self, name: str, order: int) -> bool:
        """Releases the holding with an order id, or any holding if the order id is 0.

        Continues in the background if the caller is cancelled.
        """
        try:
            q = self.begin_now(name) if self.alive() else None
            if q is None:
                q = await self.begin(name)
        except asyncio.CancelledError:
            self.core.spawn(self._release_later(name, order))
            raise
        m = Mutation(self, q, RELEASE, (self.node_id, name, order))
        try:
            await self._send_release(m)
        except asyncio.CancelledError:
            if self.cause is None and not m.refused():
                self.core.spawn(self._finish_release(m))
            else:
                self.begin_next(q)
            raise
        except BaseException:
            self.begin_next(q)
            raise
        self.begin_next(q)
        return bool(m.result)

    async def _release_later(self, name: str, order: int) -> None:
        with contextlib.suppress(SignalboxError):
            await self.release(name, order)

    async def _finish_release(self, m: Mutation) -> None:
        try:
            with contextlib.suppress(SignalboxError):
                await self._send_release(m)
        finally:
            self.begin_next(m.queue)

    async def give_back(self, q: KeyQueue, order: int) -> None:
        """Releases a holding if it exists, while no other mutation in the queue is in progress."""
        with contextlib.suppress(FencedError):
            await self._send_release(Mutation(self, q, RELEASE, (self.node_id, q.name, order)))

    async def _send_release(self, m: Mutation) -> None:
        try:
            await self.send_until_answered(m)
        except FencedError:
            q = m.queue  # a host that does not know the owner has ended the lease
            if q.lease is not None and q.lease.fence == m.body[2]:
                q.remove_lease(LeaseLostError("the host does not know the lease"))
            raise


class _Impatient(Exception):
    """Raised instead of waiting after a refusal."""

    def __init__(self, error: SignalboxError) -> None:
        super().__init__(str(error))
        self.error = error
