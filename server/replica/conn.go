package replica

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/shard"
)

// Conn is a client connection as seen by replicas: they answer and push over a Conn, and detach sessions from it.
// Safe for concurrent use, also with a replica's lock held, except Flush, Detach and Review.
type Conn interface {
	pipeline.Caller

	// Answer appends the answer to a successful request. AnswerBound does so only while the session may act over the
	// connection; otherwise it returns false without answering.
	Answer(t pipeline.Ticket, m protocol.AnswerMessage)
	AnswerBound(session shard.SessionID, t pipeline.Ticket, m protocol.AnswerMessage) bool
	// Push appends a message without a request, or the outcome of a previously answered request.
	Push(request uint64, m protocol.PushMessage)
	// Mark returns true for the first caller since Unmark. The first caller must flush the connection.
	Mark() bool
	Unmark()

	// Acts returns whether the session is attached over the connection or bound to it.
	Acts(session shard.SessionID) bool
	// May returns whether the client has the right to a request kind for an object. May does not retain the name.
	May(k protocol.Kind, of shard.ObjectName) bool
	// Bind lets a session act over the connection or, if silent is set, only reports the session's end over it. Bind
	// does nothing for a session that may already act, and returns false if the connection is closed.
	Bind(session shard.SessionID, node shard.NodeID, silent bool) bool
	// Unbind removes a session from the connection, without a message. bound is false if the session was not bound.
	Unbind(session shard.SessionID) (node shard.NodeID, bound bool)
	// Detach removes a session and sends the client the reason, unless the session has been attached over the
	// connection again at its home shard.
	Detach(session shard.SessionID, why protocol.Result) bool
	// Review removes the session if its client may no longer act in the node.
	Review(session shard.SessionID, node shard.NodeID)
	// Ended decrements the watch count.
	Ended(watch uint64)
	// Pending returns the number of flushed bytes that are not sent yet.
	Pending() int
}
