"""The event loop thread for `signalbox.sync`, and how threads wait for its results."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Generic, TypeVar

from ..errors import BadRequestError, ForkedProcessError, NotHeldError

T = TypeVar("T")
U = TypeVar("U")


class Loop:
    """An event loop in a separate thread, shared by all `signalbox.sync` clients."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.pid = os.getpid()
        self._thread = threading.Thread(target=self._run, name="signalbox", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def run(self, work: Coroutine[Any, Any, T], undo: Callable[[T], Awaitable[None]] | None = None) -> T:
        """Runs a coroutine on the event loop and waits for the result.

        If the waiting thread is interrupted, the coroutine is cancelled; if a result arrives regardless, the result is
        undone.
        """
        if os.getpid() != self.pid:
            work.close()
            raise ForkedProcessError(
                "the client was created before a fork, in the parent process: connect again in this process")
        if threading.current_thread() is self._thread:
            work.close()
            raise BadRequestError("a callback must not call signalbox.sync, because it runs on its event loop")
        guard, abandoned, delivered = threading.Lock(), False, False

        async def guarded() -> T:
            nonlocal delivered
            result = await work
            with guard:
                delivered = not abandoned
            if not delivered and undo is not None:
                await undo(result)
            return result

        future = asyncio.run_coroutine_threadsafe(guarded(), self.loop)
        try:
            return future.result()
        except BaseException:
            if not future.done() or future.cancelled():
                with guard:
                    abandoned = not delivered
                if abandoned:
                    future.cancel()
                elif undo is not None:
                    self.loop.call_soon_threadsafe(self._undo, undo, future)
            raise

    def _undo(self, undo: Callable[[T], Awaitable[None]], future: Any) -> None:
        async def work() -> None:
            await undo(future.result(0))

        self._kept = self.loop.create_task(work())


_current: Loop | None = None
_starting = threading.Lock()


def loop() -> Loop:
    """Returns this process's event loop."""
    global _current
    with _starting:
        if _current is None or _current.pid != os.getpid():
            _current = Loop()
        return _current


class Block(Generic[T, U]):
    """An asynchronous block used by a thread: entered with `with`, or with `acquire` and `release`.

    A single task enters and leaves the block. If the block is cancelled after a lease loss, the thread continues, and
    gets the exception on leaving.
    """

    def __init__(
        self, owner: Loop, make: Callable[[], AbstractAsyncContextManager[T]], wrap: Callable[[T], U],
    ) -> None:
        self._loop, self._make, self._wrap = owner, make, wrap
        self._held: dict[int, list[_Holding[T]]] = {}

    def acquire(self) -> U:
        """Enters the block. Leave with `release`."""
        holding: _Holding[T] = _Holding()
        value = self._loop.run(holding.enter(self._make()), holding.undo)
        self._held.setdefault(threading.get_ident(), []).append(holding)
        return self._wrap(value)

    def release(self) -> None:
        """Leaves the block. A different thread may leave it than entered."""
        self._leave(None)

    def _leave(self, exc: BaseException | None) -> None:
        thread = threading.get_ident()
        if thread not in self._held and len(self._held) == 1:
            thread = next(iter(self._held))
        if thread not in self._held:
            raise NotHeldError("not held: released before, or never acquired")
        holding = self._held[thread].pop()
        if not self._held[thread]:
            del self._held[thread]
        self._loop.run(holding.leave(exc))

    def __enter__(self) -> U:
        return self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None,
    ) -> None:
        if exc is not None and not isinstance(exc, Exception):
            # An interrupt is the thread's own: an event loop that meets one ends.
            with contextlib.suppress(Exception):
                self._leave(None)
            return
        try:
            self._leave(exc)
        except BaseException as e:
            if e is not exc:
                raise


class _Holding(Generic[T]):
    """An entered block: its task, and the waiting futures."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None
        self._left: asyncio.Future[BaseException | None] | None = None

    async def enter(self, block: AbstractAsyncContextManager[T]) -> T:
        running = asyncio.get_running_loop()
        entered: asyncio.Future[T] = running.create_future()
        left = self._left = running.create_future()

        async def hold() -> None:
            async with block as value:
                if not entered.done():
                    entered.set_result(value)
                try:
                    exc = await asyncio.shield(left)
                except asyncio.CancelledError:
                    await asyncio.shield(left)
                    raise
                if exc is not None:
                    raise exc

        task = self._task = running.create_task(hold())
        waiting: set[asyncio.Future[Any]] = {task, entered}
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            if entered.done():
                left.set_result(None)
            else:
                task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            raise
        if not entered.done():
            entered.cancel()
            task.result()
            raise RuntimeError("the block ended before it began")
        return entered.result()

    async def undo(self, value: T) -> None:
        with contextlib.suppress(Exception):
            await self.leave(None)

    async def leave(self, exc: BaseException | None) -> None:
        assert self._task is not None and self._left is not None
        if not self._left.done():
            self._left.set_result(exc)
        await self._task


def iterate(
    owner: Loop, make: Callable[[], AsyncIterator[T]], over: asyncio.Event | None = None,
) -> Iterator[T]:
    """Iterates over an asynchronous iterator until it ends or the optional event is set."""
    async def begin() -> AsyncIterator[T]:
        return make()

    async def one(items: AsyncIterator[T]) -> list[T]:
        following = asyncio.ensure_future(items.__anext__())
        waiting: set[asyncio.Future[Any]] = {following}
        if over is not None:
            waiting.add(asyncio.ensure_future(over.wait()))
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            return [following.result()] if following.done() and not (over and over.is_set()) else []
        except StopAsyncIteration:
            return []
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def end(items: Any) -> None:
        closed = items.aclose() if hasattr(items, "aclose") else items.close()
        if closed is not None:
            await closed

    items = owner.run(begin())
    try:
        while found := owner.run(one(items)):
            yield found[0]
    finally:
        if os.getpid() == owner.pid and not owner.loop.is_closed():
            owner.run(end(items))


def close_at_exit(close: Callable[[], None]) -> Callable[[], None]:
    """Registers a function to call at interpreter exit. The returned function cancels the registration."""
    atexit.register(close)
    return lambda: atexit.unregister(close)
