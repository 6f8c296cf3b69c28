package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
)

// stageOf runs a test with a fake cluster and no client.
func stageOf(t *testing.T, hosts, shards int, f func(t *testing.T, fake *fakeCluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		fake := newFakeCluster(t, hosts, shards)
		t.Cleanup(fake.close)
		f(t, fake)
	})
}

func TestOneHostThatAnswersIsEnough(t *testing.T) {
	for what, harm := range map[string]func(h *fakeHost){
		"others down":    func(h *fakeHost) { h.down = true },
		"others cut off": func(h *fakeHost) { h.hang = true },
		"others mute":    func(h *fakeHost) { h.mute = true },
	} {
		t.Run(what, func(t *testing.T) {
			stageOf(t, 3, 2, func(t *testing.T, fake *fakeCluster) {
				fake.lead(2)
				fake.do(func() {
					harm(fake.hosts[0])
					harm(fake.hosts[1])
				})
				started := time.Now()
				c := open(t, fake)
				within(t, "opening", time.Since(started), 0, time.Second)
				_, err := c.CreateNode(t.Context(), path, client.NodeConfig{})
				check(t, err)
				acquire(t, session(t, c).Semaphore(name, client.Limit(1)))
			})
		})
	}
}

func TestHostsThatWereNotNamedAreFound(t *testing.T) {
	stageOf(t, 3, 3, func(t *testing.T, fake *fakeCluster) {
		c, err := client.Open(t.Context(), " host-2 , ", client.WithDialer(fake.dial))
		check(t, err)
		defer c.Close()
		second(c.CreateNode(t.Context(), path, client.NodeConfig{}))
		s := session(t, c)
		for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
			acquire(t, s.Semaphore(name, client.Limit(1)))
		}
		fake.take(1)
		acquire(t, s.Semaphore("g", client.Limit(1)))
	})
}

func TestOpeningTellsWhatWasTried(t *testing.T) {
	for what, test := range map[string]struct {
		harm  func(f *fakeCluster)
		want  []string
		is    error
		takes time.Duration
	}{
		"all down": {func(f *fakeCluster) {
			for _, h := range f.hosts {
				h.down = true
			}
		}, []string{"host-1", "host-2", "host-3", "connection refused"}, client.ErrUnavailable, 0},
		"all cut off": {func(f *fakeCluster) {
			for _, h := range f.hosts {
				h.hang = true
			}
		}, []string{"host-1", "host-2", "host-3", "within 5s"}, client.ErrUnavailable, 5 * time.Second},
		"all mute": {func(f *fakeCluster) {
			for _, h := range f.hosts {
				h.mute = true
			}
		}, []string{"host-1", "host-2", "host-3", "within 5s"}, client.ErrUnavailable, 5 * time.Second},
		"wrong token": {func(f *fakeCluster) { f.token = "secret" }, []string{"host-1", "UNAUTHORIZED"},
			client.ErrUnauthorized, 0},
	} {
		t.Run(what, func(t *testing.T) {
			stageOf(t, 3, 1, func(t *testing.T, fake *fakeCluster) {
				fake.do(func() { test.harm(fake) })
				started := time.Now()
				_, err := client.Open(t.Context(), fake.addresses(), client.WithDialer(fake.dial))
				if !errors.Is(err, test.is) {
					t.Fatalf("got %v", err)
				}
				for _, want := range test.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%q is not reported: %v", want, err)
					}
				}
				within(t, "it", time.Since(started), test.takes, test.takes+100*time.Millisecond)
			})
		})
	}
}

func TestOpeningEndsWithItsContext(t *testing.T) {
	stageOf(t, 2, 1, func(t *testing.T, fake *fakeCluster) {
		fake.do(func() { fake.hosts[0].hang, fake.hosts[1].mute = true, true })
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		started := time.Now()
		if _, err := client.Open(ctx, fake.addresses(), client.WithDialer(fake.dial)); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		within(t, "it", time.Since(started), 300*time.Millisecond, 300*time.Millisecond)
	})
}

func TestOpeningChecksItsOptions(t *testing.T) {
	for what, options := range map[string][]client.Option{
		"connections": {client.WithConnections(0)}, "timeout": {client.WithDialTimeout(0)},
		"dialer": {client.WithDialer(nil)},
	} {
		if _, err := client.Open(t.Context(), "host-1", options...); err == nil {
			t.Errorf("%s: opened", what)
		}
	}
	if _, err := client.Open(t.Context(), " , "); err == nil {
		t.Error("opened without an address")
	}
}

