package handle

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/server/watch"
	"github.com/signalbox/signalbox/shard"
)

// Handler executes a request. Handler runs on the connection's event loop, so it must not block.
type Handler func(r *Request) (Reply, error)

// Table maps request kinds to handlers.
type Table map[protocol.Kind]Handler

// Request is a request with the handler's view of the client. The request and its bytes are valid only until the
// handler returns; Caller and Conn remain valid.
type Request struct {
	*protocol.Request
	Caller *caller.Caller
	Conn   Connection
	// Node is the node that the request concerns, 0 for a request without a node. Handlers set Node; hosts count
	// requests by node.
	Node shard.NodeID
	// Asker is the client behind the request, if a gateway has named it.
	Asker string
	// Started is the time when the request was read, in nanoseconds on the host's clock. HeardAt is the same time as
	// time.Time.
	Started int64
	HeardAt time.Time
	// Body is reusable memory for the kind-specific part of a command.
	Body []byte
	// Kept is a handler's state for the connection's next request.
	Kept any
}

// Ticket returns the ticket of the request.
func (r *Request) Ticket() Ticket {
	return Ticket{r.Conn, pipeline.Ticket{Request: r.ID, Kind: r.Kind, Started: r.Started}}
}

// From returns the request's origin in readable form. A gateway's claim is only as trustworthy as the gateway, so the
// result also has the gateway's address.
func (r *Request) From() string {
	if r.Asker == "" {
		return r.Caller.Client.Address
	}
	return r.Asker + " through " + r.Caller.Client.Address
}

// Connection is the handlers' view of a client connection: its sessions and watches. Safe for concurrent use. Answers
// are sent through tickets.
type Connection interface {
	replica.Conn
	watch.Sink

	// Complete appends the only answer to a request: a message, or the refusal in an error.
	Complete(t pipeline.Ticket, m protocol.AnswerMessage, err error)
	// CompleteElsewhere records that the answer has been appended by other code.
	CompleteElsewhere(t pipeline.Ticket)
	// CompleteAttached is Complete combined with attaching a session, in one step. From then on, a session loss finds
	// the binding, and the loss notice follows the answer. Otherwise the client could believe in an attach that is
	// already over, and relate later pongs to it. If the verdict is not Attached, nothing is answered.
	CompleteAttached(t pipeline.Ticket, m protocol.AnswerMessage, id shard.SessionID, node shard.NodeID,
		attach func() lease.Verdict) lease.Verdict

	// Caller returns the client, nil before the client was admitted.
	Caller() *caller.Caller
	// Source returns the connection's command source for pipelines.
	Source() *pipeline.Source
	// Holder returns the connection's lease holder.
	Holder() *lease.Holder
	// AuthThrottle returns the counter for wrong session keys on the connection.
	AuthThrottle() *caller.AuthThrottle
	// Understands reports whether the client understands a push kind.
	Understands(push protocol.Kind) bool
	// Gone reports whether the connection is closed.
	Gone() bool

	// Binding returns the binding of a session that may act over the connection, and false if missing.
	Binding(id shard.SessionID) (Binding, bool)
	// SwapStop replaces the stop in a session's binding, if the current stop is from.
	SwapStop(id shard.SessionID, from, to *Stop)
	// SlotForSession returns a shard's slot for a new session. ok is false if the shard has no slot.
	SlotForSession(home *replica.Replica) (slot shard.Slot, ok bool)
	// Watch counts a watch unless the connection has too many. Ended decrements the count.
	Watch() bool
	// WatchOf is Watch for a session's one-shot watch. The session must be able to act over the connection.
	WatchOf(id shard.SessionID) (counted, acts bool)
}

// Binding is a session that may act over a connection.
type Binding struct {
	Node     shard.NodeID
	Attached bool  // attached over the connection; otherwise only bound
	Stop     *Stop // SESSION_STOP in progress over the connection
}
