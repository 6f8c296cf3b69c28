package process

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/client/internal/retry"
	"github.com/signalbox/signalbox/client/internal/session"
	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/process"
)

// Member is a session that has joined a process, from Join until Leave, eviction, or the session's end. A Member is
// safe for concurrent use.
//
// A lost connection or a leader change only delays a member. With client.Recreate, the member joins again, as a new
// member, when its session is replaced.
type Member struct {
	object  object.Object
	handler Handler
	config  joinConfig
	ctx     context.Context // ends with the member; has its cause
	end     context.CancelCauseFunc
	done    chan struct{}
	first   chan struct{} // closed when a round was completed

	mu      sync.Mutex // guards the fields below
	part    *part      // nil while the member joins again
	changed chan struct{}
	result  *Result // from the newest completed round
	err     error   // why the member is over, or could not join again
	over    bool
	left    error // why hosts could not end the membership
}

// Join makes the session a member of the named process in the session's node. It creates the process if necessary. The
// member takes part from the next epoch; Await waits until a round with the member is complete.
//
// A session can join a process only once: a second Join fails with ErrJoined. Join needs the role write.
func Join(
	ctx context.Context, s *client.Session, name string, handler Handler, options ...JoinOption,
) (*Member, error) {
	m := &Member{
		object: object.In(s, name), handler: handler, config: newJoinConfig(&handler, options),
		done: make(chan struct{}), first: make(chan struct{}),
	}
	m.ctx, m.end = context.WithCancelCause(context.Background())
	err := checkSpec(&m.config.spec)
	if err == nil {
		err = m.join(ctx)
	}
	if err != nil {
		m.end(err)
		return nil, failed(OpJoin, name, err)
	}
	stop := context.AfterFunc(s.Context(), func() { m.end(context.Cause(s.Context())) })
	context.AfterFunc(m.ctx, func() { stop() })
	return m, nil
}

// Name returns the process name.
func (m *Member) Name() string { return m.object.Name }

// ID returns the member id, or 0 while the member is joining again.
func (m *Member) ID() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.part == nil {
		return 0
	}
	return m.part.id
}

// Await waits until a round with this member has completed and Handler.Complete has returned. Await returns the newest
// completed round's result. An error means that the member ended before a round was completed.
func (m *Member) Await(ctx context.Context) (*Result, error) {
	select {
	case <-m.first:
	case <-ctx.Done():
	case <-m.ctx.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.result != nil:
		return m.result, nil
	case m.ctx.Err() != nil:
		return nil, failed("await", m.Name(), context.Cause(m.ctx))
	}
	return nil, failed("await", m.Name(), context.Cause(ctx))
}

// Round waits for a current round that this member is prepared for, and returns the round, for requests from outside
// the handler. Requests are sent once all members are prepared.
func (m *Member) Round(ctx context.Context) (*Round, error) {
	for {
		m.mu.Lock()
		if m.changed == nil {
			m.changed = make(chan struct{})
		}
		p, changed := m.part, m.changed
		m.mu.Unlock()
		if p != nil {
			if r := p.round(); r != nil {
				return r, nil
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, failed("round", m.Name(), context.Cause(ctx))
		case <-m.ctx.Done():
			return nil, failed("round", m.Name(), context.Cause(m.ctx))
		}
	}
}

// round returns the current round, if the member is prepared for it.
func (p *part) round() *Round {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.newest; r != nil && isClosed(r.prepared) && r.ctx.Err() == nil && !r.isComplete() {
		return r
	}
	return nil
}

// Leave ends the membership: contexts end, and when the handler functions have returned and Terminate was called, the
// other members get their next epoch. If called by a handler function with the function's context, Leave does not wait
// for the end. An error means that no host was reachable in time; the membership then ends with the session.
func (m *Member) Leave(ctx context.Context) error {
	m.end(ErrLeft)
	if ctx.Value(handlerOf{}) == m {
		return nil
	}
	select {
	case <-m.done:
	case <-ctx.Done():
		return failed(OpLeave, m.Name(), context.Cause(ctx))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return failed(OpLeave, m.Name(), m.left)
}

// Done returns a channel that is closed when the member has ended for good: it left, was evicted, or its session ended
// without being recreated. Terminate was called before. Err returns the reason.
func (m *Member) Done() <-chan struct{} { return m.done }

// Err returns nil while the session is a member, the obstacle while the member joins again, and after Done why the
// member is over: ErrLeft, ErrEvicted, or the *client.SessionEnd.
func (m *Member) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.over || m.err != nil:
		return m.err
	case m.part == nil || m.part.ctx.Err() != nil:
		return fmt.Errorf("%w: the member joins again", client.ErrUnavailable)
	}
	return nil
}

