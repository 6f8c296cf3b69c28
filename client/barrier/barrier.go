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

// MaxParties is the largest number of parties that a barrier can be for.
const MaxParties = 2000

// farewell bounds how long Do tries to leave after its context has ended, and Enter after a failure. Afterwards the
// leaving goes on by itself.
const farewell = time.Second

// A round begins with the last party: with the shortest delay the last member of the least number opens the epoch.
// Other changes wait for a millisecond.
const (
	openDelay     = time.Millisecond
	mostOpenDelay = 100 * time.Millisecond
)

// Barrier is a barrier that a session enters. It is safe for use by many goroutines; one of the goroutines can be
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

// As is the name by which people know the party. The default is the name of the host.
func As(name string) Option {
	return func(b *Barrier) { b.member = append(b.member, process.WithName(name)) }
}

// New returns the barrier of a name in the session's node, for a number of parties: 1 to MaxParties.
func New(s *client.Session, name string, parties int, options ...Option) *Barrier {
	return option.Apply(&Barrier{session: s, process: process.NewInSession(s, name), name: name, parties: parties},
		options)
}

// Enter waits until as many parties have entered as the barrier is for. If the context or the session ends first, the
// party has not entered; a session with client.Recreate goes on waiting by its next incarnation.
//
// client.ErrPreconditionFailed says that the barrier is for another number of parties, process.ErrJoined that another
// goroutine has entered by this session.
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

// checkParties refuses a barrier for another number of parties. One check is enough: the decision to let a party in has
// the number too, and is checked each time.
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

// Do enters, runs the function, and leaves. The context of the function ends with ctx, and when the place in the
// barrier is lost, with ErrLost in the cause. The error is the error of entering, else the error of the function, else
// the error of leaving.
//
// If ctx has ended when the function returns, Do does not wait for the other parties.
func (b *Barrier) Do(ctx context.Context, fn func(ctx context.Context, e *Entry) error) error {
	e, err := b.Enter(ctx)
	if err != nil {
		return err
	}
	return e.do(ctx, fn)
}
