"""Small pieces of configuration, and programs that see when they change.

A piece of config is the data of a persistent semaphore with a limit of 1. It needs no session.

    await config.put(client, "/prod/jobs", "limits", b'{"workers": 8}')

    async for value in config.watch(client, "/prod/jobs", "limits"):
        ...
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from ._client import Client
from ._describe import Consistency
from ._lease import Lease
from ._semaphore import Semaphore
from .errors import AlreadyExistsError, NotFoundError, PreconditionFailedError

#: Of the semaphores: one that has an owner has no other.
_LIMIT = 1


@dataclass(frozen=True, slots=True)
class Value:
    """A piece of config at one moment."""

    #: Whether there is any: an empty value exists too.
    exists: bool
    data: bytes
    #: It grows with every change, and is what `if_revision` takes; 0 stands for none at all.
    revision: int


async def get(client: Client, path: str, name: str) -> Value:
    """A piece of config. It sees every put that has returned before: who asks again and again should watch."""
    try:
        d = await client.node(path).describe(name, owners=False, waiters=False, consistency=Consistency.STRICT)
    except NotFoundError:
        await client.describe_node(path)  # a piece that is missing is no error, a node is
        return Value(False, b"", 0)
    return Value(True, d.data, d.revision)


async def put(client: Client, path: str, name: str, data: bytes, *, if_revision: int | None = None) -> None:
    """Makes the data the piece of config of that name, which is created where there is none.

    With `if_revision` it takes effect only where the config has the revision that `get` returned; else another program
    was faster, nothing has changed, and it is `PreconditionFailedError`. `UnknownOutcomeError` says that it may have
    been put.
    """
    node = client.node(path)
    if if_revision == 0:
        try:
            await node.create(name, _LIMIT, data)
        except AlreadyExistsError as e:
            raise PreconditionFailedError(f"the config {name!r} exists") from e
        return
    while True:
        try:
            await node.update(name, data, if_revision=if_revision or 0)
            return
        except NotFoundError as e:
            if if_revision:
                raise PreconditionFailedError(f"the config {name!r} does not exist any more") from e
        try:
            await node.create(name, _LIMIT, data)
            return
        except AlreadyExistsError:
            pass  # another program has created it in between


async def put_guarded(lease: Lease, data: bytes) -> None:
    """Puts a piece of config while the lease of its semaphore is held. The host decides that: else it is
    `FencedError`."""
    await lease.update(data)


async def edit(client: Client, path: str, name: str, change: Callable[[bytes | None], bytes]) -> bytes:
    """Changes a piece of config from what it is to what `change` makes of it, and returns that.

    What `change` was given is what is replaced: it is called again where another write came first, and is given None
    where there is none. While another session owns the semaphore an edit waits. It works in a session of its own, so
    that a write whose answer was lost is not made twice.
    """
    async with client.session(path, description="a config edit") as session:
        semaphore = session.semaphore(name, create=False)
        while True:
            made = await _rewrite(semaphore, change)
            if made is not None:
                return made


async def _rewrite(semaphore: Semaphore, change: Callable[[bytes | None], bytes]) -> bytes | None:
    """Replaces the value once, if nothing comes in between."""
    try:
        d = await semaphore.describe(waiters=False, consistency=Consistency.STRICT)
    except NotFoundError:
        made = change(None)
        try:
            await semaphore.create(_LIMIT, made)  # the creation itself says whether there still is none
        except AlreadyExistsError:
            return None
        return made
    if d.owner_count:
        async with semaphore.watch(data=False) as views:
            async for view in views:
                if not view.owners:
                    break
        return None
    made = change(d.data)
    try:
        await semaphore.update(made, if_revision=d.revision)
    except (PreconditionFailedError, NotFoundError):
        return None
    return made


async def watch(client: Client, path: str, name: str) -> AsyncIterator[Value]:
    """The values of a piece of config: the present one at once, even if there is none, then the newest after a change.

    The node must exist, the name need not. Lost connections and changes of leader do not end the loop.
    """
    before: Value | None = None
    async with client.node(path).watch(name, owners=False) as views:
        async for view in views:
            value = Value(view.exists, view.data, view.revision)
            if before is None or (before.exists, before.data) != (value.exists, value.data):
                before = value
                yield value
