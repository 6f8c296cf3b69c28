package simulation_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

// memberTimeout is the members' session timeout.
const memberTimeout = 2 * time.Second

// inCluster runs a scenario in a bubble, with a cluster of three hosts and a node.
func inCluster(
	t *testing.T, configure func(*server.Config),
	scene func(ctx context.Context, t *testing.T, cluster *servertest.Cluster),
) {
	synctest.Test(t, func(t *testing.T) {
		cluster, err := servertest.Run(
			servertest.Hosts(3), servertest.Shards(1), servertest.Seed(1), servertest.Config(configure),
		)
		if err != nil {
			t.Fatal(err)
		}
		defer cluster.Close()
		if err := cluster.WaitReady(time.Minute); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		m, err := openMortal(ctx, cluster)
		if err != nil {
			t.Fatal(err)
		}
		defer m.close()
		if _, err := m.CreateNode(ctx, "/jobs", client.NodeConfig{}); err != nil {
			t.Fatal(err)
		}
		err = client.ErrUnsupported
		for errors.Is(err, client.ErrUnsupported) || errors.Is(err, client.ErrUnavailable) { // level too low
			_, err = process.New(m.Client, "/jobs", "workers").Put(ctx, process.Spec{}, process.ChangeInfo{})
		}
		if err != nil {
			t.Fatal(err)
		}
		scene(ctx, t, cluster)
	})
}

// mortal is a client with a killable process: after a kill, its messages are lost.
type mortal struct {
	*client.Client
	mu    sync.Mutex // guards what follows
	dead  bool
	conns []net.Conn
}

func openMortal(ctx context.Context, cluster *servertest.Cluster) (m *mortal, err error) {
	m = &mortal{}
	m.Client, err = client.Open(ctx, cluster.Addresses(), client.WithDialer(
		func(ctx context.Context, address string) (net.Conn, error) {
			c, err := cluster.Dial(ctx, address)
			m.mu.Lock()
			defer m.mu.Unlock()
			if err == nil && m.dead {
				_ = c.Close()
				return nil, net.ErrClosed
			}
			m.conns = append(m.conns, c)
			return c, err
		}))
	return m, err
}

func (m *mortal) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = true
	for _, c := range m.conns {
		if c != nil {
			_ = c.Close()
		}
	}
}

func (m *mortal) close() { _ = m.Client.Close() }

// join joins with a new session.
func (m *mortal) join(ctx context.Context, h process.Handler) (*process.Member, error) {
	s, err := m.Session(ctx, "/jobs", client.SessionTimeout(memberTimeout))
	if err != nil {
		return nil, err
	}
	return process.Join(ctx, s, "workers", h, process.Existing())
}

