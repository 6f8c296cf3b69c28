"""Staged rollouts: instances of a program bring versions into use, location by location.

    async with rollout.join(session, "web", "host-17", "canary") as member:
        async def bring(target):
            await restart(target.payload)

        await member.run(bring)

Rollouts are made, published and steered by `signalbox rollout` and the client in Go; this is the part of an instance.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from dataclasses import dataclass, field
from typing import Any

from . import _wire as wire
from ._incarnation import Incarnation
from ._node import Node
from ._retry import REQUESTS, Backoff, sleep
from ._session import Session
from .errors import (
    AlreadyExistsError, BadRequestError, SignalboxError, FencedError, NotFoundError, PreconditionFailedError,
)

_JOIN, _LEAVE, _READY, _REPORT, _POLL = 133, 134, 135, 136, 137
_ROLLOUT = 2
#: The backoff between tries to take part again.
_AGAIN = Backoff(0.05, 5.0)
#: How often an instance whose session was replaced asks for the name that it had.
_OWN_NAME_TRIES = 8

log = logging.getLogger("signalbox")


class Status(enum.IntEnum):
    """How an instance is getting on with its target."""

    OK = 0
    UPDATING = 1
    FAILED = 2


class TargetSupersededError(SignalboxError):
    """The location has another target, or none: nothing is reported about this one."""


class TargetFailedError(Exception):
    """Raised by what brings a target into use: it failed, with a code that the rollout's spec may know."""

    def __init__(self, text: str, code: str = "") -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True, slots=True)
class Target:
    """A version that an instance is to bring into use."""

    #: Larger than those of all targets before, also where the version is one of them.
    generation: int
    #: The number of the version.
    seq: int
    label: str
    payload: bytes
    #: 1 at first, and one more each time that it has failed.
    attempt: int = field(default=1, compare=False)


def _target(record: dict[str, Any]) -> Target | None:
    if not record["generation"]:
        return None
    return Target(record["generation"], record["seq"], record["label"], record["payload"])


@dataclass(frozen=True, slots=True)
class Report:
    """What an instance says of itself."""

    current: int = 0
    generation: int = 0
    status: Status = Status.OK
    code: str = ""
    text: str = ""
    attempts: int = 0

    def record(self) -> tuple[Any, ...]:
        """The report as it is sent."""
        return wire.record("InstanceReport", {
            "current": self.current, "generation": self.generation, "status": int(self.status), "code": self.code[:64],
            "text": self.text.encode()[:256].decode(errors="ignore"), "attempts": self.attempts})


