"""Staged rollouts: program instances deploy versions, location by location.

    async with rollout.join(session, "web", "host-17", "canary") as member:
        async def bring(target):
            await restart(target.payload)

        await member.run(bring)

Rollouts are created, published and controlled with `signalbox rollout` or the Go client; this module implements the
instance side.
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
#: Backoff before rejoining.
_AGAIN = Backoff(0.05, 5.0)
#: Interval at which an instance with a recreated session asks for its former name.
_OWN_NAME_TRIES = 8

log = logging.getLogger("signalbox")


class Status(enum.IntEnum):
    """An instance's progress with its target."""

    OK = 0
    UPDATING = 1
    FAILED = 2


class TargetSupersededError(SignalboxError):
    """The location has a new target, or none: nothing was reported about the old target."""


class TargetFailedError(Exception):
    """Raise from the deployment function: the target has failed, with an error code that the rollout's spec may list.
    """

    def __init__(self, text: str, code: str = "") -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True, slots=True)
class Target:
    """A version to be deployed by an instance."""

    #: Larger than every earlier target's generation, even if a version returns.
    generation: int
    #: The version number.
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
    """An instance's report."""

    current: int = 0
    generation: int = 0
    status: Status = Status.OK
    code: str = ""
    text: str = ""
    attempts: int = 0

    def record(self) -> tuple[Any, ...]:
        """The report in wire form."""
        return wire.record("InstanceReport", {
            "current": self.current, "generation": self.generation, "status": int(self.status), "code": self.code[:64],
            "text": self.text.encode()[:256].decode(errors="ignore"), "attempts": self.attempts})


class Member:
    """An instance that has joined a rollout, from `join` until `leave` or the session's end.

    Reports are states, not messages: the rollout gets the newest report and role, again after a session with
    `renew=True` was recreated. If a call is cancelled, the member continues in the background.
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
        #: Reason why hosts lack the member's newest state; None if hosts have it.
        self.error: SignalboxError | None = None

    async def open(self) -> Member:
        """Joins the rollout. Called by `async with` and `await`."""
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
        """Reports that the target is deployed. The first report makes the instance a leader, unless the instance is
        manual."""
        def change() -> Report:
            self._retry = 0
            if not self._first:
                self._first = self._leader = True
            return Report(target.seq, target.generation, Status.OK, attempts=self._failed + 1)

        await self._report(target, change)

    async def updating(self, target: Target) -> None:
        """Reports that the instance works on the target."""
        await self._report(target, lambda: Report(self._wanted.current, target.generation, Status.UPDATING,
                                                  attempts=self._failed + 1))

    async def failed(self, target: Target, text: str, code: str = "") -> None:
        """Reports that the target has failed. `targets` yields the target again after a pause."""
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
            raise TargetSupersededError(f"the target of {self.location!r} is no longer generation {target.generation}")
        if target != self._about:
            self._about, self._failed, self._retry = target, 0, 0
        self._wanted = change()
        await self._sync()

    async def lead(self) -> None:
        """Makes the instance a leader: the location reaches a target only after its leaders have."""
        self._first = self._leader = True
        await self._sync()

    async def follow(self) -> None:
        """Makes the instance a follower, which does not count for the location."""
        self._first, self._leader = True, False
        await self._sync()

    async def leave(self) -> None:
        """Leaves the rollout. If no host is reachable, the membership ends with the session."""
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
        """Runs an operation after the session has joined, and repeats the operation if the join turns out to be lost.
        """
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
        """Resends the report after a rejoin only if the report concerns the current target."""
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
        """Reports the deployed version, 0 for none, and returns the location's target. For instances that poll."""
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
        """Sends the wanted state whenever hosts may not have it."""
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
        """Waits until the joined incarnation has ended."""
        if (inc := self._joined) is not None:
            with contextlib.suppress(SignalboxError):
                await inc.wait(inc.core.loop.create_future())

    # What it is to do.

    async def targets(self) -> AsyncIterator[Target]:
        """Yields the location's targets: first the current target unless it is reached, then the newest target after
        each change.

        A failed target is yielded again after a pause, while the location keeps the target. A member can have one such
        loop, or `run`, at a time. The loop continues across lost connections and recreated sessions.
        """
        if self._following:
            raise BadRequestError("a loop already follows the targets of this member")
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
        """Deploys targets until the membership ends, by calling `bring` with each target.

        `bring` is cancelled if the location gets a new target. The target is reached when `bring` returns. If `bring`
        raises an exception, the target has failed, with the code from a `TargetFailedError`, and is retried after a
        pause.
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
    """Joins a location as an instance: `async with rollout.join(...) as member:`.

    The instance begins as a follower, which gets targets and does not block the rollout. The first reached target makes
    the instance a leader, unless it is manual. `instance` must be unique within the rollout. Failed targets are retried
    after a random pause between zero and a limit in seconds, which doubles with each attempt from `backoff_initial` to
    `backoff_max`.
    """
    return Member(session, name, instance, location, attributes, manual, backoff_initial, backoff_max)


__all__ = ["TargetFailedError", "Member", "Report", "Status", "TargetSupersededError", "Target", "join"]
