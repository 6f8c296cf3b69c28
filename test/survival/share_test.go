//go:build linux

package survival_test

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/protocol"
)

var (
	shareObjects = flag.Int("share", 0, "how many semaphores TestTheShareOfAHost makes; 0: it is skipped")
	shareEvery   = flag.Duration("share-every", 100*time.Millisecond, "how often each caller locks and unlocks")
	shareHosts   = flag.String("share-hosts", "3,6,9,15", "the numbers of hosts that TestTheShareOfAHost measures")
)

// The shards shared among hosts, and the callers: each locks a separate name at a fixed rate.
const (
	shareShards  = 30
	shareCallers = 240
	shareTime    = 10 * time.Second
	noticeable   = 250 * time.Millisecond
)

// TestTheShareOfAHost measures clusters of several sizes with three replicas per shard: a host's memory and disk,
// packets and processor time per operation compared to the same hosts without callers, and the number of callers
// affected by the kill of a host. It runs in a separate network, free of packets from other processes.
func TestTheShareOfAHost(t *testing.T) {
	if *shareObjects == 0 && os.Getenv(ownNetwork) == "" {
		t.Skip("make share runs it")
	}
	if !inOwnNetwork(t, fmt.Sprintf("-share=%d", *shareObjects), "-share-hosts="+*shareHosts,
		"-share-every="+shareEvery.String()) {
		return
	}
	wiring{t}.shell("ip link set lo up")
	for text := range strings.SplitSeq(*shareHosts, ",") {
		n := atoi(t, text)
		t.Run(text, func(t *testing.T) { newShare(t, n).measure() })
	}
}

// share is a measured cluster.
type share struct{ *spread }

func newShare(t *testing.T, n int) *share {
	dir, err := os.MkdirTemp(scratch, "share-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("h%02d", i+1))
	}
	s := &share{newSpread(t, dir, names, func(*admin.Policy) {},
		append([]string{"--pprof", "--shards", strconv.Itoa(shareShards)}, roomForAll...)...)}
	for began, last := time.Now(), ""; ; {
		count, leads, _ := s.counts()
		at := fmt.Sprint("replicas ", count, ", leaders ", leads)
		if s.even(shareShards, 1) && at == last {
			t.Logf("%d hosts, at rest after %v: %s", n, time.Since(began).Round(time.Second), at)
			return s
		}
		if time.Since(began) > 5*time.Minute {
			t.Fatalf("%d hosts do not come to rest: %s", n, at)
		}
		last = at
		time.Sleep(10 * time.Second)
	}
}

// shareFigures are the resources used by all hosts.
type shareFigures struct {
	ticks, packets int
	at             time.Time
}

func (s *share) figures() (f shareFigures) {
	for _, h := range s.hosts {
		f.ticks += processorTicks(s.t, h.PID())
	}
	text, err := os.ReadFile("/proc/net/dev")
	if err != nil {
		s.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "lo:")
	if fields := strings.Fields(rest); len(fields) > 1 {
		f.packets = atoi(s.t, fields[1])
	}
	f.at = time.Now()
	return f
}

// memory returns means over the hosts, in bytes: heap after a garbage collection, resident memory, and directory size.
func (s *share) memory() (heap, resident, disk float64) {
	for _, h := range s.hosts {
		h.Get("/debug/pprof/heap?gc=1")
		_, page := h.Get("/metrics")
		_, rest, _ := strings.Cut(page, "\ngo_memstats_heap_alloc_bytes ")
		line, _, _ := strings.Cut(rest, "\n")
		bytes, err := strconv.ParseFloat(line, 64)
		if err != nil {
			s.t.Fatal(err)
		}
		heap += bytes / float64(len(s.hosts))
		resident += float64(h.resident()) / float64(len(s.hosts))
		use := diskUseOf(h.Place.Dir)
		disk += float64(use.total()-use.reserve) / float64(len(s.hosts))
	}
	return heap, resident, disk
}

