"""Exceptions. `SignalboxError` is the base class.

A program that uses locks handles four exceptions: `NotAcquiredError` (the wait has expired), `LeaseLostError` (the lock
was acquired and lost), `SessionLostError` (the session has ended, with all its holdings), and `UnknownOutcomeError` (a
change may have been made).
"""

from __future__ import annotations

import enum
from typing import Any

from . import _wire as wire


class Status(enum.IntEnum):
    """A host's answer status."""

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


#: Statuses after which a request may be repeated unchanged.
_AGAIN = frozenset({
    Status.MOVED, Status.UNAVAILABLE, Status.OVERLOADED, Status.STORAGE_FULL, Status.HEARTBEAT_TIMEOUT,
})


class SignalboxError(Exception):
    """Base class for all errors in this package."""

    #: The host's answer as a number; 0 without an answer.
    status: int = 0
    #: Pause in seconds before the next attempt, as requested by the host.
    wait: float = 0.0
    #: The answer's detail fields by name.
    detail: dict[str, Any] = {}


class BadRequestError(SignalboxError):
    """The request breaks a rule that does not depend on state, for example by asking for more than the limit."""

    status = Status.BAD_REQUEST


class UnauthorizedError(SignalboxError):
    """The token lacks a right. The text names the token and the right."""

    status = Status.UNAUTHORIZED


class UnauthenticatedError(UnauthorizedError):
    """The token is unknown or no longer valid, so hosts accept no connection from the client."""


class NotFoundError(SignalboxError):
    """The node, semaphore, rollout, process or member does not exist."""

    status = Status.NOT_FOUND


class AlreadyExistsError(SignalboxError):
    """The object already exists. Nothing was changed."""

    status = Status.ALREADY_EXISTS


class PreconditionFailedError(SignalboxError):
    """The current state forbids the request: the semaphore is in use, has a different revision, or has a different
    type."""

    status = Status.PRECONDITION_FAILED


class AbortReason(enum.IntEnum):
    """Reason for an aborted acquire."""

    UNKNOWN = 0
    REPLACED = 1
    RELEASED = 2
    DELETED = 3
    NODE_DROPPED = 4
    RESIZED = 5


_ABORTED = {
    AbortReason.REPLACED: "a newer acquire by the session replaced it",
    AbortReason.RELEASED: "the session released the semaphore",
    AbortReason.DELETED: "the semaphore was deleted by force",
    AbortReason.NODE_DROPPED: "the node was dropped",
    AbortReason.RESIZED: "the limit was lowered below the requested count",
}


class AbortedError(SignalboxError):
    """A waiting acquire was aborted for the given `reason`."""

    status = Status.ABORTED

    def __init__(self, text: str = "", reason: int = 0) -> None:
        try:
            self.reason = AbortReason(reason)
        except ValueError:
            self.reason = AbortReason.UNKNOWN
        by = _ABORTED.get(self.reason, "unknown reason")
        super().__init__(text or f"the acquire was aborted: {by}")


class FencedError(SignalboxError):
    """The lease that guards the change is no longer held: its fence is not current. Nothing was changed."""

    status = Status.FENCED


class EndReason(enum.Enum):
    """Reason for a session's end."""

    UNKNOWN = "unknown reason"
    SILENCE = "no host has confirmed the session in time"
    BLOCKED = "the event loop was blocked for longer than max_blocked"
    EXPIRED = "the host has not heard from the client within the session timeout"
    DESTROYED = "an operator ended the session"
    NODE_DROPPED = "the node was dropped"
    TAKEN = "a second client attached the session"
    CLOSED = "the session was closed"
    FORKED = "the process was forked, and its sessions belong to the parent"


