package rollout

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/client/internal/option"
	"github.com/signalbox/signalbox/client/internal/retry"
	"github.com/signalbox/signalbox/client/internal/session"
)

// Member is an instance that has joined a rollout, from Join until Leave or the end of the session. It is safe for use
// by many goroutines.
//
// A member reports a state, not messages: the rollout learns the newest report and role, and learns both again after a
// session with client.Recreate has been replaced. If a call fails because the context ends, the member goes on sending
// by itself.
type Member struct {
	rollout  *Rollout
	instance Instance
	config   joinConfig
	ctx      context.Context // ends with the member; has its cause
	end      context.CancelCauseFunc
	sending  chan struct{} // capacity 1: one send at a time
	doubt    chan struct{} // capacity 1: set if hosts may not have the wanted position
	done     chan struct{}

	mu     sync.Mutex // guards the fields below
	joined *session.Incarnation
	wanted position
	known  position // to hosts, since the instance has joined
	about  *Target  // the report's target; nil if none
	// present is the newest target that Targets has seen.
	present *Target
	asked   *Target // the latest answer to Ask
	endAsk  context.CancelCauseFunc
	first   bool             // a target was reached, or the role set by hand: no success changes the role now
	failed  int              // attempts at the report's target
	retry   time.Time        // when to retry the target after a failure; zero for no retry
	loop    *object.Follower // used by Targets; nil if no loop runs
	err     error            // from the latest send
	over    bool
}

// position is an instance's report and role.
type position struct {
	report Report
	leader bool
}

// JoinOption sets how an instance takes part.
type JoinOption func(*joinConfig)

type joinConfig struct {
	manual  bool
	backoff retry.Backoff
}

// Manual leaves the decision to Lead when the instance becomes a leader. Otherwise the first target that the instance
// reaches makes the instance a leader.
func Manual() JoinOption { return func(c *joinConfig) { c.manual = true } }

// Backoff sets the delay before Targets returns a failed target again: a random share of a time that doubles with each
// attempt, from first up to most. Default: 1 to 30 seconds.
func Backoff(first, most time.Duration) JoinOption {
	return func(c *joinConfig) { c.backoff = retry.Backoff{First: first, Most: most} }
}

// Join makes the session an instance in a location. The instance starts as a follower: it gets the location's targets
// but delays nothing until it is a leader. A session can be only one instance in a rollout.
//
// client.ErrAlreadyExists means that another session, named in the error, has joined with the name; the name becomes
// free when that session ends. client.ErrPreconditionFailed means that the location does not exist; the error lists the
// rollout's locations.
func Join(
	ctx context.Context, s *client.Session, name string, instance Instance, options ...JoinOption,
) (*Member, error) {
	m := &Member{
		rollout: NewInSession(s, name), instance: instance,
		config:  joinConfig{backoff: retry.Backoff{First: time.Second, Most: 30 * time.Second}},
		sending: make(chan struct{}, 1), doubt: make(chan struct{}, 1), done: make(chan struct{}),
	}
	option.Apply(&m.config, options)
	m.first = m.config.manual
	m.ctx, m.end = context.WithCancelCause(context.Background())
	if err := m.sync(ctx, OpJoin); err != nil {
		m.end(err)
		return nil, failed(OpJoin, name, err)
	}
	stop := context.AfterFunc(s.Context(), func() { m.end(context.Cause(s.Context())) })
	go func() {
		defer stop()
		m.keep()
	}()
	return m, nil
}

// Reached reports that the target is in use. The first call makes the instance a leader, unless the instance is Manual.
// If the location has abandoned the target, nothing is reported, and Reached, like Updating and Failed, returns
// ErrSuperseded.
func (m *Member) Reached(ctx context.Context, t *Target) error {
	return m.report(ctx, t, func(r *Report) {
		r.Current, r.Status, r.Attempts = t.Seq, OK, m.failed+1
		m.retry = time.Time{}
		if !m.first {
			m.first, m.wanted.leader = true, true
		}
	})
}

