//go:build linux

package chaos

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/history"
	"github.com/signalbox/signalbox/test/workload"
)

const (
	// askAgain is the pause before something is looked at again that is not as it has to be in the end.
	askAgain = 50 * time.Millisecond
	// answerPatience is how long an answer may take when everything is healed.
	answerPatience = 10 * time.Second
)

// settle waits until everybody knows what there is, and takes down what that is, read strictly.
func (s *stage) settle(ctx context.Context) {
	ctx, cancel := awake(ctx, s.patience)
	defer cancel()
	for n, x := range scenery {
		s.settleOne(ctx, uint64(settled+n), x)
	}
	known := s.journal.ledger()
	s.expect(ctx, func(asked context.Context) string { return s.compare(asked, known) })
	s.expect(ctx, s.census)
	s.expect(ctx, s.ghosts)
	s.expect(ctx, s.unpack)
	s.readDiaries()
}

// settled is the number of the first entry in the journal that tells of how a semaphore stands in the end.
const settled = 10_000

// settleOne waits until everybody agrees about a semaphore, and takes down how it stands.
func (s *stage) settleOne(ctx context.Context, number uint64, x workload.Scene) {
	watchers := s.watching(x.Name)
	o := history.Operation{Kind: history.Describe, Semaphore: s.of(x.Name)}
	agreed := false
	for {
		o.Called = s.journal.clock.Now()
		asked, done := context.WithTimeout(context.WithoutCancel(ctx), answerPatience)
		d, err := s.direct.Node(s.node).Describe(asked, x.Name, client.WithOwners(), client.WithWaiters(), client.WithConsistency(client.Strict))
		done()
		o.Found, o.Outcome, o.Error = workload.StateOf(d, err)
		// A process that stands still just then may tell too late that it knows better.
		if o.Found != nil && s.journal.agrees(o.Semaphore, *o.Found, watchers) && workload.Sleep(ctx, stillness+askAgain) &&
			s.journal.calm(o.Called-stillness) && s.journal.agrees(o.Semaphore, *o.Found, watchers) {
			agreed = true
			break
		}
		if !workload.Sleep(ctx, askAgain) {
			break
		}
	}
	o.Returned = s.journal.clock.Now()
	s.journal.take(entry{Client: -1, Number: number, Operation: &o})
	if o.Found == nil {
		s.journal.note("in the end %v cannot be described: %s", o.Semaphore, o.Error)
		return
	}
	s.journal.final(o.Semaphore, *o.Found, watchers, agreed)
}

// expect waits until nothing is wrong any more, and notes what is in the end.
func (s *stage) expect(ctx context.Context, look func(context.Context) (wrong string)) {
	for {
		asked, done := context.WithTimeout(context.WithoutCancel(ctx), answerPatience)
		wrong := look(asked)
		done()
		if wrong == "" {
			return
		}
		if !workload.Sleep(ctx, askAgain) {
			s.journal.note("in the end %s", wrong)
			return
		}
	}
}

// census says which sessions live though nobody has them, empty if there are none.
func (s *stage) census(ctx context.Context) (wrong string) {
	living := s.journal.living()
	for x, err := range s.direct.Node(s.node).Sessions(ctx) {
		if err != nil {
			return fmt.Sprintf("the sessions cannot be listed: %v", err)
		}
		if !slices.Contains(living, x.ID) {
			wrong = fmt.Sprintf("session %x lives, timeout %v, attached %v, with %d owned and %d waited for, and no client has it",
				x.ID, x.Timeout, x.Attached, x.Owned, x.Waiting)
		}
	}
	return wrong
}
