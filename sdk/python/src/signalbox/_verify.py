"""Detects leases lost while a session was disconnected.

A lease can be lost although its session lives: if the semaphore is deleted by force, or if a shard has lost its quorum
and was rebuilt. Hosts notify the owner, but not while the session is disconnected. So after each gap, the client lists
the session's holdings in every shard. For missing leases, it repeats the acquire under its sequence, and the host
answers from its state.

A mutation in progress for the semaphore is completed first. If a host temporarily refuses the mutation, and the shard
does not list the lease, the lease is lost: a rebuilt shard grants nothing until all owners have noticed their losses,
so the client must not rely on the lease any longer.
"""

from __future__ import annotations

import asyncio

from ._describe import Consistency
from ._host import Try
from ._incarnation import Incarnation, Look
from ._lease import Lease
from ._mutation import ACQUIRE, OWNED, QUEUED, Mutation, slot_of
from ._retry import Retries
from .errors import EndReason, SignalboxError, LeaseLostError, SessionLostError, Status, TransportError, is_retried

#: Time in seconds that leases wait in busy queues before their shards are asked again.
_TURN_PATIENCE = 1.0


def verify(inc: Incarnation) -> None:
    """Verifies all leases, because notifications may have been missed. A verification in progress starts again."""
    if inc.cause is not None:
        return
    for look in inc.looks.values():
        look.leases, look.gaps = [], look.gaps + 1
    for q in inc.queues.values():
        if q.lease is None or q.lease.cause is not None:
            continue
        at = _shard_of(inc, q.name)
        if at not in inc.looks:
            inc.looks[at] = Look(at)
            inc.core.spawn(_verify_until_done(inc, inc.looks[at]))
        inc.looks[at].leases.append((q.lease, q.lease.sequence))


def _shard_of(inc: Incarnation, name: str) -> int:
    """Returns a semaphore's shard id, 0 if unknown."""
    shard = inc.core.cluster.at(slot_of(inc.node_id, name))
    return shard.id if shard else 0


async def _verify_until_done(inc: Incarnation, look: Look) -> None:
    retries = Retries(inc.core.cluster.leaders)
    try:
        while inc.cause is None:
            retries.begin()
            gaps = look.gaps
            try:
                await _verify_in(inc, look.shard, look.leases)
            except SignalboxError as e:
                if inc.cause is None:
                    await inc.pause_after(retries, e, None, None)
                continue
            if gaps == look.gaps:
                return
    except SessionLostError:
        pass
    finally:
        del inc.looks[look.shard]


async def _verify_in(inc: Incarnation, shard: int, leases: list[tuple[Lease, int]]) -> None:
    """Verifies the leases in one shard concurrently."""
    if not leases:
        return
    held: dict[str, int] | None = None
    if shard:
        failed: SignalboxError | None = None
        try:
            held = await _held_at(inc, shard, leases[0][0].name)
        except SignalboxError as e:
            failed = e
        if any(_shard_of(inc, lease.name) != shard for lease, _ in leases):
            verify(inc)  # a slot has left the shard meanwhile, so the shard does not list its leases
            return
        if failed is not None and (isinstance(failed, TransportError) or is_retried(failed.status)
                                   or inc.cause is not None or failed.status == Status.BAD_SESSION):
            raise failed
    end = inc.core.loop.time() + _TURN_PATIENCE
    asked = []
    for lease, sequence in leases:
        # Where the host does not say, each lease is asked for.
        q = inc.queues.get(lease.name)
        if q is None or q.lease is not lease or held is not None and held.get(lease.name) == lease.fence:
            continue
        lease.missing = held is not None
        inc.lose_refused(q)
        if q.lease is lease:
            asked.append(_verify(inc, lease, sequence, end))
    for result in await asyncio.gather(*asked, return_exceptions=True):
        if result is not None:
            raise result


async def _held_at(inc: Incarnation, shard: int, name: str) -> dict[str, int]:
    """Lists the session's holdings in a shard. The read is strict, so no replica from a former group answers."""
    conn = await inc.connect(slot_of(inc.node_id, name), Try())
    held, after = {}, 0
    while True:
        a = await conn.request("SESSION_HOLDINGS", session_id=inc.id, shard_id=shard, after=after,
                               consistency=int(Consistency.STRICT))
        held.update({h["name"]: h["order_id"] for h in a["holdings"] if not h["waiting"]})
        after = a["next"]
        if not after:
            return held


async def _verify(inc: Incarnation, lease: Lease, sequence: int, end: float) -> None:
    """Repeats a lease's acquire in its turn, waiting until `end`. Repetitions change nothing."""
    try:
        async with asyncio.timeout_at(end):
            q = await inc.begin(lease.name)
    except TimeoutError as e:
        raise TransportError("the lease was not verified yet") from e
    try:
        if q.lease is not lease or lease.cause is not None or lease.sequence != sequence:
            return  # it was changed since, so the host was asked
        m = Mutation(inc, q, ACQUIRE, (inc.node_id, q.name, lease.count, 0, lease.data, lease.ephemeral))
        m.sequence, m.changes = sequence, True
        try:
            await inc.send_once(m)
        except SignalboxError as e:
            if isinstance(e, TransportError) or inc.cause is not None:
                raise
            if e.status == Status.BAD_SESSION:
                if m.conn is not None:
                    inc.unknown_at(m.conn, Retries(inc.core.cluster.leaders))
                raise TransportError(str(e)) from e
            if e.status in (Status.ABORTED, Status.STALE, Status.NOT_FOUND):
                q.remove_lease(e, lease)
                return
            if is_retried(e.status):
                raise
            if e.status == Status.SESSION_EXPIRED:
                inc.end(EndReason.UNKNOWN)
            return  # the host does not say
        if m.phase == OWNED and m.order == lease.fence:
            return
        if m.phase in (OWNED, QUEUED):
            # The host did not know the acquire, and carried it out as a new one.
            await inc.give_back(q, m.order)
        q.remove_lease(LeaseLostError("the host does not know the lease"), lease)
    finally:
        inc.begin_next(q)
