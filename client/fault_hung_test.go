package client_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
)

// hang makes a host hang: its connections stay open, but it handles and answers nothing more. Earlier requests are
// carried out.
func (f *fakeCluster) hang(host int) {
	f.do(func() { f.hosts[host].mute, f.hosts[host].hang = true, true })
}

// elect makes a host the leader of all shards; every host that does not hang announces this.
func (f *fakeCluster) elect(host int, term uint64) {
	f.lead(host)
	f.do(func() {
		for _, h := range f.hosts {
			for c := range h.conns {
				for _, s := range f.shards {
					c.push(0, &protocol.RoutingChanged{
						Version: f.version, ShardID: s.id, LeaderHostID: f.hosts[host].id, Term: term,
					})
				}
			}
		}
	})
}

// TestRequestsUnderWayAtAHungLeaderGoToTheNext within 3 s, if the next leader is announced after 2 s. A client without
// a connection to another host finds a host in this time.
func TestRequestsUnderWayAtAHungLeaderGoToTheNext(t *testing.T) {
	for what, endpoints := range map[string]func(*fakeCluster) string{
		"all hosts are given": (*fakeCluster).addresses,
		"the leader is given": func(fake *fakeCluster) string { return fake.hosts[0].address },
	} {
		requests := map[string]func(ctx context.Context, c *client.Client, s *client.Session) error{
			"acquire": func(ctx context.Context, _ *client.Client, s *client.Session) error {
				_, err := s.Semaphore(name).Acquire(ctx)
				return err
			},
			"update": func(ctx context.Context, _ *client.Client, s *client.Session) error {
				return s.Semaphore(name).Update(ctx, []byte("x"))
			},
			"strict read": func(ctx context.Context, c *client.Client, _ *client.Session) error {
				_, err := c.Node(path).Describe(ctx, name, client.WithConsistency(client.Strict))
				return err
			},
			"node create": func(ctx context.Context, c *client.Client, _ *client.Session) error {
				_, err := c.CreateNode(ctx, path+"/more", client.NodeConfig{})
				return err
			},
		}
		for request, send := range requests {
			t.Run(request+", "+what, func(t *testing.T) {
				playFake(t, 3, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
					fake.lead(0)
					check(t, c.Node(path).Create(t.Context(), name, 1, nil))
					c, err := client.Open(t.Context(), endpoints(fake), client.WithDialer(fake.dial))
					check(t, err)
					defer c.Close()
					s := session(t, c)
					fake.on(func(h *fakeHost, r *protocol.Request) fault {
						return fault{silent: h.id == 1} // carried out, and not answered
					})
					began := time.Now()
					done := make(chan error, 1)
					go func() { done <- send(t.Context(), c, s) }()
					synctest.Wait()
					fake.hang(0)
					time.Sleep(2 * time.Second)
					fake.elect(1, 9)
					check(t, <-done)
					within(t, "the request took", time.Since(began), 2*time.Second, 3*time.Second)
					fake.on(nil)
					if d := describe(t, c); d.OwnerCount > 1 {
						t.Errorf("%d owners", d.OwnerCount)
					}
				})
			})
		}
	}
}

// TestSlowLeaderKeepsItsConnections: a client keeps its connection to a slow host while no other host leads, and while
// the slow host answers pings.
func TestSlowLeaderKeepsItsConnections(t *testing.T) {
	playFake(t, 3, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		fake.lead(0)
		s := session(t, c)
		lease := acquire(t, s.Semaphore(name, client.Limit(1)))
		dials := 0
		fake.do(func() { dials = fake.hosts[0].dials })
		fake.times(1, protocol.KindSemaphoreUpdate, fault{delay: 2500 * time.Millisecond})
		check(t, s.Semaphore(name).Update(t.Context(), []byte("x")))
		fake.elect(1, 9)
		time.Sleep(20 * time.Second)
		check(t, lease.Err())
		fake.do(func() {
			if n := fake.hosts[0].dials - dials; n > 0 {
				t.Errorf("the host was dialled %d times", n)
			}
		})
	})
}
