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

// Handler executes a request. It runs on the event loop of the connection, so it must not block.
type Handler func(r *Request) (Reply, error)

// Table has the handlers of a subject, by the kind of request.
type Table map[protocol.Kind]Handler

// Request is a request, and what its handler may know of the client. The request and its bytes are valid only until
// the handler returns; Caller and Conn are valid for longer.
type Request struct {
	*protocol.Request
	Caller *caller.Caller
	Conn   Connection
	// Asker is the client behind the request, if a gateway has named it.
	Asker string
	// Started is when the request was read, in the host's nanoseconds; HeardAt is the same by the host's clock.
	Started int64
	HeardAt time.Time
	// Body is memory for the part of a command in the form of its kind, and is used again.
	Body []byte
	// Kept is what a handler keeps for the next request of the connection.
	Kept any
}

// Ticket returns the ticket of the request.
func (r *Request) Ticket() Ticket {
	return Ticket{r.Conn, pipeline.Ticket{Request: r.ID, Kind: r.Kind, Started: r.Started}}
}

// From is the origin of the request, for people. A gateway's word counts for no more than the gateway, so the gateway's
// address stands beside the client's.
func (r *Request) From() string {
	if r.Asker == "" {
		return r.Caller.Client.Address
	}
	return r.Asker + " through " + r.Caller.Client.Address
}

// Connection is the connection of a client, as handlers see it: the sessions and the watches over it. All goroutines
// may call its methods. Answers leave by tickets.
type Connection interface {
	replica.Conn
	watch.Sink

	// Complete appends the one answer to a request: a message, or the refusal in an error.
	Complete(t pipeline.Ticket, m protocol.AnswerMessage, err error)
	// CompleteElsewhere notes that another has appended the answer to a request.
	CompleteElsewhere(t pipeline.Ticket)
	// CompleteAttached is Complete together with the attaching of a session, in one step. From then on a loss of the
	// session finds the binding, and the message about the loss comes after the answer. Otherwise the client could
	// believe in an attach that is over, and relate every later pong to the attach. Unless the verdict is Attached,
	// nothing is answered.
	CompleteAttached(t pipeline.Ticket, m protocol.AnswerMessage, id shard.SessionID, node shard.NodeID,
		home *replica.Replica, attach func() lease.Verdict) lease.Verdict

	// Caller is the client, nil before the client was let in.
	Caller() *caller.Caller
	// Source is the connection as pipelines see it.
	Source() *pipeline.Source
	// Holder is the connection as leases see it.
	Holder() *lease.Holder
	// AuthThrottle are the wrong keys of sessions that came over the connection.
	AuthThrottle() *caller.AuthThrottle
	// Understands reports whether the client understands pushes of a kind.
	Understands(push protocol.Kind) bool
	// Gone reports whether the connection is closed.
	Gone() bool

	// Binding returns the binding of a session that may act over the connection, and false without one.
	Binding(id shard.SessionID) (Binding, bool)
	// SwapStop changes the stop of a session's binding, if the stop is the first one.
	SwapStop(id shard.SessionID, from, to *Stop)
	// SlotForSession returns the slot of a shard for a new session, and false if the shard has no slot.
	SlotForSession(home *replica.Replica) (slot shard.Slot, ok bool)
	// Watch counts a watch unless the connection has too many. Ended counts it off.
	Watch() bool
	// WatchOf is Watch for a one-shot watch of a session, which must act over the connection.
	WatchOf(id shard.SessionID) (counted, acts bool)
}

// Binding is a session that may act over a connection.
type Binding struct {
	Node     shard.NodeID
	Home     *replica.Replica
	Attached bool  // over this connection; else only bound to it
	Stop     *Stop // the SESSION_STOP under way over this connection
}
