//go:build linux

package survival_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/memguard"
	"github.com/signalbox/signalbox/server/servertest/process"
)

var startObjects = flag.Int("objects", 0,
	"how many semaphores TestTheStartAfterAKill makes; 0: it is skipped")

// TestTheStartAfterAKill fills a host with semaphores, kills and restarts it five times, and logs the time until it
// served. It fails if a checked semaphore is missing.
func TestTheStartAfterAKill(t *testing.T) {
	if *startObjects == 0 {
		t.Skip("make start runs it")
	}
	const rounds = 5
	dir, err := os.MkdirTemp(scratch, "start-")
	if err != nil {
		t.Fatal(err)
	}
	found, err := process.Places(program, dir, []string{"a"}, roomForAll...)
	if err != nil {
		t.Fatal(err)
	}
	at := &place{found[0]}
	hosts := serveAll(t, []*place{at})
	began := time.Now()
	fillWithObjects(t, hosts, *startObjects, "")
	t.Logf("%d semaphores were made in %v; the host has %d MiB resident", *startObjects,
		time.Since(began).Round(time.Second), hosts[0].resident()>>20)
	var took []time.Duration
	for range rounds {
		hosts[0].Kill()
		u := diskUseOf(dir)
		hosts[0] = at.serve(t)
		took = append(took, hosts[0].awaitReady())
		t.Logf("ready after %v; the log has %d MiB, snapshots %d MiB; the host has %d MiB resident",
			took[len(took)-1].Round(time.Millisecond), u.log>>20, u.snapshots>>20, hosts[0].resident()>>20)
		checkObjects(t, hosts, *startObjects)
	}
	slices.Sort(took)
	t.Logf("median of %d: %v", rounds, took[rounds/2].Round(time.Millisecond))
}

// roomForAll are host flags with quotas for all semaphores created here.
var roomForAll = []string{"--shard-quota-objects", "100000000",
	"--shard-quota-bytes", fmt.Sprintf("%dMiB", memguard.Available()>>20)}

// perNode is the number of semaphores per node.
const perNode = 500_000

// objectNode is the node of the n-th semaphore.
func objectNode(n int) string {
	if n < perNode {
		return "/start"
	}
	return fmt.Sprint("/start-", n/perNode)
}

func objectName(i int) string { return fmt.Sprint("object-", i) }

// fillWithObjects makes nodes and semaphores with data, many at a time.
func fillWithObjects(t *testing.T, hosts []*host, n int, data string) {
	t.Helper()
	for from := 0; from < n; from += perNode {
		newNode(t, hosts, objectNode(from), protocol.NodeConfig{})
		fillANode(t, hosts, from, min(from+perNode, n), data)
	}
}

// fillANode creates the semaphores from `from` to before `end`, in one node.
func fillANode(t *testing.T, hosts []*host, from, end int, data string) {
	t.Helper()
	const clients, callers = 4, 64
	var next atomic.Int64
	next.Store(int64(from))
	var running sync.WaitGroup
	for range clients {
		c, err := start(addresses(hosts), objectNode(from), 30*time.Second, newRecord(t))
		if err != nil {
			t.Fatal(err)
		}
		defer c.disconnect()
		for range callers {
			running.Go(func() {
				for i := int(next.Add(1)) - 1; i < end; i = int(next.Add(1)) - 1 {
					c.createPlain(objectName(i), data)
				}
			})
		}
	}
	running.Wait()
}

// createPlain creates a semaphore without a session, unless it exists.
func (c *client) createPlain(name, data string) {
	for {
		status := c.tryCreate(name, data)
		if status == protocol.StatusSuccess || status == protocol.StatusAlreadyExists {
			return
		}
	}
}

// checkObjects checks a sample of the semaphores.
func checkObjects(t *testing.T, hosts []*host, n int) {
	t.Helper()
	for from := 0; from < n; from += perNode {
		checkANode(t, hosts, from, min(from+perNode, n))
	}
}

func checkANode(t *testing.T, hosts []*host, from, end int) {
	t.Helper()
	c, err := start(addresses(hosts), objectNode(from), 30*time.Second, newRecord(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.disconnect()
	for i := from; i < end; i += max(1, (end-from)/100) {
		if _, err := c.read(objectName(i)); err != nil {
			t.Fatalf("%s: %v", objectName(i), err)
		}
	}
}
