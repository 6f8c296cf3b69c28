//go:build linux

package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/history"
	"github.com/signalbox/signalbox/test/workload"
)

// settlePatience is the patience of an act: sessions of clients that were killed have to expire first, by a leader
// that gives them a grace.
const settlePatience = longestLease + 30*time.Second

// stage is where an act plays.
type stage struct {
	act     Act
	node    string
	grace   time.Duration // of the node
	dir     string
	cluster *cluster
	network *network
	direct  *client.Client // of who does not suffer
	journal *journal
	// residents is the journal of who works through all acts.
	residents *journal
	tell      func(format string, args ...any)
	// patience is how long it may take, when everything is healed and nobody asks for anything any more, until
	// everybody knows what there is.
	patience time.Duration
	lies     map[Kind]func(*stage, Fault) func()

	mu      sync.Mutex // guards what follows
	teams   []team
	orders  []Orders // the latest of each client
	played  []played
	diaries []diary
	dropped []dropped
}

// played is a fault that there was.
type played struct {
	Fault
	from, to history.Time
	skipped  bool
}

// play plays the act, and returns when its programs had ended.
func (s *stage) play(ctx context.Context) (rested history.Time, err error) {
	if err := s.open(ctx); err != nil {
		return 0, err
	}
	for i := range clients {
		dice := s.act.dice(10 + i)
		o := Orders{Think: workload.Pick(dice, 5*time.Millisecond, 20*time.Millisecond, 60*time.Millisecond)}
		for range 4 + dice.IntN(4) {
			o.Timeouts = append(o.Timeouts, workload.Pick(dice, timeouts...))
		}
		if err := s.enlist(i, o); err != nil {
			return 0, err
		}
	}
	var work sync.WaitGroup
	playing, stop := context.WithCancel(ctx)
	defer stop()
	work.Go(func() { s.operate(playing) })
	if s.act.Batches > 0 { // otherwise no snapshot is to be expected
		work.Go(func() { s.hunt(playing) })
	}
	for i := range diaries {
		work.Go(func() { s.keep(playing, i) })
	}
	for _, f := range s.act.Faults {
		work.Go(func() { s.happen(playing, f) })
	}
	workload.Sleep(playing, s.act.Length)
	stop()
	work.Wait()
	if ctx.Err() != nil { // who is interrupted does not wait until everything has settled
		s.dismiss()
		return 0, nil
	}
	if err := s.cluster.awaitReady(readyPatience); err != nil {
		s.journal.note("everything is healed, and not all hosts serve: %v", err)
	}
	return s.close(ctx), nil
}

// close lets all crews rest, takes down how everything stands then, and lets them go. It returns when they rested.
func (s *stage) close(ctx context.Context) (rested history.Time) {
	for _, t := range s.teams {
		if err := t.rest(); err != nil {
			s.journal.note("%v", err)
		}
	}
	rested = s.journal.clock.Now()
	s.settle(ctx)
	for _, t := range s.teams {
		if err := t.leave(); err != nil {
			s.journal.note("%v", err)
		}
	}
	for _, text := range s.cluster.complaints() {
		s.journal.note("%s", text)
	}
	return rested
}

// dismiss ends all crews without a look at how everything stands.
func (s *stage) dismiss() {
	for _, t := range s.teams {
		_ = t.rest()
		_ = t.leave()
	}
}

// open makes the node and its semaphores.
func (s *stage) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	dice := s.act.dice(1)
	err := workload.Persist(ctx, func() error {
		_, err := s.direct.CreateNode(ctx, s.node, client.NodeConfig{
			SelfCheckPeriod: selfCheck, SessionGracePeriod: s.grace,
			AttachConsistency: workload.Pick(dice, client.Strict, client.Relaxed),
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("chaos: open %s: %w", s.node, err)
	}
	number := uint64(0)
	for _, x := range scenery {
		if x.Ephemeral {
			continue
		}
		o := history.Operation{Kind: history.Create, Semaphore: s.of(x.Name), Limit: x.Limit, Data: x.Name, Called: s.journal.clock.Now()}
		if err := workload.Make(ctx, s.direct.Node(s.node), x.Name, x.Limit, []byte(x.Name)); err != nil {
			return fmt.Errorf("chaos: open %s: %w", s.node, err)
		}
		o.Outcome, o.Returned = history.Done, s.journal.clock.Now()
		number++
		s.journal.take(entry{Client: -1, Number: number, Operation: &o})
	}
	return nil
}

func (s *stage) of(name string) history.Semaphore { return history.Semaphore{Node: s.node, Name: name} }

// happen lets a fault happen when it is time, and heals it.
func (s *stage) happen(ctx context.Context, f Fault) {
	if !workload.Sleep(ctx, f.At) {
		return
	}
	s.suffer(ctx, f, func() func() { return s.begin(f) })
}

// suffer lets a fault happen now, and heals it when its time is over.
func (s *stage) suffer(ctx context.Context, f Fault, begin func() (heal func())) {
	p := played{Fault: f, from: s.journal.clock.Now()}
	over := both(s.journal.fault(f.String(), f.sufferer()), s.residents.fault(f.String(), f.sufferer()))
	heal := begin()
	p.skipped = heal == nil
	if heal != nil {
		s.tell("%v", f)
		workload.Sleep(ctx, f.For)
		heal()
	} else {
		s.tell("%v: not possible now", f)
	}
	over()
	p.to = s.journal.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.played = append(s.played, p)
}

// operate does what operators do: it ends somebody's session, changes the node, or drops another one.
func (s *stage) operate(ctx context.Context) {
	dice := s.act.dice(2)
	for n := uint64(operated); workload.Sleep(ctx, workload.UpTo(dice, 6*time.Second)); n++ {
		switch ids := s.journal.living(); {
		case dice.IntN(4) == 0:
			s.comeAndGo(ctx, n)
		case dice.IntN(3) == 0:
			s.alter(ctx, client.NodeConfig{
				SessionGracePeriod: workload.Pick(dice, s.grace, s.grace/2), AttachConsistency: workload.Pick(dice, client.Strict, client.Relaxed),
			})
		case len(ids) > 0:
			s.destroy(ctx, n, workload.Pick(dice, ids...))
		}
	}
}

// operated is the number of the first entry in the journal that tells of what the operator does.
const operated = 1000

// alter changes the node. What comes of it shows in what is promised to sessions.
func (s *stage) alter(ctx context.Context, config client.NodeConfig) {
	ctx, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	if _, err := s.direct.AlterNode(ctx, s.node, config); err != nil && ctx.Err() == nil &&
		!errors.Is(err, client.ErrUnavailable) && !errors.Is(err, client.ErrStorageFull) {
		s.journal.note("the node cannot be altered: %v", err)
	}
}

// destroy ends a session.
func (s *stage) destroy(ctx context.Context, number uint64, session uint64) {
	ctx, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	o := history.Operation{Kind: history.Destroy, Session: session, Called: s.journal.clock.Now()}
	begun := o
	s.journal.take(entry{Client: -1, Number: number, Operation: &begun})
	o.Outcome, o.Error = workload.OutcomeOf(s.direct.DestroySession(ctx, session))
	o.Returned = s.journal.clock.Now()
	s.journal.take(entry{Client: -1, Number: number, Operation: &o})
}
