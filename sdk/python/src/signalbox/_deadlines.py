"""Session deadlines, kept even if the event loop is blocked.

A timer on the event loop checks all sessions. If leases exist, a thread checks too: while user code blocks the event
loop, timers do not run, and afterwards ready tasks run before late timers. So the thread queues the check before all
waiting tasks. It checks at least once a second, because timers and waits pause while the machine is suspended, and
leases do not.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import threading
from collections import deque
from collections.abc import Callable
from typing import Protocol

from . import _clock

#: Deadlines within this time are checked together.
_GRAIN = 0.05
#: Delay of the thread's check after the timer.
_LATER = 0.002


def run_first(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
    """Calls a function on a blocked event loop before all waiting tasks, if the loop allows that. It may be called
    twice."""
    ready = getattr(loop, "_ready", None)
    if isinstance(ready, deque):  # the event loops of asyncio run from its left end
        ready.appendleft(asyncio.Handle(callback, (), loop, None))
    loop.call_soon_threadsafe(callback)


class Mortal(Protocol):
    """A session, as seen by its deadlines."""

    @property
    def cause(self) -> BaseException | None:
        """Reason for the end; None while the session is alive."""

    def deadline(self) -> float:
        """Time at which the client gives the session up."""

    def alive(self) -> bool:
        """True if the session is alive by the current clock. Ends an overdue session."""


class Deadlines:
    """The deadlines of a client's sessions. Fields belong to the event loop, except for those read by the thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._heap: list[tuple[float, int, Mortal]] = []
        self._order = itertools.count()
        self._purge_at = 64  # so many entries; those of sessions that are over are removed then
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = float("inf")
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._thread_until = float("inf")  # of the thread: when it wakes
        self._closed = False

    def add(self, session: Mortal) -> None:
        """Checks a session at each of its deadlines until the session has ended."""
        if len(self._heap) >= self._purge_at:
            self._heap = [entry for entry in self._heap if entry[2].cause is None]
            heapq.heapify(self._heap)
            self._purge_at = 2 * len(self._heap) + 64
        heapq.heappush(self._heap, (session.deadline(), next(self._order), session))
        self._arm()

    def check(self) -> None:
        """Ends all overdue sessions."""
        now = _clock.now()
        later = []
        while self._heap and self._heap[0][0] <= now + _GRAIN:
            session = heapq.heappop(self._heap)[2]
            if session.alive():
                later.append(session)
        for session in later:
            heapq.heappush(self._heap, (session.deadline(), next(self._order), session))
        self._arm()

    def _arm(self) -> None:
        at = self._heap[0][0] if self._heap else float("inf")
        if at == self._timer_at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_at = None, at
        if self._heap and not self._closed:
            self._timer = self.loop.call_later(max(at - _clock.now(), 0), self._fire)
        if at < self._thread_until and self._thread is not None:
            with self._changed:
                self._changed.notify()

    def _fire(self) -> None:
        self._timer_at = float("inf")
        self.check()

    def watch(self) -> None:
        """Starts the thread, once leases exist."""
        if self._thread is None and not self._closed:
            self._thread = threading.Thread(target=self._run, name="signalbox-leases", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stops all checks."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        with self._changed:
            self._changed.notify()

    def _run(self) -> None:
        with self._changed:
            while not self._closed and not self.loop.is_closed():
                at, now = self._timer_at, _clock.now()
                if at + _LATER <= now:
                    self._interrupt()
                    at = now + _GRAIN
                self._thread_until = at
                # The wait is limited, so that the thread ends if the loop was closed without closing the client.
                self._changed.wait(min(at + _LATER - now, 1.0))

    def _interrupt(self) -> None:
        try:
            run_first(self.loop, self.check)
        except RuntimeError:
            self._closed = True  # the loop is closed
