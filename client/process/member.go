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

// Member is a session that has joined a process, from Join until Leave, the removal of the member, or the end of the
// session. It is safe for use by many goroutines.
//
// A lost connection and a change of leader only delay a member. A member whose session has client.Recreate joins again,
// as a new member, when the session is replaced.
type Member struct {
	object  object.Object
	handler Handler
	config  joinConfig
	ctx     context.Context // ends with the member, with its cause
	end     context.CancelCauseFunc
	done    chan struct{}
	first   chan struct{} // closed when a round was completed

	mu      sync.Mutex // guards the fields below
	part    *part      // nil while the member joins again
	changed chan struct{}
	result  *Result // of the newest completed round
	err     error   // why the member is over, or could not join again
	over    bool
	left    error // why hosts could not end the membership
}

// Join lets the session take part in the process of a name in the session's node. A process that does not exist is
// made. The member is of the next epoch; Await waits until a round with the member is complete.
//
// A session is one member of a process: ErrJoined says that the session is a member already. To join needs the role
// write.
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

// Name returns the name of the process.
func (m *Member) Name() string { return m.object.Name }

// ID returns the id of the member, 0 while the member joins again.
func (m *Member) ID() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.part == nil {
		return 0
	}
	return m.part.id
}

// Await waits for the initial coordination: until a round with this member was completed, and Complete has returned.
// Await returns the result of the newest completed round. An error says that the member was over before a round was
// completed.
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

// Round waits for a round that this member is prepared for and that is not over, and returns the round: for requests
// from outside of the handler. Requests are sent when all members are prepared.
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

// round returns the round that goes on, if the member is prepared for the round.
func (p *part) round() *Round {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.newest; r != nil && isClosed(r.prepared) && r.ctx.Err() == nil && !r.isComplete() {
		return r
	}
	return nil
}

// Leave ends the membership: contexts end, and when the functions of the handler have returned and Terminate was
// called, the other members get their next epoch. Called by a function of the handler, with the context of the
// function, Leave does not wait for the end. An error says that no host could be reached in time; the membership ends
// with the session then.
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

// Done returns a channel that is closed when the member is over for good: the member has left, was removed, or the
// session ended and is not renewed. Terminate was called then. Err says which.
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

// undoJoin leaves, after a join that was given up and may have been carried out. The session cannot join meanwhile.
func (p *part) undoJoin() {
	defer p.inbox.Close()
	ctx := p.in.Context()
	id, err := p.member.joinBy(ctx, p.in)
	if err == nil {
		p.id = id
		_ = p.leave(ctx) // after an error the membership ends with the session
	}
}

// joined makes a membership the current membership of the member.
func (m *Member) joined(p *part, id uint64) {
	m.mu.Lock()
	m.part, m.err = p, nil
	m.mu.Unlock()
	p.begin(id)
}

// notify wakes the calls of Round.
func (m *Member) notify() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.changed != nil {
		close(m.changed)
		m.changed = nil
	}
}

// completed keeps the result of a round.
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

// joinAgain joins by the next incarnation of the session, until the member is over.
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

// removed is the error of a member that a host has removed.
func removed(why error) error { return fmt.Errorf("%w: %w", ErrEvicted, why) }
