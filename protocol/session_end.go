package protocol

// SessionStop ends a session that is attached over this connection. It goes to the leader of the
// session's home shard.
type SessionStop struct {
	SessionID uint64
}

// Kind returns KindSessionStop.
func (*SessionStop) Kind() Kind { return KindSessionStop }

func (m *SessionStop) requestFields(c *codec) {
	c.uint("session_id", &m.SessionID)
}

// SessionStopAnswer answers a SessionStop.
type SessionStopAnswer struct{}

// Kind returns the kind of the answer to a SessionStop.
func (*SessionStopAnswer) Kind() Kind { return KindSessionStop.Answer() }

func (*SessionStopAnswer) answerFields(*codec) {}

// SessionDestroy ends somebody else's session: for operators.
type SessionDestroy struct {
	SessionID uint64
}

// Kind returns KindSessionDestroy.
func (*SessionDestroy) Kind() Kind { return KindSessionDestroy }

func (m *SessionDestroy) requestFields(c *codec) {
	c.uint("session_id", &m.SessionID)
}

// SessionDestroyAnswer answers a SessionDestroy.
type SessionDestroyAnswer struct{}

// Kind returns the kind of the answer to a SessionDestroy.
func (*SessionDestroyAnswer) Kind() Kind { return KindSessionDestroy.Answer() }

func (*SessionDestroyAnswer) answerFields(*codec) {}

// SessionDetached is pushed, with id 0, when a session is no longer attached over, or bound to, this
// connection, though it may live: another connection took it (StatusBadSession), or the host does not
// lead, or cannot vouch for, its home shard any more (StatusMoved, StatusUnavailable), or the client was
// silent for longer than the session's timeout (StatusTimeout): then its end follows.
type SessionDetached struct {
	SessionID uint64
	Result    Result
}

// Kind returns KindSessionDetached.
func (*SessionDetached) Kind() Kind { return KindSessionDetached }

func (m *SessionDetached) pushFields(c *codec) {
	c.uint("session_id", &m.SessionID)
	c.result(&m.Result)
}

// SessionEnded is pushed, with id 0, when a session that is attached over or bound to this connection is
// over. Nothing more comes for its acquires and its one-shot watches.
type SessionEnded struct {
	SessionID uint64
	Reason    EndReason
}

// Kind returns KindSessionEnded.
func (*SessionEnded) Kind() Kind { return KindSessionEnded }

func (m *SessionEnded) pushFields(c *codec) {
	c.uint("session_id", &m.SessionID)
	enum(c, "reason", &m.Reason)
}
