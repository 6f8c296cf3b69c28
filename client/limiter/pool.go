package limiter

import (
	"context"
	"time"

	"github.com/signalbox/signalbox/client"
)

// pool has a limiter's sessions. The limiter's lock guards the pool.
type pool struct {
	sessions map[*client.Session]struct{} // all of them
	idle     []idleSession                // used by no slot, the latest used at the end
	used     int                          // how many are used, or being started
	timer    *time.Timer                  // closes long-idle sessions; nil before the first is idle
}

type idleSession struct {
	session *client.Session
	since   time.Time
}

// session returns an idle session or starts one. The caller has already counted it as used.
func (l *Limiter) session(ctx context.Context) (*client.Session, error) {
	l.mu.Lock()
	for n := len(l.pool.idle) - 1; n >= 0; n-- {
		s := l.pool.idle[n].session
		l.pool.idle = l.pool.idle[:n]
		if s.Context().Err() == nil {
			l.mu.Unlock()
			return s, nil
		}
		delete(l.pool.sessions, s)
	}
	l.mu.Unlock()
	s, err := l.client.Session(ctx, l.path, client.SessionTimeout(l.config.timeout),
		client.Description("limiter "+l.name))
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	closed := l.closed
	if !closed {
		l.pool.sessions[s] = struct{}{}
	}
	l.mu.Unlock()
	if closed {
		_ = s.Close(ctx) // goes on by itself
		return nil, ErrClosed
	}
	return s, nil
}

// makeIdle makes a live session idle. The session stays counted as used, because the caller continues with another
// session.
func (l *Limiter) makeIdle(s *client.Session) {
	if s == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || s.Context().Err() != nil {
		delete(l.pool.sessions, s)
		return
	}
	l.pool.idle = append(l.pool.idle, idleSession{s, time.Now()})
	if l.pool.timer == nil {
		l.pool.timer = time.AfterFunc(idleTime, l.trim)
	} else if len(l.pool.idle) == 1 {
		l.pool.timer.Reset(idleTime)
	}
}

// free is makeIdle for a caller that needs no other session.
func (l *Limiter) free(s *client.Session) {
	l.makeIdle(s)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pool.used--
	l.balance()
}

// trim closes sessions that have been idle for long.
func (l *Limiter) trim() {
	l.mu.Lock()
	var old []*client.Session
	for len(l.pool.idle) > 0 && time.Since(l.pool.idle[0].since) >= idleTime {
		s := l.pool.idle[0].session
		l.pool.idle = l.pool.idle[1:]
		delete(l.pool.sessions, s)
		old = append(old, s)
	}
	if len(l.pool.idle) > 0 {
		l.pool.timer.Reset(idleTime - time.Since(l.pool.idle[0].since))
	}
	l.mu.Unlock()
	for _, s := range old {
		_ = s.Close(l.ctx) // goes on by itself
	}
}

// close removes all sessions and returns them. The lock is held.
func (p *pool) close() (sessions []*client.Session) {
	for s := range p.sessions {
		sessions = append(sessions, s)
	}
	p.idle = nil
	clear(p.sessions)
	if p.timer != nil {
		p.timer.Stop()
	}
	return sessions
}
