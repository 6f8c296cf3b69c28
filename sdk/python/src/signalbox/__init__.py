"""Client for Signalbox, a coordination service: locks, semaphores, elections, discovery and configuration.

    import asyncio
    import signalbox

    async def main():
        async with signalbox.connect("127.0.0.1:7420") as client:
            async with client.session("/demo") as session:
                async with session.lock("job") as lease:
                    store(lease.fence)

    asyncio.run(main())

If a task loses its lease, the task is cancelled within the block, and the block ends with `LeaseLostError`. Programs
without asyncio use `signalbox.sync`, which has the same names.
"""

from ._client import Client, connect
from ._describe import (
    ClientInfo, Consistency, Counters, SemaphoreInfo, NodeConfig, NodeInfo, OwnerInfo, SessionInfo, Waiter,
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
    AbortedError, AbortReason, AlreadyExistsError, BadRequestError, BadSessionError, ClosedError, EndReason,
    SignalboxError, FencedError, ForkedProcessError, InternalError, LeaseLostError, NotAcquiredError, NotFoundError,
    NotHeldError, UnauthenticatedError, OverloadedError, PreconditionFailedError, QuotaExceededError,
    SessionLostError, Status, StorageFullError, UnauthorizedError, UnavailableError, UnknownOutcomeError,
    UnsupportedError,
)

__all__ = [
    "ALL", "AbortReason", "AbortedError", "AlreadyExistsError", "BadRequestError", "BadSessionError", "Change",
    "Client", "ClientInfo", "ClosedError", "Consistency", "Counters", "SemaphoreInfo", "EndReason", "SignalboxError",
    "FencedError", "ForkedProcessError", "InternalError", "Lease", "LeaseLostError", "Lock", "Loss", "Node",
    "NodeConfig", "NodeInfo", "NotAcquiredError", "NotFoundError", "NotHeldError", "UnauthenticatedError",
    "OverloadedError", "Owner", "OwnerInfo", "PreconditionFailedError", "QuotaExceededError", "Semaphore", "Session",
    "SessionInfo", "SessionLostError", "State", "Status", "StorageFullError", "UnauthorizedError", "UnavailableError",
    "UnknownOutcomeError", "UnsupportedError", "View", "Waiter", "Watch", "__version__", "connect",
]
