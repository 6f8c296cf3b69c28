"""The client: entry point for access to a cluster."""

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
from ._keeper import MIN_BLOCKED, Keeper
from ._node import Node
from ._session import DEFAULT_TIMEOUT, Session, State
from ._version import VERSION
from .errors import BadRequestError, NotFoundError, UnavailableError, UnknownOutcomeError


class Client:
    """Client for one cluster and one event loop: `async with signalbox.connect("127.0.0.1:7420") as client:`.

    The client opens one connection per host, shared by all its sessions. All tasks on the event loop may share the
    client; threads use `signalbox.sync`.
    """

    def __init__(
        self, endpoints: str | Sequence[str], token: Token, tls: TLS, name: str | None, timeout: float,
        dial_timeout: float, max_blocked: float | None,
    ) -> None:
        if timeout <= 0 or dial_timeout <= 0:
            raise BadRequestError("a timeout must be above 0 s")
        if max_blocked is not None and not max_blocked >= MIN_BLOCKED:
            raise BadRequestError(f"max_blocked is {max_blocked:g} s: use at least {MIN_BLOCKED:g} s, or None")
        self._max_blocked = max_blocked
        self._addresses = addresses_of(endpoints if isinstance(endpoints, str) else list(endpoints))
        self._token, self._tls = token, tls
        self._name = name or os.path.basename(sys.argv[0] if sys.argv else "") or "python"
        #: Maximum wait in seconds for a host to answer requests without a session.
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
        """Connects to the cluster. Called by `async with` and `await`."""
        if self._opened is not None:
            raise BadRequestError("the client is open already")
        core = Core(asyncio.get_running_loop())
        core.cluster = Cluster(
            self._addresses, name=self._name, version=f"python/{VERSION}", token=self._token, tls=self._tls,
            dial_timeout=self._dial_timeout, spawn=core.spawn)
        if self._max_blocked is not None:
            core.keeper = Keeper(core.loop, core.cluster, self._max_blocked)
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
        """Ends all sessions, waits up to a second for the hosts, and closes the connections."""
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
        """Opens a session in a node: `async with client.session("/prod/jobs") as session:`.

        `timeout` is the session timeout in seconds: the time a session survives without a connection, and the time
        after which a crashed program's locks are released. With `renew`, an ended session is replaced by a new one: its
        leases stay lost, and later calls use the new session. `on_state` is called on session state changes.
        """
        return Session(self, path, timeout, {"description": description}, renew, on_state)

    def node(self, path: str) -> Node:
        """Returns a handle to describe, list and watch objects in a node without a session."""
        return Node(self, path)

    # Nodes.

    @contextlib.asynccontextmanager
    async def _in_time(self, what: str, doubtful: bool = False) -> AsyncIterator[None]:
        """Applies the client timeout to a request without a session."""
        try:
            async with asyncio.timeout(self.timeout) as bound:
                yield
        except TimeoutError:
            if not bound.expired():
                raise
            text = f"{what}: no host has answered for {self.timeout:g} s"
            unknown = UnknownOutcomeError(f"{text}; the change may have been made")
            raise unknown if doubtful else UnavailableError(text) from None

    async def create_node(self, path: str, config: NodeConfig | None = None) -> NodeInfo:
        """Creates a node, or returns the existing node unchanged. So a program may call `create_node` on every start.
        """
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
        """Updates the config fields that are set; other fields are unchanged."""
        self._core.check()
        async with self._in_time(f"alter the node {path}", doubtful=True):
            a = await self._core.cluster.do_idempotent("NODE_ALTER", path=path, config=config.record(),
                                                        config_version=if_version)
        return node_info(a["node"])

    async def drop_node(self, path: str) -> None:
        """Drops a node with all its semaphores, and ends its sessions. Nodes in use are not protected."""
        info = await self.describe_node(path)
        # With the id, a retry cannot drop a node that was created later.
        async with self._in_time(f"drop the node {path}", doubtful=True):
            await self._core.cluster.do_idempotent("NODE_DROP", path=path, node_id=info.id)
        self._node_ids.pop(path, None)

    async def nodes(self, prefix: str = "") -> AsyncIterator[NodeInfo]:
        """Lists nodes whose paths begin with the prefix, in path order."""
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
    timeout: float = 30.0, dial_timeout: float = 5.0, max_blocked: float | None = None,
) -> Client:
    """Returns a client for the cluster with the given endpoints: HOST:PORT, several as a list or separated by commas.
    Use `async with signalbox.connect("127.0.0.1:7420") as client:`, or `client = await signalbox.connect(...)` and
    finally `await client.close()`.

    `token` is the access token, or a function or coroutine function that returns a token for each new connection. `tls`
    is True for TLS with the system's trusted certificates, an ssl.SSLContext, or a function that returns a context for
    each new connection. `name` is the client name shown by hosts. `timeout` is the maximum time in seconds that
    requests without a session wait for a host. `dial_timeout` limits the time to open one connection.

    With `max_blocked`, a thread keeps the sessions alive while the event loop is blocked, for at most so many seconds: a
    hung program must not keep its locks. By default, a session ends if the loop is blocked for longer than its lease.
    """
    return Client(endpoints, token, tls, name, timeout, dial_timeout, max_blocked)
