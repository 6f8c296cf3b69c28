package raw

import (
	"context"
	"errors"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/protocol"
)

// binding lets a session act over a connection away from home. Concurrent requests for the connection share one
// SESSION_BIND.
type binding struct {
	done chan struct{}
	err  error
}

func (b *binding) isDone() bool {
	select {
	case <-b.done:
		return b.err == nil
	default:
		return false
	}
}

// connTo returns a connection to the leader of a slot's shard, bound to the session.
func (s *Session) connTo(slot uint16, tried cluster.Tried) (*conn.Conn, *cluster.Host, error) {
	at := cluster.LeaderAt(slot)
	if h := s.client.cluster.Host(at); h != nil && h == cluster.HostOf(s.home) {
		return s.home, h, nil
	}
	to, h, err := s.client.cluster.Connect(s.ctx, cluster.Leisure, at, s.stripe, tried)
	if err != nil || to == s.home {
		return to, h, err
	}
	return to, h, s.bind(to)
}

// bind ensures that the session may act over a connection.
func (s *Session) bind(to *conn.Conn) error {
	s.mu.Lock()
	if s.over != nil {
		defer s.mu.Unlock()
		return s.over
	}
	b := s.bound[to]
	mine := b == nil
	if mine {
		b = &binding{done: make(chan struct{})}
		if s.bound == nil {
			s.bound = make(map[*conn.Conn]*binding)
		}
		s.bound[to] = b
	}
	s.mu.Unlock()
	if !mine {
		select {
		case <-b.done:
			return b.err
		case <-s.ctx.Done():
			return context.Cause(s.ctx)
		}
	}
	b.err = &failure.Transport{Address: to.Address(), Err: errors.New("the connection was lost")}
	if to.AddSession(s.id, s) {
		b.err = to.RoundTrip(s.ctx, &protocol.SessionBind{SessionID: s.id, SessionSecret: s.params.Key}, nil)
	}
	close(b.done)
	if b.err != nil {
		s.unbind(to)
	}
	return b.err
}

// unbind forgets a binding, so the next request over the connection binds again.
func (s *Session) unbind(from *conn.Conn) {
	s.mu.Lock()
	delete(s.bound, from)
	s.mu.Unlock()
	from.RemoveSession(s.id, s)
}
