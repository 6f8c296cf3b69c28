"""Descriptions of semaphores, sessions and nodes."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from . import _wire as wire


class Consistency(enum.IntEnum):
    """Read consistency."""

    #: What the config of the node says.
    DEFAULT = 0
    #: Nothing that was answered before the request may be missing. It costs a round among the hosts.
    STRICT = 1
    #: From the memory of a host that knew lately that it was up to date.
    RELAXED = 2


class Counters(enum.IntEnum):
    """Metric detail for a node."""

    DEFAULT = 0
    #: By semaphore.
    AGGREGATED = 1
    #: By owner too.
    DETAILED = 2


@dataclass(frozen=True, slots=True)
class ClientInfo:
    """A session client's address, name and version."""

    address: str = ""
    name: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class OwnerInfo:
    """A session that owns units of a semaphore."""

    #: The fencing token.
    order_id: int
    session_id: int
    count: int
    #: That of the session's latest acquire.
    data: bytes
    #: When it became an owner, by the wall clock of a host; for people.
    since: datetime | None
    client: ClientInfo


@dataclass(frozen=True, slots=True)
class Waiter:
    """A session that waits for a semaphore."""

    #: The place in the queue.
    order_id: int
    session_id: int
    count: int
    data: bytes
    #: For how many seconds its latest acquire waits; None for as long as its session lives.
    wait: float | None
    since: datetime | None
    client: ClientInfo


@dataclass(frozen=True, slots=True)
class SemaphoreInfo:
    """A semaphore at one time."""

    name: str
    limit: int
    #: How much of the limit is owned.
    count: int
    revision: int
    ephemeral: bool
    owner_count: int
    waiter_count: int
    data: bytes
    #: In the order in which they joined; empty where they were not asked for.
    owners: tuple[OwnerInfo, ...] = ()
    waiters: tuple[Waiter, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session, as listed by hosts."""

    id: int
    #: In seconds.
    timeout: float
    attached: bool
    #: Of how many semaphores it owns a part, and for how many it waits, in all shards whose hosts could be asked.
    owned: int
    waiting: int
    since: datetime | None
    client: ClientInfo
    #: What the client reports about the session.
    description: str


@dataclass(frozen=True, slots=True)
class NodeConfig:
    """Node config. None and zero fields are not set: hosts use the default, and alter leaves the field unchanged."""

    #: How often a leader makes sure that it leads, in seconds.
    self_check_period: float | None = None
    #: What sessions get on top of their timeout when a leader changes, in seconds.
    session_grace_period: float | None = None
    read_consistency: Consistency = Consistency.DEFAULT
    attach_consistency: Consistency = Consistency.DEFAULT
    counters: Counters = Counters.DEFAULT
    #: How many semaphores the node may have in each data shard, and how many bytes.
    quota_objects: int | None = None
    quota_bytes: int | None = None

    def record(self) -> tuple[Any, ...]:
        """The config in wire form."""
        return wire.record("NodeConfig", {
            "self_check_period_ms": round((self.self_check_period or 0) * 1000),
            "session_grace_period_ms": round((self.session_grace_period or 0) * 1000),
            "read_consistency": int(self.read_consistency), "attach_consistency": int(self.attach_consistency),
            "rate_limiter_counters_mode": int(self.counters), "quota_objects": self.quota_objects or 0,
            "quota_bytes": self.quota_bytes or 0,
        })


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """A node, as described by hosts."""

    #: The node's for ever: a path that is dropped and made again gets another one.
    id: int
    path: str
    config: NodeConfig
    #: It grows with every change of the config.
    config_version: int
    #: Of a create: the node was there before, and nothing was changed.
    existed: bool = False


def _moment(ms: int) -> datetime | None:
    return datetime.fromtimestamp(ms / 1000, timezone.utc) if ms else None


def _known(kind: type[Any], number: int) -> Any:
    try:
        return kind(number)
    except ValueError:
        return kind(0)


def node_info(n: dict[str, Any], existed: bool = False) -> NodeInfo:
    """Returns a node from its record."""
    c = n["config"]
    return NodeInfo(n["id"], n["path"], NodeConfig(
        c["self_check_period_ms"] / 1000 or None, c["session_grace_period_ms"] / 1000 or None,
        _known(Consistency, c["read_consistency"]), _known(Consistency, c["attach_consistency"]),
        _known(Counters, c["rate_limiter_counters_mode"]), c["quota_objects"] or None, c["quota_bytes"] or None,
    ), n["config_version"], existed)


def session_info(s: dict[str, Any]) -> SessionInfo:
    """Returns a session from its record."""
    return SessionInfo(s["id"], s["timeout_ms"] / 1000, s["attached"], s["owned"], s["waiting"],
                       _moment(s["since_ms"]), ClientInfo(**s["client"]), **s["details"])


def semaphore_info(s: dict[str, Any]) -> SemaphoreInfo:
    """Returns a semaphore from its record, without owners and waiters."""
    return SemaphoreInfo(s["name"], s["limit"], s["count"], s["revision"], s["ephemeral"], s["owners"], s["waiters"],
                       s["data"])


def description(pages: list[dict[str, Any]]) -> SemaphoreInfo:
    """Returns a semaphore from the pages of a description."""
    s = pages[0]["semaphore"]
    owners = tuple(
        OwnerInfo(o["order_id"], o["session_id"], o["count"], o["data"], _moment(o["since_ms"]),
                  ClientInfo(**o["client"]))
        for p in pages for o in p["owners"])
    waiters = tuple(
        Waiter(w["order_id"], w["session_id"], w["count"], w["data"],
                   None if w["timeout_ms"] == wire.FOREVER else w["timeout_ms"] / 1000, _moment(w["since_ms"]),
                   ClientInfo(**w["client"]))
        for p in pages for w in p["waiters"])
    return SemaphoreInfo(s["name"], s["limit"], s["count"], s["revision"], s["ephemeral"], s["owners"], s["waiters"],
                       s["data"], owners, waiters)


def describe_body(
    node: int, name: str, owners: bool, waiters: bool, consistency: Consistency, after: int = 0,
    watch_data: bool = False, watch_owners: bool = False, session: int = 0, generation: int = 0,
) -> tuple[Any, ...]:
    """Returns the fields for SEMAPHORE_DESCRIBE."""
    return node, name, owners, waiters, int(consistency), after, 0, watch_data, watch_owners, session, generation
