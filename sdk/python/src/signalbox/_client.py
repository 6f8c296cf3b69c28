"""The client: what a program has of a cluster."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from types import TracebackType

from ._cluster import TLS, Cluster, Token, addresses_of
from ._core import Core
from ._describe import NodeConfig, NodeInfo, node_info
from ._farewell import at_exit
from ._node import Node
from ._session import DEFAULT_TIMEOUT, Session, State
from ._version import VERSION
from .errors import BadRequestError, NotFoundError, UnavailableError, UnknownOutcomeError


class Client:
    """A client of one cluster, for one event loop: `async with signalbox.connect("127.0.0.1:7420") as client:`.

    It has one connection to each host that it needs, over which all of its sessions go. All tasks of the event loop may
    use it; threads use `signalbox.sync`.
    """

    def __init__(
        self, endpoints: str | Sequence[str], token: Token, tls: TLS, name: str | None, timeout: float,
        dial_timeout: float,
    ) -> None:
        if timeout <= 0 or dial_timeout <= 0:
            raise BadRequestError("a timeout must be above 0 s")
        self._addresses = addresses_of(endpoints if isinstance(endpoints, str) else list(endpoints))
        self._token, self._tls = token, tls
        self._name = name or os.path.basename(sys.argv[0] if sys.argv else "") or "python"
        #: How long, in seconds, what needs no session waits for a host that can answer.
        self.timeout = timeout
        self._dial_timeout = dial_timeout
        self._opened: Core | None = None
        self._sessions: set[Session] = set()
        self._node_ids: dict[str, tuple[int, float]] = {}

    @property
    def _core(self) -> Core:
        if self._opened is None:
            raise BadRequestError("the client is not open: use `async with signalbox.connect(...)`, or await it")
        return self._opened

    async def open(self) -> Client:
        """Connects to the cluster. `async with` and `await` do it."""
        if self._opened is not None:
            raise BadRequestError("the client is open already")
        core = Core(asyncio.get_running_loop())
        core.cluster = Cluster(
            self._addresses, name=self._name, version=f"python/{VERSION}", token=self._token, tls=self._tls,
            dial_timeout=self._dial_timeout, spawn=core.spawn)
        try:
            await core.cluster.open(self.timeout)
        except BaseException:
            await core.close()
            raise
        self._opened = core
        at_exit(core)
        return self

    async def __aenter__(self) -> Client:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None,
    ) -> None:
        await self.close()

    def __await__(self) -> Generator[object, None, Client]:
        return self.open().__await__()

    async def close(self) -> None:
        """Ends all sessions, waiting for hosts up to a second, and closes the connections."""
        core = self._opened
        if core is None or core.closed:
            return
        try:
            sessions = [s.close() for s in list(self._sessions)]
            await asyncio.gather(*sessions, return_exceptions=True)
        finally:
            await core.close()

    def session(
        self, path: str, timeout: float = DEFAULT_TIMEOUT, *, description: str = "", renew: bool = False,
        on_state: Callable[[State], None] | None = None,
    ) -> Session:
        """A session in a node: `async with client.session("/prod/jobs") as session:`.

        `timeout` is how long, in seconds, the session lives at its host without a connection: how long others wait for
        what a program owned that died, and how long a program has to come back after an interruption. With `renew` a
        session that has ended is replaced by another one: leases stay lost, and what is called then works. `on_state`
        is called when its state changes.
        """
        return Session(self, path, timeout, {"description": description}, renew, on_state)

    def node(self, path: str) -> Node:
        """What can be done in a node without a session: describe, list, watch."""
        return Node(self, path)

    # Nodes.

    @contextlib.asynccontextmanager
    async def _in_time(self, what: str, doubtful: bool = False) -> AsyncIterator[None]:
        """Bounds what needs no session by the timeout of the client."""
        try:
            async with asyncio.timeout(self.timeout) as bound:
                yield
        except TimeoutError:
            if not bound.expired():
                raise
            text = f"{what}: no host has answered for {self.timeout:g} s"
            unknown = UnknownOutcomeError(f"{text}; it may have been carried out")
            raise unknown if doubtful else UnavailableError(text) from None

    async def create_node(self, path: str, config: NodeConfig | None = None) -> NodeInfo:
        """Creates a node. One that exists is returned as it is: so a program may call this whenever it starts."""
        self._core.check()
        async with self._in_time(f"create the node {path}", doubtful=True):
            wanted = (config or NodeConfig()).record()
            a = await self._core.cluster.do_idempotent("NODE_CREATE", path=path, config=wanted)
        return node_info(a["node"], a["existed"])

    async def describe_node(self, path: str) -> NodeInfo:
        """Describes a node."""
        self._core.check()
        cluster = self._core.cluster
        try:
            async with self._in_time(f"describe the node {path}"):
                a = await cluster.do(cluster.meta_leader, "NODE_DESCRIBE", path=path)
        except NotFoundError as e:
            raise NotFoundError(f"there is no node {path}: create it with `await client.create_node({path!r})`") from e
        return node_info(a["node"])

    async def alter_node(self, path: str, config: NodeConfig, *, if_version: int = 0) -> NodeInfo:
        """Changes what is set in the config, and leaves the rest as it is."""
        self._core.check()
        async with self._in_time(f"alter the node {path}", doubtful=True):
            a = await self._core.cluster.do_idempotent("NODE_ALTER", path=path, config=config.record(),
                                                        config_version=if_version)
        return node_info(a["node"])

    async def drop_node(self, path: str) -> None:
        """Removes a node with all its semaphores, and ends its sessions. Nothing guards a node that is in use."""
        info = await self.describe_node(path)
        # The id sees to it that another try does not hit a node that was made after the first.
        async with self._in_time(f"drop the node {path}", doubtful=True):
            await self._core.cluster.do_idempotent("NODE_DROP", path=path, node_id=info.id)
        self._node_ids.pop(path, None)

    async def nodes(self, prefix: str = "") -> AsyncIterator[NodeInfo]:
        """The nodes whose paths begin with the prefix, in the order of their paths."""
        cluster, after = self._core.cluster, ""
        while True:
            self._core.check()
            async with self._in_time("list nodes"):
                a = await cluster.do(cluster.meta_leader, "NODE_LIST", prefix=prefix, after=after)
            for n in a["nodes"]:
                yield node_info(n)
            after = a["next"]
            if not after:
                return


def connect(
    endpoints: str | Sequence[str], token: Token = None, *, tls: TLS = None, name: str | None = None,
    timeout: float = 30.0, dial_timeout: float = 5.0,
) -> Client:
    """A client of the cluster of which some hosts are at the endpoints: HOST:PORT, several of them with commas or as a
    list. Use it as `async with signalbox.connect("127.0.0.1:7420") as client:`, or as
    `client = await signalbox.connect(...)`, and `await client.close()` in the end.

    `token` lets the client in; a function that returns one, or a coroutine of one, is called for each new connection.
    `tls` is True for TLS with the certificates that the system trusts, or an ssl.SSLContext, or a function that returns
    one for each new connection. `name` is what hosts list the client under. `timeout` is how long, in seconds, what
    needs no session waits for a host; `dial_timeout` bounds the making of one connection.
    """
    return Client(endpoints, token, tls, name, timeout, dial_timeout)
