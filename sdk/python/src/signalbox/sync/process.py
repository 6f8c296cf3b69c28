"""Coordination processes for programs without asyncio; see `signalbox.process`.

    with process.join(session, "rebalance", Rebalance()) as member:
        print(member.result().payload)
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from .. import process as _process
from ..errors import BadRequestError, SignalboxError
from ..process import CancelledError, MemberFailedError, ReplyTimeoutError, EvictedError, Reply, Request, Result, Spec
from . import Session
from ._thread import Loop

T = TypeVar("T")


class Handler:
    """A member's callbacks. Methods are called one at a time in the member's thread, in the order of arrival; only
    `coordinate` runs concurrently, in a second thread. Threads cannot be cancelled: long methods must check
    `round.done`, because the member waits until the method returns."""

    def prepare(self, round: Round) -> None:
        """Called when an epoch opens. The round begins after all members have returned. An exception abandons the
        round."""

    def coordinate(self, round: Round) -> bytes:
        """Called on the coordinator after all members have prepared. The return value completes the round."""
        raise NotImplementedError

    def request(self, round: Round, request: Request) -> bytes:
        """Called for each request. The return value is the reply; an exception is sent as a failure with its text."""
        raise BadRequestError("this member handles no requests")

    def complete(self, round: Round, result: Result) -> None:
        """Called after the coordinator has completed the round."""

    def cancel(self, round: Round) -> None:
        """Called after a prepared round has ended without completion. Stop all work for the round here."""

    def terminate(self) -> None:
        """Called after the membership has ended."""


class Round:
    """An epoch, as seen by a member; see `signalbox.process.Round`."""

    def __init__(self, owner: Loop, round: _process.Round) -> None:
        self._loop, self._round = owner, round
        self.epoch, self.coordinator, self.size = round.epoch, round.coordinator, round.size

    @property
    def id(self) -> int:
        """This member's id."""
        return self._round.id

    @property
    def done(self) -> bool:
        """True if the epoch has ended, as far as this member knows."""
        return self._round._over.done()

    def broadcast(
        self, payload: bytes, *, to: Sequence[int] | None = None, others: bool = False, timeout: float = 0,
    ) -> tuple[Reply, ...]:
        """Sends a request to all members, or to the given members, and waits for all replies."""
        return self._loop.run(self._round.broadcast(payload, to=to, others=others, timeout=timeout))

    def send(self, member: int, payload: bytes, *, timeout: float = 0) -> bytes:
        """Sends a request to one member, and returns the reply."""
        return self._loop.run(self._round.send(member, payload, timeout=timeout))


class _Observer(_process.Handler):
    """Calls a handler in two threads: one for ordered calls, one for `coordinate`."""

    def __init__(self, owner: Loop, handler: Handler) -> None:
        self._loop, self._handler = owner, handler
        self._threads = ThreadPoolExecutor(2, "signalbox-member")

    async def _call(self, call: Callable[[], T]) -> T:
        work = asyncio.get_running_loop().run_in_executor(self._threads, call)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            await asyncio.wait({work})  # it holds the member up
            raise

    async def prepare(self, round: _process.Round) -> None:
        await self._call(lambda: self._handler.prepare(Round(self._loop, round)))

    async def request(self, round: _process.Round, request: Request) -> bytes:
        return await self._call(lambda: self._handler.request(Round(self._loop, round), request))

    async def complete(self, round: _process.Round, result: Result) -> None:
        await self._call(lambda: self._handler.complete(Round(self._loop, round), result))

    async def cancel(self, round: _process.Round) -> None:
        await self._call(lambda: self._handler.cancel(Round(self._loop, round)))

    async def terminate(self) -> None:
        await self._call(self._handler.terminate)


class _Candidate(_Observer):
    """A caller for handlers that can coordinate."""

    async def coordinate(self, round: _process.Round) -> bytes:
        return await self._call(lambda: self._handler.coordinate(Round(self._loop, round)))


class Member:
    """A session that has joined a process, from `join` until `leave`; see `signalbox.process.Member`."""

    def __init__(self, owner: Loop, member: _process.Member) -> None:
        self._loop, self._member, self.name = owner, member, member.name

    @property
    def id(self) -> int:
        """Member id, 0 while the member rejoins."""
        return self._member.id

    @property
    def error(self) -> SignalboxError | None:
        """Why the session is not a member; None while the session is joined."""
        return self._member.error

    def result(self) -> Result:
        """Waits until a round with this member is complete, and returns the newest result."""
        return self._loop.run(self._member.result())

    def leave(self) -> None:
        """Ends the membership. If no host is reachable, the membership ends with the session."""
        self._loop.run(self._member.leave())

    def __enter__(self) -> Member:
        return self

    def __exit__(self, *exc: object) -> None:
        self.leave()


def join(
    session: Session, name: str, handler: Handler, *, member: str = "", attributes: bytes = b"",
    spec: Spec | None = None, observer: bool = False, create: bool = True,
) -> Member:
    """Joins a process; see `signalbox.process.join`."""
    coordinates = type(handler).coordinate is not Handler.coordinate
    called = (_Candidate if coordinates else _Observer)(session._loop, handler)
    joined = _process.join(session._session, name, called, member=member, attributes=attributes, spec=spec,
                           observer=observer, create=create)
    return Member(session._loop, session._loop.run(joined.open(), _process.Member.leave))


__all__ = [
    "CancelledError", "MemberFailedError", "Handler", "ReplyTimeoutError", "Member", "EvictedError", "Reply", "Request",
    "Result", "Round", "Spec", "join",
]
