package protocol

import (
	"strconv"
	"time"
)

// Result is the outcome that every answer begins with, and some pushes. The zero value is success.
//
// The strings of a Result are copies, unlike everything else that is read from a frame, because errors outlive frames.
type Result struct {
	Status Status
	// Message describes the outcome for people; mostly empty. Programs act on the status.
	Message string
	// WaitMillis is how long to wait before the next try, with StatusOverloaded above all.
	WaitMillis uint64
	// Reason says what overtook a waiting acquire, with StatusAborted.
	Reason AbortReason
	// Moved names the host to go to instead, with StatusMoved.
	Moved Moved
	// Quota is the quota in the way, with StatusQuotaExceeded.
	Quota Quota
	// Since goes into idempotent requests that the client sends for the first time from now on; in refusals of
	// idempotent requests.
	Since uint64
}

// Moved names the host that leads a shard, as far as the answering host knows.
type Moved struct {
	// ShardID is the shard that the request was for.
	ShardID uint64
	// LeaderHostID is 0 for an unknown leader: the client asks for the routing, or tries again.
	LeaderHostID uint64
	// LeaderAddress is the address of the leader for clients.
	LeaderAddress string
	// RoutingVersion is the version of the routing that has the leader.
	RoutingVersion uint64
	// Slot is the slot of the request. Generation is the generation of the slot in the shard, and grows with each move
	// of the slot. A generation of 0 stands for a slot without moves: only the leader is news.
	Slot       uint64
	Generation uint64
}

// Err returns nil for a success and an *Error for everything else.
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

// Error implements error for a Result that is no success, so that a host can return the answer to a refused request as
// an error.
func (r *Result) Error() string { return r.Err().Error() }

// maxWaitMillis keeps an absurd wait of a peer from overflowing a time.Duration.
const maxWaitMillis = 24 * 60 * 60 * 1000

// result is the two fields that hold a Result: its status, which is all of a success, and a record with the details of
// a failure.
func (c *codec) result(r *Result) {
	enum(c, "status", &r.Status)
	c.record("detail", r.detail)
}

// success is the two fields of a success, a byte each: a zero and an empty array. Nearly every answer is a success, so
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

// Error is an outcome that is not a success. For errors.Is an Error is the sentinel of its status.
type Error struct {
	Status  Status
	Message string
	// Wait is how long the host asks to wait before the next try; 0 where the host does not say.
	Wait time.Duration
	// Reason says what overtook a waiting acquire, with StatusAborted.
	Reason AbortReason
	// Moved names the host to go to instead, with StatusMoved.
	Moved Moved
	// Quota is the quota in the way, with StatusQuotaExceeded.
	Quota Quota
	// Since goes into idempotent requests that the client sends for the first time from now on; 0 where the host does
	// not say.
	Since uint64
}

// Sentinels to compare an error with by errors.Is: one for each status but success.
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

// Error describes the outcome, and what to do where the host said so.
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

// Is makes errors.Is see the sentinel of the status.
func (e *Error) Is(target error) bool {
	return e.Status.is(target)
}

// is says whether target is the sentinel of s: an *Error with the status s and nothing else.
func (s Status) is(target error) bool {
	t, ok := target.(*Error)
	return ok && *t == Error{Status: s}
}

// Quota is the quota that a request would have passed. The zero value says nothing.
type Quota struct {
	Kind QuotaKind
	// Limit is the most that the node or the shard may have, Used how much there was at the time of the refusal:
	// objects or bytes, as Kind says.
	Limit uint64
	Used  uint64
}

// QuotaKind says what a quota bounds: objects or bytes, of a node in one shard or of a shard. The numbers are part of
// the protocol: a number never changes its meaning and is never used again.
type QuotaKind uint8

const (
	// QuotaUnknown: the host does not say.
	QuotaUnknown QuotaKind = 0
	// QuotaNodeObjects: objects of the node, in the shard that the request was for.
	QuotaNodeObjects QuotaKind = 1
	// QuotaNodeBytes: bytes of the node, in the shard that the request was for.
	QuotaNodeBytes QuotaKind = 2
	// QuotaShardObjects: objects of the shard, over all nodes.
	QuotaShardObjects QuotaKind = 3
	// QuotaShardBytes: bytes of the shard, over all nodes.
	QuotaShardBytes QuotaKind = 4
)

// String returns the kind as the docs write it, or the number of an unknown kind.
func (k QuotaKind) String() string {
	return nameOf(k, "QUOTA", "UNKNOWN", "NODE_OBJECTS", "NODE_BYTES", "SHARD_OBJECTS", "SHARD_BYTES")
}
