"""Descriptions of semaphores, sessions and nodes."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from . import _wire as wire


class Consistency(enum.IntEnum):
    """Read consistency."""

    #: As configured for the node.
    DEFAULT = 0
    #: Linearizable: includes every change answered before the request. Costs a round trip among the hosts.
    STRICT = 1
    #: Answered from the memory of a host that was recently up to date.
    RELAXED = 2


class Counters(enum.IntEnum):
    """Metric detail for a node."""

    DEFAULT = 0
    #: Per semaphore.
    AGGREGATED = 1
    #: Per semaphore and owner.
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
    #: Wait of the session's latest acquire.
    data: bytes
    #: Start of the ownership by a host's wall clock, for people.
    since: datetime | None
    client: ClientInfo


@dataclass(frozen=True, slots=True)
class Waiter:
    """A session that waits for a semaphore."""

    #: Order id: the position in the queue.
    order_id: int
    session_id: int
    count: int
    data: bytes
    #: Wait of the latest acquire in seconds; None for the session's lifetime.
    wait: float | None
    since: datetime | None
    client: ClientInfo


@dataclass(frozen=True, slots=True)
class SemaphoreInfo:
    """A semaphore at one time."""

    name: str
    limit: int
    #: Owned units.
    count: int
    revision: int
    ephemeral: bool
    owner_count: int
    waiter_count: int
    data: bytes
    #: In join order; empty if not requested.
    owners: tuple[OwnerInfo, ...] = ()
    waiters: tuple[Waiter, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session, as listed by hosts."""

    id: int
    #: In seconds.
    timeout: float
    attached: bool
    #: Number of owned and awaited semaphores, in all shards that answered.
    owned: int
    waiting: int
    since: datetime | None
    client: ClientInfo
    #: Session details reported by the client.
    description: str


@dataclass(frozen=True, slots=True)
class NodeConfig:
    """Node config. None and zero fields are not set: hosts use the default, and alter leaves the field unchanged."""

    #: Interval of leader self-checks in seconds.
    self_check_period: float | None = None
    #: Time added to session timeouts after a leader change, in seconds.
    session_grace_period: float | None = None
    read_consistency: Consistency = Consistency.DEFAULT
    attach_consistency: Consistency = Consistency.DEFAULT
    counters: Counters = Counters.DEFAULT
    #: Quotas per data shard: number of semaphores, and bytes.
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

    #: Permanent id: a dropped and recreated path gets a new id.
    id: int
    path: str
    config: NodeConfig
    #: Grows with every config change.
    config_version: int
    #: After a create: the node existed, and nothing was changed.
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
