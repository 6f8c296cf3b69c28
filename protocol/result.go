package protocol

import (
	"strconv"
	"time"
)

// Result is the outcome at the beginning of every answer, and of some pushes. The zero value is success.
//
// The strings in a Result are copies, unlike everything else read from a frame, because errors outlive frames.
type Result struct {
	Status Status
	// Message describes the outcome for people; usually empty. Programs act on the status.
	Message string
	// WaitMillis is how long to wait before the next attempt, mainly with StatusOverloaded.
	WaitMillis uint64
	// Reason is why a waiting acquire was aborted, with StatusAborted.
	Reason AbortReason
	// Moved names the host to use instead, with StatusMoved.
	Moved Moved
	// Quota is the exceeded quota, with StatusQuotaExceeded.
	Quota Quota
	// Since is for idempotent requests the client sends for the first time from now on; set when an idempotent request
	// is refused.
	Since uint64
}

// Moved names the host that leads a shard, as far as the answering host knows.
type Moved struct {
	// ShardID is the shard the request was for.
	ShardID uint64
	// LeaderHostID is 0 if unknown: the client asks for the routing, or tries again.
	LeaderHostID uint64
	// LeaderAddress is the leader's address for clients.
	LeaderAddress string
	// RoutingVersion is the version of the routing that includes the leader.
	RoutingVersion uint64
	// Slot is the request's slot. Generation is the slot's generation in the shard, and grows each time the slot moves.
	// A generation of 0 means that the slot was never moved: only the leader is new.
	Slot       uint64
	Generation uint64
}

// Err returns nil for a success and an *Error otherwise.
func (r *Result) Err() error {
	if r.Status == StatusSuccess {
		return nil
	}
	return &Error{
		Status:  r.Status,
		Message: r.Message,
		Wait:    time.Duration(min(r.WaitMillis, maxWaitMillis)) * time.Millisecond,
		Reason:  r.Reason,
		Moved:   r.Moved,
		Quota:   r.Quota,
		Since:   r.Since,
	}
}

// Error implements error for an unsuccessful Result, so a host can return the answer to a refused request as an error.
func (r *Result) Error() string { return r.Err().Error() }

// maxWaitMillis prevents a peer's excessive wait from overflowing a time.Duration.
const maxWaitMillis = 24 * 60 * 60 * 1000

// result is the two fields that hold a Result: its status, and a record with the details of a failure, empty for a
// success.
func (c *codec) result(r *Result) {
	enum(c, "status", &r.Status)
	c.record("detail", r.detail)
}

// success is the two fields for a success, a byte each: a zero and an empty array. Nearly every answer is a success, so
// answers write and read the fields at once.
const success = "\x00\x90"

func (r *Result) detail(c *codec) {
	c.textCopy("message", &r.Message, MaxMessageBytes)
	c.uint("wait_ms", &r.WaitMillis)
	enum(c, "reason", &r.Reason)
	c.uint("shard_id", &r.Moved.ShardID)
	c.uint("leader_host_id", &r.Moved.LeaderHostID)
	c.textCopy("leader_address", &r.Moved.LeaderAddress, MaxAddressBytes)
	c.uint("routing_version", &r.Moved.RoutingVersion)
	c.record("quota", r.Quota.fields)
	c.uint("since", &r.Since)
	c.uint("slot", &r.Moved.Slot)
	c.uint("generation", &r.Moved.Generation)
}

// Error is an unsuccessful outcome. errors.Is matches an Error with its status's sentinel.
type Error struct {
	Status  Status
	Message string
	// Wait is how long the host asks to wait before the next attempt; 0 if unset.
	Wait time.Duration
	// Reason is why a waiting acquire was aborted, with StatusAborted.
	Reason AbortReason
	// Moved names the host to use instead, with StatusMoved.
	Moved Moved
	// Quota is the exceeded quota, with StatusQuotaExceeded.
	Quota Quota
	// Since is for idempotent requests the client sends for the first time from now on; 0 if unset.
	Since uint64
}