// Updating reports that the instance is working on the target.
func (m *Member) Updating(ctx context.Context, t *Target) error {
	return m.report(ctx, t, func(r *Report) { r.Status, r.Attempts = Updating, m.failed+1 })
}

// Failed reports that the target could not be brought into use. The spec determines for which codes, and after how many
// attempts, another version is chosen. The code may be empty. Targets returns the target again after a pause.
func (m *Member) Failed(ctx context.Context, t *Target, code string, why error) error {
	return m.report(ctx, t, func(r *Report) {
		m.retry = time.Now().Add(m.config.backoff.Pause(m.failed))
		m.failed++
		r.Status, r.Code, r.Attempts = Failed, code, m.failed
		if why != nil {
			r.Text = cut(why.Error())
		}
	})
}

// report makes a report about a target the wanted report and sends it. change is called with the lock held.
func (m *Member) report(ctx context.Context, t *Target, change func(r *Report)) error {
	m.mu.Lock()
	if m.isOver(t) {
		m.mu.Unlock()
		return failed(OpReport, m.rollout.Name(), ErrSuperseded)
	}
	if !t.same(m.about) {
		m.about, m.failed, m.retry = t, 0, time.Time{}
	}
	r := Report{Current: m.wanted.report.Current, Generation: t.Generation}
	change(&r)
	m.wanted.report = r
	if m.loop != nil {
		m.loop.WakeUp()
	}
	m.mu.Unlock()
	return failed(OpReport, m.rollout.Name(), m.sync(ctx, OpReport))
}

// isOver reports whether this instance knows that the location has another target or no target. The lock is held.
func (m *Member) isOver(t *Target) bool {
	return t.ctx != nil && errors.Is(context.Cause(t.ctx), ErrSuperseded) ||
		m.about != nil && t.Generation < m.wanted.report.Generation ||
		m.present != nil && t.Generation < m.present.Generation
}

// Lead makes the instance a leader: the location reaches a target only when its leaders have.
func (m *Member) Lead(ctx context.Context) error { return m.setRole(ctx, true) }

// Follow makes the instance a follower again: its progress no longer counts.
func (m *Member) Follow(ctx context.Context) error { return m.setRole(ctx, false) }

func (m *Member) setRole(ctx context.Context, leader bool) error {
	m.mu.Lock()
	m.first, m.wanted.leader = true, leader
	m.mu.Unlock()
	return failed(OpReport, m.rollout.Name(), m.sync(ctx, OpReport))
}

// Leave ends the instance's participation. Nothing is sent for the instance after the call starts. An error means that
// no host was reachable; the participation then ends with the session.
func (m *Member) Leave(ctx context.Context) error {
	m.end(ErrLeft)
	<-m.done // no sending outlasts the end
	m.sending <- struct{}{}
	defer func() { <-m.sending }()
	m.mu.Lock()
	in := m.joined
	m.joined = nil
	m.mu.Unlock()
	if in == nil || in.Context().Err() != nil {
		return nil
	}
	err := m.rollout.object.Session.Do(ctx, string(OpLeave), m.rollout.Name(),
		func(ctx context.Context, now *session.Incarnation) error {
			if now != in {
				return nil
			}
			return object.Mutate(ctx, in, m.rollout.Name(), leaveMessage, nil)
		})
	if errors.Is(err, client.ErrNotFound) || in.Context().Err() != nil {
		return nil
	}
	return failed(OpLeave, m.rollout.Name(), err)
}

// Done returns a channel that is closed when the member has ended for good: it left, or its session ended without being
// recreated. Err returns the reason.
func (m *Member) Done() <-chan struct{} { return m.done }

// Err returns nil while hosts have the position of the member, the obstacle while the member sends again, and after
// Done why the member is over: ErrLeft, or the *client.SessionEnd.
func (m *Member) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.over || m.err != nil:
		return m.err
	case m.joined == nil || m.joined.Context().Err() != nil:
		return fmt.Errorf("%w: the instance joins again", client.ErrUnavailable)
	}
	return nil
}
