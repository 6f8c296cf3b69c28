//go:build linux

package chaos

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/history"
	"github.com/signalbox/signalbox/test/workload"
)

// connector returns a function that connects a driver's client for workers.
func connector(d *driver, a Assignment, r *recorder) func(context.Context) workload.Client {
	return func(ctx context.Context) workload.Client {
		c, err := d.connect(ctx, a.Routes)
		if err != nil && ctx.Err() == nil {
			r.Note("the client of %s does not connect: %v", d.Name, err)
		}
		if c == nil || err != nil {
			return nil
		}
		return c
	}
}

// drivenSession is a session of a driver's client.
type drivenSession struct {
	*driver
	command string // that started it
	id      uint64
	ctx     context.Context
	end     context.CancelCauseFunc
}

// Session implements workload.Client.
func (c *drivenClient) Session(ctx context.Context, node string, timeout time.Duration) (workload.Session, error) {
	s := &drivenSession{driver: c.driver}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	l, err := c.call(ctx, "session", arguments{"path": node, "timeout_ms": timeout.Milliseconds()}, func(id string) {
		s.command = id
		c.sessions[id] = s
	})
	if err != nil {
		return nil, err
	}
	s.id = uint64(l.SessionID)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.latest = s
	return s, nil
}

func (s *drivenSession) ID() uint64 { return s.id }

func (s *drivenSession) Context() context.Context { return s.ctx }

// of returns the arguments for a semaphore, plus others.
func (s *drivenSession) of(t workload.Target, others arguments) arguments {
	with := arguments{"session": s.command, "name": t.Name, "ephemeral": t.Ephemeral}
	for name, value := range others {
		with[name] = value
	}
	return with
}

func (s *drivenSession) Acquire(ctx context.Context, t workload.Target, a workload.Request) (workload.Lease, error) {
	with := s.of(t, arguments{"count": fmt.Sprint(a.Count), "data": t.Name})
	if a.Wait >= 0 {
		with["wait_ms"] = a.Wait.Milliseconds()
	}
	lease := &drivenLease{session: s, name: t.Name, count: a.Count, asked: make(map[history.Time]bool)}
	lease.ctx, lease.lost = context.WithCancelCause(context.Background())
	l, err := s.call(ctx, "acquire", with, func(id string) {
		lease.command = id
		s.queued[id] = a.Queued
		s.leases[id] = lease
	})
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.leases, lease.command)
		return nil, err
	}
	lease.granted(uint64(l.Fence))
	return lease, nil
}

func (s *drivenSession) Release(ctx context.Context, t workload.Target) (bool, error) {
	l, err := s.call(ctx, "release", s.of(t, nil), nil)
	if err != nil {
		return false, err
	}
	// Releasing a semaphore by name ends its lease: a later release of the lease has no effect, and is no error.
	s.mu.Lock()
	leases := maps.Clone(s.leases)
	s.mu.Unlock()
	for _, lease := range leases {
		if lease.session == s && lease.name == t.Name && lease.Fence() != 0 {
			_ = lease.Ask()
		}
	}
	return l.Released, nil
}

func (s *drivenSession) Update(ctx context.Context, t workload.Target, data string, revision uint64,
	guard workload.Lease) error {
	if guard != nil {
		return guard.Update(ctx, data)
	}
	_, err := s.call(ctx, "update", s.of(t, arguments{"data": data, "revision": fmt.Sprint(revision)}), nil)
	return err
}

func (s *drivenSession) Create(ctx context.Context, t workload.Target, data string) error {
	_, err := s.call(ctx, "create", s.of(t, arguments{"limit": fmt.Sprint(t.Limit), "data": data}), nil)
	return err
}

func (s *drivenSession) Delete(ctx context.Context, t workload.Target, force bool) error {
	_, err := s.call(ctx, "delete", s.of(t, arguments{"force": force}), nil)
	return err
}

func (s *drivenSession) Describe(ctx context.Context, t workload.Target, mode client.Consistency,
	changed func()) (*history.State, error) {
	do, with := "describe", s.of(t, arguments{"strict": mode == client.Strict})
	var known func(id string)
	if changed != nil {
		do, known = "changed", func(id string) { s.changed[id] = changed }
	}
	l, err := s.call(ctx, do, with, known)
	if err != nil {
		state, _, _ := workload.StateOf(nil, err)
		return state, err
	}
	return l.state(true), nil
}

