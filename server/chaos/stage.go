//go:build linux

package chaos

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/server/history"
)

// settlePatience is how long it may take, when everything is healed and nobody asks for anything any more, until
// everybody knows what there is: sessions of clients that were killed have to expire first, by a leader that
// gives them a grace.
const settlePatience = longestTimeout + longestGrace + 30*time.Second

// stage is where an act plays.
type stage struct {
	act     Act
	node    string
	dir     string
	cluster *cluster
	network *network
	direct  *client.Client // of who does not suffer
	journal *journal
	tell    func(format string, args ...any)

	mu     sync.Mutex // guards what follows
	teams  []team
	lives  []int
	orders []Orders // the latest of each client
	played []played
}

// played is a fault that there was.
type played struct {
	Fault
	from, to history.Time
	skipped  bool
}

// play plays the act, and returns how it went: its history, and when its programs ended.
func (s *stage) play(ctx context.Context) (rested history.Time, err error) {
	if err := s.prepare(ctx); err != nil {
		return 0, err
	}
	for i := range clients {
		if err := s.enlist(i); err != nil {
			return 0, err
		}
	}
	var work sync.WaitGroup
	playing, stop := context.WithCancel(ctx)
	defer stop()
	work.Go(func() { s.operate(playing) })
	for _, f := range s.act.Faults {
		work.Go(func() { s.happen(playing, f) })
	}
	sleep(playing, s.act.Length)
	stop()
	work.Wait()
	if err := s.cluster.awaitReady(readyPatience); err != nil {
		s.journal.note("everything is healed, and not all hosts serve: %v", err)
	}
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
	return rested, nil
}

// persist tries something until it succeeds or the time is up.
func persist(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil || !errors.Is(err, client.ErrUnavailable) || !sleep(ctx, 100*time.Millisecond) {
			return err
		}
	}
}

