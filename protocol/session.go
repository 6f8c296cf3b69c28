package protocol

import kind "github.com/signalbox/signalbox/protocol/session"

// SessionStart starts a session in a node and attaches the session over this connection. Any host that leads a data
// shard serves the request; the session's home is a shard of that host.
type SessionStart struct {
	Path []byte `wire:"text MaxPathBytes"`
	// TimeoutMillis is how long the session lives without a connection; with 0 the session ends with its connection.
	TimeoutMillis uint64 `wire:"millis MaxSessionTimeoutMillis"`
	Details       kind.Details
	// SessionSecret protects the session: later attaches and binds must have the same secret. A session that was
	// started without a secret accepts any secret.
	SessionSecret []byte `wire:"bytes MaxSecretBytes"`
	// AttachSequence is the client's count of its attaches; an attach with a smaller count is refused.
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
	// Change: TimeoutMillis and Details replace the session's. Without Change both are ignored.
	Change        bool
	TimeoutMillis uint64 `wire:"millis MaxSessionTimeoutMillis"`
	Details       kind.Details
	// Sequences: the answer names a base above which the session has used no sequence.
	Sequences bool
}

// SessionAttachAnswer answers a SessionAttach.
type SessionAttachAnswer struct {
	Lease Lease
	// SequenceBase answers an attach with Sequences: the SequencesPerAttach sequences above the base belong to the
	// caller, and were never given before.
	SequenceBase uint64
}

// Lease is what a client may count on after the attach of its session. The lease begins at the sending of the request
// that attached the session.
type Lease struct {
	NodeID        uint64
	TimeoutMillis uint64
	// GraceMillis is the time that the session gets on top of its timeout when the leader changes. A client does not
	// count on the time.
	GraceMillis uint64
	Config      NodeConfig
	// Lost are order ids, each in the class of a shard that was rebuilt: the session holds nothing there under a
	// lower one. The client gives up what it held before it counts on the lease, and takes no such grant later.
	Lost OrderIDs
}

// SessionBind lets a session that is attached over another connection act over this one too.
type SessionBind struct {
	SessionID     uint64
	SessionSecret []byte `wire:"bytes MaxSecretBytes"`
}

// SessionBindAnswer answers a SessionBind.
type SessionBindAnswer struct {
	NodeID uint64
}

// SessionStop ends a session that is attached over this connection. The request goes to the leader of the session's
// home shard.
type SessionStop struct {
	SessionID uint64
}

// SessionStopAnswer answers a SessionStop.
type SessionStopAnswer struct{}

// SessionDetach detaches a session from this connection, as if the connection had closed for that session alone. The
// session keeps what it owns and waits for, until its time is up. Over a connection with only a binding of the
// session, the binding ends and nothing else.
type SessionDetach struct {
	SessionID uint64
	// LeftMillis is how long the session lives without another attach: at most its timeout. 0 stands for the whole
	// timeout.
	LeftMillis uint64 `wire:"millis MaxSessionTimeoutMillis"`
}

// SessionDetachAnswer answers a SessionDetach.
type SessionDetachAnswer struct{}

// SessionDestroy ends the session of another client: for operators.
type SessionDestroy struct {
	SessionID uint64
}

// SessionDestroyAnswer answers a SessionDestroy.
type SessionDestroyAnswer struct{}

// SessionDetached is pushed, with id 0, when a session is no longer attached over, or bound to, this connection,
// though the session may live: another connection has attached the session (StatusBadSession), the host no longer
// leads or vouches for the home shard (StatusMoved, StatusUnavailable), or the client was silent for longer than the
// session's timeout (StatusTimeout), and the session's end follows.
type SessionDetached struct {
	SessionID uint64
	Result    Result
}

// SessionEnded is pushed, with id 0, when a session that is attached over or bound to this connection is over. Nothing
// more comes for the session's acquires and one-shot watches.
type SessionEnded struct {
	SessionID uint64
	Reason    EndReason
}
