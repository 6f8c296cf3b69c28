//go:build linux

package survival_test

import (
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// pinnedClient is a client that never changes its connection, and keeps pinging.
type pinnedClient struct {
	l       *connection
	changes notifier // of what follows

	mu     sync.Mutex // guards what follows
	pongs  []pong
	lostAt time.Time // when the client learned of the detach, session end, or connection end
	what   string
}

// pong is the answer to a ping.
type pong struct{ sent, came time.Time }

func (p *pinnedClient) lose(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lostAt.IsZero() {
		p.lostAt, p.what = time.Now(), what
		p.changes.notify()
	}
}

// push handles pushes on the connection.
func (p *pinnedClient) push(_ *connection, a *protocol.Answer) {
	switch a.Kind {
	case protocol.KindSessionDetached:
		p.lose("SESSION_DETACHED " + a.SessionDetached.Result.Status.String())
	case protocol.KindSessionEnded:
		p.lose("SESSION_ENDED " + a.SessionEnded.Reason.String())
	case protocol.KindGoingAway:
		p.lose("GOING_AWAY " + a.GoingAway.Result.Status.String())
	}
}

func (p *pinnedClient) loss() (time.Time, string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lostAt, p.what
}

// ping sends one ping; the answer is recorded whenever it arrives, unless the session was lost before.
func (p *pinnedClient) ping() {
	sent := time.Now()
	id, answers, err := p.l.send(&protocol.Ping{})
	if err != nil {
		p.l.drop(id)
		return
	}
	go func() {
		defer p.l.drop(id)
		for {
			select {
			case a := <-answers:
				if a.Kind == protocol.KindPing.Answer() {
					p.mu.Lock()
					if p.lostAt.IsZero() {
						p.pongs = append(p.pongs, pong{sent, time.Now()})
						p.changes.notify()
					}
					p.mu.Unlock()
					return
				}
			case <-p.l.gone:
				p.lose("the connection ended")
				return
			}
		}
	}()
}

// latest is the latest pong.
func (pi *pinnedClient) latest() (last pong) {
	pi.mu.Lock()
	defer pi.mu.Unlock()
	for _, p := range pi.pongs {
		if p.sent.After(last.sent) {
			last = p
		}
	}
	return last
}

func TestAHostThatStandsStillDoesNotVouchForWhatOthersGaveAway(t *testing.T) {
	const timeout = 4 * time.Second
	places := newPlaces(t, "a", "b", "c")
	hosts := serveAll(t, places)
	newNode(t, hosts, "/pause", protocol.NodeConfig{SelfCheckPeriodMillis: 500, SessionGracePeriodMillis: 1000})
	victim := hosts[0]
	for _, h := range hosts {
		if dataLed(h) > dataLed(victim) {
			victim = h
		}
	}

	// The pinned client has its session and its lock on the host to be stalled.
	s := &pinnedClient{}
	r := newRecord(t)
	var err error
	var l *connection
	victim.await("it answers a client", func() (ok bool) {
		l, err = connect(victim.Place.Client, s.push)
		return err == nil
	})
	defer l.close()
	s.l = l
	a, err := l.call(&protocol.SessionStart{Path: []byte("/pause"), TimeoutMillis: uint64(timeout.Milliseconds()),
		SessionSecret: []byte("key")}, patience)
	if err != nil || a.Result.Status != protocol.StatusSuccess {
		t.Fatalf("start: %v, %v", a, err)
	}
	session, node := a.SessionStart.SessionID, a.SessionStart.Lease.NodeID
	pinging := make(chan struct{})
	defer close(pinging)
	go func() {
		for {
			select {
			case <-pinging:
				return
			case <-time.After(timeout / 6):
				s.ping()
			}
		}
	}()
	lock, order := "", uint64(0)
	for n := uint64(1); order == 0; n++ {
		lock = fmt.Sprintf("stubborn-%d", n)
		a, err := l.call(&protocol.Acquire{
			Mutation: protocol.Mutation{SessionID: session, Sequence: n, AcknowledgedSequence: n - 1}, NodeID: node,
			Name: []byte(lock), Count: protocol.Forever, Ephemeral: true,
		}, patience)
		if at, what := s.loss(); !at.IsZero() {
			t.Skipf("the machine is too busy: the leader changed before anything happened: %s", what)
		}
		if err != nil || n > 1000 {
			t.Fatalf("acquire %s: %v", lock, err)
		}
		if a.Result.Status == protocol.StatusSuccess {
			order = a.Acquire.OrderID
		}
	}

	// Other clients continue, and one waits for the pinned client's lock.
	load := newLoad(t, hosts, "/pause", timeout, 3, 2)
	successor, err := start(load.hosts, "/pause", 10*time.Second, r)
	if err != nil {
		t.Fatal(err)
	}
	defer successor.disconnect()
	type grant struct {
		order uint64
		at    time.Time
		err   error
	}
	granted := make(chan grant, 1)
	go func() {
		order, err := successor.acquire(lock)
		granted <- grant{order, time.Now(), err}
	}()
	await(t, "the pinned client is vouched for", &s.changes,
		func() bool { return s.latest().came.After(time.Now().Add(-timeout)) })
	load.progress(10)
	if at, what := s.loss(); !at.IsZero() {
		t.Skipf("the machine is too busy: the leader changed before anything happened: %s", what)
	}

	victim.must(victim.Pause())
	stopped := time.Now()
	defer func() { _ = victim.Signal(syscall.SIGCONT) }()
	g := receive(t, "somebody else gets the lock", granted)
	if g.err != nil {
		t.Fatal(g.err)
	}
	load.progress(10)
	t.Logf("of the other locks, %v; that of the pinned client was given away after %v",
		load.record.longestPause(stopped), g.at.Sub(stopped))
	if g.order <= order {
		t.Errorf("it has fencing token %d after %d", g.order, order)
	}

	victim.signal(syscall.SIGCONT)
	woken := time.Now()
	await(t, "the pinned client learns of its loss", &s.changes, func() bool { at, _ := s.loss(); return !at.IsZero() })
	at, what := s.loss()
	t.Logf("the host stood still for %v; the pinned client learned of its loss after %v: %s",
		woken.Sub(stopped), at.Sub(woken), what)
	s.mu.Lock()
	for _, p := range s.pongs {
		if p.sent.After(stopped) {
			t.Errorf("a ping of %v after the stop was answered %v after it: others had the lock since %v",
				p.sent.Sub(stopped), p.came.Sub(stopped), g.at.Sub(stopped))
		}
	}
	s.mu.Unlock()
	if lease := s.latest().sent.Add(timeout); lease.After(g.at) {
		t.Errorf("two could believe that they have the lock, for %v", lease.Sub(g.at))
	}

	// The resumed host works normally, and accepts nothing from the pinned client.
	if l.alive() {
		a, err := l.call(&protocol.Release{
			Mutation: protocol.Mutation{SessionID: session, Sequence: 2000, AcknowledgedSequence: 1999}, NodeID: node,
			Name: []byte(lock), OrderID: order,
		}, patience)
		if err == nil && a.Result.Status == protocol.StatusSuccess {
			t.Errorf("its release after it was lost: %+v", a.Release)
		}
	}
	victim.awaitReady()
	load.progress(10)
	if err := successor.release(lock, g.order); err != nil {
		t.Error(err)
	}
	load.check()
	load.record.mu.Lock()
	defer load.record.mu.Unlock()
	// A four-second timeout and a one-second grace period leave a slow machine little time to reattach.
	for _, end := range load.record.ends {
		t.Logf("ended: %s", end)
	}
}

// dataLed counts the data shards led by a host.
func dataLed(h *host) (n int) {
	for _, s := range h.status().Shards {
		if s.Leads && s.ID != 0 {
			n++
		}
	}
	return n
}
