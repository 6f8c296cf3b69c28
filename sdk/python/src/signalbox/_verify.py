"""What a session has lost while it had no connection.

A lease can be lost without its session, when its semaphore is deleted by force. The host pushes that to the owner, but
not while it has no connection. So after each gap a session asks each shard what it holds there, and sends the acquire
of what is missing again, under its number: that is answered from the state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._mutation import ACQUIRE, OWNED, QUEUED, Mutation, slot_of
from ._retry import Retries
from ._start import Try
from .errors import Error, LeaseLost, SessionLost, Status, Transport, is_retried

if TYPE_CHECKING:
    from ._incarnation import Incarnation
    from ._lease import Lease


async def verify_until_done(inc: Incarnation) -> None:
    retries = Retries(inc.core.cluster.leaders)
    try:
        while inc.cause is None:
            retries.begin()
            gaps = inc.gaps
            try:
                await _verify_all(inc)
            except Error as e:
                if inc.cause is None:
                    await inc.pause_after(retries, e, None, None)
                continue
            if gaps == inc.gaps:
                return
    except SessionLost:
        pass
    finally:
        inc.verifying = False


async def _verify_all(inc: Incarnation) -> None:
    by_shard: dict[int, list[tuple[Lease, int]]] = {}
    for q in inc.queues.values():
        if q.lease is not None and q.lease.cause is None:
            shard = inc.core.cluster.slots[q.slot]
            by_shard.setdefault(shard.id if shard else 0, []).append((q.lease, q.lease.number))
    for id, leases in by_shard.items():
        held: dict[str, int] = {}
        if id:
            try:
                held = await _held_at(inc, id, leases[0][0].name)
            except Error as e:
                if isinstance(e, Transport) or is_retried(e.status) or inc.cause is not None:
                    raise
                if e.status == Status.BAD_SESSION:
                    raise
        for lease, number in leases:
            # Where the host does not say, each lease is asked for.
            if held.get(lease.name) != lease.fence:
                await _verify(inc, lease, number)


async def _held_at(inc: Incarnation, shard: int, name: str) -> dict[str, int]:
    conn = await inc.connect(slot_of(inc.node_id, name), Try(), None)
    held, after = {}, 0
    while True:
        a = await conn.request("SESSION_HOLDINGS", session_id=inc.id, shard_id=shard, after=after)
        held.update({h["name"]: h["order_id"] for h in a["holdings"] if not h["waiting"]})
        after = a["next"]
        if not after:
            return held


async def _verify(inc: Incarnation, lease: Lease, number: int) -> None:
    """Sends the acquire of a lease again. It is a repetition, so it changes nothing."""
    q = await inc.begin(lease.name)
    try:
        if q.lease is not lease or lease.cause is not None or lease.number != number:
            return  # it was changed since, so the host was asked
        m = Mutation(inc, q, ACQUIRE, (inc.node_id, q.name, lease.count, 0, lease.data, lease.ephemeral))
        m.number, m.changes = number, True
        try:
            await inc.send_once(m, None)
        except Error as e:
            if isinstance(e, Transport) or inc.cause is not None:
                raise
            if e.status == Status.BAD_SESSION:
                if m.conn is not None:
                    inc.unknown_at(m.conn, Retries(inc.core.cluster.leaders))
                raise Transport(str(e)) from e
            if e.status in (Status.ABORTED, Status.STALE, Status.NOT_FOUND):
                q.remove_lease(e, lease)
                return
            if is_retried(e.status):
                raise
            return  # the host does not say
        if m.phase == OWNED and m.order == lease.fence:
            return
        if m.phase in (OWNED, QUEUED):
            # The host did not know the acquire, and carried it out as a new one.
            await inc.give_back(q, m.order)
        q.remove_lease(LeaseLost("the host does not know the lease"), lease)
    finally:
        inc.begin_next(q)
