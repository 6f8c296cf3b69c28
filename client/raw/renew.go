package raw

import (
	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/protocol"
)

// Renew asks the host to renew the session. If done gets nil, the lease counts from before the call, as after an
// attach. The next request is sent right after the ping, so both take one round trip. done is called once, possibly
// before Renew returns, possibly in the goroutine that reads a connection, and must not block.
func (s *Session) Renew(done func(error)) {
	if err := s.Err(); err != nil {
		done(err)
		return
	}
	if _, err := s.home.Send(&renewal{session: s, done: done}, &protocol.Ping{}); err != nil {
		done(err)
	}
}

// renewal waits for the answer to a ping. The handle was attached before the ping was sent; if the handle is still
// attached when the answer is read, the answer vouches for the handle.
type renewal struct {
	session *Session
	done    func(error)
}

// Answered implements conn.Handler.
func (r *renewal) Answered(_ *conn.Conn, a *protocol.Answer) {
	err := a.Result.Err()
	if why := r.session.Err(); why != nil {
		err = why
	}
	r.done(err)
}

// Lost implements conn.Handler. The handle is over before done is called.
func (r *renewal) Lost(from *conn.Conn, err error) {
	r.session.ConnectionLost(from, err)
	r.done(err)
}
