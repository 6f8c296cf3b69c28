package watch

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/kinds"
	"github.com/signalbox/signalbox/shard/machine"
)

var seeds = flag.Int("seeds", 60, "how many random stories of watchers are played")

// story is a random story: watchers on two replicas, the second lagging, while semaphores, or shelves, are created,
// changed and deleted.
type story struct {
	*bed
	random  *rand.Rand
	oracle  *replica // without watches
	targets []shard.Ref
	past    past
	clients [2][]*client
	idle    []*view // of stopped, ended or lost watches, to be resumed somewhere
	ended   int
	write   func() []byte // makes a batch of a few random commands
}

func newStory(t testing.TB, seed uint64) *story {
	s := &story{random: rand.New(rand.NewPCG(seed, 7)), past: past{moments: make(map[shard.Ref][]moment)}}
	o := s.options()
	replicas := make([]*replica, 2)
	halts := s.random.IntN(2) == 0
	for i := range replicas {
		m := machine.New(kinds.All(), machine.Options{History: 64})
		replicas[i] = &replica{machine: m, hub: New(&halting{m, halts}, o)}
	}
	s.bed, s.oracle, s.write = newBedOf(t, 12, replicas...), newReplica(o), s.writeSemaphores
	s.oracle.restore(replicas[0])
	for i := range 6 {
		s.targets = append(s.targets, shard.Ref{Kind: shard.KindSemaphore, Node: 1, Name: fmt.Sprintf("s%d", i)})
	}
	s.connectAll()
	return s
}

// newShelfStory makes a story of shelves. bug, if not nil, is inserted between hubs and machines.
func newShelfStory(t testing.TB, seed uint64, bug func(Machine) Machine) *story {
	s := &story{random: rand.New(rand.NewPCG(seed, 8)), past: past{moments: make(map[shard.Ref][]moment)}}
	o := s.options()
	o.Halt = func(err error) { t.Errorf("the host was halted: %v", err) }
	replicas := make([]*replica, 3)
	halts, pages := s.random.IntN(2) == 0, 2+s.random.IntN(4)
	for i := range replicas {
		m := newShelves(64)
		m.pages = pages
		var reads Machine = &halting{Machine: m, halts: halts}
		if bug != nil {
			reads = bug(reads)
		}
		replicas[i] = &replica{shelves: m, hub: New(reads, o)}
	}
	s.bed, s.oracle, s.write = &bed{TB: t, replicas: replicas[:2]}, replicas[2], s.writeShelves
	for _, view := range []string{"", headView, "b0", "b1", "b2"} {
		for i := range 2 {
			s.targets = append(s.targets, shard.Ref{Kind: kindShelf, Node: 1, Name: fmt.Sprintf("s%d", i), View: view})
		}
	}
	s.connectAll()
	return s
}

func (s *story) options() Options {
	return Options{
		SlowBytes: []int{600, 4 << 10, 1 << 20}[s.random.IntN(3)], PageBytes: []int{100, 1 << 10,
			1 << 18}[s.random.IntN(3)],
		InflightBytes: []int{1, 64 << 20}[s.random.IntN(2)],
	}
}

func (s *story) connectAll() {
	for r := range s.clients {
		for range 3 {
			s.connect(r)
		}
	}
}

func (s *story) connect(r int) {
	c := newClient(s.TB, s.replicas[r].hub)
	c.check = s.past.check
	s.clients[r] = append(s.clients[r], c)
}

// batch commits a few random commands.
func (s *story) batch() {
	data := s.write()
	// States are recorded before any replica can show them.
	s.oracle.behind = append(s.oracle.behind, data)
	s.oracle.apply(len(s.oracle.behind))
	for _, of := range s.targets {
		x, revision := s.oracle.state(of)
		s.past.note(of, x, revision, s.oracle.last())
	}
	s.send(data)
}

// writeSemaphores writes commands for semaphores.
func (s *story) writeSemaphores() []byte {
	for range 1 + s.random.IntN(1+s.random.IntN(30)) {
		name := []byte(s.targets[s.random.IntN(len(s.targets))].Name)
		data := strings.Repeat(fmt.Sprint(s.random.IntN(4)), s.random.IntN(80))
		session := s.random.IntN(len(s.ids))
		switch s.random.IntN(12) {
		case 0:
			s.add(shard.Command{Kind: shard.CmdSemaphoreCreate, Name: name, Count: uint64(2 + s.random.IntN(9)),
				Data: []byte(data)})
		case 1:
			if s.random.IntN(3) == 0 {
				s.add(shard.Command{Kind: shard.CmdSemaphoreDelete, Name: name, Flags: shard.FlagForce})
			}
		case 2:
			s.add(shard.Command{Kind: shard.CmdSemaphoreResize, Name: name, Count: uint64(1 + s.random.IntN(9))})
		case 3:
			s.add(shard.Command{Kind: shard.CmdSemaphoreUpdate, Name: name, Data: []byte(data)})
		case 4, 5, 6:
			s.addAs(session, shard.Command{Kind: shard.CmdRelease, Name: name})
		default:
			c := acquire(string(name), data)
			if s.random.IntN(4) == 0 {
				c.Flags = shard.FlagEphemeral
			}
			s.addAs(session, c)
		}
	}
	defer func() { s.pending = s.pending[:0] }()
	return shard.AppendBatch(nil, &shard.Batch{Commands: s.pending})
}

