//go:build linux

package survival_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/server/servertest/process"
)

var fullObjects = flag.Int("full", 0,
	"how many semaphores the hosts of TestAFullCluster have, and a tenth as many sessions; 0: it is skipped")

// fullTime bounds every wait for a full host.
const fullTime = 10 * time.Minute

// TestAFullCluster goes through the life of a cluster with a shard as full as the quota allows: a semaphore above the
// quota is refused, a backup is saved and verified, two hosts join and get votes, all hosts compare states, the leader
// is killed five times, and the backup is restored. The log has the times, and the latencies of locks meanwhile.
func TestAFullCluster(t *testing.T) {
	n := *fullObjects
	if n == 0 {
		t.Skip("make full runs it")
	}
	dir, err := os.MkdirTemp(scratch, "full-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	const spare = 100
	found, err := process.Growing(program, dir, []string{"a", "b", "c"},
		"--shards", "1", "--shard-quota-objects", strconv.Itoa(n+spare), "--shard-quota-bytes", "64GiB")
	if err != nil {
		t.Fatal(err)
	}
	var places []*place
	for _, p := range found {
		places = append(places, &place{p})
	}
	hosts := []*host{places[0].begin(t)}
	a, began := hosts[0], time.Now()
	lap := func(what string) {
		t.Logf("%s: %v; the host has %d MiB resident", what, time.Since(began).Round(time.Millisecond),
			a.resident()>>20)
		began = time.Now()
	}
	fillWithObjects(t, hosts, n, "")
	lap("semaphores are made")
	for from := 0; from < n/10; from += perNode {
		startSessions(t, a, objectNode(from), min(perNode, n/10-from))
	}
	lap("sessions are started")
	checkQuota(t, hosts, spare)

	began = time.Now()
	file := filepath.Join(dir, "full.backup")
	newOperator(t, places[:1]).ok("backup", "save", file)
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	lap(strconv.Itoa(int(info.Size()>>20)) + " MiB of a backup are saved")
	if out, err := exec.Command(program.Path, "backup", "verify", file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lap("the backup is verified")

	rate := locks(t, hosts, 0, joinTime).PerSecond / 4
	noticed := func(when string) {
		q := locks(t, hosts, rate, 2*joinTime).LatencyUS
		t.Logf("%.0f locks a second %s: p50 %.2f ms, p99 %.2f ms, at most %.2f ms", rate, when, q.P50/1000, q.P99/1000,
			q.Max/1000)
	}
	noticed("alone")
	began = time.Now()
	b, ready := places[1].serve(t), make(chan error, 1)
	go func() {
		ready <- b.AwaitReady(fullTime)
		t.Logf("the second host was ready %v after its start", time.Since(b.Began).Round(time.Millisecond))
	}()
	noticed("while a second host joins")
	b.must(<-ready)
	c := places[2].serve(t)
	c.must(c.AwaitReady(fullTime))
	hosts = append(hosts, b, c)
	a.must(a.Await("both have votes", fullTime, func() bool { return promotions(hosts) >= 4 }))
	lap("two hosts have joined and have votes")
	noticed("with three hosts")

	for _, h := range hosts {
		h.must(h.Await("its state is compared", fullTime+replica.DigestInterval, func() bool {
			return h.metric("signalbox_consistency_checks_total") > "0"
		}))
	}
	lap("the states of all are compared")
	killLeaders(t, places, hosts)

	for _, h := range hosts {
		h.Kill()
	}
	began = time.Now()
	a = restored(t, file, places[0], 1)
	lap("the backup is restored and served")
	checkObjects(t, []*host{a}, n)
}

// checkQuota creates semaphores until the quota is full, deletes them, and creates one more.
func checkQuota(t *testing.T, hosts []*host, spare int) {
	t.Helper()
	c, err := start(addresses(hosts), objectNode(0), 30*time.Second, newRecord(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.disconnect()
	name := func(i int) string { return "spare-" + strconv.Itoa(i) }
	for i := range spare + 1 {
		want := protocol.StatusSuccess
		if i == spare {
			want = protocol.StatusQuotaExceeded
		}
		if got := c.tryCreate(name(i), ""); got != want {
			t.Fatalf("spare semaphore %d: %v, want %v", i, got, want)
		}
	}
	for i := range spare {
		got := c.try(&protocol.SemaphoreDelete{NodeID: c.node, Name: []byte(name(i))})
		if got != protocol.StatusSuccess {
			t.Fatalf("deletion of a spare semaphore: %v", got)
		}
	}
	if got := c.tryCreate(name(0), ""); got != protocol.StatusSuccess {
		t.Fatalf("a spare semaphore after deletions: %v", got)
	}
}
