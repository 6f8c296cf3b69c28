"""What goes wrong, as exceptions. `SignalboxError` is the base of all of them.

A program that uses locks meets four: `NotAcquiredError` (it was taken for all of the time that the program waited),
`LeaseLostError` (it was got and lost), `SessionLostError` (the session is over, and all that it owned), and
`UnknownOutcomeError` (a
change may have been made, or not).
"""

from __future__ import annotations

import enum
from typing import Any

from . import _wire as wire


class Status(enum.IntEnum):
    """What a host answers."""

    SUCCESS = 0
    BAD_REQUEST = 1
    UNAUTHORIZED = 2
    NOT_FOUND = 3
    ALREADY_EXISTS = 4
    PRECONDITION_FAILED = 5
    ABORTED = 6
    FENCED = 7
    BAD_SESSION = 8
    SESSION_EXPIRED = 9
    STALE = 10
    MOVED = 11
    UNAVAILABLE = 12
    OVERLOADED = 13
    STORAGE_FULL = 14
    UNSUPPORTED = 15
    HEARTBEAT_TIMEOUT = 16
    INTERNAL = 17
    QUOTA_EXCEEDED = 18
    SEQUENCE_REUSED = 19


#: The statuses with which a request may be sent again as it is.
_AGAIN = frozenset({
    Status.MOVED, Status.UNAVAILABLE, Status.OVERLOADED, Status.STORAGE_FULL, Status.HEARTBEAT_TIMEOUT,
})


class SignalboxError(Exception):
    """The base of all errors of this package."""

    #: What a host answered, as a number; 0 where no host did.
    status: int = 0
    #: How many seconds a host asks to wait before the next try.
    wait: float = 0.0
    #: The detail of the answer, by name.
    detail: dict[str, Any] = {}


class BadRequestError(SignalboxError):
    """The request breaks a rule that no state can change, such as asking for more than the limit."""

    status = Status.BAD_REQUEST


class UnauthorizedError(SignalboxError):
    """The token does not give the right to do this. The text says whose token it is, and which right it lacks."""

    status = Status.UNAUTHORIZED


class UnauthenticatedError(UnauthorizedError):
    """Hosts let no connection of the client in: its token is not known, or not any more."""


class NotFoundError(SignalboxError):
    """There is no such node, semaphore, rollout, process or member."""

    status = Status.NOT_FOUND


class AlreadyExistsError(SignalboxError):
    """What was to be made is there. Nothing was changed."""

    status = Status.ALREADY_EXISTS


class PreconditionFailedError(SignalboxError):
    """The state forbids it: the semaphore is in use, or has another revision, or is of the other sort."""

    status = Status.PRECONDITION_FAILED


class AbortReason(enum.IntEnum):
    """What overtook an acquire that waited."""

    UNKNOWN = 0
    REPLACED = 1
    RELEASED = 2
    DELETED = 3
    NODE_DROPPED = 4
    RESIZED = 5


_ABORTED = {
    AbortReason.REPLACED: "a newer acquire of the same session took its place",
    AbortReason.RELEASED: "it was released",
    AbortReason.DELETED: "the semaphore was deleted by force",
    AbortReason.NODE_DROPPED: "the node was dropped",
    AbortReason.RESIZED: "the limit was lowered below what was asked for",
}


class AbortedError(SignalboxError):
    """An acquire that waited was overtaken; `reason` says by what."""

    status = Status.ABORTED

    def __init__(self, text: str = "", reason: int = 0) -> None:
        try:
            self.reason = AbortReason(reason)
        except ValueError:
            self.reason = AbortReason.UNKNOWN
        by = _ABORTED.get(self.reason, "the host does not say by what")
        super().__init__(text or f"the acquire was overtaken: {by}")


class FencedError(SignalboxError):
    """The lease that guards the change is over: its fence is not the current one. Nothing was changed."""

    status = Status.FENCED


class EndReason(enum.Enum):
    """What ended a session."""

    UNKNOWN = "it is over"
    SILENCE = "no host has vouched for it in time"
    EXPIRED = "the host has not heard of it in time"
    DESTROYED = "an operator ended it"
    NODE_DROPPED = "its node was dropped"
    TAKEN = "another client took it"
    CLOSED = "it was closed"
    FORKED = "the process was forked, and its sessions belong to the parent"