func (s *share) measure() {
	const mib = 1 << 20
	s.t.Helper()
	n := len(s.hosts)
	heap0, resident0, disk0 := s.memory()
	began := time.Now()
	newNode(s.t, s.hosts, "/start", protocol.NodeConfig{})
	furnish(s.t, s.places, *shareObjects)
	s.t.Logf("%d hosts: filled in %v", n, time.Since(began).Round(time.Second))
	time.Sleep(shareTime) // followers apply the rest, and session timers end
	heap, resident, disk := s.memory()
	s.t.Logf("%d hosts: a host's heap %.1f MiB (%.1f more than empty), resident %.0f (%.0f more), disk %.1f (%.1f "+
		"more)", n, heap/mib, (heap-heap0)/mib, resident/mib, (resident-resident0)/mib, disk/mib, (disk-disk0)/mib)

	quiet := s.figures()
	time.Sleep(shareTime)
	idle := s.figures()
	span := idle.at.Sub(quiet.at).Seconds()
	idleTicks, idlePackets := float64(idle.ticks-quiet.ticks)/span, float64(idle.packets-quiet.packets)/span
	s.t.Logf("%d hosts without callers: %.1f %% of a processor each, %.0f packets a second each", n,
		idleTicks/float64(n), idlePackets/float64(n))

	l := s.begin()
	time.Sleep(2 * time.Second)
	from, done0 := s.figures(), l.counts()
	time.Sleep(shareTime)
	to, done := s.figures(), l.counts()-done0
	span = to.at.Sub(from.at).Seconds()
	s.t.Logf("%d hosts, %.0f cycles of lock and unlock a second: %.2f packets and %.0f us of hosts' processors each", n,
		float64(done)/span, (float64(to.packets-from.packets)-idlePackets*span)/float64(done),
		(float64(to.ticks-from.ticks)-idleTicks*span)*1e4/float64(done))

	_, leads, _ := s.counts()
	victim := s.hosts[n-1]
	before, _ := l.slower(noticeable)
	l.reset()
	victim.Kill()
	time.Sleep(10 * time.Second)
	noticed, slowest := l.slower(noticeable)
	l.end()
	s.t.Logf("%d hosts, one killed that led %d of %d shards: %d of %d callers had a cycle of more than %v, "+
		"%d before the kill; the slowest took %v", n, leads[victim.Place.Name], shareShards, noticed, shareCallers,
		noticeable, before, slowest.Round(time.Millisecond))
	for _, h := range s.hosts {
		h.Kill()
	}
}

// shareLoad is callers that each lock and unlock a separate name in a separate session: session homes are spread over
// the shards like the names.
type shareLoad struct {
	mu      sync.Mutex
	cycles  int
	slowest []time.Duration
	stop    chan struct{}
	running sync.WaitGroup
}

func (s *share) begin() *shareLoad {
	s.t.Helper()
	newNode(s.t, s.hosts, "/callers", protocol.NodeConfig{})
	l := &shareLoad{slowest: make([]time.Duration, shareCallers), stop: make(chan struct{})}
	for i := range shareCallers {
		session, err := s.counter.box.Session(s.t.Context(), "/callers")
		if err != nil {
			s.t.Fatal(err)
		}
		l.running.Go(func() {
			time.Sleep(*shareEvery * time.Duration(i) / shareCallers)
			for tick := time.NewTicker(*shareEvery); ; {
				select {
				case <-l.stop:
					return
				case <-tick.C:
				}
				began := time.Now()
				lease, err := session.Ephemeral(fmt.Sprintf("lock-%d", i)).Acquire(s.t.Context())
				if err == nil {
					err = lease.Release(s.t.Context())
				}
				if err != nil {
					s.t.Errorf("caller %d: %v", i, err)
					return
				}
				l.note(i, time.Since(began))
			}
		})
	}
	return l
}

func (l *shareLoad) note(caller int, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cycles++
	l.slowest[caller] = max(l.slowest[caller], took)
}

func (l *shareLoad) counts() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cycles
}

func (l *shareLoad) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.slowest)
}

// slower counts the callers with a slower cycle.
func (l *shareLoad) slower(than time.Duration) (n int, slowest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range l.slowest {
		if d > than {
			n++
		}
		slowest = max(slowest, d)
	}
	return n, slowest
}

func (l *shareLoad) end() {
	close(l.stop)
	l.running.Wait()
}