// Sentinels for errors.Is: one per status except success.
var (
	ErrBadRequest         error = &Error{Status: StatusBadRequest}
	ErrUnauthorized       error = &Error{Status: StatusUnauthorized}
	ErrNotFound           error = &Error{Status: StatusNotFound}
	ErrAlreadyExists      error = &Error{Status: StatusAlreadyExists}
	ErrPreconditionFailed error = &Error{Status: StatusPreconditionFailed}
	ErrAborted            error = &Error{Status: StatusAborted}
	ErrFenced             error = &Error{Status: StatusFenced}
	ErrBadSession         error = &Error{Status: StatusBadSession}
	ErrSessionExpired     error = &Error{Status: StatusSessionExpired}
	ErrStale              error = &Error{Status: StatusStale}
	ErrMoved              error = &Error{Status: StatusMoved}
	ErrUnavailable        error = &Error{Status: StatusUnavailable}
	ErrOverloaded         error = &Error{Status: StatusOverloaded}
	ErrStorageFull        error = &Error{Status: StatusStorageFull}
	ErrUnsupported        error = &Error{Status: StatusUnsupported}
	ErrTimeout            error = &Error{Status: StatusHeartbeatTimeout}
	ErrInternal           error = &Error{Status: StatusInternal}
	ErrQuotaExceeded      error = &Error{Status: StatusQuotaExceeded}
	ErrSequenceReused     error = &Error{Status: StatusSequenceReused}
)

// Error describes the outcome, and what to do if the host has suggested it.
func (e *Error) Error() string {
	text := e.Status.String()
	if e.Reason != AbortUnknown {
		text += " (" + e.Reason.String() + ")"
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.Moved.LeaderAddress != "" {
		text += " (shard " + strconv.FormatUint(e.Moved.ShardID, 10) + " is led by host " +
			strconv.FormatUint(e.Moved.LeaderHostID, 10) + " at " + e.Moved.LeaderAddress + ")"
	}
	if e.Wait > 0 {
		text += " (try again in " + e.Wait.String() + ")"
	}
	return text
}

// Retry returns what to do with the request.
func (e *Error) Retry() Retry {
	return e.Status.Retry()
}

// Is makes errors.Is match the status's sentinel.
func (e *Error) Is(target error) bool {
	return e.Status.is(target)
}

// is reports whether target is the sentinel for s: an *Error with the status s and nothing else.
func (s Status) is(target error) bool {
	t, ok := target.(*Error)
	return ok && *t == Error{Status: s}
}

// Quota is the quota a request would have exceeded. The zero value is unset.
type Quota struct {
	Kind QuotaKind
	// Limit is the maximum for the node or the shard, Used the amount in use when the request was refused: objects or
	// bytes, according to Kind.
	Limit uint64
	Used  uint64
}

// QuotaKind is what a quota bounds: objects or bytes, in a node's part of one shard or in a shard. The numbers are part
// of the protocol: a number never changes its meaning and is never reused.
type QuotaKind uint8

const (
	// QuotaUnknown: unset by the host.
	QuotaUnknown QuotaKind = 0
	// QuotaNodeObjects: the node's objects, in the shard the request was for.
	QuotaNodeObjects QuotaKind = 1
	// QuotaNodeBytes: the node's bytes, in the shard the request was for.
	QuotaNodeBytes QuotaKind = 2
	// QuotaShardObjects: the shard's objects, over all nodes.
	QuotaShardObjects QuotaKind = 3
	// QuotaShardBytes: the shard's bytes, over all nodes.
	QuotaShardBytes QuotaKind = 4
)

// String returns the kind as the docs write it, or the number if unknown.
func (k QuotaKind) String() string {
	return nameOf(k, "QUOTA", "UNKNOWN", "NODE_OBJECTS", "NODE_BYTES", "SHARD_OBJECTS", "SHARD_BYTES")
}
