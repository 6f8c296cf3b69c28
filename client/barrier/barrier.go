package barrier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/option"
	"github.com/signalbox/signalbox/client/process"
)

// ErrLost: the party was inside, and its session is over, or an operator has put the party out. The next generation
// may be inside.
var ErrLost = errors.New("the slot in the barrier was lost")

// MaxParties is the maximum number of parties in a barrier.
const MaxParties = 2000

// farewell bounds how long Do tries to leave after its context has ended, and Enter after a failure. Afterwards the
// leaving goes on by itself.
const farewell = time.Second

// A round should start with the last party: the member that completes the required number uses the shortest delay and
// opens the epoch. All other changes wait for a millisecond.
const (
	openDelay     = time.Millisecond
	mostOpenDelay = 100 * time.Millisecond
)

// Barrier is a barrier that a session enters. A Barrier is safe for concurrent use, but only one goroutine can be
// inside at a time.
type Barrier struct {
	session *client.Session
	process *process.Process
	name    string
	parties int
	member  []process.JoinOption
	checked atomic.Bool
}

// Option sets how a barrier is entered.
type Option func(*Barrier)

// As sets the party's display name. Default: the host name.
func As(name string) Option {
	return func(b *Barrier) { b.member = append(b.member, process.WithName(name)) }
}

// New returns the named barrier in the session's node, for 1 to MaxParties parties.
func New(s *client.Session, name string, parties int, options ...Option) *Barrier {
	return option.Apply(&Barrier{session: s, process: process.NewInSession(s, name), name: name, parties: parties},
		options)
}

// Enter waits until the required number of parties have entered. If the context or the session ends first, the party
// has not entered; with client.Recreate, the session's next incarnation continues to wait.
//
// Enter fails with client.ErrPreconditionFailed if the barrier is for another number of parties, and with
// process.ErrJoined if another goroutine has entered with this session.
func (b *Barrier) Enter(ctx context.Context) (*Entry, error) {
	e, err := b.enter(ctx)
	if err != nil {
		return nil, failure.OfName("barrier", "enter", b.name, err)
	}
	return e, nil
}

func (b *Barrier) enter(ctx context.Context) (*Entry, error) {
	if b.parties < 1 || b.parties > MaxParties {
		return nil, fmt.Errorf("%w: a barrier needs 1 to %d parties, not %d", client.ErrBadRequest, MaxParties,
			b.parties)
	}
	p := &party{barrier: b, decided: make(chan struct{}), checked: make(chan struct{})}
	options := append(slices.Clone(b.member), process.Encoding(process.JSON), process.Create(process.Spec{
		OpenDelay: openDelay, MaxOpenDelay: mostOpenDelay, MinMembers: b.parties,
	}))
	m, err := process.Join(ctx, b.session, b.name, p.handler(), options...)
	if err != nil {
		return nil, err
	}
	e, err := p.await(ctx, m)
	if err != nil {
		p.finish()
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer cancel()
		_ = m.Leave(bye) // the leaving goes on by itself
	}
	return e, err
}

// checkParties rejects a barrier for another number of parties. One check is enough, because every decision to let a
// party in also carries the number and is checked.
func (b *Barrier) checkParties(ctx context.Context) error {
	if b.checked.Load() {
		return nil
	}
	d, err := b.process.Describe(ctx, process.Consistency(client.Strict))
	if err == nil && d.Spec.MinMembers != b.parties {
		err = otherNumber(d.Spec.MinMembers, b.parties)
	}
	b.checked.Store(err == nil)
	return err
}

func otherNumber(is, want int) error {
	return fmt.Errorf("%w: the barrier is for %d parties, not for %d; use another "+
		"name", client.ErrPreconditionFailed, is, want)
}

// Do enters the barrier, runs the function, and leaves. The function's context ends with ctx or, with ErrLost in the
// cause, if the party loses its position in the barrier. Do returns the first error from entering, the function, or
// leaving.
//
// If ctx has ended when the function returns, Do does not wait for the other parties.
func (b *Barrier) Do(ctx context.Context, fn func(ctx context.Context, e *Entry) error) error {
	e, err := b.Enter(ctx)
	if err != nil {
		return err
	}
	return e.do(ctx, fn)
}
