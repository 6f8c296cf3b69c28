"""A one-shot watch, from the description to the single reported change."""

from __future__ import annotations

import asyncio
from typing import Any

from . import _wire as wire
from ._conn import Connection
from ._incarnation import Incarnation
from .errors import TransportError, refused

SEMAPHORE_DESCRIBE, _WATCH_CHANGED = 29, 115


class Change:
    """A one-shot watch's report. If both flags are false, a change may have been missed: describe again."""

    __slots__ = ("data", "owners")

    def __init__(self, data: bool, owners: bool) -> None:
        #: The data or the limit has changed.
        self.data = data
        #: An owner was added, removed or changed.
        self.owners = owners

    def __repr__(self) -> str:
        return f"Change(data={self.data}, owners={self.owners})"


class Notice:
    """Waits for the description, then for the change."""

    __slots__ = ("session", "conn", "request", "described", "changed")

    def __init__(self, session: Incarnation, conn: Connection) -> None:
        self.session, self.conn = session, conn
        self.described: asyncio.Future[dict[str, Any]] = session.core.loop.create_future()
        self.changed: asyncio.Future[Change] = session.core.loop.create_future()
        self.request = 0

    async def describe(self, body: tuple[Any, ...]) -> dict[str, Any]:
        """Describes the semaphore and leaves a watch."""
        self.request = self.conn.send(self, SEMAPHORE_DESCRIBE, body)
        try:
            await self.session.wait(self.described)
        except BaseException:
            self.conn.forget(self.request)
            self._remove()
            raise
        return self.described.result()

    def answered(self, conn: Connection, raw: list[Any]) -> bool:
        if raw[0] == _WATCH_CHANGED:
            a = wire.fields(raw)
            self.notify(a["data"], a["owners"])
            return False
        error = refused(raw)
        if self.described.done():
            return False
        if error is not None:
            self.described.set_exception(error)
            return False
        a = wire.fields(raw)
        self.described.set_result(a)
        if self.session.notices is None:
            self.session.notices = set()
        self.session.notices.add(self)
        if not a["watch_added"]:
            self.notify(False, False)
        return bool(a["watch_added"])

    def lost(self, conn: Connection, error: TransportError) -> None:
        if not self.described.done():
            self.described.set_exception(error)
        else:
            self.notify(False, False)

    def _remove(self) -> None:
        if self.session.notices is not None:
            self.session.notices.discard(self)

    def notify(self, data: bool, owners: bool) -> None:
        """Reports the change, once."""
        self._remove()
        if not self.changed.done():
            self.changed.set_result(Change(data, owners))
            self.conn.forget(self.request)
