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
    """What a member does. Its methods are called one at a time, in a thread of the member, in the order in which things
    came, but for `coordinate`, which runs beside the others in another. A thread cannot be cancelled: a method looks at
    `round.done` where it takes long, and holds the member up until it returns."""

    def prepare(self, round: Round) -> None:
        """An epoch opens. The round begins when this has returned on all members. An exception gives the round up."""

    def coordinate(self, round: Round) -> bytes:
        """All are prepared, and this member coordinates. What it returns completes the round."""
        raise NotImplementedError

    def request(self, round: Round, request: Request) -> bytes:
        """A request. What is returned is the reply; an exception is a failure, with its text."""
        raise BadRequestError("this member handles no requests")

    def complete(self, round: Round, result: Result) -> None:
        """The coordinator has completed the round."""

    def cancel(self, round: Round) -> None:
        """A round that was begun is over, and was not completed. All that was started for it is to be ended here."""

    def terminate(self) -> None:
        """The membership is over."""


class Round:
    """What happens in one epoch, as one of its members sees it; see `signalbox.process.Round`."""

    def __init__(self, owner: Loop, round: _process.Round) -> None:
        self._loop, self._round = owner, round
        self.epoch, self.coordinator, self.size = round.epoch, round.coordinator, round.size

    @property
    def id(self) -> int:
        """The id of this member."""
        return self._round.id

    @property
    def done(self) -> bool:
        """Whether the epoch is over, as far as this member knows."""
        return self._round._over.done()

    def broadcast(
        self, payload: bytes, *, to: Sequence[int] | None = None, others: bool = False, timeout: float = 0,
    ) -> tuple[Reply, ...]:
        """Sends a request to all members, or to those named, and waits for all replies."""
        return self._loop.run(self._round.broadcast(payload, to=to, others=others, timeout=timeout))

    def send(self, member: int, payload: bytes, *, timeout: float = 0) -> bytes:
        """Sends a request to one member, and returns its reply."""
        return self._loop.run(self._round.send(member, payload, timeout=timeout))


class _Observer(_process.Handler):
    """Calls a handler in threads: one for what comes in order, and one for `coordinate`."""

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
    """The same of a handler that can coordinate."""

    async def coordinate(self, round: _process.Round) -> bytes:
        return await self._call(lambda: self._handler.coordinate(Round(self._loop, round)))


class Member:
    """A session that has joined a process, from `join` until `leave`; see `signalbox.process.Member`."""

    def __init__(self, owner: Loop, member: _process.Member) -> None:
        self._loop, self._member, self.name = owner, member, member.name

    @property
    def id(self) -> int:
        """The id of the member, 0 while it joins again."""
        return self._member.id

    @property
    def error(self) -> SignalboxError | None:
        """Why the session is no member at the moment, or any more; None while it is one."""
        return self._member.error

    def result(self) -> Result:
        """Waits until a round with this member is complete; returns the newest result."""
        return self._loop.run(self._member.result())

    def leave(self) -> None:
        """Ends the membership. Where no host can be reached it ends with the session."""
        self._loop.run(self._member.leave())

    def __enter__(self) -> Member:
        return self

    def __exit__(self, *exc: object) -> None:
        self.leave()


def join(
    session: Session, name: str, handler: Handler, *, member: str = "", attributes: bytes = b"",
    spec: Spec | None = None, observer: bool = False, create: bool = True,
) -> Member:
    """Lets the session take part in a process; see `signalbox.process.join`."""
    coordinates = type(handler).coordinate is not Handler.coordinate
    called = (_Candidate if coordinates else _Observer)(session._loop, handler)
    joined = _process.join(session._session, name, called, member=member, attributes=attributes, spec=spec,
                           observer=observer, create=create)
    return Member(session._loop, session._loop.run(joined.open(), _process.Member.leave))


__all__ = [
    "CancelledError", "MemberFailedError", "Handler", "ReplyTimeoutError", "Member", "EvictedError", "Reply", "Request",
    "Result", "Round", "Spec", "join",
]
