"""Staged rollouts for programs without asyncio; see `signalbox.rollout`.

    with rollout.join(session, "web", "host-17", "canary") as member:
        member.run(lambda target: restart(target.payload))
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator

from .. import rollout as _rollout
from ..errors import SignalboxError
from ..rollout import TargetFailedError, Report, Status, TargetSupersededError, Target
from . import Session
from ._thread import Loop, iterate


class Member:
    """An instance that has joined a rollout, from `join` until `leave`; see `signalbox.rollout.Member`."""

    def __init__(self, owner: Loop, member: _rollout.Member) -> None:
        self._loop, self._member, self._left = owner, member, asyncio.Event()
        self.name, self.instance, self.location = member.name, member.instance, member.location

    @property
    def error(self) -> SignalboxError | None:
        """Reason why hosts lack the member's newest state; None if hosts have it."""
        return self._member.error

    def reached(self, target: Target) -> None:
        """Reports that the target is deployed. The first report makes the instance a leader, unless the instance is
        manual."""
        self._loop.run(self._member.reached(target))

    def updating(self, target: Target) -> None:
        """Reports that the instance works on the target."""
        self._loop.run(self._member.updating(target))

    def failed(self, target: Target, text: str, code: str = "") -> None:
        """Reports that the target has failed. `targets` yields the target again after a pause."""
        self._loop.run(self._member.failed(target, text, code))

    def lead(self) -> None:
        """Makes the instance a leader: the location reaches a target only after its leaders have."""
        self._loop.run(self._member.lead())

    def follow(self) -> None:
        """Makes the instance a follower, which does not count for the location."""
        self._loop.run(self._member.follow())

    def ask(self, current: int) -> Target | None:
        """Reports the deployed version, 0 for none, and returns the location's target. For instances that poll."""
        return self._loop.run(self._member.ask(current))

    def targets(self) -> Iterator[Target]:
        """Yields the location's targets until the member leaves; see `signalbox.rollout.Member.targets`."""
        return iterate(self._loop, self._member.targets, self._left)

    def run(self, bring: Callable[[Target], object]) -> None:
        """Deploys targets until the member leaves, by calling `bring` with each target in this thread.

        Threads cannot be cancelled: if the location gets a new target, `bring` is called with the new target after
        returning. If `bring` raises an exception, the target has failed, with the code from a `TargetFailedError`, and
        is retried after a pause.
        """
        for target in self.targets():
            with contextlib.suppress(SignalboxError):
                self.updating(target)
            try:
                bring(target)
            except Exception as e:
                with contextlib.suppress(SignalboxError):
                    self.failed(target, str(e) or type(e).__name__, getattr(e, "code", ""))
                continue
            with contextlib.suppress(SignalboxError):
                self.reached(target)

    def leave(self) -> None:
        """Leaves the rollout, and ends the loops over its targets in other threads."""
        async def work() -> None:
            self._left.set()
            await self._member.leave()

        self._loop.run(work())

    def __enter__(self) -> Member:
        return self

    def __exit__(self, *exc: object) -> None:
        self.leave()


def join(
    session: Session, name: str, instance: str, location: str, *, attributes: bytes = b"", manual: bool = False,
    backoff_initial: float = 1.0, backoff_max: float = 30.0,
) -> Member:
    """Joins a location as an instance; see `signalbox.rollout.join`."""
    member = _rollout.join(session._session, name, instance, location, attributes=attributes, manual=manual,
                           backoff_initial=backoff_initial, backoff_max=backoff_max)
    return Member(session._loop, session._loop.run(member.open(), _rollout.Member.leave))


__all__ = ["TargetFailedError", "Member", "Report", "Status", "TargetSupersededError", "Target", "join"]
