"""Lists over all slots, while slots move between shards."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from . import _wire as wire
from ._cluster import Cluster

#: Maximum items on a page.
_PAGE_ITEMS = 1000

#: Reads a page of some slots after an item, with at most so many items.
Read = Callable[[list[int], Any, int], Awaitable[dict[str, Any]]]


@dataclass(slots=True)
class _Section:
    """The next items from some slots in one shard, complete up to `end`; zero or empty means the end."""

    shard: int
    slots: list[int]
    items: list[dict[str, Any]]
    end: Any


async def listed(cluster: Cluster, read: Read, field: str, key: str, after: Any) -> AsyncIterator[dict[str, Any]]:
    """Yields the items in a field of the pages, sorted by key. Every key is read once for every slot, from a shard that
    has the slot at that time. So an item that exists throughout is listed once, although slots move."""
    def shard_at(slot: int) -> int:
        shard = cluster.at(slot)
        return shard.id if shard else 0

    sections: list[_Section] = []
    unread: Iterable[int] = range(wire.SLOTS)
    # A caller that takes few items should not pay for a full page of every shard.
    limit = 2 * _PAGE_ITEMS // max(1, len(cluster.data_shards()))
    while True:
        while unread:
            groups: dict[int, list[int]] = {}
            for slot in sorted(unread):
                groups.setdefault(shard_at(slot), []).append(slot)
            moved: list[int] = []
            for slots in groups.values():
                page = await read(slots, after, max(1, min(limit, _PAGE_ITEMS)))
                missing = {slot for r in page["missing"] for slot in range(r["first"], r["last"] + 1)}
                rest = [slot for slot in slots if slot not in missing]
                sections.append(_Section(shard_at(slots[0]), rest, page[field], page["next"]))
                moved += missing
            if moved:
                cluster.refresh_soon(None)
            unread = moved
        limit *= 2
        end = min((s.end for s in sections if s.end), default=None)
        items = [item for s in sections for item in s.items if end is None or item[key] <= end]
        for item in sorted(items, key=itemgetter(key)):
            yield item
        if end is None:
            return
        after = end
        # All sections of a shard are read again together: otherwise every move would leave one section more.
        due = {s.shard for s in sections if s.end == end}
        unread = [slot for s in sections if s.shard in due for slot in s.slots]
        sections = [s for s in sections if s.shard not in due]
        for s in sections:
            s.items = [item for item in s.items if item[key] > end]


def ranges(slots: list[int]) -> list[tuple[int, int, int, int]]:
    """Returns slots as a request contains them."""
    found: list[tuple[int, int, int, int]] = []
    for slot in slots:
        if found and found[-1][1] == slot - 1:
            found[-1] = found[-1][0], slot, 0, 0
        else:
            found.append((slot, slot, 0, 0))
    return found
