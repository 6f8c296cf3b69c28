package client_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
)

// outages are the ways to make all hosts unreachable. Each function begins or ends an outage at a host.
var outages = map[string]func(h *fakeHost, on bool){
	"refused": func(h *fakeHost, on bool) { h.down = on },
	// A dial begun during the outage stays unanswered after it, as its first packet was lost.
	"lost": func(h *fakeHost, on bool) { h.hang = on },
}

// TestASessionIsAttachedAgainBeforeAnythingIsServed: no host can be reached for almost the lease's whole length. The
// session's requests wait for the attach, which comes with the first reachable host, and the session survives.
func TestASessionIsAttachedAgainBeforeAnythingIsServed(t *testing.T) {
	const timeout, outage = 10 * time.Second, 8200 * time.Millisecond
	for how, set := range outages {
		for _, hosts := range []int{1, 3} {
			t.Run(how, func(t *testing.T) {
				playFake(t, hosts, hosts, func(t *testing.T, fake *fakeCluster, c *client.Client) {
					s := session(t, c, client.SessionTimeout(timeout))
					lease := acquire(t, s.Semaphore(name, client.Limit(1)))
					attached := true
					fake.on(func(_ *fakeHost, r *protocol.Request) fault {
						switch {
						case r.Kind == protocol.KindSessionAttach:
							attached = true
						case r.Kind == protocol.KindSessionBind, r.Kind == protocol.KindSemaphoreUpdate:
							if !attached {
								t.Errorf("%v comes before the attach", r.Kind)
							}
						}
						return fault{}
					})
					for range 12 {
						attaches := fake.count(protocol.KindSessionAttach)
						fake.cut()
						eventually(t, time.Second, "the lease counts from this moment", func() bool {
							return fake.count(protocol.KindSessionAttach) > attaches && s.State() == client.Attached
						})
						quiet()
						fake.do(func() { attached = false })
						fake.do(func() {
							for _, h := range fake.hosts {
								set(h, true)
								h.cutAll()
							}
						})
						ctx, cancel := context.WithCancel(t.Context())
						called := make(chan error, 2)
						for _, object := range []string{name, "another"} {
							go func() { called <- s.Semaphore(object, client.Limit(1)).Update(ctx, nil) }()
						}
						time.Sleep(outage)
						fake.do(func() {
							for _, h := range fake.hosts {
								set(h, false)
							}
						})
						again := time.Now()
						for s.State() != client.Attached && time.Since(again) < time.Second {
							time.Sleep(time.Millisecond)
							synctest.Wait()
						}
						within(t, "the session is attached again", time.Since(again), 0, 300*time.Millisecond)
						for range cap(called) {
							if err := <-called; err != nil && !errors.Is(err, client.ErrNotFound) {
								t.Errorf("a call ends with %v", err)
							}
						}
						cancel()
						time.Sleep(timeout)
						if err := lease.Err(); err != nil || s.Err() != nil {
							t.Fatalf("the lease: %v; the session: %v", err, s.Err())
						}
					}
				})
			})
		}
	}
}

// TestAClientThatKnowsOnlyALeaderThatIsCutOffFindsTheMajority: an isolated host still names itself as the leader, so
// its statements about leaders do not count after it could not carry out a request.
func TestAClientThatKnowsOnlyALeaderThatIsCutOffFindsTheMajority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := servertest.Start(t, servertest.Hosts(3))
		leader := cluster.Leader(0)
		check(t, cluster.Elect(1, leader))
		c, err := client.Open(t.Context(), servertest.Address(leader), client.WithDialer(cluster.Dial))
		check(t, err)
		defer c.Close()
		_, err = c.CreateNode(t.Context(), path, client.NodeConfig{})
		check(t, err)
		check(t, c.Node(path).Create(t.Context(), name, 1, nil))
		cluster.Isolate(leader)
		began := time.Now()
		err = errors.New("not asked yet")
		for err != nil && time.Since(began) < 20*time.Second { // a change with an unknown outcome is repeated
			err = c.Node(path).Update(t.Context(), name, []byte("new"))
		}
		check(t, err)
		within(t, "the change", time.Since(began), 0, 5*time.Second)
	})
}
