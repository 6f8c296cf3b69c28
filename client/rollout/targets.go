package rollout

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/client/internal/session"
	"github.com/signalbox/signalbox/client/internal/view"
	"github.com/signalbox/signalbox/protocol"
)

// Targets returns the targets of the instance's location: the present target first, unless the instance has reached
// it, and then the newest target whenever the target changes. Targets in between are never seen. After Failed a target
// is yielded again, after a pause, for as long as the location has the target. A member has one such loop at a time.
//
// The loop ends with an error when the context ends, the member is over, or the client is closed; lost connections, a
// session that is replaced, and the deletion of the rollout do not end the loop.
func (m *Member) Targets(ctx context.Context) iter.Seq2[*Target, error] {
	return func(yield func(*Target, error) bool) {
		err := m.loopOver(ctx, func(t *Target) bool { return yield(t, nil) })
		if err != nil {
			yield(nil, failure.Of("rollout", "follow targets in", m.rollout.Name(), err))
		}
	}
}

// loopOver yields targets until yield returns false, and then returns nil, or until loopOver fails.
func (m *Member) loopOver(ctx context.Context, yield func(*Target) bool) error {
	ctx, cancel := object.Within(ctx, m.ctx)
	defer cancel()
	f := m.rollout.follow(ctx, "location/"+m.instance.Location)
	defer f.Stop()
	if err := m.startLoop(f); err != nil {
		return err
	}
	defer m.endLoop()
	var before *view.View
	var last *Target // that was yielded
	for {
		v, err := f.Next(ctx, m.untilRetry(last))
		if err != nil {
			return err
		}
		if v == nil {
			continue
		}
		if endsParts(before, v) {
			m.rejoin() // the old rollout's instances are gone with the rollout
			last = nil // the next rollout's target is new, even with the same numbers
		}
		before = v
		t, err := targetIn(v)
		if err != nil {
			return err
		}
		if t == nil || !m.isDue(t, last) {
			continue
		}
		last = t
		work, end := f.Begin(ctx, t.isIn)
		t.ctx = work
		more := yield(t)
		end(nil)
		if !more {
			return nil
		}
	}
}

// startLoop makes a loop the member's loop.
func (m *Member) startLoop(f *object.Follower) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.loop != nil {
		return failure.BadRequest("another loop already follows the member's targets")
	}
	m.loop = f
	return nil
}

func (m *Member) endLoop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.loop = nil
}

// rejoin has the instance join again.
func (m *Member) rejoin() {
	m.mu.Lock()
	m.joined = nil
	m.mu.Unlock()
	m.raiseDoubt()
}

// isDue reports whether Targets should return a target, and sets the target's attempt number. A target is due if it was
// not returned before, or has failed and is not reached.
func (m *Member) isDue(t, last *Target) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.present, t.Attempt = t, 1
	if !t.same(m.about) {
		return !t.same(last)
	}
	t.Attempt = m.failed + 1
	switch {
	case m.wanted.report.Status == Failed:
		return !m.retry.After(time.Now())
	case m.wanted.report.Status == OK:
		return false
	}
	return !t.same(last)
}

// untilRetry is how long to wait until the last yielded target is due again, negative for no retry.
func (m *Member) untilRetry(last *Target) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.retry.IsZero() || !last.same(m.about) {
		return -1
	}
	return max(time.Until(m.retry), 0)
}

// Ask reports the version in use, 0 for none, and returns the location's target, for instances that poll instead of
// looping over Targets. next is when the target may change, as far as time decides; 0 if unknown. The target is nil if
// the location has no target yet.
//
// If a leader asks and the location is ready for the next version, a source is asked for the version.
func (m *Member) Ask(ctx context.Context, current uint64) (t *Target, next time.Duration, err error) {
	err = m.send(ctx, OpPoll, func(ctx context.Context, in *session.Incarnation) (err error) {
		report := m.reportOf(current)
		if t, next, err = m.askFor(ctx, in, report); err != nil {
			return err
		}
		t = m.answered(report, t)
		return m.sendRole(ctx, in)
	})
	if err != nil {
		m.raiseDoubt()
		return nil, 0, failed(OpPoll, m.rollout.Name(), err)
	}
	return t, next, nil
}

// reportOf returns a polling instance's report about the latest answer's target.
func (m *Member) reportOf(current uint64) Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.asked
	if m.about != nil && (t == nil || m.about.Generation > t.Generation) {
		t = m.about
	}
	switch {
	case t == nil:
		return Report{Current: current}
	case current != t.Seq && t.same(m.about) && m.wanted.report.Status == Failed:
		report := m.wanted.report
		report.Current = current
		return report
	}
	r := Report{Current: current, Generation: t.Generation, Attempts: 1}
	if current != t.Seq {
		r.Status = Updating
	} else if !m.first {
		m.first, m.wanted.leader = true, true
	}
	return r
}

// answered records a sent report and the target in the answer. It returns the target to use: the previous answer's
// target, if unchanged.
func (m *Member) answered(report Report, t *Target) *Target {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wanted.report, m.known.report = report, report
	if m.asked != nil && report.Generation == m.asked.Generation {
		m.about = m.asked
	}
	if t.same(m.asked) {
		return m.asked
	}
	m.forgetAsked()
	if m.asked = t; t != nil {
		t.Attempt = 1
		t.ctx, m.endAsk = context.WithCancelCause(m.ctx)
	}
	return t
}

// forgetAsked ends the target from the latest Ask. The lock is held.
func (m *Member) forgetAsked() {
	if m.asked != nil {
		m.endAsk(ErrSuperseded)
		m.asked = nil
	}
}

// askTries is how often a host is asked again because the target's version was gone before the host could read it.
const askTries = 5

var errNoPayload = errors.New("the targets changed faster than they could be read")

// askFor asks for the target with an incarnation that has joined.
func (m *Member) askFor(
	ctx context.Context, in *session.Incarnation, report Report,
) (t *Target, next time.Duration, err error) {
	for range askTries {
		gone := false
		ask := func(k object.Key) protocol.MutationMessage {
			return &protocol.RolloutPoll{NodeID: k.Node, Name: k.Name, Report: reportMessage(&report)}
		}
		err = object.Mutate(ctx, in, m.rollout.Name(), ask, func(a *protocol.Answer) {
			t, next = targetOf(&a.RolloutPoll.Target), conn.Millis(a.RolloutPoll.NextInMillis)
			gone = a.RolloutPoll.Gone
		})
		if err != nil || !gone {
			return t, next, err
		}
	}
	return nil, 0, errNoPayload
}
