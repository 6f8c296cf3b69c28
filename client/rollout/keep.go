package rollout

import (
	"context"
	"errors"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/client/internal/retry"
	"github.com/signalbox/signalbox/client/internal/session"
	"github.com/signalbox/signalbox/protocol"
)

// again is the backoff between attempts to join again. A failure that removed one instance has usually removed many.
var again = retry.Backoff{First: 50 * time.Millisecond, Most: 5 * time.Second}

// ownNameTries is how often an instance whose session was replaced asks for its old name: a few seconds.
const ownNameTries = 8

// keep sends the wanted position whenever hosts may not have it, until the member ends.
func (m *Member) keep() {
	defer close(m.done)
	for {
		m.mu.Lock()
		var lost <-chan struct{}
		if m.joined != nil {
			lost = m.joined.Context().Done()
		}
		m.mu.Unlock()
		select {
		case <-lost:
		case <-m.doubt:
		case <-m.ctx.Done():
		}
		if err := m.syncAgain(); err != nil {
			m.mu.Lock()
			m.over, m.err = true, err
			m.mu.Unlock()
			return
		}
	}
}

// syncAgain retries until hosts have the wanted position or the member ends; the error is the reason for the end. No
// other error stops the retries, because the rejection of an instance that had joined can be resolved: by the end of
// the instance's own former session, or by an operator.
func (m *Member) syncAgain() error {
	for failures := 0; ; failures++ {
		err := m.send(m.ctx, OpReport, m.sendWanted)
		if m.ctx.Err() != nil {
			return context.Cause(m.ctx)
		}
		if err == nil {
			return nil
		}
		select {
		case <-time.After(again.Pause(failures)):
		case <-m.doubt: // a change that may help
		case <-m.ctx.Done():
		}
	}
}

// sync sends the wanted position, and leaves the sending to keep after a failure.
func (m *Member) sync(ctx context.Context, operation client.OperationKind) error {
	err := m.send(ctx, operation, m.sendWanted)
	if err != nil {
		m.raiseDoubt()
	}
	return err
}

// sendWanted sends the report and the role if hosts may not have them.
func (m *Member) sendWanted(ctx context.Context, in *session.Incarnation) error {
	if err := m.sendReport(ctx, in); err != nil {
		return err
	}
	return m.sendRole(ctx, in)
}

// send calls f while no other call sends, once the session's incarnation has joined. If a host reports that the
// incarnation has not joined, send joins and calls f again.
func (m *Member) send(
	ctx context.Context, operation client.OperationKind, f func(context.Context, *session.Incarnation) error,
) error {
	ctx, cancel := object.Within(ctx, m.ctx)
	defer cancel()
	select {
	case m.sending <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-m.sending }()
	if m.ctx.Err() != nil {
		return context.Cause(m.ctx)
	}
	err := m.rollout.object.Session.Do(ctx, string(operation), m.rollout.Name(),
		func(ctx context.Context, in *session.Incarnation) error {
			err := m.joinAnd(ctx, in, f)
			if errors.Is(err, client.ErrNotFound) && m.lost(in) {
				err = m.joinAnd(ctx, in, f)
			}
			return err
		})
	m.mu.Lock()
	m.err = err
	m.mu.Unlock()
	return err
}

// joinAnd calls f once the incarnation has joined.
func (m *Member) joinAnd(
	ctx context.Context, in *session.Incarnation, f func(context.Context, *session.Incarnation) error,
) error {
	m.mu.Lock()
	before := m.joined
	m.mu.Unlock()
	if before != in {
		err := m.join(ctx, in)
		for tries := 0; before != nil && errors.Is(err, client.ErrAlreadyExists) && tries < ownNameTries; tries++ {
			// The previous session has ended, and its instance disappears within a moment.
			waiting, stop := object.Within(ctx, in.Context())
			err = retry.Wait(waiting, retry.Requests.Pause(tries))
			stop()
			if err != nil {
				return err
			}
			err = m.join(ctx, in)
		}
		if err != nil {
			return err
		}
		if err := m.lookUp(ctx, in); err != nil {
			return err
		}
	}
	return f(ctx, in)
}

