package protocol

import "strconv"

// EndReason says why a session ended.
type EndReason uint8

const (
	// EndUnknown: the host that answers knows only that the session is over.
	EndUnknown EndReason = 0
	// EndStopped: its client stopped it.
	EndStopped EndReason = 1
	// EndExpired: its client was silent for longer than the session's timeout.
	EndExpired EndReason = 2
	// EndDestroyed: an operator ended it.
	EndDestroyed EndReason = 3
	// EndNodeDropped: its node was dropped.
	EndNodeDropped EndReason = 4
)

var endReasonNames = [...]string{
	EndUnknown:     "UNKNOWN",
	EndStopped:     "STOPPED",
	EndExpired:     "EXPIRED",
	EndDestroyed:   "DESTROYED",
	EndNodeDropped: "NODE_DROPPED",
}

// String returns the reason as the docs write it, or its number where it is not known here.
func (r EndReason) String() string {
	if int(r) < len(endReasonNames) {
		return endReasonNames[r]
	}
	return "END_REASON_" + strconv.Itoa(int(r))
}

// AbortReason says what overtook a waiting acquire.
type AbortReason uint8

const (
	// AbortUnknown: the host that answers knows only that the acquire no longer waits.
	AbortUnknown AbortReason = 0
	// AbortReplaced: the session sent a newer acquire of the same semaphore.
	AbortReplaced AbortReason = 1
	// AbortReleased: the session released the semaphore that it was waiting for.
	AbortReleased AbortReason = 2
	// AbortDeleted: the semaphore was deleted by force.
	AbortDeleted AbortReason = 3
	// AbortNodeDropped: the node was dropped, with all that is in it. Its sessions are over too.
	AbortNodeDropped AbortReason = 4
	// AbortResized: the semaphore's limit was lowered below what the acquire waited for.
	AbortResized AbortReason = 5
)

var abortReasonNames = [...]string{
	AbortUnknown:     "UNKNOWN",
	AbortReplaced:    "REPLACED",
	AbortReleased:    "RELEASED",
	AbortDeleted:     "DELETED",
	AbortNodeDropped: "NODE_DROPPED",
	AbortResized:     "RESIZED",
}

// String returns the reason as the docs write it, or its number where it is not known here.
func (r AbortReason) String() string {
	if int(r) < len(abortReasonNames) {
		return abortReasonNames[r]
	}
	return "ABORT_REASON_" + strconv.Itoa(int(r))
}