// writeShelves writes commands for shelves. Rows move between boards, and mostly one board's rows change.
func (s *story) writeShelves() []byte {
	var ops []shelfOp
	busy := s.random.IntN(3)
	for range 1 + s.random.IntN(1+s.random.IntN(30)) {
		board := busy
		if s.random.IntN(8) == 0 {
			board = s.random.IntN(3)
		}
		o := shelfOp{
			Op: "put", Name: fmt.Sprintf("s%d", s.random.IntN(2)), ID: uint64(1 + 10*board + s.random.IntN(12)),
			Board: fmt.Sprintf("b%d", board), Body: strings.Repeat(fmt.Sprint(s.random.IntN(4)), s.random.IntN(80)),
		}
		switch s.random.IntN(24) {
		case 0, 1:
			o.Op = "create"
		case 2:
			o.Op = "board"
		case 3:
			o.Op = []string{"unboard", "head", "board"}[s.random.IntN(3)]
		case 4:
			if s.random.IntN(4) == 0 {
				o.Op = "remove"
			}
		case 5, 6, 7:
			o.Op = "take"
		}
		ops = append(ops, o)
	}
	return encodeOps(ops)
}

// step does something to the watchers.
func (s *story) step() {
	r := s.random.IntN(2)
	clients := s.clients[r]
	at := s.random.IntN(len(clients))
	c := clients[at]
	switch s.random.IntN(14) {
	case 0, 1, 2:
		if len(s.idle) > 0 && s.random.IntN(2) == 0 {
			i := s.random.IntN(len(s.idle))
			c.resume(s.idle[i])
			s.idle = slices.Delete(s.idle, i, i+1)
			return
		}
		of := s.targets[s.random.IntN(len(s.targets))]
		if of.Kind == kindShelf {
			c.watchView(of.Name, of.View)
		} else {
			c.watch(of.Name, wants(s.random.IntN(wantKinds)))
		}
	case 3:
		for _, v := range s.open(c) {
			if c.stop(v) {
				c.hasten() // so that the view is complete
				s.idle = append(s.idle, v)
				return
			}
		}
	case 4:
		c.mu.Lock()
		c.slow = true
		c.mu.Unlock()
	case 5, 6:
		c.hasten()
	case 7, 8:
		c.take(s.random.IntN(3000))
	case 9:
		if s.random.IntN(4) == 0 {
			c.close()
			s.collect(c)
			s.clients[r] = slices.Delete(clients, at, at+1)
			s.connect(r)
		}
	case 10:
		if s.random.IntN(8) == 0 {
			s.replicas[r].hub.End(protocol.Result{Status: protocol.StatusUnavailable})
			s.ended++
		}
	case 11:
		s.replicas[1].apply(s.random.IntN(1 + len(s.replicas[1].behind)))
	case 12:
		if s.random.IntN(4) == 0 {
			s.replicas[1].restore(s.replicas[0])
		}
	case 13:
		time.Sleep(time.Duration(s.random.IntN(25)) * time.Millisecond)
	}
}

// open returns the views of a client's open watches, in opening order.
func (s *story) open(c *client) []*view {
	c.mu.Lock()
	defer c.mu.Unlock()
	var views []*view
	for id := uint64(1); id <= c.next; id++ {
		if v := c.views[id]; v != nil {
			views = append(views, v)
		}
	}
	return views
}

// collect takes the views whose end a client has read, and all views of a closed client.
func (s *story) collect(c *client) {
	views := s.open(c)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		views = nil
		for id := uint64(1); id <= c.next; id++ {
			if v := c.over[id]; v != nil && v.ended != nil {
				views = append(views, v)
				delete(c.over, id)
			}
		}
	}
	s.idle = append(s.idle, views...)
}

func TestEveryWatcherSeesEveryStateAsItWasAndEndsWithTheLast(t *testing.T) {
	for seed := range stories() {
		synctest.Test(t, func(t *testing.T) { newStory(t, seed).play(seed) })
	}
}

// TestEveryWatcherOfAViewSeesItAsItWas is the same test for heads and rows.
func TestEveryWatcherOfAViewSeesItAsItWas(t *testing.T) {
	for seed := range stories() {
		synctest.Test(t, func(t *testing.T) { newShelfStory(t, seed, nil).play(seed) })
	}
}

func stories() uint64 {
	if testing.Short() {
		return uint64(min(*seeds, 15))
	}
	return uint64(*seeds)
}

// play runs the story to its end, or until a failure.
func (s *story) play(seed uint64) {
	for range 400 {
		if s.random.IntN(3) == 0 {
			s.batch()
		} else {
			s.step()
		}
		if s.random.IntN(3) == 0 {
			synctest.Wait()
		}
		for _, clients := range s.clients {
			for _, c := range clients {
				s.collect(c)
			}
		}
		if s.Failed() {
			break
		}
	}
	s.finish()
	if s.Failed() {
		s.Errorf("seed %d", seed)
	}
}

// finish lets everything come to rest and compares.
func (s *story) finish() {
	s.batch()
	s.replicas[1].apply(len(s.replicas[1].behind))
	for _, clients := range s.clients {
		for _, c := range clients {
			c.hasten()
		}
	}
	rest()
	watches := 0
	for r, clients := range s.clients {
		for _, c := range clients {
			for _, v := range s.open(c) {
				watches++
				want, _ := s.replicas[r].state(v.ref())
				c.expectState(v, want)
			}
			c.close()
		}
	}
	rest()
	for _, r := range s.replicas {
		s.quiet(r.hub)
	}
	if watches == 0 && s.ended == 0 {
		s.Errorf("nobody watched to the end")
	}
}
