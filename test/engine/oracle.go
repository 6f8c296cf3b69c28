package engine

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/signalbox/signalbox/shard"
)

// oracle records applied entries, acknowledged entries, and leaders.
type oracle struct {
	mu      sync.Mutex
	at      map[uint64]uint64 // index: value
	index   map[uint64]uint64 // value: index
	acked   map[uint64]bool
	latest  uint64                  // largest index of an acknowledged value
	leaders map[uint64]shard.HostID // by term
	errs    []error
}

func newOracle() *oracle {
	return &oracle{at: make(map[uint64]uint64), index: make(map[uint64]uint64), acked: make(map[uint64]bool),
		leaders: make(map[uint64]shard.HostID)}
}

// maxFindings is the maximum number of findings kept: one bug causes many.
const maxFindings = 10

// fail notes a finding.
func (o *oracle) fail(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.note(format, args...)
}

// note notes a finding. The lock is held.
func (o *oracle) note(format string, args ...any) {
	if len(o.errs) < maxFindings {
		o.errs = append(o.errs, fmt.Errorf(format, args...))
	}
}

// failed reports whether there is a finding.
func (o *oracle) failed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.errs) > 0
}

// apply records that a host applies a value: every host the same value at an index, and each value once.
func (o *oracle) apply(host shard.HostID, index, value uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if was, known := o.at[index]; known && was != value {
		o.note("host %d applies %d at %d, another one applied %d", host, value, index, was)
	}
	if was, known := o.index[value]; known && was != index {
		o.note("host %d applies %d at %d, it was at %d", host, value, index, was)
	}
	o.at[index], o.index[value] = value, index
}

// acknowledge records that a value counts as written.
func (o *oracle) acknowledge(value uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.acked[value] = true
	o.latest = max(o.latest, o.index[value])
}

// lead records that a host believes to lead a term: no other host ever may.
func (o *oracle) lead(host shard.HostID, term uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if was, known := o.leaders[term]; known && was != host {
		o.note("host %d leads term %d, which host %d has led", host, term, was)
	}
	o.leaders[term] = host
}

// acknowledged returns the index of the last acknowledged value, and the number of acknowledged values.
func (o *oracle) acknowledged() (latest uint64, count int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.latest, len(o.acked)
}

// check compares a host's final values with the applied and acknowledged values.
func (o *oracle) check(host shard.HostID, values []uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	indices := slices.Sorted(maps.Keys(o.at))
	if len(values) != len(indices) {
		o.note("in the end host %d has %d values, %d were committed", host, len(values), len(indices))
	}
	has := make(map[uint64]bool, len(values))
	for i, v := range values {
		if has[v] = true; i < len(indices) && o.at[indices[i]] != v {
			o.note("in the end value %d of host %d is %d, and %d was applied", i, host, v, o.at[indices[i]])
			break
		}
	}
	for v := range o.acked {
		if !has[v] {
			o.note("in the end host %d has not %d, which was acknowledged", host, v)
			break
		}
	}
}

// history lists applied values by index, and leaders.
func (o *oracle) history() (lines []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, term := range slices.Sorted(maps.Keys(o.leaders)) {
		lines = append(lines, fmt.Sprintf("term %d: host %d led", term, o.leaders[term]))
	}
	for _, index := range slices.Sorted(maps.Keys(o.at)) {
		value := o.at[index]
		lines = append(lines, fmt.Sprintf("index %d: value %d, acknowledged %v", index, value, o.acked[value]))
	}
	return lines
}

// tally is a state machine that keeps its values.
type tally struct {
	oracle *oracle
	host   shard.HostID
	ended  func() bool

	mu       sync.Mutex // guards what follows
	values   []uint64
	last     uint64 // index
	restored int

	term atomic.Uint64
}

// valueBytes is the length of a value at the start of a batch.
const valueBytes = 8

// Apply implements shard.StateMachine.
func (t *tally) Apply(entries []shard.Entry) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range entries {
		value := binary.BigEndian.Uint64(e.Data)
		if !t.ended() {
			t.oracle.apply(t.host, e.Index, value)
		}
		t.values, t.last = append(t.values, value), e.Index
	}
	return nil
}

// PrepareSnapshot implements shard.StateMachine.
func (t *tally) PrepareSnapshot() (shard.Snapshot, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return tallySnapshot{t.values[:len(t.values):len(t.values)], t.last}, nil
}

// Restore implements shard.StateMachine.
func (t *tally) Restore(r io.Reader) error {
	all, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if len(all) == 0 || len(all)%valueBytes != 0 {
		return fmt.Errorf("a snapshot has %d bytes", len(all))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.restored++
	t.last, t.values = binary.BigEndian.Uint64(all), nil
	for all = all[valueBytes:]; len(all) > 0; all = all[valueBytes:] {
		t.values = append(t.values, binary.BigEndian.Uint64(all))
	}
	return nil
}

// LeadershipChanged implements shard.StateMachine.
func (t *tally) LeadershipChanged(l shard.Leadership) {
	if before := t.term.Swap(l.Term); t.ended() {
		return
	} else if l.Term < before {
		t.oracle.fail("the term of host %d goes back from %d to %d", t.host, before, l.Term)
	}
	if l.Leader == t.host {
		t.oracle.lead(t.host, l.Term)
	}
}

// state returns the values, and the index of the last.
func (t *tally) state() (values []uint64, last uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.values[:len(t.values):len(t.values)], t.last
}

// restores is how often a snapshot was loaded.
func (t *tally) restores() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.restored
}

// tallySnapshot implements shard.Snapshot.
type tallySnapshot struct {
	values []uint64
	last   uint64
}

// Save implements shard.Snapshot.
func (s tallySnapshot) Save(w io.Writer, _ <-chan struct{}) error {
	b := binary.BigEndian.AppendUint64(nil, s.last)
	for _, v := range s.values {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	_, err := w.Write(b)
	return err
}

// Discard implements shard.Snapshot.
func (tallySnapshot) Discard() {}
