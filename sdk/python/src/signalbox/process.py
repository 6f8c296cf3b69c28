"""Coordination processes: members work together in rounds, led by a coordinator.

    class Rebalance(process.Handler):
        async def coordinate(self, round):
            await round.broadcast(b"stop")
            await round.broadcast(b"start")
            return b"done"

        async def request(self, round, request):
            return await self.obey(request.payload)

    async with process.join(session, "rebalance", Rebalance()) as member:
        result = await member.result()

Payloads are bytes; members in different languages must agree on the encoding.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Awaitable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

from . import _wire as wire
from ._inbox import Inbox, Part, EvictedError
from ._incarnation import Incarnation
from ._retry import REQUESTS, Backoff
from ._session import Session
from .errors import (
    AlreadyExistsError, BadRequestError, SignalboxError, FencedError, InternalError, NotHeldError,
    PreconditionFailedError, SessionLostError, UnauthorizedError, UnsupportedError,
)

_SEND, _REPLY, _COMPLETE, _COMPLETE_ACK, _FAIL, _PREPARE_ACK, _JOIN, _LEAVE = 165, 166, 167, 168, 169, 164, 162, 163
_MEMBERS, _ALL, _OTHERS = 0, 1, 2
_LATE, _CANCELLED = 2, 3
#: Backoff before rejoining.
_AGAIN = Backoff(0.05, 5.0)

log = logging.getLogger("signalbox")


class CancelledError(SignalboxError):
    """The epoch has ended: a member joined or left, or the round was abandoned. `replies` contains the replies so far.
    """

    def __init__(self, text: str, replies: Sequence[Reply] = ()) -> None:
        super().__init__(text)
        self.replies = tuple(replies)


class ReplyTimeoutError(CancelledError):
    """Some members did not reply in time; `missed` contains the first member ids. The round continues."""

    def __init__(self, text: str, replies: Sequence[Reply], missed: Sequence[int]) -> None:
        super().__init__(text, replies)
        self.missed = tuple(missed)


class MemberFailedError(CancelledError):
    """All members have replied, and some replied with a failure."""


@dataclass(frozen=True, slots=True)
class Spec:
    """Process settings. Zero fields use the default; times are in seconds."""

    #: Quiet time before the next epoch opens, and maximum wait for the quiet time.
    open_delay: float = 0
    max_open_delay: float = 0
    min_members: int = 0
    #: Time limit for members to prepare and to reply; 0 for no limit.
    reply_timeout: float = 0
    #: Action for late members: 0 waits for them, 1 removes them, 2 ends the exchange without their replies.
    on_timeout: int = 0
    max_payload_bytes: int = 0
    keep_results: int = 0

    def record(self) -> tuple[Any, ...]:
        """The spec in wire form."""
        return wire.record("ProcessSpec", {
            "open_delay_ms": round(self.open_delay * 1000), "max_open_delay_ms": round(self.max_open_delay * 1000),
            "min_members": self.min_members, "reply_timeout_ms": round(self.reply_timeout * 1000),
            "on_timeout": self.on_timeout, "payload_bytes": self.max_payload_bytes, "keep_results": self.keep_results})


@dataclass(frozen=True, slots=True)
class Request:
    """A request to a member."""

    sender: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """A member's reply."""

    sender: int
    payload: bytes
    #: The member's failure text; empty on success.
    error: str


@dataclass(frozen=True, slots=True)
class Result:
    """A completed round's result, set by the coordinator."""

    epoch: int
    payload: bytes


class Handler:
    """A member's callbacks. Methods are called one at a time, in the order of arrival; only `coordinate` runs
    concurrently with other methods. Methods for a round are cancelled when its epoch ends."""

    async def prepare(self, round: Round) -> None:
        """Called when an epoch opens. The round begins after all members have returned. An exception abandons the
        round."""

    async def coordinate(self, round: Round) -> bytes:
        """Called on the coordinator after all members have prepared. The return value completes the round."""
        raise NotImplementedError

    async def request(self, round: Round, request: Request) -> bytes:
        """Called for each request. The return value is the reply; an exception is sent as a failure with its text."""
        raise BadRequestError("this member handles no requests")

    async def complete(self, round: Round, result: Result) -> None:
        """Called after the coordinator has completed the round."""

    async def cancel(self, round: Round) -> None:
        """Called after a prepared round has ended without completion. Stop all work for the round here."""

    async def terminate(self) -> None:
        """Called after the membership has ended."""


