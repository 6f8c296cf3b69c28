//go:build linux

package survival_test

import (
	"flag"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/protocol"
	server "github.com/signalbox/signalbox/server/admin"
	"github.com/signalbox/signalbox/test/wire"
)

// wired puts wires between places. The wires know a process once serve has started the process.
type wired struct {
	*wire.Mesh
	pids [3]atomic.Int64
}

// newWired puts wires between three places, for hosts with one data shard, before the hosts' start.
func newWired(t *testing.T, places []*place, args ...string) *wired {
	t.Helper()
	var listeners []net.Listener
	var addresses, list []string
	for _, p := range places {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners, addresses = append(listeners, listener), append(addresses, p.Raft)
		list = append(list, p.Name+"="+listener.Addr().String())
	}
	for _, p := range places {
		own := []string{"--name", p.Name, "--shards", "1", "--initial-hosts", strings.Join(list, ",")}
		p.Args = append(own, args...)
	}
	w := &wired{}
	w.Mesh = wire.NewMesh(listeners, addresses, func() (pids []int) {
		for i := range w.pids {
			pids = append(pids, int(w.pids[i].Load()))
		}
		return pids
	})
	t.Cleanup(func() { w.Close() })
	return w
}

// serve starts a process in each place and waits until all are ready.
func (w *wired) serve(t *testing.T, places []*place) (hosts []*host) {
	t.Helper()
	for i, p := range places {
		hosts = append(hosts, p.serve(t))
		w.pids[i].Store(int64(hosts[i].PID()))
	}
	for _, h := range hosts {
		h.awaitReady()
	}
	return hosts
}

// setApart delays all messages between hosts.
func (w *wired) setApart(oneWay time.Duration) {
	for _, each := range w.All() {
		each.Delay(oneWay)
	}
}

