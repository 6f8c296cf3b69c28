package hub

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
)

var seeds = flag.Int("seeds", 60, "how many random stories of watchers are played")

// story is a random story: watchers on two replicas, of which the second lags, while semaphores come,
// change and go.
type story struct {
	*bed
	random  *rand.Rand
	oracle  *replica // without watches
	names   []string
	past    past
	clients [2][]*client
	idle    []*view // of watches that were stopped, ended or lost, to be taken up somewhere
	ended   int
}

func newStory(t testing.TB, seed uint64) *story {
	random := rand.New(rand.NewPCG(seed, 7))
	o := Options{
		SlowBytes: []int{600, 4 << 10, 1 << 20}[random.IntN(3)], PageBytes: []int{100, 1 << 10,
			1 << 18}[random.IntN(3)],
		InflightBytes: []int{1, 64 << 20}[random.IntN(2)],
	}
	replicas := make([]*replica, 2)
	halts := random.IntN(2) == 0
	for i := range replicas {
		m := shard.New(shard.Options{History: 64})
		replicas[i] = &replica{machine: m, hub: newHub(&halting{m, halts}, o)}
	}
	s := &story{bed: newBedOf(t, 12, replicas...), random: random, past: past{moments: make(map[string][]moment)},
		oracle: newReplica(o)}
	s.oracle.restore(replicas[0])
	for i := range 6 {
		s.names = append(s.names, fmt.Sprintf("s%d", i))
	}
	for r := range s.clients {
		for range 3 {
			s.connect(r)
		}
	}
	return s
}

func (s *story) connect(r int) {
	c := newClient(s.TB, s.replicas[r].hub)
	c.check = s.past.check
	s.clients[r] = append(s.clients[r], c)
}

// batch commits a few random commands.
func (s *story) batch() {
	for range 1 + s.random.IntN(1+s.random.IntN(30)) {
		name := []byte(s.names[s.random.IntN(len(s.names))])
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
	// The states are noted before any replica can show them.
	data := shard.AppendBatch(nil, &shard.Batch{Commands: s.pending})
	s.oracle.behind = append(s.oracle.behind, data)
	s.oracle.apply(len(s.oracle.behind))
	last := s.oracle.machine.State().LastRevision
	for _, name := range s.names {
		s.past.note(s.oracle.machine, name, last)
	}
	s.commit()
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
		c.watch(s.names[s.random.IntN(len(s.names))], wants(s.random.IntN(wantKinds)))
	case 3:
		for _, v := range s.open(c) {
			if c.stop(v) {
				c.hasten() // so that the view is at rest
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

// open returns the views of a client's open watches, in the order in which they were opened.
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

// collect takes the views that a client has read the end of, and all of one that is closed.
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
	n := *seeds
	if testing.Short() {
		n = min(n, 15)
	}
	for seed := range n {
		synctest.Test(t, func(t *testing.T) {
			s := newStory(t, uint64(seed))
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
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
			s.finish(seed)
		})
	}
}

// finish lets everything come to rest and compares.
func (s *story) finish(seed int) {
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
				c.expect(v, s.replicas[r].machine)
			}
			c.close()
		}
	}
	rest()
	for _, r := range s.replicas {
		s.quiet(r.hub)
	}
	if s.Failed() {
		s.Fatalf("seed %d", seed)
	}
	if watches == 0 && s.ended == 0 {
		s.Errorf("seed %d: nobody watched to the end", seed)
	}
}