func TestATokenSourceIsAskedForEachConnection(t *testing.T) {
	stageOf(t, 1, 1, func(t *testing.T, fake *fakeCluster) {
		token := "one"
		fake.do(func() { fake.token = token })
		c := open(t, fake, client.WithTokenSource(func(context.Context) (string, error) { return token, nil }))
		second(c.CreateNode(t.Context(), path, client.NodeConfig{}))
		lease := acquire(t, session(t, c).Semaphore(name, client.Limit(1)))
		token = "two"
		fake.do(func() {
			fake.token = token
			for conn := range fake.hosts[0].conns {
				conn.push(0, &protocol.GoingAway{Result: protocol.Result{Status: protocol.StatusUnauthorized}})
			}
		})
		time.Sleep(time.Minute)
		check(t, lease.Err())
		check(t, lease.Update(t.Context(), nil))
	})
}

func TestAHostOfAnotherClusterIsNotUsed(t *testing.T) {
	stageOf(t, 2, 1, func(t *testing.T, fake *fakeCluster) {
		fake.lead(0)
		c := open(t, fake)
		second(c.CreateNode(t.Context(), path, client.NodeConfig{}))
		fake.do(func() { fake.id = "another" })
		fake.cut()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.DescribeNode(ctx, path); err == nil || !strings.Contains(err.Error(), "another cluster") {
			t.Errorf("got %v", err)
		}
	})
}

func TestOneHostAtTwoAddressesHasOneConnection(t *testing.T) {
	stageOf(t, 1, 1, func(t *testing.T, fake *fakeCluster) {
		alias := func(ctx context.Context, address string) (net.Conn, error) { return fake.dial(ctx, "host-1") }
		c, err := client.Open(t.Context(), "service:7420,other-name:7420,host-1", client.WithDialer(alias))
		check(t, err)
		defer c.Close()
		second(c.CreateNode(t.Context(), path, client.NodeConfig{}))
		for range 10 {
			session(t, c)
		}
		time.Sleep(time.Second)
		list, err := c.Status(t.Context())
		check(t, err)
		if len(list) != 1 {
			t.Errorf("%d hosts", len(list))
		}
		synctest.Wait()
		fake.do(func() {
			if n := len(fake.hosts[0].conns); n != 1 {
				t.Errorf("%d connections", n)
			}
		})
		for _, h := range list {
			check(t, h.Err)
		}
	})
}

func TestMoreConnectionsCanBeAskedFor(t *testing.T) {
	stageOf(t, 1, 1, func(t *testing.T, fake *fakeCluster) {
		c := open(t, fake, client.WithConnections(3))
		second(c.CreateNode(t.Context(), path, client.NodeConfig{}))
		for range 30 {
			acquire(t, session(t, c).Semaphore(name, client.Limit(100)))
		}
		fake.do(func() {
			if n := len(fake.hosts[0].conns); n != 3 {
				t.Errorf("%d connections", n)
			}
		})
	})
}

// TestSessionsAreOnAllConnectionsAlike: sessions start one after the other, with a request after each start.
func TestSessionsAreOnAllConnectionsAlike(t *testing.T) {
	const connections, each = 4, 8
	for what, first := range map[string]func(t *testing.T, c *client.Client, i int){
		"alone": func(*testing.T, *client.Client, int) {},
		"each asks for one thing": func(t *testing.T, c *client.Client, i int) {
			check(t, c.Node(path).Create(t.Context(), fmt.Sprint("s", i), 1, nil))
		},
	} {
		t.Run(what, func(t *testing.T) {
			stageOf(t, 1, 1, func(t *testing.T, fake *fakeCluster) {
				c := open(t, fake, client.WithConnections(connections))
				second(c.CreateNode(t.Context(), path, client.NodeConfig{}))
				for i := range connections * each {
					session(t, c)
					first(t, c, i)
				}
				fake.do(func() {
					for conn := range fake.hosts[0].conns {
						if len(conn.sessions) != each {
							t.Errorf("a connection has %d sessions, want %d", len(conn.sessions), each)
						}
					}
				})
			})
		})
	}
}
