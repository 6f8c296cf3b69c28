"""Session start."""

from __future__ import annotations

import asyncio
from typing import Any

from . import _clock
from . import _wire as wire
from ._attachment import Attachment
from ._conn import Connection
from .errors import EndReason, TransportError, refused

SESSION_START = 16


class Start:
    """Waits for a SESSION_START answer."""

    __slots__ = ("session", "sent", "future", "abandoned")

    def __init__(self, session: Attachment) -> None:
        self.session, self.sent, self.abandoned = session, _clock.now(), False
        self.future: asyncio.Future[None] = session.core.loop.create_future()

    async def over(self, conn: Connection, path: str, details: dict[str, Any]) -> None:
        """Starts the session over a connection. If the caller gives up, a session started meanwhile is ended."""
        s = self.session
        record = wire.record("SessionDetails", details)
        conn.send(self, SESSION_START, (path, round(s.timeout * 1000), record, s.secret, s.attach_sequence))
        try:
            await self.future
        except asyncio.CancelledError:
            self.abandoned = True
            if s.id:
                self._undo(conn)
            raise

    def answered(self, conn: Connection, raw: list[Any]) -> bool:
        error, s = refused(raw), self.session
        if error is None:
            a = wire.fields(raw)
            s.id, s.node_id, s.timeout = a["session_id"], a["lease"]["node_id"], a["lease"]["timeout_ms"] / 1000
            if self.abandoned:
                self._undo(conn)
                return False
            s.attached_over(conn, s.attach_sequence, self.sent, a["lease"])
        if not self.future.done():
            if error is None:
                self.future.set_result(None)
            else:
                self.future.set_exception(error)
        return False

    def lost(self, conn: Connection, error: TransportError) -> None:
        if not self.future.done():
            self.future.set_exception(error)

    def _undo(self, conn: Connection) -> None:
        s = self.session
        s.end(EndReason.CLOSED)
        conn.sessions.pop(s.id, None)
        s.last = conn
        s.core.spawn(s.stop_later())
