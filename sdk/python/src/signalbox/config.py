"""Small config entries, and notifications about changes.

A config entry is a persistent semaphore's data; the semaphore's limit is 1. No session is needed.

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

#: Semaphore limit: a semaphore has at most one owner.
_LIMIT = 1


@dataclass(frozen=True, slots=True)
class Value:
    """A config entry at one time."""

    #: True if the entry exists. An empty value counts as existing.
    exists: bool
    data: bytes
    #: Grows with every change; pass it as `if_revision`. 0 if the entry is missing.
    revision: int


async def get(client: Client, path: str, name: str) -> Value:
    """Reads a config entry. The result includes every completed put. To poll, use `watch` instead."""
    try:
        d = await client.node(path).describe(name, owners=False, waiters=False, consistency=Consistency.STRICT)
    except NotFoundError:
        await client.describe_node(path)  # a piece that is missing is no error, a node is
        return Value(False, b"", 0)
    return Value(True, d.data, d.revision)


async def put(client: Client, path: str, name: str, data: bytes, *, if_revision: int | None = None) -> None:
    """Writes a config entry, and creates the entry if necessary.

    With `if_revision`, the write takes effect only if the revision from `get` is still current. Otherwise another
    program was faster: raises `PreconditionFailedError` and changes nothing. Raises `UnknownOutcomeError` if the write
    may have taken effect.
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
                raise PreconditionFailedError(f"the config {name!r} no longer exists") from e
        try:
            await node.create(name, _LIMIT, data)
            return
        except AlreadyExistsError:
            pass  # another program has created it in between


async def put_guarded(lease: Lease, data: bytes) -> None:
    """Writes a config entry if the host confirms that the semaphore's lease is held. Otherwise raises `FencedError`."""
    await lease.update(data)


async def edit(client: Client, path: str, name: str, change: Callable[[bytes | None], bytes]) -> bytes:
    """Replaces a config entry with the result from `change`, and returns the new value.

    `change` gets the current entry, None if the entry is missing, and is called again if another write came first.
    Waits while another session owns the semaphore. Uses its own session, so that a write is never applied twice if an
    answer is lost.
    """
    async with client.session(path, description="a config edit") as session:
        semaphore = session.semaphore(name, create=False)
        while True:
            made = await _rewrite(semaphore, change)
            if made is not None:
                return made


async def _rewrite(semaphore: Semaphore, change: Callable[[bytes | None], bytes]) -> bytes | None:
    """Replaces the value once, unless another write comes first."""
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
    """Yields a config entry's values: first the current value, even if the entry is missing, then the newest after each
    change.

    The node must exist, the entry need not. The loop continues across lost connections and leader changes.
    """
    before: Value | None = None
    async with client.node(path).watch(name, owners=False) as views:
        async for view in views:
            value = Value(view.exists, view.data, view.revision)
            if before is None or (before.exists, before.data) != (value.exists, value.data):
                before = value
                yield value