// TestTheOldestOfTheRestCoordinatesWhenTheCoordinatorWasKilled: the coordinator is killed during its round. When
// its session has timed out, and not before, the remaining members get a cancellation, and the next oldest coordinates.
func TestTheOldestOfTheRestCoordinatesWhenTheCoordinatorWasKilled(t *testing.T) {
	inCluster(t, func(*server.Config) {}, func(ctx context.Context, t *testing.T, cluster *servertest.Cluster) {
		var mu sync.Mutex
		calls := make([][]string, 3)
		running := make(chan struct{}, 1)
		var cancelled time.Time
		var clients []*mortal
		var members []*process.Member
		ids := make([]uint64, 3)
		note := func(i int, what string) {
			mu.Lock()
			defer mu.Unlock()
			calls[i] = append(calls[i], what)
		}
		for i := range 3 {
			m, err := openMortal(ctx, cluster)
			if err != nil {
				t.Fatal(err)
			}
			member, err := m.join(ctx, process.Handler{
				Prepare: func(_ context.Context, r *process.Round) error {
					note(i, fmt.Sprintf("prepare by %d of %d", r.Coordinator(), r.Size()))
					return nil
				},
				Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
					if i == 0 && r.Size() == 3 {
						running <- struct{}{}
						process.Yield(ctx, func() { <-ctx.Done() })
					}
					return nil, ctx.Err()
				},
				Complete: func(context.Context, *process.Round, *process.Result) { note(i, "complete") },
				Cancel: func(*process.Round) {
					if i == 1 {
						cancelled = time.Now()
					}
					note(i, "cancel")
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			clients, members, ids[i] = append(clients, m), append(members, member), member.ID()
		}
		<-running
		killed := time.Now()
		clients[0].kill()
		for _, m := range members[1:] {
			if _, err := m.Await(ctx); err != nil {
				t.Fatal(err)
			}
		}
		clients[0].close()
		for i := range 2 {
			clients[i+1].close()
		}
		synctest.Wait()
		if after := cancelled.Sub(killed); after < memberTimeout/2 || after > time.Minute {
			t.Errorf("the round was cancelled %v after its coordinator was killed, with a timeout of %v", after,
				memberTimeout)
		}
		want := []string{
			fmt.Sprintf("prepare by %d of 3", ids[0]), "cancel", fmt.Sprintf("prepare by %d of 2", ids[1]), "complete",
		}
		for i := 1; i < 3; i++ {
			// Epochs from earlier joins come first.
			mu.Lock()
			have := calls[i]
			mu.Unlock()
			if n := len(have); n < 4 || !slices.Equal(have[n-4:], want) {
				t.Errorf("member %d: %q, want %q in the end", i, have, want)
			}
		}
	})
}

// lockers are members that lock, execute and unlock together, and are killed at random.
type lockers struct {
	t         *testing.T
	mu        sync.Mutex        // guards what follows
	locked    map[uint64]uint64 // epochs by member
	executing map[uint64]uint64
	dead      map[uint64]bool
	executed  int
}

// alive runs do if the member's process lives.
func (l *lockers) alive(id uint64, do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.dead[id] {
		do()
	}
}

func (l *lockers) handler(id *uint64) process.Handler {
	return process.Handler{
		Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
			for _, step := range []string{"lock", "execute", "unlock"} {
				if _, err := r.Broadcast(ctx, step); err != nil {
					return nil, err
				}
			}
			return nil, nil
		},
		Request: func(ctx context.Context, r *process.Round, q *process.Request) (any, error) {
			var step string
			if err := q.Decode(&step); err != nil {
				return nil, err
			}
			*id = r.Self()
			return nil, l.step(ctx, r, step)
		},
		Cancel:    func(r *process.Round) { l.alive(r.Self(), func() { delete(l.locked, r.Self()) }) },
		Terminate: func() { l.alive(*id, func() { l.checkUnlocked(*id) }) },
	}
}

// checkUnlocked is called with the lock held.
func (l *lockers) checkUnlocked(id uint64) {
	if epoch, ok := l.locked[id]; ok {
		l.t.Errorf("member %d has terminated, and has the lock of epoch %d", id, epoch)
	}
}

func (l *lockers) step(ctx context.Context, r *process.Round, step string) error {
	id := r.Self()
	switch step {
	case "lock":
		l.alive(id, func() { l.locked[id] = r.Epoch() })
	case "unlock":
		l.alive(id, func() { delete(l.locked, id) })
	case "execute":
		peers, err := r.Members(ctx)
		if err != nil {
			return err
		}
		l.alive(id, func() { l.execute(r, peers) })
		timer := time.NewTimer(50 * time.Millisecond)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		l.alive(id, func() { delete(l.executing, id) })
	}
	return ctx.Err()
}

// execute checks that all members have locked, and that no member executes in another epoch. The lock is held.
func (l *lockers) execute(r *process.Round, peers []*process.Peer) {
	for _, peer := range peers {
		if l.locked[peer.ID] != r.Epoch() && !l.dead[peer.ID] {
			l.t.Errorf("member %d executes in epoch %d, and %d has the lock of %d", r.Self(), r.Epoch(), peer.ID,
				l.locked[peer.ID])
		}
	}
	for other, epoch := range l.executing {
		if epoch != r.Epoch() {
			l.t.Errorf("member %d executes in epoch %d, and %d in %d", r.Self(), r.Epoch(), other, epoch)
		}
	}
	l.executing[r.Self()] = r.Epoch()
	l.executed++
}

// live runs a process for a while, and kills it.
func (l *lockers) live(ctx context.Context, cluster *servertest.Cluster, long time.Duration) error {
	m, err := openMortal(ctx, cluster)
	if err != nil {
		return err
	}
	defer m.close()
	in, err := m.join(ctx, l.handler(new(uint64)))
	if err != nil {
		return err
	}
	self := in.ID()
	time.Sleep(long)
	l.died(self)
	m.kill()
	m.close()
	<-in.Done()
	return nil
}

// died forgets the holdings of a killed process's member.
func (l *lockers) died(id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead[id] = true
	delete(l.locked, id)
	delete(l.executing, id)
}

// TestMembersLockExecuteAndUnlockTogether: three processes lock, execute and unlock together, while 100 of them
// are killed at random times: no member executes while another has no lock, no two execute in different epochs, and no
// terminated member has a lock.
func TestMembersLockExecuteAndUnlockTogether(t *testing.T) {
	if testing.Short() {
		t.Skip("kills a hundred processes")
	}
	inCluster(t, func(*server.Config) {}, func(ctx context.Context, t *testing.T, cluster *servertest.Cluster) {
		l := &lockers{
			t: t, locked: make(map[uint64]uint64), executing: make(map[uint64]uint64), dead: make(map[uint64]bool),
		}
		var work sync.WaitGroup
		for slot := range 3 {
			work.Go(func() {
				random := rand.New(rand.NewPCG(1, uint64(slot)))
				for range 34 {
					if err := l.live(ctx, cluster, time.Duration(random.Int64N(int64(20*time.Second)))); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		work.Wait()
		if l.executed < 30 {
			t.Errorf("%d members executed something: too few", l.executed)
		}
		t.Logf("%d executions", l.executed)
	})
}

// TestABroadcastToAThousandMembersIsInTheLogOnce: the payload of a request to 1,000 members is in a single
// command, and all reply.
func TestABroadcastToAThousandMembersIsInTheLogOnce(t *testing.T) {
	const members, bytes = 1000, 1024
	if testing.Short() {
		t.Skip("has a thousand sessions")
	}
	var mu sync.Mutex
	times := 0
	bug := withLog(func(l *faultyLog) {
		l.alter = func(c *shard.Command) {
			mu.Lock()
			defer mu.Unlock()
			if len(c.Data) >= bytes {
				times++
			}
		}
	})
	inCluster(t, bug.Config, func(ctx context.Context, t *testing.T, cluster *servertest.Cluster) {
		m, err := openMortal(ctx, cluster)
		if err != nil {
			t.Fatal(err)
		}
		defer m.close()
		replies := make(chan process.Replies, 1)
		for i := range members {
			s, err := m.Session(ctx, "/jobs", client.SessionTimeout(time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			h := process.Handler{
				Request: func(context.Context, *process.Round, *process.Request) (any, error) { return "got it", nil },
			}
			if i == members-1 { // when all have joined
				h.Coordinate = func(ctx context.Context, r *process.Round) (any, error) {
					all, err := r.Broadcast(ctx, make([]byte, bytes))
					replies <- all
					return nil, err
				}
			}
			if _, err := process.Join(ctx, s, "workers", h, process.Existing()); err != nil {
				t.Fatal(err)
			}
		}
		if got := len(<-replies); got != members {
			t.Errorf("%d of %d members replied", got, members)
		}
	})
	if times != 1 {
		t.Errorf("%d commands have the payload", times)
	}
}