class Round:
    """An epoch, as seen by a member."""

    def __init__(self, member: Member, part: Part[Round], item: dict[str, Any]) -> None:
        self._member, self._part = member, part
        #: The round's fencing token: larger than in every earlier epoch.
        self.epoch: int = item["epoch"]
        self.coordinator: int = item["coordinator"]
        #: Number of members in the epoch.
        self.size: int = item["members"]
        self._prepared = asyncio.Event()
        self._completed = asyncio.Event()
        self._over: asyncio.Future[None] = part.inc.core.loop.create_future()
        self._task: asyncio.Task[Any] | None = None

    @property
    def id(self) -> int:
        """This member's id."""
        return self._part.id

    @property
    def done(self) -> bool:
        """True if the epoch has ended for this member, by the current clock."""
        return self._over.done() or not self._part.inc.alive()

    async def broadcast(
        self, payload: bytes, *, to: Sequence[int] | None = None, others: bool = False, timeout: float = 0,
    ) -> tuple[Reply, ...]:
        """Sends a request to all members, or to the given members, and waits for all replies.

        Either all receivers get the request, exactly once, or none. `others` excludes the sender. Raises
        `ReplyTimeoutError` after the timeout, `MemberFailedError` if some members failed, and `CancelledError` if the
        epoch has ended; all contain the replies so far.
        """
        audience = _MEMBERS if to is not None else _OTHERS if others else _ALL
        ids = [i for i in to or () if not (others and i == self.id)]
        if to is not None and not ids or to is None and others and self.size == 1:
            return ()
        await self._until(self._prepared.wait())
        tries = 0
        while True:
            try:
                body = (audience, ids, payload, round(timeout * 1000))
                done = await self._until(self._part.command(_SEND, self.epoch, body, self._part.sent, impatient=True))
                break
            except PreconditionFailedError:  # not all members are prepared
                await self._until(asyncio.sleep(REQUESTS.pause(tries)))
                tries += 1
            except FencedError:
                if self._completed.is_set():
                    raise
                await self._until(self._completed.wait())
        end = await self._until(self._part.ending(done))
        replies = tuple(Reply(r["from"], b"" if r["failed"] else r["data"],
                              r["data"].decode(errors="replace") if r["failed"] else "") for r in end.replies)
        if end.outcome == _LATE:
            raise ReplyTimeoutError(f"{end.missing} members did not reply in time", replies, end.missed)
        if end.outcome == _CANCELLED:
            raise CancelledError("the epoch has ended", replies)
        if failed := [r for r in replies if r.error]:
            raise MemberFailedError(f"{len(failed)} members failed, the first: {failed[0].error}", replies)
        return replies

    async def send(self, member: int, payload: bytes, *, timeout: float = 0) -> bytes:
        """Sends a request to one member, and returns the reply."""
        return (await self.broadcast(payload, to=[member], timeout=timeout))[0].payload

    async def _until(self, work: Awaitable[Any]) -> Any:
        """Awaits work, at most until the epoch ends."""
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait({task, self._over}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise CancelledError("the epoch has ended")
            return task.result()
        finally:
            task.cancel()

    def end(self) -> None:
        """Called when the epoch has ended."""
        if not self._over.done():
            self._over.set_result(None)
        if self._task is not None:
            self._task.cancel()


class Member:
    """A session that has joined a process, from `join` until `leave`, removal, or the session's end."""

    def __init__(
        self, session: Session, name: str, handler: Handler, member: str, attributes: bytes, spec: Spec | None,
        observer: bool, create: bool,
    ) -> None:
        self._session, self.name, self._handler = session, name, handler
        candidate = not observer and type(handler).coordinate is not Handler.coordinate
        known_by = member or socket.gethostname() or "member"
        self._join = known_by, attributes, candidate, create, (spec or Spec()).record()
        self._part: Part[Round] | None = None
        self._current: Round | None = None
        self._coordinating: asyncio.Task[None] | None = None
        self._result: Result | None = None
        self._first = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._leaving = False
        #: Why the session is not a member; None while the session is joined.
        self.error: SignalboxError | None = None

    async def open(self) -> Member:
        """Joins the process. Called by `async with` and `await`."""
        part = await self._joined()
        self._task = self._session._core.spawn(self._run(part))
        return self

    def __await__(self) -> Generator[Any, None, Member]:
        return self.open().__await__()

    async def __aenter__(self) -> Member:
        return await self.open()

    async def __aexit__(self, *exc: object) -> None:
        await self.leave()

    @property
    def id(self) -> int:
        """Member id, 0 while the member rejoins."""
        return self._part.id if self._part is not None else 0

    async def result(self) -> Result:
        """Waits until a round with this member is complete, and returns the newest result."""
        task = self._task
        waiting = asyncio.ensure_future(self._first.wait())
        try:
            both: list[asyncio.Future[Any]] = [waiting] if task is None else [waiting, task]
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if self._result is None:
            raise self.error or NotHeldError("the membership has ended")
        return self._result

    async def leave(self) -> None:
        """Ends the membership. If no host is reachable, the membership ends with the session."""
        part, self._leaving = self._part, True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if part is not None and part.inc.cause is None:
            part.close()
            with contextlib.suppress(TimeoutError, SignalboxError):
                async with asyncio.timeout(1):
                    await part.inc.change(self.name, _LEAVE, (part.id,))

    async def _joined(self) -> Part[Round]:
        inc: Incarnation = await self._session.incarnation()
        if inc.inboxes is None:
            inc.inboxes = {}
        if self.name in inc.inboxes:
            raise AlreadyExistsError(f"the session is already a member of {self.name!r}")
        part = Part(inc, self.name, self._early)
        inbox = inc.inboxes[self.name] = Inbox(part)
        try:
            id = await inc.change(self.name, _JOIN, self._join, lambda raw: wire.uint_of(raw, 4))
        except BaseException as e:
            part.close()
            if isinstance(e, asyncio.CancelledError) and inc.cause is None:
                # It may have joined: it joins again to learn its id, and leaves.
                inc.core.spawn(self._undo(inc))
            raise
        self._part, self.error = part, None
        part.begin(id, inbox)
        return part

    async def _undo(self, inc: Incarnation) -> None:
        with contextlib.suppress(SignalboxError):
            id = await inc.change(self.name, _JOIN, self._join, lambda raw: wire.uint_of(raw, 4))
            await inc.change(self.name, _LEAVE, (id,))

    async def _run(self, part: Part[Round]) -> None:
        failures = 0
        while True:
            try:
                await self._handle_all(part)
            finally:
                part.close()
                self._part = None
                await self._over()
            self.error = part.removed or (SessionLostError(part.inc.id) if part.inc.cause is None else part.inc.lost())
            if part.removed is not None or self._leaving:
                return
            while True:
                try:
                    part = await self._joined()
                    failures = 0
                    break
                except (BadRequestError, UnauthorizedError, UnsupportedError, InternalError) as e:
                    self.error = e
                    return
                except SignalboxError as e:
                    self.error = e
                    if self._session.error is not None:
                        return
                    await asyncio.sleep(_AGAIN.pause(failures))
                    failures += 1

    def _early(self, part: Part[Round], item: dict[str, Any]) -> Round | None:
        """Handles an arriving item early. If the item ends a round, the round ends at once, even if earlier items are
        still being handled."""
        newest: Round | None = part.newest
        kind, epoch = item["kind"], item["epoch"]
        if kind in (1, 6) and newest is not None and newest.epoch <= (epoch if kind == 6 else epoch - 1):
            newest.end()
        if kind == 1:
            part.newest = newest = Round(self, part, item)
        if kind == 5 and newest is not None and newest.epoch == epoch:
            newest._completed.set()
        return newest if newest is not None and newest.epoch == epoch else None

    async def _handle_all(self, part: Part[Round]) -> None:
        while True:
            found = await part.next()
            if found is None:
                return
            item, r = found
            kind = item["kind"]
            if kind == 6:
                if self._current is not None and self._current.epoch <= item["epoch"]:
                    await self._cancel()
            elif r is None:
                pass  # of an epoch that the member was not prepared for
            elif kind == 1:
                await self._prepare(part, r)
            elif r is not self._current or r._over.done() and kind != 5:
                pass  # it is over
            elif kind == 2:
                self._coordinating = asyncio.ensure_future(self._coordinate(part, r))
            elif kind == 3:
                await self._process(part, r, item)
            elif kind == 5:
                await self._complete(part, r, item)
            part.handled(item)

    async def _call(self, r: Round, work: Awaitable[Any]) -> tuple[Any, BaseException | None]:
        """Calls a handler method, at most until the epoch ends."""
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait({task, r._over}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not task.done():
                task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        if task.cancelled():
            return None, CancelledError("the epoch has ended")
        error = task.exception()
        if error is not None and not isinstance(error, SignalboxError):
            log.debug("a handler for the process %r failed", self.name, exc_info=error)
        return (task.result() if error is None else None), error

    async def _prepare(self, part: Part[Round], r: Round) -> None:
        await self._cancel()
        if r._over.done():
            return
        self._current = r
        _, error = await self._call(r, self._handler.prepare(r))
        if r._over.done():
            return
        if error is not None:
            part.post(_FAIL, r.epoch, (_text(error),))
            return
        part.post(_PREPARE_ACK, r.epoch, (), r._prepared.set)

    async def _coordinate(self, part: Part[Round], r: Round) -> None:
        result, error = await self._call(r, self._handler.coordinate(r))
        if r._over.done():
            return
        if error is None and not isinstance(result, bytes):
            error = BadRequestError(f"coordinate must return bytes, not {type(result).__name__}")
        if error is None:
            try:
                await part.command(_COMPLETE, r.epoch, (result,))
                return
            except BadRequestError as e:
                error = e
            except SignalboxError:
                return  # what a host refuses comes too late; the inbox says what goes on
        part.post(_FAIL, r.epoch, (_text(error),))

    async def _process(self, part: Part[Round], r: Round, item: dict[str, Any]) -> None:
        request = Request(item["from"], item["payload"])
        reply, error = await self._call(r, self._handler.request(r, request))
        if r._over.done():
            return
        if error is None and not isinstance(reply, bytes):
            error = BadRequestError(f"request must return bytes, not {type(reply).__name__}")
        body = (item["exchange"], error is not None, _text(error).encode() if error is not None else reply)
        part.post(_REPLY, r.epoch, body)

    async def _complete(self, part: Part[Round], r: Round, item: dict[str, Any]) -> None:
        if self._coordinating is not None:
            await asyncio.gather(self._coordinating, return_exceptions=True)
            self._coordinating = None
        self._current = None
        result = Result(item["epoch"], item["payload"])
        await self._guard(self._handler.complete(r, result))
        self._result = result
        self._first.set()
        part.post(_COMPLETE_ACK, r.epoch, ())

    async def _cancel(self) -> None:
        """Cancels the prepared, incomplete round, if there is one."""
        r, self._current = self._current, None
        if r is None:
            return
        r.end()
        if self._coordinating is not None:
            await asyncio.gather(self._coordinating, return_exceptions=True)
            self._coordinating = None
        await self._guard(self._handler.cancel(r))

    async def _over(self) -> None:
        await self._cancel()
        await self._guard(self._handler.terminate())

    async def _guard(self, work: Awaitable[None]) -> None:
        try:
            await work
        except Exception:
            log.exception("a handler for the process %r failed", self.name)


def _text(error: BaseException) -> str:
    text = str(error) or type(error).__name__
    return text.encode()[:1024].decode(errors="ignore")


def join(
    session: Session, name: str, handler: Handler, *, member: str = "", attributes: bytes = b"",
    spec: Spec | None = None, observer: bool = False, create: bool = True,
) -> Member:
    """Joins a process: `async with process.join(session, "rebalance", handler) as member:`.

    A missing process is created from the spec. `member` is the member name shown to people; default: the machine's
    name. Observers never coordinate, and neither do handlers without `coordinate`. A session is one member of a
    process. With `renew=True`, the member rejoins after its session is recreated.
    """
    return Member(session, name, handler, member, attributes, spec, observer, create)


__all__ = [
    "CancelledError", "MemberFailedError", "Handler", "ReplyTimeoutError", "Member", "EvictedError", "Reply", "Request",
    "Result", "Round", "Spec", "join",
]
