package protocol

// SessionStart starts a session in a node and attaches the session over this connection. Any host that leads a data
// shard serves the request; the session's home is a shard of that host.
type SessionStart struct {
	Path []byte
	// TimeoutMillis is how long the session lives without a connection; with 0 the session ends with its connection.
	TimeoutMillis uint64
	Description   []byte
	// Key protects the session: later attaches and binds must have the same key. A session that was started without a
	// key accepts any key.
	Key []byte
	// AttachSequence is the client's count of its attaches; an attach with a smaller count is refused.
	AttachSequence uint64
}

func (m *SessionStart) requestFields(c *codec) {
	c.text("path", &m.Path, MaxPathBytes)
	c.millis("timeout_ms", &m.TimeoutMillis, MaxSessionTimeoutMillis)
	c.text("description", &m.Description, MaxDescriptionBytes)
	c.bytes("key", &m.Key, MaxKeyBytes)
	c.uint("attach_sequence", &m.AttachSequence)
}

// SessionStartAnswer answers a SessionStart.
type SessionStartAnswer struct {
	SessionID uint64
	Lease     Lease
}

func (m *SessionStartAnswer) answerFields(c *codec) {
	c.uint("session_id", &m.SessionID)
	c.record("lease", m.Lease.fields)
}

// SessionAttach attaches a session over this connection, and detaches the session from any older connection. The
// request goes to the leader of the session's home shard.
type SessionAttach struct {
	SessionID      uint64
	Key            []byte
	AttachSequence uint64
	// Change: TimeoutMillis and Description replace the session's. Without Change both are ignored.
	Change        bool
	TimeoutMillis uint64
	Description   []byte
	// Numbers: the answer names a base above which the session has used no number.
	Numbers bool
}

func (m *SessionAttach) requestFields(c *codec) {
	c.uint("session_id", &m.SessionID)
	c.bytes("key", &m.Key, MaxKeyBytes)
	c.uint("attach_sequence", &m.AttachSequence)
	c.bool("change", &m.Change)
	c.millis("timeout_ms", &m.TimeoutMillis, MaxSessionTimeoutMillis)
	c.text("description", &m.Description, MaxDescriptionBytes)
	c.bool("numbers", &m.Numbers)
}

// SessionAttachAnswer answers a SessionAttach.
type SessionAttachAnswer struct {
	Lease Lease
	// NumberBase answers an attach with Numbers: the NumberSpace numbers above the base belong to the caller, and were
	// never given before. 0 where the shard is below the level of number spaces.
	NumberBase uint64
}

func (m *SessionAttachAnswer) answerFields(c *codec) {
	c.record("lease", m.Lease.fields)
	c.uint("number_base", &m.NumberBase)
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
}

func (l *Lease) fields(c *codec) {
	c.uint("node_id", &l.NodeID)
	c.uint("timeout_ms", &l.TimeoutMillis)
	c.uint("grace_ms", &l.GraceMillis)
	c.record("config", l.Config.fields)
}

// SessionBind lets a session that is attached over another connection act over this one too.
type SessionBind struct {
	SessionID uint64
	Key       []byte
}

func (m *SessionBind) requestFields(c *codec) {
	c.uint("session_id", &m.SessionID)
	c.bytes("key", &m.Key, MaxKeyBytes)
}

// SessionBindAnswer answers a SessionBind.
type SessionBindAnswer struct {
	NodeID uint64
}

func (m *SessionBindAnswer) answerFields(c *codec) {
	c.uint("node_id", &m.NodeID)
}

// SessionStop ends a session that is attached over this connection. The request goes to the leader of the session's
// home shard.
type SessionStop struct {
	SessionID uint64
}

func (m *SessionStop) requestFields(c *codec) {
	c.uint("session_id", &m.SessionID)
}

// SessionStopAnswer answers a SessionStop.
type SessionStopAnswer struct{}

func (*SessionStopAnswer) answerFields(*codec) {}

// SessionDetach detaches a session from this connection, as if the connection had closed for that session alone. The
// session keeps what it owns and waits for, until its time is up. Over a connection with only a binding of the session,
// the binding ends and nothing else.
type SessionDetach struct {
	SessionID uint64
	// LeftMillis is how long the session lives without another attach: at most its timeout. 0 stands for the whole
	// timeout.
	LeftMillis uint64
}

func (m *SessionDetach) requestFields(c *codec) {
	c.uint("session_id", &m.SessionID)
	c.millis("left_ms", &m.LeftMillis, MaxSessionTimeoutMillis)
}

// SessionDetachAnswer answers a SessionDetach.
type SessionDetachAnswer struct{}

func (*SessionDetachAnswer) answerFields(*codec) {}

// SessionDestroy ends the session of another client: for operators.
type SessionDestroy struct {
	SessionID uint64
}

func (m *SessionDestroy) requestFields(c *codec) {
	c.uint("session_id", &m.SessionID)
}

// SessionDestroyAnswer answers a SessionDestroy.
type SessionDestroyAnswer struct{}

func (*SessionDestroyAnswer) answerFields(*codec) {}

// SessionDetached is pushed, with id 0, when a session is no longer attached over, or bound to, this connection, though
// the session may live: another connection has attached the session (StatusBadSession), the host no longer leads or
// vouches for the home shard (StatusMoved, StatusUnavailable), or the client was silent for longer than the session's
// timeout (StatusTimeout), and the session's end follows.
type SessionDetached struct {
	SessionID uint64
	Result    Result
}

func (m *SessionDetached) pushFields(c *codec) {
	c.uint("session_id", &m.SessionID)
	c.result(&m.Result)
}

// SessionEnded is pushed, with id 0, when a session that is attached over or bound to this connection is over. Nothing
// more comes for the session's acquires and one-shot watches.
type SessionEnded struct {
	SessionID uint64
	Reason    EndReason
}

func (m *SessionEnded) pushFields(c *codec) {
	c.uint("session_id", &m.SessionID)
	enum(c, "reason", &m.Reason)
}