class SessionLostError(SignalboxError):
    """The session has ended, and all its holdings are lost, for the given `reason`. Open a new session, or use
    `renew=True`."""

    status = Status.SESSION_EXPIRED

    def __init__(self, session_id: int = 0, reason: EndReason = EndReason.UNKNOWN, text: str = "") -> None:
        super().__init__(f"session {session_id} ended: {reason.value}" + (f": {text}" if text else ""))
        self.session_id, self.reason, self.text = session_id, reason, text

    def again(self) -> SessionLostError:
        """Returns a new exception with equal content, for a different task to raise."""
        return type(self)(self.session_id, self.reason, self.text)


class BadSessionError(SignalboxError):
    """The host rejects this client for the session: a different client has attached the session with its secret."""

    status = Status.BAD_SESSION


class UnavailableError(SignalboxError):
    """No host could be asked in time, or none could answer."""

    status = Status.UNAVAILABLE


class UnknownOutcomeError(UnavailableError):
    """The change may have been made: check the state before a new attempt."""


class SessionLostUnknownError(SessionLostError, UnknownOutcomeError):
    """The session ended before a host had answered a change. The change may have been made."""

    status = Status.SESSION_EXPIRED


class OverloadedError(SignalboxError):
    """A host limit was reached. Nothing was changed."""

    status = Status.OVERLOADED


class StorageFullError(SignalboxError):
    """The host refuses writes until disk space is available. Nothing was changed."""

    status = Status.STORAGE_FULL


class UnsupportedError(SignalboxError):
    """The host does not support the request."""

    status = Status.UNSUPPORTED


class InternalError(SignalboxError):
    """The host has found an invalid internal state, or has broken the protocol. Please report a bug."""

    status = Status.INTERNAL


class QuotaExceededError(SignalboxError):
    """The change would exceed a node's or the shard's quota. Free space, or ask for a higher quota."""

    status = Status.QUOTA_EXCEEDED


class NotAcquiredError(SignalboxError):
    """The lock was not acquired in time. The queue position is released."""


class LeaseLostError(SignalboxError):
    """The lock was acquired, and lost before its release: another session may hold the lock. The cause or `reason`
    explains the loss."""

    def __init__(self, text: str, reason: BaseException | None = None) -> None:
        super().__init__(text)
        self.reason = reason


class NotHeldError(SignalboxError):
    """The lock was released, or never acquired."""


class ClosedError(SignalboxError):
    """The client is closed."""


class ForkedProcessError(ClosedError):
    """The client belongs to the parent process. Connect again after a fork."""


class TransportError(UnavailableError):
    """A connection failed or was lost. Requests in progress have an unknown outcome."""


class Answer(SignalboxError):
    """A status without a separate exception: from a newer host, or handled by the client."""


_OF_STATUS: dict[int, type[SignalboxError]] = {
    c.status: c for c in (BadRequestError, UnauthorizedError, NotFoundError, AlreadyExistsError,
                          PreconditionFailedError, FencedError, BadSessionError, UnavailableError,
                          OverloadedError, StorageFullError, UnsupportedError, InternalError, QuotaExceededError)
}


def of_status(status: int, raw: Any) -> SignalboxError:
    """Returns the exception for an answer's status and raw detail."""
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
    """Returns the exception for a raw message with status and detail after kind and id."""
    return of_status(wire.uint_of(raw, 2), raw[3] if len(raw) > 3 else None)


def refused(raw: list[Any]) -> SignalboxError | None:
    """Returns the host's error in an answer, None on success."""
    return answer_error(raw) if wire.uint_of(raw, 2) else None


def refusal(error: BaseException | None) -> int:
    """Returns the status in a host's answer; 0 for a lost connection, regardless of the cause."""
    if isinstance(error, SignalboxError) and not isinstance(error, TransportError):
        return error.status
    return 0


def is_retried(status: int) -> bool:
    """True if a status means that the request was not executed and may be retried."""
    return status in _AGAIN or status == Status.STALE


def is_doubtful(error: SignalboxError) -> bool:
    """True if a failed request may have been executed. A host that asks to wait has executed nothing."""
    return isinstance(error, TransportError) or error.status == Status.UNAVAILABLE and error.wait == 0
