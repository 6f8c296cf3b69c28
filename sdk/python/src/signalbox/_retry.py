"""Retry rules. The package's only backoff is defined here."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any

from .errors import SignalboxError, Status, TransportError, is_retried

#: Number of consecutive redirects that are followed without a pause.
_MOVES_AT_ONCE = 4
#: Number of consecutive UNAVAILABLE answers with a wait time. After one more, the client looks for another leader.
_WAITS_AT_ONCE = 3
#: Number of retries after BAD_SESSION answers.
_UNKNOWN_TRIES = 8
#: Time in seconds over which requests that waited for a leader are spread.
_SPREAD = 0.05


class Backoff:
    """Random pauses, up to a limit that doubles with each failure."""

    __slots__ = ("first", "most")

    def __init__(self, first: float, most: float) -> None:
        self.first, self.most = first, most

    def pause(self, failures: int) -> float:
        """Returns the pause after the given number of earlier failures."""
        return random.random() * min(self.first * (1 << min(failures, 10)), self.most) + 1e-6


#: Backoff for requests to hosts.
REQUESTS = Backoff(0.025, 1.0)


class News:
    """A recurring event with many waiters."""

    __slots__ = ("count", "_waiting")

    def __init__(self) -> None:
        self.count = 0
        self._waiting: set[asyncio.Future[None]] = set()

    def report(self) -> None:
        """Records an event and wakes all waiters."""
        self.count += 1
        waiting, self._waiting = self._waiting, set()
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def add(self, since: int, future: asyncio.Future[None]) -> Callable[[], None]:
        """Completes a future at the next event after the given count. The returned function cancels the registration.
        """
        if self.count != since and not future.done():
            future.set_result(None)
        self._waiting.add(future)
        return lambda: self._waiting.discard(future)


#: Waits for a future. A session's wait function waits at most until the session ends.
Wait = Callable[["asyncio.Future[None]"], Coroutine[Any, Any, None]]


async def plainly(future: asyncio.Future[None]) -> None:
    """Waits for a future, without other conditions."""
    await future


class Retries:
    """Decides how to proceed with a failed request, across its attempts."""

    __slots__ = ("leaders", "connected", "leader_count", "connected_count", "patience", "tries", "moves", "unknowns",
                 "asked_to_wait")

    def __init__(self, leaders: News, connected: News | None = None) -> None:
        self.leaders, self.connected = leaders, connected
        self.leader_count = self.connected_count = 0
        #: Maximum pause after failing to reach a host; 0 for none.
        self.patience = 0.0
        self.tries = self.moves = self.unknowns = self.asked_to_wait = 0
        self.begin()

    def begin(self) -> None:
        """Starts an attempt: later events end the pause after it."""
        self.leader_count = self.leaders.count
        if self.connected is not None:
            self.connected_count = self.connected.count

    def reset(self) -> None:
        """Resets the counters after a period of success."""
        self.tries = self.moves = self.unknowns = self.asked_to_wait = 0

    def lags(self) -> None:
        """Makes the retry after a MOVED from a lagging host pause. The client asks the owner that it knows, and the
        owner may lag itself."""
        self.moves, self.tries = _MOVES_AT_ONCE, max(self.tries, 1)

    def waits(self, error: SignalboxError) -> bool:
        """True if the host can answer soon, so that the client leaves the routing alone. A host that keeps asking to
        wait may be partitioned from the shard's leader."""
        return error.status == Status.UNAVAILABLE and error.wait > 0 and self.asked_to_wait < _WAITS_AT_ONCE

    def delay(self, error: SignalboxError) -> float | None:
        """Returns the pause before a retry, or None if the error is final."""
        wait: float = 0
        if self.waits(error):
            self.asked_to_wait += 1
        elif not error.wait:
            self.asked_to_wait = 0
        if isinstance(error, TransportError):
            wait = self._next(0)
            if self.patience:
                wait = min(wait, self.patience)
        elif not is_retried(error.status):
            return None
        elif error.status == Status.MOVED:
            self.moves += 1
            return self._next(0) if self.moves > _MOVES_AT_ONCE else 0
        elif error.status != Status.STALE:
            self.tries = max(self.tries, 1)  # a host that answered has just been asked
            wait = self._next(error.wait)
        self.moves = 0
        return wait

    def _next(self, at_least: float) -> float:
        self.tries += 1
        if self.tries == 1:
            return at_least
        return max(at_least, REQUESTS.pause(self.tries - 2))

    def unknown(self) -> bool:
        """Counts a BAD_SESSION answer. Returns False after too many."""
        self.unknowns += 1
        return self.unknowns <= _UNKNOWN_TRIES

    async def again(self, error: SignalboxError, wait: Wait) -> None:
        """Waits until a failed request may be retried. Raises a final error."""
        pause = self.delay(error)
        if pause is None:
            raise error
        if pause <= 0:
            await asyncio.sleep(0)
            return
        loop = asyncio.get_running_loop()
        if not (isinstance(error, TransportError) or error.status == Status.UNAVAILABLE):
            await self._sleep(loop, pause, wait)
            return
        future: asyncio.Future[None] = loop.create_future()
        timer = loop.call_later(pause, _complete, future)
        undo = [self.leaders.add(self.leader_count, future)]
        if self.connected is not None:
            undo.append(self.connected.add(self.connected_count, future))
        try:
            await wait(future)
        finally:
            timer.cancel()
            for f in undo:
                f()
        if self.leaders.count != self.leader_count:
            self.tries = 1
            await self._sleep(loop, random.random() * _SPREAD, wait)

    @staticmethod
    async def _sleep(loop: asyncio.AbstractEventLoop, pause: float, wait: Wait) -> None:
        future: asyncio.Future[None] = loop.create_future()
        timer = loop.call_later(pause, _complete, future)
        try:
            await wait(future)
        finally:
            timer.cancel()


def _complete(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


async def sleep(pause: float, wait: Wait) -> None:
    """Pauses with an operation's wait function."""
    await Retries._sleep(asyncio.get_running_loop(), pause, wait)