class Member:
    """An instance that has joined a rollout, from `join` until `leave` or the end of its session.

    What it says of itself is a state, not a message: the newest report and role are what the rollout learns, again too,
    after a session with `renew=True` has been replaced. Where a call is cancelled the member goes on by itself.
    """

    def __init__(
        self, session: Session, name: str, instance: str, location: str, attributes: bytes, manual: bool, first: float,
        most: float,
    ) -> None:
        self._session, self.name, self.instance, self.location = session, name, instance, location
        self._attributes, self._backoff = attributes, Backoff(first, most)
        self._sending = asyncio.Lock()
        self._doubt = asyncio.Event()
        self._joined: Incarnation | None = None
        self._ever = False
        self._wanted, self._known = Report(), Report()
        self._leader = self._known_leader = False
        self._about: Target | None = None  # what the report is about
        self._present: Target | None = None  # the newest that the loop has seen
        self._first = manual  # a target was reached, or the role set by hand
        self._failed, self._retry = 0, 0.0
        self._task: asyncio.Task[None] | None = None
        self._following = False
        self._waiting: asyncio.Timeout | None = None  # of the loop
        self._look = False  # the loop is to look at the present target again
        #: Why hosts do not have what the member says at the moment; None where they do.
        self.error: SignalboxError | None = None

    async def open(self) -> Member:
        """Joins; `async with` and `await` do it."""
        await self._send(self._send_wanted)
        self._task = self._session._core.spawn(self._keep())
        return self

    def __await__(self) -> Generator[Any, None, Member]:
        return self.open().__await__()

    async def __aenter__(self) -> Member:
        return await self.open()

    async def __aexit__(self, *exc: object) -> None:
        await self.leave()

    # What it says.

    async def reached(self, target: Target) -> None:
        """Reports that the target is in use. The first time it makes the instance a leader, unless it is manual."""
        def change() -> Report:
            self._retry = 0
            if not self._first:
                self._first = self._leader = True
            return Report(target.seq, target.generation, Status.OK, attempts=self._failed + 1)

        await self._report(target, change)

    async def updating(self, target: Target) -> None:
        """Reports that the instance is working on the target."""
        await self._report(target, lambda: Report(self._wanted.current, target.generation, Status.UPDATING,
                                                  attempts=self._failed + 1))

    async def failed(self, target: Target, text: str, code: str = "") -> None:
        """Reports that the target could not be brought into use. `targets` yields it again, after a pause."""
        def change() -> Report:
            self._retry = time.monotonic() + self._backoff.pause(self._failed)
            self._failed += 1
            if self._waiting is not None:
                self._waiting.reschedule(asyncio.get_running_loop().time() + self._retry - time.monotonic())
            return Report(self._wanted.current, target.generation, Status.FAILED, code, text, self._failed)

        await self._report(target, change)

    async def _report(self, target: Target, change: Callable[[], Report]) -> None:
        newest = max(self._present.generation if self._present else 0, self._wanted.generation if self._about else 0)
        if target.generation < newest:
            raise TargetSupersededError(f"{self.location!r} has another target than generation {target.generation}")
        if target != self._about:
            self._about, self._failed, self._retry = target, 0, 0
        self._wanted = change()
        await self._sync()

    async def lead(self) -> None:
        """Makes the instance a leader: the location reaches a target only when its leaders have."""
        self._first = self._leader = True
        await self._sync()

    async def follow(self) -> None:
        """Makes the instance a follower again: it counts no more."""
        self._first, self._leader = True, False
        await self._sync()

    async def leave(self) -> None:
        """Ends the instance's part. Where no host can be reached it ends with the session."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        inc, self._joined = self._joined, None
        if inc is not None and inc.cause is None:
            with contextlib.suppress(TimeoutError, SignalboxError):
                async with asyncio.timeout(1):
                    await inc.change(self.name, _LEAVE, ())

    async def _sync(self) -> None:
        try:
            await self._send(self._send_wanted)
        except BaseException:
            self._doubt.set()
            raise

    async def _send(self, work: Callable[[Incarnation], Awaitable[Any]]) -> Any:
        """Does something once the session has joined, and again where it turns out that it has not."""
        async with self._sending:
            try:
                inc = await self._session.incarnation()
                try:
                    result = await self._join_and(inc, work)
                except NotFoundError:
                    if self._joined is not inc:
                        raise
                    self._joined = None
                    result = await self._join_and(inc, work)
                self.error = None
                return result
            except SignalboxError as e:
                self.error = e
                raise

    async def _join_and(self, inc: Incarnation, work: Callable[[Incarnation], Awaitable[Any]]) -> Any:
        if self._joined is not inc:
            tries = 0
            while True:
                try:
                    await inc.change(self.name, _JOIN, (self.instance, self.location, self._attributes))
                    break
                except AlreadyExistsError:
                    # The session before this one has ended, and its instance goes within a moment.
                    if not self._ever or tries >= _OWN_NAME_TRIES:
                        raise
                await sleep(REQUESTS.pause(tries), inc.wait)
                tries += 1
            self._joined, self._ever = inc, True
            self._known, self._known_leader = Report(), False
            await self._look_up(inc)
        return await work(inc)

    async def _look_up(self, inc: Incarnation) -> None:
        """After it has joined again a report is sent again only if it is about the very target that there is."""
        if self._about is None:
            return
        current = Report(self._wanted.current)
        try:
            target = await self._ask(inc, current)
        except FencedError:
            return  # it was there all the time, and has reported more
        self._known = current
        if target != self._about:
            self._wanted, self._about = current, None
            # The loop may have taken the present target for the one of the report that is dropped.
            self._look = True
            if self._waiting is not None:
                self._waiting.reschedule(asyncio.get_running_loop().time())

    async def _ask(self, inc: Incarnation, report: Report) -> Target | None:
        for _ in range(5):
            a = await inc.change(self.name, _POLL, (report.record(),), wire.fields)
            if not a["gone"]:
                return _target(a["target"])
        raise PreconditionFailedError("the targets changed faster than they could be read")

    async def ask(self, current: int) -> Target | None:
        """Says which version is in use, 0 for none, and returns the target of the location: for instances that poll."""
        async def work(inc: Incarnation) -> Target | None:
            report = self._wanted if self._wanted.current == current else Report(current)
            if self._about is not None and current == self._about.seq:
                report = Report(current, self._about.generation, Status.OK, attempts=1)
                if not self._first:
                    self._first = self._leader = True
            target = await self._ask(inc, report)
            self._wanted = self._known = report
            if target is not None:
                self._about = target
            await self._send_role(inc)
            return target

        found: Target | None = await self._send(work)
        return found

    async def _send_wanted(self, inc: Incarnation) -> None:
        report = self._wanted
        if report != self._known:
            try:
                await inc.change(self.name, _REPORT, (report.record(),))
                self._known = report
            except (BadRequestError, FencedError):
                self._known = report  # it is not sent again
                raise
            except PreconditionFailedError:
                self._joined = None  # the location was removed: only joining can help
                raise
        await self._send_role(inc)

    async def _send_role(self, inc: Incarnation) -> None:
        leader = self._leader
        if leader != self._known_leader:
            await inc.change(self.name, _READY, (leader,))
            self._known_leader = leader

    async def _keep(self) -> None:
        """Sends what is wanted whenever hosts may not have it."""
        failures = 0
        while True:
            lost = asyncio.ensure_future(self._lost())
            doubt = asyncio.ensure_future(self._doubt.wait())
            try:
                await asyncio.wait({lost, doubt}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                lost.cancel()
                doubt.cancel()
            self._doubt.clear()
            try:
                await self._send(self._send_wanted)
                failures = 0
            except SignalboxError as e:
                if self._session.error is not None:
                    return
                log.debug("rollout %r: %s", self.name, e)
                await asyncio.sleep(_AGAIN.pause(failures))
                failures += 1
                self._doubt.set()

    async def _lost(self) -> None:
        """Waits until the incarnation that has joined is over."""
        if (inc := self._joined) is not None:
            with contextlib.suppress(SignalboxError):
                await inc.wait(inc.core.loop.create_future())

    # What it is to do.

    async def targets(self) -> AsyncIterator[Target]:
        """The targets of the location: the present one first, if it is not reached, then the newest after each change.

        A target that has failed is yielded again, after a pause, for as long as the location has it. A member has one
        such loop, or `run`, at a time. Lost connections and a session that is renewed do not end it.
        """
        if self._following:
            raise BadRequestError("another loop follows the targets of this member")
        self._following = True
        last: Target | None = None
        birth: tuple[int, bool] | None = None
        node = Node(self._session._client, self._session.path)
        try:
            async with node._watch(self.name, False, False, _ROLLOUT, f"location/{self.location}") as views:
                while True:
                    bound = self._retry - time.monotonic() if self._retry and last == self._about else None
                    if self._look:
                        self._look, bound = False, 0
                    try:
                        async with asyncio.timeout(bound if bound is None else max(bound, 0)) as self._waiting:
                            view = await views.__anext__()
                    except TimeoutError:
                        pass
                    except StopAsyncIteration:
                        return
                    else:
                        if birth is not None and (birth[0] != view.birth or birth[1] and not view.exists):
                            self._joined = None  # the instances of the one before are gone with it
                            last = None  # a target of the next one is new, even one with the same numbers
                            self._doubt.set()
                        birth = view.birth, view.exists
                        data = view.data if view.exists else b""
                        self._present = _target(wire.unpack_record("RolloutTarget", data))
                    finally:
                        self._waiting = None
                    target = self._present
                    if target is not None and self._is_due(target, last):
                        last = target
                        attempt = self._failed + 1 if target == self._about else 1
                        self._retry = 0 if target == self._about else self._retry
                        yield Target(target.generation, target.seq, target.label, target.payload, attempt)
        finally:
            self._following = False

    def _is_due(self, target: Target, last: Target | None) -> bool:
        if target != self._about:
            return target != last
        if self._wanted.status is Status.FAILED:
            return not self._retry or self._retry <= time.monotonic()
        return self._wanted.status is not Status.OK and target != last

    async def run(self, bring: Callable[[Target], Awaitable[object]]) -> None:
        """Brings targets into use until the member is over: `bring` is called with each.

        It is cancelled when the location has another target. When it returns the target is reached; when it raises it
        has failed, with the code of a `TargetFailedError`, and is tried again after a pause.
        """
        targets = self.targets()
        work: asyncio.Task[None] | None = None
        try:
            async for target in targets:
                if work is not None and not work.done():
                    work.cancel()
                    await asyncio.gather(work, return_exceptions=True)
                work = asyncio.ensure_future(self._bring(bring, target))
        finally:
            if work is not None:
                work.cancel()
                await asyncio.gather(work, return_exceptions=True)
            closing = getattr(targets, "aclose", None)
            if closing is not None:
                await closing()

    async def _bring(self, bring: Callable[[Target], Awaitable[object]], target: Target) -> None:
        with contextlib.suppress(TargetSupersededError):
            try:
                with contextlib.suppress(SignalboxError):
                    await self.updating(target)
                await bring(target)
            except Exception as e:
                with contextlib.suppress(SignalboxError):
                    await self.failed(target, str(e) or type(e).__name__, getattr(e, "code", ""))
                return
            with contextlib.suppress(SignalboxError):
                await self.reached(target)


def join(
    session: Session, name: str, instance: str, location: str, *, attributes: bytes = b"", manual: bool = False,
    backoff_initial: float = 1.0, backoff_max: float = 30.0,
) -> Member:
    """Lets the session take part as an instance of a location: `async with rollout.join(...) as member:`.

    It begins as a follower, which gets targets and holds nothing up; the first target that it reaches makes it a
    leader, unless it is manual. `instance` is unique among those of the rollout. A target that failed is tried again
    after a random part of a time from `backoff_initial` to `backoff_max`, in seconds, that doubles with each attempt.
    """
    return Member(session, name, instance, location, attributes, manual, backoff_initial, backoff_max)


__all__ = ["TargetFailedError", "Member", "Report", "Status", "TargetSupersededError", "Target", "join"]