// lost records that the incarnation has not joined. It returns false if this was already known.
func (m *Member) lost(in *session.Incarnation) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	was := m.joined == in
	if was {
		m.joined = nil
	}
	return was
}

// raiseDoubt makes keep check whether hosts have the wanted position.
func (m *Member) raiseDoubt() {
	select {
	case m.doubt <- struct{}{}:
	default:
	}
}

// join joins by an incarnation.
func (m *Member) join(ctx context.Context, in *session.Incarnation) error {
	err := object.Mutate(ctx, in, m.rollout.Name(), func(k object.Key) protocol.MutationMessage {
		return &protocol.RolloutJoin{NodeID: k.Node, Name: k.Name, Instance: m.instance}
	}, nil)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.joined, m.known = in, position{}
	return nil
}

// lookUp asks for the target after the instance has joined again. A report is sent again only if it is about this very
// target; otherwise lookUp drops it, and hosts only learn which version is in use.
func (m *Member) lookUp(ctx context.Context, in *session.Incarnation) error {
	m.mu.Lock()
	about, asked := m.about, m.asked
	current := Report{Current: m.wanted.report.Current}
	m.mu.Unlock()
	if about == nil && asked == nil {
		return nil
	}
	t, _, err := m.askFor(ctx, in, current)
	if errors.Is(err, client.ErrFenced) {
		return nil // the instance never left and has reported more: send the report unchanged
	}
	if err != nil {
		m.lost(in) // ask again later
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known.report = current
	if m.about == about && !t.same(about) {
		m.wanted.report, m.about = current, nil
		if m.loop != nil {
			m.loop.WakeUp() // the loop may have confused the current target with the dropped report's target
		}
	}
	if m.asked == asked && !t.same(asked) {
		m.forgetAsked()
	}
	return nil
}

// sendReport sends the wanted report. A permanently rejected report is not sent again.
func (m *Member) sendReport(ctx context.Context, in *session.Incarnation) error {
	m.mu.Lock()
	report := m.wanted.report
	known := m.known.report == report
	m.mu.Unlock()
	if known {
		return nil
	}
	err := object.Mutate(ctx, in, m.rollout.Name(), func(k object.Key) protocol.MutationMessage {
		return &protocol.RolloutReport{NodeID: k.Node, Name: k.Name, Report: reportMessage(&report)}
	}, nil)
	if err == nil || errors.Is(err, client.ErrBadRequest) || errors.Is(err, client.ErrFenced) {
		m.mu.Lock()
		m.known.report = report
		m.mu.Unlock()
	}
	if errors.Is(err, client.ErrPreconditionFailed) {
		m.lost(in) // the location was removed: only joining can help, once the location is back
	}
	return err
}

// sendRole sends the wanted role.
func (m *Member) sendRole(ctx context.Context, in *session.Incarnation) error {
	m.mu.Lock()
	leader := m.wanted.leader
	known := m.known.leader == leader
	m.mu.Unlock()
	if known {
		return nil
	}
	err := object.Mutate(ctx, in, m.rollout.Name(), func(k object.Key) protocol.MutationMessage {
		return &protocol.RolloutReady{NodeID: k.Node, Name: k.Name, Leader: leader}
	}, nil)
	if err == nil {
		m.mu.Lock()
		m.known.leader = leader
		m.mu.Unlock()
	}
	return err
}

func leaveMessage(k object.Key) protocol.MutationMessage {
	return &protocol.RolloutLeave{NodeID: k.Node, Name: k.Name}
}

func reportMessage(r *Report) protocol.InstanceReport {
	return protocol.InstanceReport{
		Current: r.Current, Generation: r.Generation, Status: r.Status,
		Code: protocol.View(r.Code), Text: protocol.View(r.Text), Attempts: uint64(r.Attempts),
	}
}