// setFar delays all messages from and to a host until end is called.
func (w *wired) setFar(host int, oneWay time.Duration) (end func()) {
	var ends []func()
	to, from := w.Around(host)
	for _, each := range slices.Concat(to, from) {
		ends = append(ends, each.Delay(oneWay))
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}

// distant is a cluster with three hosts. A round trip between hosts takes much longer than all other work.
type distant struct {
	t      *testing.T
	places []*place
	oneWay time.Duration
	leader string // address of the data shard's leader
}

// balanceNothing has the governor move no leaders to balance the hosts.
func balanceNothing(t *testing.T, places []*place) *admin.Admin {
	t.Helper()
	desk := admin.New(newCounter(t, places).box)
	set := func(p *admin.Policy) { p.BalanceEvery, p.StableFor = 0, time.Second }
	if _, err := desk.SetPolicy(t.Context(), set, admin.ChangeInfo{}); err != nil {
		t.Fatal(err)
	}
	return desk
}

// newDistant starts distant hosts. If apart is set, different hosts lead the meta shard and the data shard.
func newDistant(t *testing.T, oneWay time.Duration, apart bool) *distant {
	t.Helper()
	places := newPlacesIn(t, inMemory(), "a", "b", "c")
	w := newWired(t, places)
	hosts := w.serve(t, places)
	newNode(t, hosts, "/far", protocol.NodeConfig{})
	desk := balanceNothing(t, places)
	d := &distant{t: t, places: places, oneWay: oneWay}
	lead := map[uint64]string{0: "a", 1: "a"}
	if apart {
		lead[0] = "b"
	}
	for shard, name := range lead {
		hosts[0].await("it is online", func() bool {
			_, err := desk.TransferLeader(t.Context(), shard, name, admin.ChangeInfo{})
			return err == nil
		})
	}
	hosts[0].await("the leaders are in place", func() bool {
		c, err := desk.Describe(t.Context())
		return err == nil && !slices.ContainsFunc(c.Shards, func(s admin.Shard) bool {
			h := c.Host(s.Leader)
			return h == nil || h.Name != lead[s.ID]
		})
	})
	d.leader = places[0].Client
	w.setApart(oneWay)
	return d
}

// speaker is a session at the leader.
type speaker struct {
	*connection
	t        *testing.T
	id, node uint64
	number   uint64
}

func (d *distant) speak() *speaker {
	d.t.Helper()
	c, err := connect(d.leader, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(c.close)
	return &speaker{connection: c, t: d.t}
}

// ask sends a request that must succeed, and returns the answer.
func (s *speaker) ask(m protocol.RequestMessage) *protocol.Answer {
	a, err := s.call(m, patience)
	if err == nil {
		err = a.Result.Err()
	}
	if err != nil {
		s.t.Errorf("%v: %v", m.Kind(), err)
		return &protocol.Answer{}
	}
	return a
}

func (s *speaker) start() {
	a := s.ask(&protocol.SessionStart{
		Path: []byte("/far"), TimeoutMillis: uint64(time.Minute.Milliseconds()), SessionSecret: []byte("key"),
		AttachSequence: 1,
	}).SessionStart
	s.id, s.node, s.number = a.SessionID, a.Lease.NodeID, 0
}

func (s *speaker) mutation() protocol.Mutation {
	s.number++
	return protocol.Mutation{SessionID: s.id, Sequence: s.number, AcknowledgedSequence: s.number - 1}
}

func (s *speaker) lock(name string) {
	s.ask(&protocol.Acquire{Mutation: s.mutation(), NodeID: s.node, Name: []byte(name), Count: protocol.Forever,
		Ephemeral: true})
}

func (s *speaker) unlock(name string) {
	s.ask(&protocol.Release{Mutation: s.mutation(), NodeID: s.node, Name: []byte(name)})
}

// tries is the number of attempts to reach the minimum time: an attempt may wait for a processor or a disk.
const tries = 10

// takes fails the test unless the fastest attempt takes the given number of round trips.
func (d *distant) takes(what string, trips int, action func(try int)) {
	d.t.Helper()
	d.within(what, trips, func(try int) time.Duration {
		began := time.Now()
		action(try)
		return time.Since(began)
	})
}

// takesEach fails the test unless many concurrent callers need the given number of round trips: the median over all
// calls, in the fastest attempt.
func (d *distant) takesEach(what string, trips, callers int, action func(caller, n int)) {
	d.t.Helper()
	const each = 8
	d.within(fmt.Sprintf("%s of %d callers", what, callers), trips, func(try int) time.Duration {
		times := make([]time.Duration, callers*each)
		var working sync.WaitGroup
		for i := range callers {
			working.Go(func() {
				for n := range each {
					began := time.Now()
					action(i, try*each+n)
					times[i*each+n] = time.Since(began)
				}
			})
		}
		working.Wait()
		slices.Sort(times)
		return times[len(times)/2]
	})
}

// within fails the test unless an attempt takes the given number of round trips, plus at most three quarters of a round
// trip for all other work.
func (d *distant) within(what string, trips int, try func(n int) time.Duration) {
	d.t.Helper()
	trip, best := 2*d.oneWay, time.Hour
	least := time.Duration(trips) * trip
	most := least + trip*3/4
	for n := 0; n < tries && best > most; n++ {
		best = min(best, try(n))
	}
	text := fmt.Sprintf("%s takes %.2f round trips", what, float64(best)/float64(trip))
	if d.t.Log(text); best < least || best > most {
		d.t.Errorf("%s, want %d", text, trips)
	}
}

// TestRoundTripsBetweenHosts counts the round trips between real hosts for each request kind, for one caller and for 64
// callers in turn. A session's start takes one more if another host leads the meta shard.
func TestRoundTripsBetweenHosts(t *testing.T) {
	const oneWay, callers = 50 * time.Millisecond, 64
	for apart, start := range map[bool]int{false: 1, true: 2} {
		t.Run(fmt.Sprintf("meta shard led elsewhere %v", apart), func(t *testing.T) {
			t.Parallel()
			d := newDistant(t, oneWay, apart)
			read := func(s *speaker, c protocol.Consistency) {
				s.ask(&protocol.SemaphoreDescribe{NodeID: s.node, Name: []byte("held"), Consistency: c})
			}
			first := d.speak()
			first.start() // records the timeout in the meta shard
			d.takes("the start of a session and its first lock", start+1, func(n int) {
				s := d.speak()
				s.start()
				s.lock(fmt.Sprint("first-", n))
			})
			var all, stops []*speaker
			var starting sync.WaitGroup
			for range tries {
				s := d.speak()
				starting.Go(s.start)
				stops = append(stops, s)
			}
			for range callers {
				s := d.speak()
				starting.Go(s.start)
				all = append(all, s)
			}
			starting.Wait()
			d.takes("the stop of a session", 1, func(n int) {
				stops[n].ask(&protocol.SessionStop{SessionID: stops[n].id})
			})
			d.takes("a lock", 1, func(n int) { first.lock(fmt.Sprint(n)) })
			d.takes("an unlock", 1, func(int) { first.unlock("0") })
			first.lock("held")
			d.takes("a strict read", 1, func(int) { read(first, protocol.ConsistencyStrict) })
			d.takes("a relaxed read", 0, func(int) { read(first, protocol.ConsistencyRelaxed) })

			d.takesEach("a change", 1, callers, func(i, n int) {
				if name := fmt.Sprint("of-", i); n%2 == 0 {
					all[i].lock(name)
				} else {
					all[i].unlock(name)
				}
			})
			d.takesEach("a strict read", 1, callers, func(i, _ int) { read(all[i], protocol.ConsistencyStrict) })
			d.takesEach("a relaxed read", 0, callers, func(i, _ int) { read(all[i], protocol.ConsistencyRelaxed) })
		})
	}
}

var distances = flag.Bool("distances", false, "let TestDistantHostsElectNoLeader run, which takes minutes")

// TestDistantHostsElectNoLeader: between hosts that are far apart no leader changes without a fault. After a leader's
// pause or kill, another host leads. The heartbeat intervals are from docs/guides/bootstrap.md.
func TestDistantHostsElectNoLeader(t *testing.T) {
	if !*distances {
		t.Skip("takes minutes, played with -distances")
	}
	for _, x := range []struct{ oneWay, heartbeat time.Duration }{
		{2700 * time.Microsecond, 50 * time.Millisecond},
		{22 * time.Millisecond, 50 * time.Millisecond},
		{50 * time.Millisecond, 50 * time.Millisecond},
		{103 * time.Millisecond, 50 * time.Millisecond},
		{103 * time.Millisecond, 250 * time.Millisecond},
	} {
		t.Run(fmt.Sprintf("%v apart with heartbeats every %v", x.oneWay, x.heartbeat), func(t *testing.T) {
			places := newPlacesIn(t, inMemory(), "a", "b", "c")
			w := newWired(t, places, "--raft-heartbeat-interval", x.heartbeat.String())
			w.setApart(x.oneWay)
			hosts := w.serve(t, places)
			balanceNothing(t, places)
			newNode(t, hosts, "/far", protocol.NodeConfig{})
			l := newLoad(t, hosts, "/far", sessions, 4, 2)
			terms := func() (list []uint64) {
				for _, s := range hosts[0].status().Shards {
					list = append(list, s.Term)
				}
				return list
			}
			before := terms()
			time.Sleep(20 * time.Second)
			l.progress(5)
			if after := terms(); !slices.Equal(before, after) {
				t.Errorf("the terms were %v, and are %v", before, after)
			}
			for turn := range 6 {
				w.failOver(t, places, hosts, turn%2 == 0)
				l.progress(5)
			}
			l.check()
			l.record.checkNoSessionEnded()
		})
	}
}

// failOver pauses or kills the data shard's leader, logs the time until another host leads, and restarts the first
// host.
func (w *wired) failOver(t *testing.T, places []*place, hosts []*host, pause bool) {
	t.Helper()
	leads := func(h *host) bool {
		status, err := h.Status()
		return err == nil && slices.ContainsFunc(status.Shards, func(s server.ShardStatus) bool {
			return s.ID == 1 && s.Leads
		})
	}
	old := slices.IndexFunc(hosts, leads)
	if old < 0 {
		t.Fatal("no host leads")
	}
	began := time.Now()
	if pause {
		hosts[old].must(hosts[old].Pause())
	} else {
		hosts[old].Kill()
	}
	others := slices.Delete(slices.Clone(hosts), old, old+1)
	others[0].await("another host leads", func() bool { return slices.ContainsFunc(others, leads) })
	t.Logf("another host leads %v after the pause (%v) or the kill", time.Since(began), pause)
	if pause {
		hosts[old].must(hosts[old].Resume())
	} else {
		hosts[old] = places[old].serve(t)
		w.pids[old].Store(int64(hosts[old].PID()))
	}
	hosts[old].awaitReady()
}
