"""A session's change to an object, with all its attempts, and the queue that orders changes."""

from __future__ import annotations

import asyncio
import functools
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from . import _wire as wire
from ._conn import Connection
from ._host import Try
from ._lease import Holder, Lease
from .errors import (
    AbortedError, AbortReason, SignalboxError, LeaseLostError, NotAcquiredError, Status, TransportError, is_retried,
    of_status,
)

# Mutation phases. UNOBSERVED is a waiting acquire with an unreported outcome, unless the acquire is sent again.
IDLE, SENT, ANSWERED, BROKEN, QUEUED, UNOBSERVED, OWNED, ENDED = range(8)

SEMAPHORE_CREATE, SEMAPHORE_DELETE, ACQUIRE, RELEASE, SEMAPHORE_RESIZE = 24, 26, 27, 28, 31
_ACQUIRE_ANSWER, _RELEASE_ANSWER, _GRANTED, _TIMED_OUT, _ABORTED = 91, 92, 112, 113, 114
_ACQUIRED, _QUEUED = 1, 2


slot_of = functools.lru_cache(1 << 16)(wire.semaphore_slot)


class KeyQueue:
    """A session's operations on one object. At most one mutation is in progress; later mutations wait."""

    __slots__ = ("name", "slot", "busy", "places", "waiting", "lease", "early", "refused")

    def __init__(self, name: str, slot: int) -> None:
        self.name, self.slot = name, slot
        self.busy = False
        self.places: deque[asyncio.Future[None]] = deque()
        self.waiting: Mutation | None = None  # the acquire that is queued at the host
        self.lease: Lease | None = None
        #: A loss received before the answer to its acquire.
        self.early: tuple[int, SignalboxError] | None = None
        #: The current mutation's latest attempt was refused by a host without space, or in a rebuilt shard's wait.
        self.refused = False

    def remove_lease(self, cause: BaseException, of: Lease | None = None) -> None:
        """Ends the lease, if there is one; with `of`, only that lease."""
        lease = self.lease
        if lease is not None and of in (None, lease):
            self.lease = None
            lease.lose(cause)


#: Why a lease in a rebuilt shard is lost.
REBUILT = "the shard lost its quorum and was rebuilt"


class Changing(Holder, Protocol):
    """A session, as seen by its mutations."""

    def sequence_done(self, sequence: int) -> None:
        """Records that a sequence will not be used again."""

    def is_lost(self, slot: int, order: int, known: int) -> bool:
        """True if a holding was lost in a rebuilt shard. `known` is the number of losses of which the client had heard
        before its first request for the holding."""

    def give_up_lease(self, q: KeyQueue, why: str) -> None:
        """Ends a queue's lease, and releases it, because the session may still have it."""

    def lose_refused(self, q: KeyQueue) -> None:
        """Ends a queue's lease if its shard does not list the lease and a host currently refuses the mutation in
        progress."""

    def drop_if_empty(self, q: KeyQueue) -> None:
        """Deletes an empty queue."""


