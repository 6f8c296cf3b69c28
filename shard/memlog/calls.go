package memlog

import (
	"bytes"
	"fmt"

	"github.com/signalbox/signalbox/shard"
)

type callKind uint8

const (
	callApply callKind = iota + 1
	callRestore
	callSave
	callLeadership
	callOutcome
	callBarrier
)

// call is something that a log says to its state machine or to a callback. Calls are made one after
// the other, without the lock, in the order in which they were decided.
type call struct {
	kind       callKind
	entries    []*entry         // apply
	image      *image           // restore; for save what is saved, without its data
	leadership shard.Leadership // leadership

	done    func(shard.Outcome) // outcome
	outcome shard.Outcome

	barrier     *barrier // barrier
	barrierDone func(error)
	err         error
}

// callQueue is first in, first out.
type callQueue struct {
	items []call
	head  int
}

func (q *callQueue) empty() bool { return q.head == len(q.items) }

func (q *callQueue) push(c call) { q.items = append(q.items, c) }

func (q *callQueue) pop() call {
	c := q.items[q.head]
	q.items[q.head] = call{}
	q.head++
	if q.empty() {
		q.items, q.head = q.items[:0], 0
	}
	return c
}

// addCall queues a call, and sees to it that it is made.
func (l *Log) addCall(c call) {
	if k := len(l.calls.items); c.kind == callApply && !l.calls.empty() && l.calls.items[k-1].kind == callApply {
		last := &l.calls.items[k-1]
		last.entries = append(last.entries, c.entries...)
		return
	}
	l.calls.push(c)
	l.wakeCaller()
}

// wakeCaller tells whoever makes the calls that there may be some to make.
func (l *Log) wakeCaller() {
	n := l.net
	switch {
	case n.real != nil:
		l.wake.Signal()
	case !l.isReady && l.callable():
		l.isReady = true
		n.ready = append(n.ready, l)
	}
}

// callable tells whether there is a call that may be made now: a paused host makes none, and a
// crashed one only when its log is closed.
func (l *Log) callable() bool {
	return !l.calls.empty() && (l.closed || !l.ended && !l.host.paused)
}

// enqueueCommitted queues the application of everything known to be committed.
func (l *Log) enqueueCommitted() {
	s := l.replica.store
	if s.commit <= l.queued {
		return
	}
	l.group.checkCommitted(l.replica, l.queued, s.commit)
	l.addCall(call{kind: callApply, entries: s.between(l.queued, s.commit)})
	l.queued = s.commit
	l.releaseBarriers()
}

// makeCall makes the next call.
func (l *Log) makeCall() {
	c := l.calls.pop()
	switch c.kind {
	case callOutcome:
		l.net.outside(func() { c.done(c.outcome) })
	case callBarrier:
		l.checkBarrier(&c)
		l.net.outside(func() { c.barrierDone(c.err) })
	case callSave:
		l.save(c.image)
	default:
		if l.ended || l.failed != nil {
			return
		}
		switch c.kind {
		case callApply:
			l.apply(c.entries)
		case callRestore:
			l.restore(c.image)
		case callLeadership:
			l.callMachine(func() error { l.machine.LeadershipChanged(c.leadership); return nil })
		}
	}
}

// callMachine makes a call of the state machine, of which Close waits for the end.
func (l *Log) callMachine(f func() error) (err error) {
	l.inMachine++
	defer func() {
		l.inMachine--
		l.net.idle.Broadcast()
	}()
	l.net.outside(func() { err = f() })
	return err
}

// awaitMachine waits until the state machine is not being called. Where the log has ended it never
// will be again, and a snapshot that was prepared and not saved is released.
func (l *Log) awaitMachine() {
	for l.inMachine > 0 {
		l.net.idle.Wait()
	}
	if snapshot := l.prepared; l.ended && snapshot != nil {
		l.prepared = nil
		l.net.outside(snapshot.Discard)
	}
}

// applyScratch is the memory that entries are handed to a state machine in.
type applyScratch struct {
	entries []shard.Entry
	data    []byte
	done    []func(shard.Outcome)
}

// poison is what Entry.Data is overwritten with when it is not valid any more.
const poison = 0xDB

// apply gives entries to the state machine, and its outcome to those of them that were proposed here.
func (l *Log) apply(entries []*entry) {
	b := &l.scratch
	l.fill(b, entries)
	if len(b.entries) > 0 {
		err := l.callMachine(func() error { return l.machine.Apply(b.entries) })
		for i := range b.data {
			b.data[i] = poison
		}
		clear(b.entries)
		if err != nil {
			l.fail(fmt.Errorf("applying entries up to %d: %w", entries[len(entries)-1].index, err))
			return
		}
	}
	l.applied = entries[len(entries)-1].index
	l.net.trace.add(l.net.now, Record{
		Kind: RecordApplied, Group: l.group.id, Host: l.host.id, Term: entries[0].term, Index: l.applied,
	})
	if l.ended {
		return
	}
	for _, e := range entries {
		if p := e.proposal; p != nil && p.log == l && !p.over() {
			b.done = append(b.done, l.decide(p, shard.OutcomeApplied))
			e.proposal = nil
		}
	}
	l.prepareSnapshot(entries[len(entries)-1].term)
	l.net.outside(func() {
		for i, done := range b.done {
			b.done[i] = nil
			done(shard.OutcomeApplied)
		}
	})
	b.done = b.done[:0]
}

// fill copies the entries for the state machine, the empty ones apart.
func (l *Log) fill(b *applyScratch, entries []*entry) {
	size := 0
	for i, e := range entries {
		if e.index != l.applied+1+uint64(i) {
			l.group.violated("host %d applies entry %d after %d", l.host.id, e.index, l.applied+uint64(i))
		}
		size += len(e.data)
	}
	if cap(b.data) < size {
		b.data = make([]byte, 0, size)
	}
	b.data, b.entries = b.data[:0], b.entries[:0]
	for _, e := range entries {
		if !e.empty {
			at := len(b.data)
			b.data = append(b.data, e.data...)
			b.entries = append(b.entries, shard.Entry{Index: e.index, Data: b.data[at:len(b.data):len(b.data)]})
		}
	}
}

// restore gives a snapshot to the state machine.
func (l *Log) restore(img *image) {
	err := l.callMachine(func() error { return l.machine.Restore(bytes.NewReader(img.data)) })
	if err != nil {
		l.fail(fmt.Errorf("restoring the snapshot of entry %d: %w", img.index, err))
		return
	}
	l.applied = img.index
	l.net.trace.add(l.net.now, Record{
		Kind: RecordRestored, Group: l.group.id, Host: l.host.id, Term: img.term, Index: img.index,
	})
}

// fail stops feeding the state machine. The replica stays in the group: its log is good.
func (l *Log) fail(err error) {
	l.failed = fmt.Errorf("memlog: group %d on host %d: %w", l.group.id, l.host.id, err)
}
