package memlog_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/memlog"
)

// recorder is a state machine that records all inputs. It checks the shard.StateMachine contract on every call.
type recorder struct {
	t testing.TB

	busy   atomic.Int32 // running calls of Apply, PrepareSnapshot, Restore
	closed atomic.Bool  // set by the test once Close has returned

	mu          sync.Mutex
	batches     []string
	has         map[string]bool
	lastIndex   uint64
	leaderships []shard.Leadership
	restores    int
	prepares    int
	discards    int
	failAt      string // Apply fails on this batch
}

func newRecorder(t testing.TB) *recorder { return &recorder{t: t, has: map[string]bool{}} }

func (r *recorder) enter(what string) func() {
	if r.closed.Load() {
		r.t.Errorf("%s after Close has returned", what)
	}
	if r.busy.Add(1) != 1 {
		r.t.Errorf("%s overlaps another call", what)
	}
	return func() { r.busy.Add(-1) }
}

func (r *recorder) Apply(entries []shard.Entry) error {
	defer r.enter("Apply")()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(entries) == 0 {
		r.t.Errorf("Apply of nothing")
	}
	for _, e := range entries {
		if e.Index <= r.lastIndex {
			r.t.Errorf("entry %d after %d", e.Index, r.lastIndex)
		}
		if r.failAt != "" && string(e.Data) == r.failAt {
			return errors.New("cannot apply " + r.failAt)
		}
		r.lastIndex = e.Index
		r.batches = append(r.batches, string(e.Data))
		r.has[string(e.Data)] = true
	}
	return nil
}

func (r *recorder) PrepareSnapshot() (shard.Snapshot, error) {
	defer r.enter("PrepareSnapshot")()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.prepares++
	return &recording{r: r, lastIndex: r.lastIndex, batches: slices.Clone(r.batches)}, nil
}

func (r *recorder) Restore(from io.Reader) error {
	defer r.enter("Restore")()
	data, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.restores++
	r.lastIndex, data = binary.BigEndian.Uint64(data), data[8:]
	r.batches, r.has = nil, map[string]bool{}
	for _, b := range bytes.Split(data, []byte{'\n'}) {
		if len(b) > 0 {
			r.batches = append(r.batches, string(b))
			r.has[string(b)] = true
		}
	}
	return nil
}

func (r *recorder) LeadershipChanged(l shard.Leadership) {
	if r.closed.Load() {
		r.t.Errorf("LeadershipChanged after Close has returned")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if k := len(r.leaderships); k > 0 && (l.Term < r.leaderships[k-1].Term || l == r.leaderships[k-1]) {
		r.t.Errorf("notified of %v after %v", l, r.leaderships[k-1])
	}
	r.leaderships = append(r.leaderships, l)
}

func (r *recorder) applied() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.batches)
}

func (r *recorder) holds(batch string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.has[batch]
}

// recording is a snapshot of a recorder.
type recording struct {
	r         *recorder
	lastIndex uint64
	batches   []string
	saving    chan struct{} // if not nil, closed by Save, which then waits to be stopped
	discarded bool
}

func (re *recording) Save(w io.Writer, stop <-chan struct{}) error {
	if re.saving != nil {
		close(re.saving)
		<-stop
		return shard.ErrSnapshotStopped
	}
	head := binary.BigEndian.AppendUint64(nil, re.lastIndex)
	if _, err := w.Write(head); err != nil {
		return err
	}
	for _, b := range re.batches {
		if _, err := fmt.Fprintln(w, b); err != nil {
			return err
		}
	}
	return nil
}

func (re *recording) Discard() {
	re.r.mu.Lock()
	defer re.r.mu.Unlock()
	if !re.discarded {
		re.discarded = true
		re.r.discards++
	}
}

// cluster is one group on all hosts of a simulated network, with a recorder on each.
type cluster struct {
	t        testing.TB
	net      *memlog.Network
	group    *memlog.Group
	logs     map[shard.HostID]*memlog.Log
	machines map[shard.HostID]*recorder
}

const theGroup memlog.GroupID = 7

func newCluster(t testing.TB, cfg memlog.Config, hosts int) *cluster {
	t.Helper()
	for h := range hosts {
		cfg.Hosts = append(cfg.Hosts, shard.HostID(h+1))
	}
	n, err := memlog.NewNetwork(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	c := &cluster{
		t: t, net: n, group: n.Group(theGroup),
		logs: map[shard.HostID]*memlog.Log{}, machines: map[shard.HostID]*recorder{},
	}
	for _, h := range cfg.Hosts {
		c.open(h)
	}
	return c
}

func (c *cluster) open(h shard.HostID) {
	c.t.Helper()
	m := newRecorder(c.t)
	l, err := c.net.Open(h, theGroup, m)
	if err != nil {
		c.t.Fatal(err)
	}
	c.logs[h], c.machines[h] = l, m
}

// until steps the network until the condition holds.
func (c *cluster) until(what string, condition func() bool) {
	c.t.Helper()
	if !c.net.RunUntil(condition, time.Minute) {
		c.t.Fatalf("not within a minute: %s\n%v", what, c.group)
	}
}

// led waits until the host leads and knows that its log is committed.
func (c *cluster) led(h shard.HostID) {
	c.t.Helper()
	c.until(fmt.Sprintf("host %d leads", h), func() bool {
		s := c.status(h)
		return s.Leading && s.Commit == s.Last
	})
	c.net.Advance(0)
}

func (c *cluster) status(h shard.HostID) memlog.ReplicaStatus {
	_, replicas := c.group.Status()
	return replicas[slices.IndexFunc(replicas, func(s memlog.ReplicaStatus) bool { return s.Host == h })]
}

// pending is an outcome or an error to come.
type pending[T any] struct {
	value T
	count int
}

func (c *cluster) propose(h shard.HostID, batch string) *pending[shard.Outcome] {
	c.t.Helper()
	p := &pending[shard.Outcome]{}
	err := c.logs[h].Propose([]byte(batch), func(o shard.Outcome) {
		p.value = o
		p.count++
	})
	if err != nil {
		c.t.Fatalf("proposing %q on host %d: %v", batch, h, err)
	}
	return p
}

func (c *cluster) barrier(h shard.HostID) *pending[error] {
	c.t.Helper()
	p := &pending[error]{}
	err := c.logs[h].Barrier(func(err error) {
		p.value = err
		p.count++
	})
	if err != nil {
		c.t.Fatalf("barrier on host %d: %v", h, err)
	}
	return p
}

// await runs until the outcome is known, and returns it.
func await[T any](c *cluster, p *pending[T]) T {
	c.t.Helper()
	c.until("the outcome is there", func() bool { return p.count > 0 })
	return p.value
}

func (c *cluster) wantOutcome(p *pending[shard.Outcome], want shard.Outcome) {
	c.t.Helper()
	if got := await(c, p); got != want {
		c.t.Fatalf("outcome %v, want %v\n%v", got, want, c.group)
	}
}

func (c *cluster) wantApplied(h shard.HostID, want ...string) {
	c.t.Helper()
	c.until(fmt.Sprintf("host %d has %v", h, want), func() bool {
		return slices.Equal(c.machines[h].applied(), want)
	})
}
