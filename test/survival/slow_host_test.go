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
	"syscall"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/health"
	"github.com/signalbox/signalbox/server/servertest/process"
)

// leavesWithin is how long a slow host may lead.
const leavesWithin = 15 * time.Second

// callersWaitAtMost bounds the pauses of callers while a host is slow, on a machine that is not busy.
const callersWaitAtMost = 1500 * time.Millisecond

// slowBed is three hosts, one of which becomes slow, under load.
type slowBed struct {
	*load
	places []*place
	hosts  []*host
	desk   *admin.Admin
	busy   *busy
}

// delayed is a program whose log syncs can be delayed.
var delayed = sync.OnceValues(func() (p process.Program, err error) {
	dir, err := os.MkdirTemp(scratch, "delayed-")
	if err != nil {
		return p, err
	}
	return process.BuildDelayed(dir)
})

// newDelayedBed starts hosts whose log syncs can be delayed.
func newDelayedBed(t *testing.T) *slowBed {
	t.Helper()
	p, err := delayed()
	if err != nil {
		t.Fatal(err)
	}
	places := newPlacesIn(t, inMemory(), "a", "b", "c")
	for _, at := range places {
		at.Program = p
	}
	return newSlowBed(t, places, serveAll(t, places))
}

func newSlowBed(t *testing.T, places []*place, hosts []*host) *slowBed {
	t.Helper()
	newNode(t, hosts, "/three", protocol.NodeConfig{SelfCheckPeriodMillis: 500, SessionGracePeriodMillis: 3000})
	l, desk := newLoad(t, hosts, "/three", sessions, 4, 2), admin.New(newCounter(t, places).box)
	return &slowBed{l, places, hosts, desk, watchMachine(t)}
}

// busy measures how busy the machine is.
type busy struct{ late atomic.Int64 }

// watchMachine measures until the test ends by how much timers are late.
func watchMachine(t *testing.T) *busy {
	b, each := &busy{}, 10*time.Millisecond
	go func() {
		for t.Context().Err() == nil {
			began := time.Now()
			time.Sleep(each)
			b.late.Store(max(b.late.Load(), int64(time.Since(began)-each)))
		}
	}()
	return b
}

// mustPauseBriefly fails the test if callers have waited too long since the given time.
func (b *slowBed) mustPauseBriefly(since time.Time) {
	b.t.Helper()
	pause, late := b.record.longestPause(since), time.Duration(b.busy.late.Load())
	if b.t.Logf("longest pause of callers: %v; timers of this process were late by %v", pause, late); pause.took >
		callersWaitAtMost+2*late {
		b.t.Errorf("callers waited longer than %v", callersWaitAtMost)
	}
}

