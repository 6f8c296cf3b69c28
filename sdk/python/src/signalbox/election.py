"""Leader election among programs.

    async def lead(term):
        while True:
            await order(term.fence)

    await election.run(session, "leader", b"10.0.0.7:8080", lead)

An election is a persistent semaphore with limit 1: the owner leads, waiters are candidates.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from ._client import Client
from ._describe import Consistency
from ._lease import Lease
from ._session import Session
from .errors import (
    AbortedError, FencedError, LeaseLostError, NotFoundError, OverloadedError, PreconditionFailedError,
    QuotaExceededError, SessionLostError, StorageFullError, UnavailableError,
)

#: Pause before a candidate contends again, so that other candidates come first.
_PAUSE = 0.1


@dataclass(frozen=True, slots=True)
class Leader:
    """The current leader. Without a leader, the fence is 0."""

    #: The term's fencing token: larger than in every earlier term.
    fence: int = 0
    session_id: int = 0
    #: The leader's data, shown to observers.
    data: bytes = b""

    def __bool__(self) -> bool:
        return self.fence != 0


class Resign(Exception):
    """Raise within a term to resign; the candidate contends again, behind the waiting candidates."""


class Term:
    """A candidate's uninterrupted time as the leader."""

    def __init__(self, lease: Lease, data: bytes) -> None:
        #: The term's lease: its loss cancels the leading task.
        self.lease = lease
        #: The fencing token: larger than in every earlier term. Send it with every command from the leader.
        self.fence = lease.fence
        self.data = data

    def check(self) -> None:
        """Raises `LeaseLostError` if the term has ended by the current clock. Call before actions as the leader."""
        self.lease.check()


class Candidacy:
    """One term: `async with election.lead(session, "leader", b"me") as term:` waits to become the leader."""

    def __init__(self, session: Session, name: str, data: bytes, wait: float | None) -> None:
        self._lock = session.lock(name, wait, limit=1, data=data)
        self._session, self._name, self._data = session, name, data

    async def __aenter__(self) -> Term:
        lease = await self._lock.__aenter__()
        try:
            # A semaphore that was made for something else, with a larger limit, would have several lead.
            d = await self._session.semaphore(self._name, create=False).describe(owners=False, waiters=False)
            if d.limit != 1:
                raise PreconditionFailedError(f"the semaphore {self._name!r} has limit {d.limit}, an election needs "
                                         "limit 1: use a different name")
        except BaseException as e:
            await self._lock.__aexit__(type(e), e, None)
            raise
        return Term(lease, self._data)

    async def __aexit__(self, kind: type[BaseException] | None, exc: BaseException | None, trace: object) -> None:
        await self._lock.__aexit__(kind, exc, trace)


def lead(session: Session, name: str, data: bytes = b"", wait: float | None = None) -> Candidacy:
    """Leads for one term: the block runs while this program leads. If the term is lost, the block is cancelled and
    raises `LeaseLostError`."""
    return Candidacy(session, name, data, wait)


async def run(session: Session, name: str, data: bytes, work: Callable[[Term], Awaitable[object]]) -> None:
    """Contends in an election and calls `work` whenever this program leads. `work` is cancelled if the term is lost.

    The program contends again after `work` returns, raises `Resign`, or loses the term. `run` ends when it is
    cancelled, when the session has finally ended (use `renew=True`), or when `work` raises another exception.
    """
    while True:
        try:
            async with lead(session, name, data) as term:
                await work(term)
        except (Resign, LeaseLostError, FencedError):
            pass
        except (SessionLostError, AbortedError, NotFoundError, UnavailableError, OverloadedError,
                StorageFullError, QuotaExceededError):
            if session.error is not None:
                raise
        await asyncio.sleep(_PAUSE)


async def _read(client: Client, path: str, name: str) -> tuple[Leader, bool, int]:
    """Returns the current leader, whether the election exists, and its revision."""
    try:
        d = await client.node(path).describe(name, waiters=False, consistency=Consistency.STRICT)
    except NotFoundError:
        await client.describe_node(path)  # an election that has had no candidate is no error
        return Leader(), False, 0
    o = d.owners[0] if d.owners else None
    return Leader(o.order_id, o.session_id, o.data) if o else Leader(), True, d.revision


async def current(client: Client, path: str, name: str) -> Leader:
    """Returns the current leader, a false `Leader` if there is none."""
    return (await _read(client, path, name))[0]


async def observe(client: Client, path: str, name: str) -> AsyncIterator[Leader]:
    """Yields leaders: first the current leader, then each change, by increasing fence; a false `Leader` while there is
    none.

    The sequence never starts behind the leader at the time of the call, whichever host is watched.
    """
    shown, exists, revision = await _read(client, path, name)
    yield shown
    async with client.node(path).watch(name, data=False) as views:
        async for view in views:
            if exists and view.revision < revision:
                continue  # the host is behind what was read
            if not exists and view.exists:
                # It was made after the reading, or is what that found deleted.
                new, exists, revision = await _read(client, path, name)
            else:
                o = view.owners[0] if view.owners else None
                new = Leader(o.order_id, o.session_id, o.data) if o else Leader()
            if new.fence != shown.fence:
                shown = new
                yield new


__all__ = ["Candidacy", "Leader", "Resign", "Term", "current", "lead", "observe", "run"]