func (s *drivenSession) Close(ctx context.Context) error {
	_, err := s.call(ctx, "close", arguments{"session": s.command}, nil)
	return err
}

// drivenLease is a lease of a driver's client. The client is asked about the lease all the time. A positive answer
// proves belief from the grant up to the question: the answer itself may be delayed.
type drivenLease struct {
	session *drivenSession
	name    string // of the semaphore
	command string // that acquired it
	ctx     context.Context
	lost    context.CancelCauseFunc

	mu       sync.Mutex // guards what follows
	fence    uint64
	count    uint64
	is       bool // granted
	believed history.Time
	asked    map[history.Time]bool // unanswered questions, by time
	latest   history.Time          // of the questions
}

func (l *drivenLease) granted(fence uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fence, l.is = fence, true
}

// end ends the lease with the client's reason.
func (l *drivenLease) end(why error) {
	l.lost(why)
	l.session.mu.Lock()
	defer l.session.mu.Unlock()
	delete(l.session.leases, l.command)
}

// question asks the client about the lease, unless just asked, and calls answered with the answer.
func (l *drivenLease) question(answered func()) {
	d := l.session.driver
	l.mu.Lock()
	now := d.clock.Now()
	pause := history.Time(0)
	for at := range l.asked {
		if now-at > stillness {
			pause = latePause
		}
	}
	if !l.is || answered == nil && now-l.latest < pause {
		l.mu.Unlock()
		return
	}
	l.latest = now
	l.asked[now] = true
	l.mu.Unlock()
	d.send("lease", arguments{"lease": l.command}, nil, func(line *driverLine) {
		l.mu.Lock()
		delete(l.asked, now)
		held := line != nil && line.Held
		if held {
			l.believed = max(l.believed, now)
		}
		l.mu.Unlock()
		if line != nil && !held {
			l.end(errorOf(line.Why, "the client does not hold it"))
		}
		if answered != nil {
			answered()
		}
	})
}

func (l *drivenLease) Session() uint64 { return l.session.id }

func (l *drivenLease) Fence() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fence
}

func (l *drivenLease) Count() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

func (l *drivenLease) Context() context.Context { return l.ctx }

func (l *drivenLease) Err() error { return context.Cause(l.ctx) }

func (l *drivenLease) Believed(history.Time) (history.Time, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.believed, l.Err()
}

func (l *drivenLease) Ask() error {
	answered := make(chan struct{})
	l.question(func() { close(answered) })
	<-answered
	select {
	case <-l.session.gone:
		return errDriverGone
	default:
		return l.Err()
	}
}

func (l *drivenLease) Change(ctx context.Context, count uint64) error {
	_, err := l.session.call(ctx, "change", arguments{"lease": l.command, "count": fmt.Sprint(count)}, nil)
	if err == nil {
		l.mu.Lock()
		l.count = count
		l.mu.Unlock()
	}
	return err
}

func (l *drivenLease) Update(ctx context.Context, data string) error {
	_, err := l.session.call(ctx, "update", arguments{"lease": l.command, "data": data}, nil)
	return err
}

func (l *drivenLease) Release(ctx context.Context) error {
	_, err := l.session.call(ctx, "release", arguments{"lease": l.command}, nil)
	if err == nil {
		l.end(client.ErrReleased)
	} else {
		// A cancelled release continues if it had begun. The lease is then over, and a second release would answer for
		// the first.
		_ = l.Ask()
	}
	return err
}

// drivenWatch is a watch of a driver's client.
type drivenWatch struct {
	of   history.Semaphore
	show func(history.View)
	end  context.CancelCauseFunc
}

// Watch implements workload.Client. After its driver is killed, a watch shows nothing.
func (c *drivenClient) Watch(ctx context.Context, of history.Semaphore, show func(history.View)) error {
	over, end := context.WithCancelCause(ctx)
	defer end(nil)
	command := ""
	_, err := c.call(ctx, "watch", arguments{"path": of.Node, "name": of.Name}, func(id string) {
		command = id
		c.watches[id] = &drivenWatch{of, show, end}
	})
	if err == nil {
		<-over.Done()
		if err = context.Cause(over); ctx.Err() == nil {
			return err
		}
		_, err = c.call(context.WithoutCancel(ctx), "unwatch", arguments{"watch": command}, nil)
	}
	select {
	case <-c.gone:
		<-ctx.Done()
	default:
	}
	return err
}