func (b *slowBed) describe() *admin.Cluster {
	b.t.Helper()
	c, err := b.desk.Describe(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

// governor returns the position of the host that leads the meta shard.
func (b *slowBed) governor() int {
	b.t.Helper()
	c := b.describe()
	return slices.IndexFunc(b.places, func(p *place) bool { return p.Name == c.Host(c.Governor).Name })
}

// leads reports whether a host leads any shard, the meta shard included.
func (b *slowBed) leads(i int) bool {
	b.t.Helper()
	c := b.describe()
	return slices.ContainsFunc(c.Shards, func(s admin.Shard) bool {
		h := c.Host(s.Leader)
		return h == nil || h.Name == b.places[i].Name
	})
}

// mustLeave fails the test unless a host that has become slow soon leads nothing.
func (b *slowBed) mustLeave(slow int) {
	b.t.Helper()
	began := time.Now()
	b.hosts[b.other(slow)].await("the slow host leads nothing", func() bool { return !b.leads(slow) })
	took := time.Since(began)
	b.t.Logf("host %s led for %v", b.places[slow].Name, took)
	if took > leavesWithin {
		b.t.Errorf("it led for %v, longer than %v", took, leavesWithin)
	}
}

// other returns the position of another host.
func (b *slowBed) other(i int) int { return (i + 1) % len(b.places) }

func (b *slowBed) delay(i int, d time.Duration) {
	b.t.Helper()
	if err := b.places[i].DelaySyncs(d); err != nil {
		b.t.Fatal(err)
	}
}

// mustNameSlow fails the test unless the cluster, a health issue and a metric name a host as slow for the reason.
func (b *slowBed) mustNameSlow(name, why string) *admin.Host {
	b.t.Helper()
	governs := b.hosts[b.governor()]
	var h *admin.Host // a host that hardly runs can lose its leaderships before the governor has judged it
	governs.await("host "+name+" is slow, with the reason "+why, func() bool {
		h = b.describe().HostByName(name)
		return h.SlowFor > 0 && strings.Contains(h.Slow, why)
	})
	governs.await("the health issue names it", func() bool {
		issues, err := b.desk.HealthIssues(b.t.Context())
		return err == nil && slices.ContainsFunc(issues.Items, func(x health.Issue) bool {
			return x.Kind == health.HostSlow && x.Host == name
		})
	})
	series := fmt.Sprintf("signalbox_host_slow{host=%q} 1", name)
	governs.await("a metric names it", func() bool {
		_, text := b.hosts[b.governor()].Get("/metrics")
		return strings.Contains(text, series)
	})
	return h
}

var recovery = flag.Bool("recovery", false, "wait until a slow host leads again, which takes more than a minute")

// TestSlowHostDoesNotLead delays each sync of the host that leads the meta shard by 50 ms. The leaders leave, the meta
// shard too, and the host is named as slow. With -recovery the host leads again once it has recovered.
func TestSlowHostDoesNotLead(t *testing.T) {
	b := newDelayedBed(t)
	slow := b.governor()
	name := b.places[slow].Name
	b.progress(10)
	b.delay(slow, 50*time.Millisecond)
	b.mustLeave(slow)
	b.progress(20)
	h := b.mustNameSlow(name, "log syncs take")
	t.Logf("%s: %s (sync %v, timer delay %v, round trip %v, %d stalls)", name, h.Slow, h.SyncTime, h.TimerLag,
		h.RoundTrip, h.Stalls)
	if b.leads(slow) {
		t.Error("it leads again while it is slow")
	}
	if *recovery {
		b.delay(slow, 0)
		began := time.Now()
		if err := b.hosts[slow].Await("it has recovered", 3*time.Minute, func() bool {
			return b.describe().HostByName(name).SlowFor == 0
		}); err != nil {
			t.Error(err)
		}
		t.Logf("it has recovered after %v", time.Since(began))
	}
	b.check()
	b.record.checkNoSessionEnded()
}

// TestStallingDiskLosesNoSession lets the disk of a leader stand still for a second now and then. Callers wait for
// little longer, and after some stalls the host leads no more.
func TestStallingDiskLosesNoSession(t *testing.T) {
	const stall = time.Second
	b := newDelayedBed(t)
	slow := b.governor()
	name := b.places[slow].Name
	b.progress(10)
	began := time.Now()
	for n := 0; b.describe().HostByName(name).SlowFor == 0; n++ {
		if n == 10 {
			t.Fatalf("host %s does not count as slow after %d stalls", name, n)
		}
		b.delay(slow, stall)
		time.Sleep(stall / 4) // syncs of the log follow each other: the next one may begin within this time
		b.delay(slow, 0)
		b.progress(20)
		time.Sleep(3 * stall) // between two stalls
	}
	b.hosts[slow].await("it leads nothing", func() bool { return !b.leads(slow) })
	t.Logf("host %s counts as slow after %v: %s", name, time.Since(began), b.describe().HostByName(name).Slow)
	b.mustPauseBriefly(began)
	b.check()
	b.record.checkNoSessionEnded()
}

// TestHostBehindLongLinkDoesNotLead delays each message from and to the host that leads the meta shard by 50 ms. The
// leaders leave, callers hardly wait, and no session ends.
func TestHostBehindLongLinkDoesNotLead(t *testing.T) {
	places := newPlacesIn(t, inMemory(), "a", "b", "c")
	w := newWired(t, places)
	b := newSlowBed(t, places, w.serve(t, places))
	slow := b.governor()
	b.progress(10)
	began := time.Now()
	w.setFar(slow, 50*time.Millisecond)
	b.mustLeave(slow)
	b.progress(20)
	h := b.mustNameSlow(places[slow].Name, "round trips to other hosts take")
	t.Logf("%s: %s", h.Name, h.Slow)
	if b.leads(slow) {
		t.Error("it leads again while it is far away")
	}
	b.mustPauseBriefly(began)
	b.check()
	b.record.checkNoSessionEnded()
}

// TestHostWithoutProcessorDoesNotLead lets the processes of the host that leads the meta shard run for 3 ms of every
// 100 ms.
func TestHostWithoutProcessorDoesNotLead(t *testing.T) {
	const run, period = 3 * time.Millisecond, 100 * time.Millisecond
	places := newPlaces(t, "a", "b", "c")
	b := newSlowBed(t, places, serveAll(t, places))
	slow := b.governor()
	b.progress(10)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			_ = b.hosts[slow].Signal(syscall.SIGSTOP)
			select {
			case <-stop:
				_ = b.hosts[slow].Signal(syscall.SIGCONT)
				return
			case <-time.After(period - run):
			}
			_ = b.hosts[slow].Signal(syscall.SIGCONT)
			time.Sleep(run)
		}
	}()
	release := sync.OnceFunc(func() { close(stop); <-ended })
	defer release()
	b.mustLeave(slow)
	b.progress(20)
	h := b.mustNameSlow(b.places[slow].Name, "timers")
	t.Logf("%s: %s", b.places[slow].Name, h.Slow)
	release()
	b.check()
	b.record.checkNoSessionEnded()
}
