//go:build linux

package survival_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest/process"
)

var manySessions = flag.Int("many-sessions", 0, "how many sessions TestANewLeaderOfManySessions has; 0: it is skipped")

// TestANewLeaderOfManySessions kills the leader of three hosts with many sessions, stored in the shard's state without
// connected clients.
func TestANewLeaderOfManySessions(t *testing.T) {
	if *manySessions == 0 {
		t.Skip("make sessions runs it")
	}
	dir, err := os.MkdirTemp(scratch, "sessions-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	found, err := process.Places(program, dir, []string{"a", "b", "c"},
		append([]string{"--shards", "1"}, roomForAll...)...)
	if err != nil {
		t.Fatal(err)
	}
	var places []*place
	for _, p := range found {
		places = append(places, &place{p})
	}
	hosts := serveAll(t, places)
	began := time.Now()
	for from := 0; from < *manySessions; from += perNode {
		newNode(t, hosts, objectNode(from), protocol.NodeConfig{})
		startSessions(t, leading(t, hosts), objectNode(from), min(perNode, *manySessions-from))
	}
	t.Logf("%d sessions were started in %v; the leader has %d MiB resident", *manySessions,
		time.Since(began).Round(time.Second), leading(t, hosts).resident()>>20)
	killLeaders(t, places, hosts)
}

// killLeaders kills the leader five times while a few callers lock and unlock. The log has the times until each caller
// has the next lock, and until a new client has a session.
func killLeaders(t *testing.T, places []*place, hosts []*host) {
	t.Helper()
	const kills, callers = 5, 8
	c, err := sdk.Open(t.Context(), strings.Join(addresses(hosts), ","))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	last := make([]atomic.Int64, callers) // time of each caller's latest lock
	var running sync.WaitGroup
	var over atomic.Bool
	for i := range callers {
		running.Go(func() {
			s, err := c.Session(t.Context(), objectNode(0))
			for err == nil && !over.Load() {
				var lock *sdk.Lease
				if lock, err = s.Ephemeral(fmt.Sprint("lock-", i)).Acquire(t.Context()); err == nil {
					last[i].Store(time.Now().UnixNano())
					err = lock.Release(t.Context())
				}
			}
			if err != nil {
				t.Errorf("caller %d: %v", i, err)
			}
		})
	}
	var all, fresh []time.Duration
	for range kills {
		time.Sleep(5 * time.Second)
		leader := leading(t, hosts)
		killed := time.Now()
		leader.Kill()
		came := make(chan time.Duration, 1)
		go func() {
			if s, err := c.Session(t.Context(), objectNode(0)); err == nil {
				came <- time.Since(killed)
				s.Close(t.Context())
			}
		}()
		first := make([]int64, callers)
		for i := 0; i < callers && time.Since(killed) < patience; {
			if first[i] = last[i].Load(); first[i] > killed.UnixNano() {
				i++
			} else {
				time.Sleep(time.Millisecond)
			}
		}
		all = append(all, time.Duration(slices.Max(first)-killed.UnixNano()))
		fresh = append(fresh, <-came)
		t.Logf("every caller had a lock %v after the kill, a new session was there after %v",
			all[len(all)-1].Round(time.Millisecond), fresh[len(fresh)-1].Round(time.Millisecond))
		i := slices.Index(hosts, leader)
		hosts[i] = places[i].serve(t)
		hosts[i].must(hosts[i].AwaitReady(fullTime))
	}
	over.Store(true)
	running.Wait()
	slices.Sort(all)
	slices.Sort(fresh)
	t.Logf("medians of %d: %v, %v", kills, all[kills/2].Round(time.Millisecond), fresh[kills/2].Round(time.Millisecond))
}

// startSessions starts sessions that outlive their connections.
func startSessions(t *testing.T, leader *host, node string, n int) {
	t.Helper()
	const connections, callers = 4, 128
	var left atomic.Int64
	left.Store(int64(n))
	var running sync.WaitGroup
	for range connections {
		l, err := connect(leader.Place.Client, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer l.close()
		for range callers {
			running.Go(func() {
				for left.Add(-1) >= 0 {
					a, err := l.call(&protocol.SessionStart{Path: []byte(node), AttachSequence: 1,
						TimeoutMillis: protocol.MaxSessionTimeoutMillis}, 30*time.Second)
					if err == nil {
						err = a.Result.Err()
					}
					if err != nil {
						t.Errorf("a session in %s: %v", node, err)
						return
					}
				}
			})
		}
	}
	running.Wait()
}
