package protocol

import kind "github.com/signalbox/signalbox/protocol/session"

// SessionStart starts a session in a node and attaches the session over this connection. Any leader of a data shard
// serves the request; the session's home is a shard led by the serving host.
type SessionStart struct {
	Path []byte `wire:"text MaxPathBytes"`
	// TimeoutMillis is how long the session lives without a connection; with 0 the session ends with its connection.
	TimeoutMillis uint64 `wire:"millis MaxSessionTimeoutMillis"`
	Details       kind.Details
	// SessionSecret protects the session: later attaches and binds must have the same secret. A session started without
	// a secret accepts any secret.
	SessionSecret []byte `wire:"bytes MaxSecretBytes"`
	// AttachSequence is the client's attach counter; an attach with a smaller counter is refused.
	AttachSequence uint64
}

// SessionStartAnswer answers a SessionStart.
type SessionStartAnswer struct {
	SessionID uint64
	Lease     Lease
}

// SessionAttach attaches a session over this connection, and detaches the session from any older connection. The
// request goes to the leader of the session's home shard.
type SessionAttach struct {
	SessionID      uint64
	SessionSecret  []byte `wire:"bytes MaxSecretBytes"`
	AttachSequence uint64
	// Change makes TimeoutMillis and Details replace the session's values. Otherwise both are ignored.
	Change        bool
	TimeoutMillis uint64 `wire:"millis MaxSessionTimeoutMillis"`
	Details       kind.Details
	// Sequences asks for a base above which the session has used no sequence.
	Sequences bool
}

// SessionAttachAnswer answers a SessionAttach.
type SessionAttachAnswer struct {
	Lease Lease
	// SequenceBase answers an attach with Sequences: the SequencesPerAttach sequences above the base belong to the
	// caller, and were never issued before.
	SequenceBase uint64
}

// Lease is what a client may rely on after attaching its session. The lease begins when the client sends the attach
// request.
type Lease struct {
	NodeID        uint64
	TimeoutMillis uint64
	// GraceMillis is added to the session's timeout when the leader changes. Clients must not rely on the grace period.
	GraceMillis uint64
	Config      NodeConfig
	// Lost has a record for each rebuilt shard that does not grant yet. Before a client relies on the lease, the client
	// gives up the lost holdings.
	Lost List[LostHoldings, *LostHoldings]
}

// LostHoldings are the holdings that sessions lose because a shard was rebuilt.
type LostHoldings struct {
	// Fence is an order id in the shard's class, above all order ids that were assigned in the slots before.
	Fence uint64
	// Slots are the slots whose holdings are lost: one bit per slot, slot i at bit i%8 of byte i/8.
	Slots []byte `wire:"bytes SlotSetBytes"`
}

// Have reports whether the lost holdings include one in a slot with an order id. first is set if the client sent its
// first request for the holding before it heard of the loss. Later requests can only get old order ids from hosts that
// do not know of the rebuild, or for holdings that are not lost.
func (l *LostHoldings) Have(slot, order uint64, first bool) bool {
	at := slot / 8
	return order < l.Fence && at < uint64(len(l.Slots)) && l.Slots[at]>>(slot%8)&1 != 0 &&
		(first || ShardOfOrder(order) == ShardOfOrder(l.Fence))
}

// SessionBind lets a session attached over another connection also use this connection.
type SessionBind struct {
	SessionID     uint64
	SessionSecret []byte `wire:"bytes MaxSecretBytes"`
}

// SessionBindAnswer answers a SessionBind.
type SessionBindAnswer struct {
	NodeID uint64
}

// SessionStop ends a session attached over this connection. The request goes to the leader of the session's home shard.
type SessionStop struct {
	SessionID uint64
}

// SessionStopAnswer answers a SessionStop.
type SessionStopAnswer struct{}

// SessionDetach detaches a session from this connection, as if the connection had closed for the session alone. The
// session keeps its holdings and queue positions until the session timeout has passed. If the session is only bound to
// the connection, only the binding ends.
type SessionDetach struct {
	SessionID uint64
	// LeftMillis is how long the session lives without another attach: at most its timeout. 0 means the whole timeout.
	LeftMillis uint64 `wire:"millis MaxSessionTimeoutMillis"`
}

// SessionDetachAnswer answers a SessionDetach.
type SessionDetachAnswer struct{}

// SessionDestroy ends another client's session: for operators.
type SessionDestroy struct {
	SessionID uint64
}

// SessionDestroyAnswer answers a SessionDestroy.
type SessionDestroyAnswer struct{}

// SessionDetached is pushed, with id 0, when a session is no longer attached over, or bound to, this connection, though
// the session may live: another connection has attached the session (StatusBadSession), the host no longer leads or
// vouches for the home shard (StatusMoved, StatusUnavailable), or the client was silent for longer than the session
// timeout (StatusHeartbeatTimeout), and the session will end.
type SessionDetached struct {
	SessionID uint64
	Result    Result
}

// SessionEnded is pushed, with id 0, when a session attached over or bound to this connection has ended. Nothing more
// follows for the session's acquires and one-shot watches.
type SessionEnded struct {
	SessionID uint64
	Reason    EndReason
}
