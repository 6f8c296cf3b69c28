"""When clients stop believing in their sessions, also where the event loop stands still.

One timer of the event loop looks at all sessions. Where a session has leases a thread looks too: while user code blocks
the event loop no timer runs, and when the loop goes on the tasks that were ready run before timers that are late. So
the thread puts the look in front of all that waits to run. It looks once a second at the latest, because timers and
waits stand still while the machine is suspended, and leases do not.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import threading
from collections import deque
from typing import Protocol

from . import _clock

#: Deadlines that are this near are looked at together.
_GRAIN = 0.05
#: How much later than the timer the thread looks.
_LATER = 0.002


class Mortal(Protocol):
    """A session, as its deadlines see it."""

    @property
    def cause(self) -> BaseException | None:
        """Why it is over; None while it is not."""

    def deadline(self) -> float:
        """When the client gives the session up."""

    def alive(self) -> bool:
        """Whether the session can be counted on, by the clock of this moment. It is ended if not."""


class Deadlines:
    """The deadlines of a client's sessions. The fields are the event loop's, but for those that the thread reads."""

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
        """Looks at a session at its deadline, and again at each later one, until it is over."""
        if len(self._heap) >= self._purge_at:
            self._heap = [entry for entry in self._heap if entry[2].cause is None]
            heapq.heapify(self._heap)
            self._purge_at = 2 * len(self._heap) + 64
        heapq.heappush(self._heap, (session.deadline(), next(self._order), session))
        self._arm()

    def check(self) -> None:
        """Ends the sessions whose deadline has passed."""
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
        """Starts the thread: there are leases from now on."""
        if self._thread is None and not self._closed:
            self._thread = threading.Thread(target=self._run, name="signalbox-leases", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Ends the looking."""
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
                # The wait is bounded, so that the thread ends with a loop that was closed and not this client.
                self._changed.wait(min(at + _LATER - now, 1.0))

    def _interrupt(self) -> None:
        ready = getattr(self.loop, "_ready", None)
        try:
            if isinstance(ready, deque):  # the event loops of asyncio run from its left end
                ready.appendleft(asyncio.Handle(self.check, (), self.loop, None))
            self.loop.call_soon_threadsafe(self.check)
        except RuntimeError:
            self._closed = True  # the loop is closed
