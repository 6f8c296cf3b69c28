package replica

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/shard"
)

// Conn is the connection of a client, as replicas see it: they answer and push over it, and take sessions away from it.
// Its methods may be called from any goroutine, also with the lock of a replica held, but for Flush, Detach and Review.
type Conn interface {
	pipeline.Caller

	// Answer appends the answer to a request that was carried out, AnswerBound the same while the session acts over
	// this connection; AnswerBound returns false, and answers nothing, where it does not.
	Answer(request uint64, m protocol.AnswerMessage)
	AnswerBound(session shard.SessionID, request uint64, m protocol.AnswerMessage) bool
	// Push appends a message that no request asked for, or the outcome of one that was answered before.
	Push(request uint64, m protocol.PushMessage)
	// Mark returns true for the first caller since Unmark: that one is to flush the connection.
	Mark() bool
	Unmark()

	// Acts returns whether the session is attached over this connection or bound to it.
	Acts(session shard.SessionID) bool
	// May returns whether the client has the right to requests of a kind about an object. The name is not kept.
	May(k protocol.Kind, of shard.ObjectName) bool
	// Bind lets a session act over this connection, if it does not already, or only hear of its end where it is silent.
	// It returns false where the connection is gone.
	Bind(session shard.SessionID, node shard.NodeID, home *Replica, silent bool) bool
	// Unbind takes a session away, without a message; bound is false where it was not there.
	Unbind(session shard.SessionID) (node shard.NodeID, bound bool)
	// Detach takes a session away and says why, unless it is attached over this connection at its home again.
	Detach(session shard.SessionID, home *Replica, why protocol.Result) bool
	// Review takes a session away whose client may not act in the node any more.
	Review(session shard.SessionID, node shard.NodeID, home *Replica)
	// Ended counts off a watch.
	Ended(watch uint64)
	// Pending is how many bytes were flushed and are not sent yet.
	Pending() int
}

// flushes are connections that something was appended to. Each is flushed once, however much that is.
type flushes map[Conn]struct{}

func (f flushes) add(c Conn) { f[c] = struct{}{} }

func (f flushes) flush() {
	for c := range f {
		c.Flush(false)
	}
}
