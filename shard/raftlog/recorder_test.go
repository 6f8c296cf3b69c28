package raftlog

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
)

// patience is the time limit for expected events.
const patience = 60 * time.Second

// recorder is a state machine that keeps every batch in order. Its snapshots contain them all.
type recorder struct {
	mu       sync.Mutex
	changed  *sync.Cond
	batches  []string
	leaders  []shard.Leadership
	restores int
	refuse   string // Apply refuses this batch

	calls  atomic.Int32 // running calls, which must not overlap
	closed atomic.Bool  // set by a test after Close: no call may come
	faults atomic.Pointer[string]

	snapshots atomic.Int32 // prepared and not discarded
	saved     atomic.Int32
	holdSave  chan struct{} // if not nil, Save waits for it, or for its stop
	saving    chan struct{} // closed when such a Save waits, or an endless one writes
	endless   bool          // Save writes until refused
	failSave  atomic.Bool
	unsaved   atomic.Int32 // how many snapshots failSave has refused
	hold      *heldApply   // guarded by mu: the next Apply waits for its release
}

type heldApply struct {
	release, applying chan struct{}
}

// holdNextApply makes the next Apply close applying and wait until release is closed.
func (r *recorder) holdNextApply() (release, applying chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hold = &heldApply{make(chan struct{}), make(chan struct{})}
	return r.hold.release, r.hold.applying
}

func newRecorder() *recorder {
	r := new(recorder)
	r.changed = sync.NewCond(&r.mu)
	return r
}

func (r *recorder) fault(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.faults.CompareAndSwap(nil, &text)
}

func (r *recorder) enter(call string) func() {
	if r.closed.Load() {
		r.fault("%s was called after Close", call)
	}
	if r.calls.Add(1) != 1 {
		r.fault("%s overlaps another call", call)
	}
	return func() { r.calls.Add(-1) }
}

func (r *recorder) Apply(entries []shard.Entry) error {
	defer r.enter("Apply")()
	r.mu.Lock()
	hold := r.hold
	r.hold = nil
	r.mu.Unlock()
	if hold != nil {
		close(hold.applying)
		<-hold.release
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range entries {
		if r.refuse != "" && string(e.Data) == r.refuse {
			return errors.New("the recorder must refuse this batch")
		}
		r.batches = append(r.batches, string(e.Data))
	}
	r.changed.Broadcast()
	return nil
}

func (r *recorder) PrepareSnapshot() (shard.Snapshot, error) {
	defer r.enter("PrepareSnapshot")()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.snapshots.Add(1)
	return &recorderSnapshot{r: r, batches: r.batches[:len(r.batches):len(r.batches)]}, nil
}

func (r *recorder) Restore(from io.Reader) error {
	defer r.enter("Restore")()
	all, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	var batches []string
	for len(all) > 0 {
		n, k := binary.Uvarint(all)
		batches = append(batches, string(all[k:k+int(n)]))
		all = all[k+int(n):]
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.batches = batches
	r.restores++
	r.changed.Broadcast()
	return nil
}

func (r *recorder) LeadershipChanged(l shard.Leadership) {
	if r.closed.Load() {
		r.fault("LeadershipChanged was called after Close")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leaders = append(r.leaders, l)
	r.changed.Broadcast()
}

type recorderSnapshot struct {
	r         *recorder
	batches   []string
	discarded atomic.Bool
}

func (s *recorderSnapshot) Save(w io.Writer, stop <-chan struct{}) error {
	if s.r.closed.Load() {
		s.r.fault("Save was called after Close")
	}
	for n := 0; s.r.endless; n++ {
		time.Sleep(time.Millisecond)
		if _, err := w.Write([]byte{0}); err != nil {
			return err
		}
		if n == 0 {
			close(s.r.saving)
		}
	}
	if s.r.holdSave != nil {
		signalOnce(s.r.saving)
		select {
		case <-s.r.holdSave:
		case <-stop:
			return shard.ErrSnapshotStopped
		}
	}
	if s.r.failSave.Load() {
		s.r.unsaved.Add(1)
		return errors.New("no space left on device")
	}
	var all bytes.Buffer
	for _, b := range s.batches {
		all.Write(binary.AppendUvarint(nil, uint64(len(b))))
		all.WriteString(b)
	}
	_, err := w.Write(all.Bytes())
	s.r.saved.Add(1)
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	s.r.changed.Broadcast()
	return err
}

func signalOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

func (s *recorderSnapshot) Discard() {
	if !s.discarded.Swap(true) {
		s.r.snapshots.Add(-1)
	}
}

// await waits until the recorder's state satisfies a condition, evaluated under its lock.
func (r *recorder) await(t testing.TB, what string, condition func() bool) {
	t.Helper()
	if !r.awaitFor(patience, condition) {
		r.mu.Lock()
		defer r.mu.Unlock()
		t.Fatalf("waited in vain for %s; applied %d batches, leaders %v", what, len(r.batches), r.leaders)
	}
}

func (r *recorder) awaitFor(limit time.Duration, condition func() bool) bool {
	deadline := time.Now().Add(limit)
	timeout := time.AfterFunc(limit, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.changed.Broadcast()
	})
	defer timeout.Stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	for !condition() {
		if !time.Now().Before(deadline) {
			return false
		}
		r.changed.Wait()
	}
	return true
}

// lastLeader is the last leadership reported to the state machine. It is called under the recorder's lock.
func (r *recorder) lastLeader() shard.Leadership {
	if len(r.leaders) == 0 {
		return shard.Leadership{}
	}
	return r.leaders[len(r.leaders)-1]
}

// eventually waits for a condition without an event.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	deadline := time.Now().Add(patience)
	for !condition() {
		if <-ticker.C; time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func (r *recorder) awaitBatches(t testing.TB, want []string) {
	t.Helper()
	r.await(t, fmt.Sprintf("%d batches", len(want)), func() bool { return len(r.batches) >= len(want) })
	if got := r.applied(); !slices.Equal(got, want) {
		t.Fatalf("applied %q, want %q", got, want)
	}
}

// awaitLeader waits until the last leadership reported to the state machine satisfies the condition.
func (r *recorder) awaitLeader(t testing.TB, condition func(shard.Leadership) bool) shard.Leadership {
	t.Helper()
	var last shard.Leadership
	r.await(t, "a leader", func() bool {
		last = r.lastLeader()
		return last.Leader != 0 && condition(last)
	})
	return last
}

func anyLeader(shard.Leadership) bool { return true }

func (r *recorder) applied() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.batches)
}

// check fails a test if the log broke its contract with the state machine.
func (r *recorder) check(t testing.TB) {
	t.Helper()
	if fault := r.faults.Load(); fault != nil {
		t.Error(*fault)
	}
	if n := r.snapshots.Load(); n != 0 && r.closed.Load() {
		t.Errorf("%d snapshots were never discarded", n)
	}
}

func (r *recorder) restoreCount() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.restores
}