class Mutation(Try):
    """A change sent under one sequence until answered, so that it takes effect once."""

    __slots__ = (
    "session", "queue", "kind", "body", "sequence", "phase", "request", "tries", "future", "status", "error", "doubt",
    "waited", "changes", "losses", "order", "limit", "lease", "read", "result", "then", "impatient",
    )

    def __init__(self, session: Changing, queue: KeyQueue, kind: int, body: tuple[Any, ...]) -> None:
        self.session, self.queue, self.kind, self.body = session, queue, kind, body
        self.conn: Connection | None = None
        self.host = None
        self.sequence = self.request = self.tries = self.status = self.order = self.limit = 0
        self.losses = 0  # how many losses in rebuilt shards were known at the first attempt
        self.phase = IDLE
        self.future: asyncio.Future[None]
        self.error: SignalboxError | None = None  # what it is refused with, or its connection ended with
        #: An unanswered attempt may have been executed.
        self.doubt = False
        self.waited = self.changes = self.impatient = False
        self.lease: Lease | None = None
        self.read: Callable[[list[Any]], Any] | None = None
        self.result: Any = None
        self.then: Callable[[], None] | None = None  # what is done once it is answered, if its caller is gone

    def check(self) -> None:
        """Raises the latest attempt's error."""
        if self.error is not None and self.phase in (ANSWERED, BROKEN):
            raise self.error

    def refused(self) -> bool:
        """True if the host has answered with a final error."""
        return self.phase == ANSWERED and self.error is not None and not _leaves_as_it_was(self.status)

    def drop_sequence(self) -> None:
        """Gives up the sequence after a refusal, or if the outcome is irrelevant."""
        if self.sequence:
            self.session.sequence_done(self.sequence)
            self.sequence = 0

    def answered(self, conn: Connection, raw: list[Any]) -> bool:
        """Handles an answer or push in the order sent by the host, so a later loss finds the lease."""
        kind = raw[0]
        if kind == _GRANTED:
            if self.phase in (QUEUED, UNOBSERVED):
                self._own(wire.uint_of(raw, 2))
                self._wake()
            return False
        if kind == _TIMED_OUT:
            self.end_acquire(NotAcquiredError("the acquire was not granted in time"))
            return False
        if kind == _ABORTED:
            error = of_status(wire.uint_of(raw, 2), raw[3] if len(raw) > 3 else None)
            if is_retried(error.status):
                if error.status == Status.MOVED:
                    self.session.core.cluster.moved(error.detail, conn)
                self.unobserve()
            else:
                self.end_acquire(error)
            return False
        status = self.status = wire.uint_of(raw, 2)
        self.phase = ANSWERED
        if status == 0:
            self.error = None
            self.session.sequence_done(self.sequence)
            self.doubt = False
            if self.read is not None:
                self.result = self.read(raw)
            if kind == _ACQUIRE_ANSWER:
                self._acquired(raw)
            elif kind == _RELEASE_ANSWER:
                self.result = len(raw) > 4 and raw[4] is True
                self._released()
        else:
            self.error = of_status(status, raw[3] if len(raw) > 3 else None)
            if status == Status.STALE:
                self.drop_sequence()
                self.doubt = False
            elif not _leaves_as_it_was(status):
                self.session.sequence_done(self.sequence)
                self.doubt = False
            elif status == Status.UNAVAILABLE:
                self.doubt = True
            elif status in (Status.OVERLOADED, Status.STORAGE_FULL):
                self.queue.refused = True
                self.session.lose_refused(self.queue)
        self._wake()
        return self.phase == QUEUED

    def lost(self, conn: Connection, error: TransportError) -> None:
        if self.conn is not conn:
            return
        if self.phase == SENT:
            self.phase, self.error, self.doubt = BROKEN, error, True
            self._wake()
        elif self.phase == QUEUED:
            self.unobserve()

    def _wake(self) -> None:
        if not self.future.done():
            self.future.set_result(None)
        if self.then is not None:
            then, self.then = self.then, None
            then()

    def _acquired(self, raw: list[Any]) -> None:
        q = self.queue
        outcome = wire.uint_of(raw, 4)
        self.limit = wire.uint_of(raw, 6)
        if q.waiting is not None and q.waiting is not self:
            # Whatever the result of the newer acquire, the older acquire has left the host's queue.
            q.waiting.end_acquire(AbortedError(reason=AbortReason.REPLACED))
        if outcome == _ACQUIRED:
            self._own(wire.uint_of(raw, 5))
        elif outcome == _QUEUED:
            self.phase, self.order, self.waited = QUEUED, wire.uint_of(raw, 5), True
            q.waiting = self
        elif self.waited and self.body[3] == wire.FOREVER:
            # The acquire cannot have timed out, so it was replaced while the client was disconnected.
            self.end_acquire(AbortedError())
        else:
            self.end_acquire(NotAcquiredError("the acquire was not granted in time"))

    def _own(self, order: int) -> None:
        """Creates the lease for a granted acquire, or updates the existing lease."""
        q = self.queue
        if q.waiting is self:
            q.waiting = None
        if q.lease is not None and q.lease.fence != order:
            q.remove_lease(LeaseLostError("a newer acquire by the session replaced the lease"))
        if q.lease is None:
            q.lease = Lease(self.session, q.name, order)
        _, _, count, _, data, ephemeral = self.body
        lease = q.lease
        lease.sequence, lease.count, lease.data, lease.ephemeral = self.sequence, count, data, ephemeral
        lease.missing = False
        self.phase, self.order, self.lease = OWNED, order, lease
        if q.early is not None and q.early[0] == order:
            q.remove_lease(q.early[1])
            self.session.drop_if_empty(q)
        if q.lease is not None and self.session.is_lost(q.slot, order, self.losses):
            self.session.give_up_lease(q, REBUILT)

    def _released(self) -> None:
        q = self.queue
        if q.waiting is not None:
            q.waiting.end_acquire(AbortedError(reason=AbortReason.RELEASED))
        if q.lease is not None:
            lease, q.lease = q.lease, None
            lease.release_now()

    def end_acquire(self, error: SignalboxError) -> None:
        """Ends an acquire that owns nothing."""
        if self.phase in (OWNED, ENDED):
            return
        if self.conn is not None:
            self.conn.forget(self.request)
        self.phase, self.error = ENDED, error
        if self.queue.waiting is self:
            self.queue.waiting = None
            self.session.drop_if_empty(self.queue)
        self._wake()

    def unobserve(self) -> None:
        """Records that a waiting acquire's outcome will not be reported."""
        if self.phase == QUEUED:
            if self.conn is not None:
                self.conn.forget(self.request)
            self.phase = UNOBSERVED
            self._wake()


def _leaves_as_it_was(status: int) -> bool:
    """True if a status means that the mutation was not executed. A host that does not know the session has not read the
    mutation."""
    return is_retried(status) or status == Status.BAD_SESSION
