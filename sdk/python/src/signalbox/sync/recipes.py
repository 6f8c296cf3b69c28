"""Configuration, discovery, elections and limiters for programs without asyncio.

The classes here have the functions from `signalbox.config`, `signalbox.discovery`, `signalbox.election` and
`signalbox.limiter`, under the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .. import config as _config
from .. import discovery as _discovery
from .. import election as _election
from .. import limiter as _limiter
from .._lease import Lease as _Lease
from .._session import DEFAULT_TIMEOUT
from . import Client, Lease, Session
from ._thread import Block, iterate


class config:
    """Small config entries; see `signalbox.config`."""

    @staticmethod
    def get(client: Client, path: str, name: str) -> _config.Value:
        """Reads a config entry."""
        return client._loop.run(_config.get(client._client, path, name))

    @staticmethod
    def put(client: Client, path: str, name: str, data: bytes, *, if_revision: int | None = None) -> None:
        """Writes a config entry."""
        client._loop.run(_config.put(client._client, path, name, data, if_revision=if_revision))

    @staticmethod
    def edit(client: Client, path: str, name: str, change: Callable[[bytes | None], bytes]) -> bytes:
        """Replaces a config entry with the result from `change`, which runs on the event loop's thread."""
        return client._loop.run(_config.edit(client._client, path, name, change))

    @staticmethod
    def watch(client: Client, path: str, name: str) -> Iterator[_config.Value]:
        """Yields a config entry's values: first the current value, then the newest after each change."""
        return iterate(client._loop, lambda: _config.watch(client._client, path, name))


class discovery:
    """Service discovery; see `signalbox.discovery`."""

    @staticmethod
    def register(session: Session, name: str, address: str, **metadata: str) -> Block[_discovery.Registration, int]:
        """Publishes an endpoint while the block runs. The block gets the order id."""
        return Block(session._loop, lambda: _discovery.register(session._session, name, address, **metadata),
                     lambda registration: registration.fence)

    @staticmethod
    def endpoints(client: Client, path: str, name: str) -> tuple[_discovery.Endpoint, ...]:
        """Returns the current endpoints."""
        return client._loop.run(_discovery.endpoints(client._client, path, name))

    @staticmethod
    def watch(client: Client, path: str, name: str) -> Iterator[tuple[_discovery.Endpoint, ...]]:
        """Yields the list of endpoints: at once, and after each change."""
        return iterate(client._loop, lambda: _discovery.watch(client._client, path, name))


class election:
    """Elections; see `signalbox.election`."""

    @staticmethod
    def lead(session: Session, name: str, data: bytes = b"", wait: float | None = None) -> Block[_election.Term, Lease]:
        """Leads for one term: the block begins when this program leads, and gets the term's lease."""
        return Block(session._loop, lambda: _election.lead(session._session, name, data, wait),
                     lambda term: Lease(session._loop, term.lease))

    @staticmethod
    def current(client: Client, path: str, name: str) -> _election.Leader:
        """Returns the current leader."""
        return client._loop.run(_election.current(client._client, path, name))

    @staticmethod
    def observe(client: Client, path: str, name: str) -> Iterator[_election.Leader]:
        """Yields leaders: first the current leader, then each change."""
        return iterate(client._loop, lambda: _election.observe(client._client, path, name))


class Limiter:
    """Limits concurrent blocks across all threads of all processes; see `signalbox.limiter`."""

    def __init__(
        self, client: Client, path: str, name: str, limit: int, *, sessions: int = 1000,
        timeout: float = DEFAULT_TIMEOUT, data: bytes = b"",
    ) -> None:
        self._loop = client._loop
        self._limiter = _limiter.Limiter(client._client, path, name, limit, sessions=sessions, timeout=timeout,
                                         data=data)

    def slot(self, wait: float | None = None) -> Block[_Lease, Lease]:
        """Returns a slot: `with limiter.slot() as lease:`."""
        return Block(self._loop, lambda: self._limiter.slot(wait), lambda lease: Lease(self._loop, lease))

    def close(self) -> None:
        """Closes the limiter."""
        self._loop.run(self._limiter.close())

    def __enter__(self) -> Limiter:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