// prepare makes the node and its semaphores.
func (s *stage) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	dice := s.act.dice(1)
	err := persist(ctx, func() error {
		_, err := s.direct.CreateNode(ctx, s.node, client.NodeConfig{
			SelfCheckPeriod: selfCheck, SessionGracePeriod: longestGrace,
			AttachConsistency: pick(dice, client.Strict, client.Relaxed),
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("chaos: prepare %s: %w", s.node, err)
	}
	number := uint64(0)
	for _, x := range scenery {
		if x.ephemeral {
			continue
		}
		o := history.Operation{Kind: history.Create, Semaphore: s.of(x.name), Limit: x.limit, Data: x.name, Called: s.journal.clock.Now()}
		err := persist(ctx, func() error {
			err := s.direct.Node(s.node).Create(ctx, x.name, x.limit, []byte(x.name))
			if errors.Is(err, client.ErrAlreadyExists) {
				return nil // made by a try whose outcome was not known
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("chaos: prepare %s: %w", s.node, err)
		}
		o.Outcome, o.Returned = history.Done, s.journal.clock.Now()
		number++
		s.journal.take(entry{Client: -1, Number: number, Operation: &o})
	}
	return nil
}

func (s *stage) of(name string) history.Semaphore { return history.Semaphore{Node: s.node, Name: name} }

// enlist gives a client its crew.
func (s *stage) enlist(i int) error {
	dice := s.act.dice(10 + i)
	o := Orders{
		Client: i, Epoch: s.journal.clock.epoch, Seed: dice.Uint64(), Node: s.node, Routes: s.network.routes[i],
		Think: pick(dice, 5*time.Millisecond, 20*time.Millisecond, 60*time.Millisecond), Watchers: (i + 1) * 1000,
	}
	for range 4 + dice.IntN(4) {
		o.Timeouts = append(o.Timeouts, pick(dice, timeouts...))
	}
	for range 3 {
		o.Watched = append(o.Watched, pick(dice, scenery...).name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.orders = append(s.orders, o)
	s.lives = append(s.lives, 1)
	t, err := s.hire(o)
	if err != nil {
		return err
	}
	s.teams = append(s.teams, t)
	return nil
}

// hire starts a crew.
func (s *stage) hire(o Orders) (team, error) {
	if o.Client < nearClients {
		return near{muster(o, s.journal)}, nil
	}
	return send(o, s.journal, filepath.Join(s.dir, fmt.Sprintf("client-%d.log", o.Client)))
}

// far returns the crew of a client in a process of its own, nil where it has ended.
func (s *stage) far(i int) *far {
	s.mu.Lock()
	defer s.mu.Unlock()
	x, _ := s.teams[i].(*far)
	return x
}

// forget takes a crew out that is about to be killed.
func (s *stage) forget(i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.teams[i] = gone{}
}

// gone is the team of a client that was killed.
type gone struct{}

func (gone) rest() error  { return nil }
func (gone) leave() error { return nil }

// replace starts a crew again that was killed.
func (s *stage) replace(i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := &s.orders[i]
	o.Life++
	o.Watchers += len(o.Watched)
	t, err := s.hire(*o)
	if err != nil {
		s.journal.note("%v", err)
		return
	}
	s.teams[i] = t
}

// watching are the watchers of a semaphore that are there.
func (s *stage) watching(name string) (ids []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, o := range s.orders {
		if _, ended := s.teams[i].(gone); ended {
			continue
		}
		for n, watched := range o.Watched {
			if watched == name {
				ids = append(ids, o.Watchers+n)
			}
		}
	}
	return ids
}

// happen lets a fault happen when it is time, and heals it.
func (s *stage) happen(ctx context.Context, f Fault) {
	if !sleep(ctx, f.At) {
		return
	}
	p := played{Fault: f, from: s.journal.clock.Now()}
	over := s.journal.fault(f.String(), f.sufferer())
	heal := s.begin(ctx, f)
	p.skipped = heal == nil
	if heal != nil {
		s.tell("%v", f)
		sleep(ctx, f.For)
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

// operate ends somebody's session now and then.
func (s *stage) operate(ctx context.Context) {
	dice := s.act.dice(2)
	for n := uint64(1000); sleep(ctx, upTo(dice, 8*time.Second)); n++ {
		ids := s.journal.living()
		if len(ids) == 0 {
			continue
		}
		s.destroy(ctx, n, pick(dice, ids...))
	}
}

func (s *stage) destroy(ctx context.Context, number uint64, session uint64) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	o := history.Operation{Kind: history.Destroy, Session: session, Called: s.journal.clock.Now()}
	begun := o
	s.journal.take(entry{Client: -1, Number: number, Operation: &begun})
	o.Outcome, o.Error = outcome(s.direct.DestroySession(ctx, session))
	o.Returned = s.journal.clock.Now()
	s.journal.take(entry{Client: -1, Number: number, Operation: &o})
}

// settle waits until everybody knows what there is, and takes down what that is, read strictly.
func (s *stage) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, settlePatience)
	defer cancel()
	for n, x := range scenery {
		var state *history.State
		var wrong string
		watchers := s.watching(x.name)
		o := history.Operation{Kind: history.Describe, Semaphore: s.of(x.name)}
		for {
			o.Called = s.journal.clock.Now()
			asked, done := context.WithTimeout(context.Background(), 10*time.Second)
			d, err := s.direct.Node(s.node).Describe(asked, x.name, client.WithOwners(), client.WithWaiters(), client.WithConsistency(client.Strict))
			done()
			state, o.Outcome, wrong = stateOf(d, err)
			if state != nil && s.journal.agrees(o.Semaphore, *state, watchers) || !sleep(ctx, 50*time.Millisecond) {
				break
			}
		}
		o.Found, o.Error, o.Returned = state, wrong, s.journal.clock.Now()
		s.journal.take(entry{Client: -1, Number: uint64(10_000 + n), Operation: &o})
		if state == nil {
			s.journal.note("in the end %v cannot be described: %s", o.Semaphore, wrong)
			continue
		}
		s.journal.final(o.Semaphore, *state, watchers)
	}
	s.read(ctx)
}

// read compares the ledger with what its programs know of it.
func (s *stage) read(ctx context.Context) {
	known := s.journal.ledger()
	for {
		wrong := s.compare(known)
		if wrong == "" {
			return
		}
		// A list may come from a host that is a little behind.
		if !sleep(ctx, 100*time.Millisecond) {
			s.journal.note("in the end %s", wrong)
			return
		}
	}
}

func (s *stage) compare(known map[string]history.Operation) (wrong string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	there := make(map[string]string)
	for x, err := range s.direct.Node(s.node).Semaphores(ctx, client.Prefix(ledger), client.WithData()) {
		if err != nil {
			return fmt.Sprintf("the ledger cannot be read: %v", err)
		}
		there[x.Name] = string(x.Data)
	}
	for name, o := range known {
		data, ok := there[name]
		switch {
		case ok && data != o.Data:
			return fmt.Sprintf("%s has %q, and was made with %q", name, data, o.Data)
		case !ok && o.Outcome == history.Done:
			return fmt.Sprintf("%s is not there, though that was acknowledged at %v", name, o.Returned)
		case ok && o.Outcome != history.Done && o.Outcome != history.Unknown && o.Outcome != "":
			return fmt.Sprintf("%s is there, though that was refused at %v: %s", name, o.Returned, o.Error)
		}
		delete(there, name)
	}
	for name := range there {
		return fmt.Sprintf("%s is there, and nobody made it", name)
	}
	return ""
}

// ledger are the entries of the ledger that programs made, or tried to.
func (j *journal) ledger() map[string]history.Operation {
	j.mu.Lock()
	defer j.mu.Unlock()
	known := make(map[string]history.Operation)
	for _, o := range j.operations {
		if o.Kind == history.Create && strings.HasPrefix(o.Semaphore.Name, ledger) {
			known[o.Semaphore.Name] = o
		}
	}
	return known
}