class SessionLostError(SignalboxError):
    """The session is over, and all that it owned is lost. `reason` says why; open another one, or use `renew=True`."""

    status = Status.SESSION_EXPIRED

    def __init__(self, session_id: int = 0, reason: EndReason = EndReason.UNKNOWN, text: str = "") -> None:
        super().__init__(f"session {session_id} ended: {reason.value}" + (f": {text}" if text else ""))
        self.session_id, self.reason, self.text = session_id, reason, text

    def again(self) -> SessionLostError:
        """Another exception that says the same, for another task to raise."""
        return type(self)(self.session_id, self.reason, self.text)


class BadSessionError(SignalboxError):
    """The host does not take the session from this client: another one took it, with its secret."""

    status = Status.BAD_SESSION


class UnavailableError(SignalboxError):
    """No host could be asked in time, or none could answer."""

    status = Status.UNAVAILABLE


class UnknownOutcomeError(UnavailableError):
    """The change may have been made, or not: look before it is tried again."""


class SessionLostUnknownError(SessionLostError, UnknownOutcomeError):
    """The session ended before a host had answered a change: it may have been made, or not."""

    status = Status.SESSION_EXPIRED


class OverloadedError(SignalboxError):
    """A limit of the host was reached. Nothing happened."""

    status = Status.OVERLOADED


class StorageFullError(SignalboxError):
    """The host refuses writes until there is room on its disk. Nothing happened."""

    status = Status.STORAGE_FULL


class UnsupportedError(SignalboxError):
    """The host does not know the request."""

    status = Status.UNSUPPORTED


class InternalError(SignalboxError):
    """The host found itself in a state that it must not be in, or broke the protocol. Please report it."""

    status = Status.INTERNAL


class QuotaExceededError(SignalboxError):
    """A node or a shard would hold more than its quota. Free something, or have the quota raised."""

    status = Status.QUOTA_EXCEEDED


class NotAcquiredError(SignalboxError):
    """It was not got in the time that the program waits. Nothing is left in the queue."""


class LeaseLostError(SignalboxError):
    """It was got, and lost before it was released: others may have it. The cause, or `reason`, says how."""

    def __init__(self, text: str, reason: BaseException | None = None) -> None:
        super().__init__(text)
        self.reason = reason


class NotHeldError(SignalboxError):
    """It was released, or never got."""


class ClosedError(SignalboxError):
    """The client is closed."""


class ForkedProcessError(ClosedError):
    """The client belongs to the process before the fork. Connect anew in this one."""


class TransportError(UnavailableError):
    """A connection could not be made, or was lost. What was under way over it has an unknown outcome."""


class Answer(SignalboxError):
    """A status that has no exception of its own: of a newer host, or one that the client handles itself."""


_OF_STATUS: dict[int, type[SignalboxError]] = {
    c.status: c for c in (BadRequestError, UnauthorizedError, NotFoundError, AlreadyExistsError,
                          PreconditionFailedError, FencedError, BadSessionError, UnavailableError,
                          OverloadedError, StorageFullError, UnsupportedError, InternalError, QuotaExceededError)
}


def of_status(status: int, raw: Any) -> SignalboxError:
    """The exception of an answer, by its status and its detail as it was read."""
    detail = wire.read_record("Detail", raw)
    if status == Status.ABORTED:
        error: SignalboxError = AbortedError(detail["message"], detail["reason"])
    elif status == Status.SESSION_EXPIRED:
        error = SessionLostError(0, EndReason.UNKNOWN, detail["message"])
    else:
        try:
            name = Status(status).name
        except ValueError:
            name = f"status {status}"
        error = _OF_STATUS.get(status, Answer)(detail["message"] or name)
    error.status, error.detail, error.wait = status, detail, detail["wait_ms"] / 1000
    return error


def answer_error(raw: list[Any]) -> SignalboxError:
    """The exception of a message whose status and detail stand behind kind and id."""
    return of_status(wire.uint_of(raw, 2), raw[3] if len(raw) > 3 else None)


def refused(raw: list[Any]) -> SignalboxError | None:
    """Why a host refused a request, None where it did not."""
    return answer_error(raw) if wire.uint_of(raw, 2) else None


def refusal(error: BaseException | None) -> int:
    """The status of a host's answer; 0 for a lost connection, whatever it carries."""
    if isinstance(error, SignalboxError) and not isinstance(error, TransportError):
        return error.status
    return 0


def is_retried(status: int) -> bool:
    """Whether a status leaves a request as it was, so that it is sent again."""
    return status in _AGAIN or status == Status.STALE


def is_doubtful(error: SignalboxError) -> bool:
    """Whether a request may have been carried out though it failed. A host that asks to wait has done nothing."""
    return isinstance(error, TransportError) or error.status == Status.UNAVAILABLE and error.wait == 0
