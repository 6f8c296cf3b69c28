package protocol

import (
	"time"

	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// Result is the outcome that every answer begins with, and some pushes. Its zero value is success.
//
// Unlike everything else that is read from a frame, its strings are copies, because errors outlive frames.
type Result struct {
	Status Status
	// Message says for people what happened; mostly empty. Programs look at the status.
	Message string
	// WaitMillis is how long to wait before trying again, with StatusOverloaded above all.
	WaitMillis uint64
	// Reason says what overtook a waiting acquire, with StatusAborted.
	Reason AbortReason
	// Moved says where to go instead, with StatusMoved.
	Moved Moved
}

// Moved names the host that leads a shard, as far as the host that answers knows.
type Moved struct {
	// ShardID is the shard that the request was for.
	ShardID uint64
	// LeaderHostID is 0 where the leader is not known: ask for the routing, or try again.
	LeaderHostID uint64
	// LeaderAddress is where the leader takes clients.
	LeaderAddress string
	// RoutingVersion is the version of the routing that this was read from.
	RoutingVersion uint64
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
	}
}

// maxWaitMillis keeps a wait that a peer made up from overflowing a time.Duration.
const maxWaitMillis = 24 * 60 * 60 * 1000

// result is the two fields that hold a Result: its status, which is all of a success, and a record with
// the details of a failure.
func (c *codec) result(r *Result) {
	if c.writing && *r == (Result{}) {
		// Nearly every answer is a success: its two fields are a zero and an empty array.
		c.out.B = append(c.out.B, 0, msgpcode.FixedArrayLow)
		c.wrote(false)
		c.wrote(false)
		return
	}
	enum(c, "status", &r.Status)
	c.record("detail", r.detail)
}

func (r *Result) detail(c *codec) {
	c.textCopy("message", &r.Message, MaxMessageBytes)
	c.uint("wait_ms", &r.WaitMillis)
	enum(c, "reason", &r.Reason)
	c.uint("shard_id", &r.Moved.ShardID)
	c.uint("leader_host_id", &r.Moved.LeaderHostID)
	c.textCopy("leader_address", &r.Moved.LeaderAddress, MaxAddressBytes)
	c.uint("routing_version", &r.Moved.RoutingVersion)
}
