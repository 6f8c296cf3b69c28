"""Interpreter exit: stops open sessions, so that no program must wait for their timeouts.

By then, the client's event loop is usually closed. So the sessions are reattached and stopped over plain sockets,
within a second for all sessions.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import socket
import ssl
import struct
import time
import weakref

from . import _wire as wire
from ._cluster import DEFAULT_PORT
from ._conn import HELLO, split_address
from ._core import Core, OpenSession
from ._version import VERSION

_FAREWELL = 1.0
_open: weakref.WeakSet[Core] = weakref.WeakSet()
_pid = os.getpid()


def at_exit(core: Core) -> None:
    """Registers a client's sessions to be stopped if the interpreter exits before the client is closed."""
    _open.add(core)


@atexit.register
def _stop_all() -> None:
    until = time.monotonic() + _FAREWELL
    for core in list(_open):
        if core.closed or core.forked or not core.sessions:
            continue
        if core.keeper is not None:
            core.keeper.close()
        by_address: dict[str, list[OpenSession]] = {}
        for session in core.sessions:
            conn = session.home or session.last
            if conn is not None and session.cause is None:
                by_address.setdefault(conn.address, []).append(session)
        for address, sessions in by_address.items():
            # What cannot be stopped in time ends by its timeout.
            with contextlib.suppress(Exception):
                _stop(core, address, sessions, until)


def _stop(core: Core, address: str, sessions: list[OpenSession], until: float) -> None:
    """Stops sessions on the host they were attached to."""
    cluster = core.cluster
    with socket.create_connection(split_address(address, DEFAULT_PORT), max(until - time.monotonic(), 0.01)) as bare:
        sock: socket.socket = bare
        tls = cluster.tls() if callable(cluster.tls) else cluster.tls
        if tls:
            context = ssl.create_default_context() if tls is True else tls
            sock = context.wrap_socket(bare, server_hostname=split_address(address, DEFAULT_PORT)[0])
        sock.settimeout(max(until - time.monotonic(), 0.01))
        token = cluster.token() if callable(cluster.token) else cluster.token
        data = token.encode() if isinstance(token, str) else token if isinstance(token, bytes) else b""
        sock.sendall(wire.frame(HELLO, 1, wire.body("HELLO", {
            "version_min": 1, "version_max": 1, "client_name": cluster.name, "client_version": f"python/{VERSION}",
            "token": data})))
        answers = sock.makefile("rb")
        _answer(answers)
        for i, s in enumerate(sessions):
            attach = wire.body("SESSION_ATTACH", {
                "session_id": s.id, "session_secret": s.secret, "attach_sequence": s.attach_sequence + 1,
            })
            sock.sendall(wire.frame(17, 2 + 2 * i, attach))
            _answer(answers)
            sock.sendall(wire.frame(19, 3 + 2 * i, (s.id,)))
            _answer(answers)


def _answer(answers: object) -> None:
    """Reads one frame and ignores its content."""
    head = answers.read(4)  # type: ignore[attr-defined]
    answers.read(struct.unpack(">I", head)[0])  # type: ignore[attr-defined]