// join joins by the session's incarnation.
func (m *Member) join(ctx context.Context) error {
	return m.object.Session.Do(ctx, string(OpJoin), m.Name(),
		func(ctx context.Context, in *session.Incarnation) error {
			p := newPart(m, in)
			if p.inbox = in.AddInbox(m.Name(), p); p.inbox == nil {
				return ErrJoined
			}
			id, err := m.joinBy(ctx, in)
			switch {
			case err == nil:
				m.joined(p, id)
			case ctx.Err() != nil && in.Context().Err() == nil:
				go p.undoJoin()
			default:
				p.inbox.Close()
			}
			return err
		})
}

func (m *Member) joinBy(ctx context.Context, in *session.Incarnation) (id uint64, err error) {
	err = object.Mutate(ctx, in, m.Name(), func(k object.Key) protocol.MutationMessage {
		return &protocol.ProcessJoin{
			NodeID: k.Node, Name: k.Name, Arrival: kind.Arrival{
				Joining: kind.Joining{
					Name: m.config.name, Attributes: m.config.attributes, Candidate: !m.config.observer,
				},
				Create: m.config.create, Spec: m.config.spec,
			},
		}
	}, func(a *protocol.Answer) { id = a.ProcessJoin.MemberID })
	return id, err
}

// undoJoin leaves after an abandoned join that may have been applied. The session cannot join meanwhile.
func (p *part) undoJoin() {
	defer p.inbox.Close()
	ctx := p.in.Context()
	id, err := p.member.joinBy(ctx, p.in)
	if err == nil {
		p.id = id
		_ = p.leave(ctx) // after an error the membership ends with the session
	}
}

// joined makes a membership the member's current one.
func (m *Member) joined(p *part, id uint64) {
	m.mu.Lock()
	m.part, m.err = p, nil
	m.mu.Unlock()
	p.begin(id)
}

// notify wakes waiting Round calls.
func (m *Member) notify() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.changed != nil {
		close(m.changed)
		m.changed = nil
	}
}

// completed stores a round's result.
func (m *Member) completed(r *Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.result == nil {
		close(m.first)
	}
	m.result = r
}

// partOver ends the member with a membership, or lets the member join again if the session is renewed.
func (m *Member) partOver(p *part) {
	m.mu.Lock()
	m.part = nil
	m.mu.Unlock()
	alive := p.in.Context().Err() == nil
	if alive {
		m.end(context.Cause(p.ctx)) // the member left, or was removed
	}
	if m.ctx.Err() == nil {
		m.joinAgain()
		return
	}
	var left error
	if alive && errors.Is(context.Cause(m.ctx), ErrLeft) {
		if left = p.leave(p.in.Context()); errors.Is(left, client.ErrNotFound) || p.in.Context().Err() != nil {
			left = nil
		}
	}
	m.finish(left)
}

// joinAgain joins with the session's next incarnation, until the member ends.
func (m *Member) joinAgain() {
	for failures := 0; ; failures++ {
		err := m.join(m.ctx)
		if err == nil {
			return
		}
		if isFinal(m.ctx, err) {
			m.end(err)
			m.finish(nil)
			return
		}
		m.mu.Lock()
		m.err = err
		m.mu.Unlock()
		_ = retry.Wait(m.ctx, again.Pause(failures))
	}
}

// finish ends the member for good.
func (m *Member) finish(left error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over, m.err, m.left = true, context.Cause(m.ctx), left
	close(m.done)
}

// removed returns the error for a member evicted by a host.
func removed(why error) error { return fmt.Errorf("%w: %w", ErrEvicted, why) }
