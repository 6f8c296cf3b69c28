package replica

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/shard"
)

// Conn is the connection of a client, as replicas see it: replicas answer and push over a Conn, and detach sessions
// from it. All goroutines may call its methods, also with the lock of a replica held, except Flush, Detach and
// Review.
type Conn interface {
	pipeline.Caller

	// Answer appends the answer to a successful request. AnswerBound does so only while the session acts over this
	// connection; otherwise AnswerBound returns false, and answers nothing.
	Answer(t pipeline.Ticket, m protocol.AnswerMessage)
	AnswerBound(session shard.SessionID, t pipeline.Ticket, m protocol.AnswerMessage) bool
	// Push appends a message without a request, or the outcome of a request that was answered earlier.
	Push(request uint64, m protocol.PushMessage)
	// Mark returns true for the first caller since Unmark, and the first caller is to flush the connection.
	Mark() bool
	Unmark()

	// Acts returns whether the session is attached over this connection or bound to it.
	Acts(session shard.SessionID) bool
	// May returns whether the client has the right to requests of a kind about an object. The name is not kept.
	May(k protocol.Kind, of shard.ObjectName) bool
	// Bind lets a session act over this connection or, if silent is set, only reports the session's end over it. Bind
	// does nothing for a session that acts already, and returns false if the connection is gone.
	Bind(session shard.SessionID, node shard.NodeID, home *Replica, silent bool) bool
	// Unbind removes a session from the connection, without a message; bound is false if the session was not there.
	Unbind(session shard.SessionID) (node shard.NodeID, bound bool)
	// Detach removes a session and sends the client the reason, unless the session is attached over this connection
	// at its home again.
	Detach(session shard.SessionID, home *Replica, why protocol.Result) bool
	// Review removes the session if its client may act in the node no more.
	Review(session shard.SessionID, node shard.NodeID, home *Replica)
	// Ended counts off a watch.
	Ended(watch uint64)
	// Pending is how many bytes were flushed and are not sent yet.
	Pending() int
}
