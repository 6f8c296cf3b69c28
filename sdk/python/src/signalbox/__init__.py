"""The client of Signalbox, a coordination service: locks, semaphores, elections, discovery and configuration.

    import asyncio
    import signalbox

    async def main():
        async with signalbox.connect("127.0.0.1:7420") as client:
            async with client.session("/demo") as session:
                async with session.lock("job") as lease:
                    store(lease.fence)

    asyncio.run(main())

A task that loses a lease is cancelled within the block, and the block ends with `LeaseLost`. Programs without asyncio
use `signalbox.sync`, which has the same names.
"""

from ._client import Client, connect
from ._describe import (
    ClientInfo, Consistency, Counters, Description, NodeConfig, NodeInfo, OwnerInfo, SessionInfo, WaiterInfo,
)
from ._lease import Lease, Loss
from ._lock import Lock
from ._node import Node
from ._notice import Change
from ._semaphore import ALL, Semaphore
from ._session import Session, State
from ._version import VERSION as __version__
from ._view import Owner, View, Watch
from .errors import (
    Aborted, AbortReason, AlreadyExists, BadRequest, BadSession, Closed, EndReason, Error, Fenced, Forked, Internal,
    LeaseLost, NotAcquired, NotFound, NotHeld, NotLetIn, Overloaded, PreconditionFailed, QuotaExceeded, SessionLost,
    Status, StorageFull, Unauthorized, Unavailable, UnknownOutcome, Unsupported,
)

__all__ = [
    "ALL", "AbortReason", "Aborted", "AlreadyExists", "BadRequest", "BadSession", "Change", "Client", "ClientInfo",
    "Closed", "Consistency", "Counters", "Description", "EndReason", "Error", "Fenced", "Forked", "Internal", "Lease",
    "LeaseLost", "Lock", "Loss", "Node", "NodeConfig", "NodeInfo", "NotAcquired", "NotFound", "NotHeld", "NotLetIn",
    "Overloaded", "Owner", "OwnerInfo", "PreconditionFailed", "QuotaExceeded", "Semaphore", "Session", "SessionInfo",
    "SessionLost", "State", "Status", "StorageFull", "Unauthorized", "Unavailable", "UnknownOutcome", "Unsupported",
    "View", "WaiterInfo", "Watch", "__version__", "connect",
]
