package memlog

import (
	"bytes"
	"fmt"

	"github.com/signalbox/signalbox/shard"
)

// applyScratch is reused memory for entries passed to a state machine.
type applyScratch struct {
	entries []shard.Entry
	data    []byte
	done    []func(shard.Outcome)
}

// poison overwrites Entry.Data when Apply has returned.
const poison = 0xDB

// apply passes entries to the state machine. Local proposals among them end as applied.
func (l *Log) apply(entries []*entry) {
	b, last := &l.scratch, entries[len(entries)-1]
	l.fill(b, entries)
	if len(b.entries) > 0 {
		err := l.callMachine(func() error { return l.machine.Apply(b.entries) })
		for i := range b.data {
			b.data[i] = poison
		}
		clear(b.entries)
		if err != nil {
			l.fail(fmt.Errorf("applying entries up to %d: %w", last.index, err))
			return
		}
	}
	l.applied = last.index
	l.record(Record{Kind: RecordApplied, Term: entries[0].term, Index: l.applied})
	if l.ended {
		return
	}
	for _, e := range entries {
		if p := e.proposal; p != nil && p.log == l && !p.decided() {
			b.done = append(b.done, l.decide(p, shard.OutcomeApplied))
			e.proposal = nil
		}
	}
	l.prepareSnapshot(last.term)
	l.net.unlocked(func() {
		for i, done := range b.done {
			b.done[i] = nil
			done(shard.OutcomeApplied)
		}
	})
	b.done = b.done[:0]
	l.leaveIfRemoved(entries)
}

// fill copies the entries for the state machine and leaves out the empty ones.
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
func (l *Log) restore(snap *savedSnapshot) {
	err := l.callMachine(func() error { return l.machine.Restore(bytes.NewReader(snap.data)) })
	if err != nil {
		l.fail(fmt.Errorf("restoring the snapshot of entry %d: %w", snap.index, err))
		return
	}
	l.applied = snap.index
	l.record(Record{Kind: RecordRestored, Term: snap.term, Index: snap.index})
}

// fail stops state machine calls. The replica stays in the group, because its log is intact.
func (l *Log) fail(err error) {
	l.failed = fmt.Errorf("memlog: group %d on host %d: %w", l.group.id, l.host.id, err)
}

// prepareSnapshot fixes the state after the last applied entry if a snapshot is due, and schedules the save.
func (l *Log) prepareSnapshot(term uint64) {
	every := l.net.cfg.SnapshotEvery
	due := max(l.replica.store.snapshotIndex()+every, l.nextSave)
	if every == 0 || l.saving || l.applied < due {
		return
	}
	var snapshot shard.Snapshot
	err := l.callMachine(func() (err error) {
		snapshot, err = l.machine.PrepareSnapshot()
		return err
	})
	if err != nil {
		l.snapshotFailed()
		return
	}
	l.saving, l.prepared = true, snapshot
	snap := &savedSnapshot{index: l.applied, term: term}
	l.net.schedule(l.net.cfg.SnapshotSave.draw(l.net.rng), event{host: l.host, log: l, run: func() {
		if l.net.real != nil {
			l.net.real.startSave(l, snap)
			return
		}
		l.enqueue(func() { l.save(snap) })
	}})
}

// save writes the prepared snapshot and compacts the log.
func (l *Log) save(snap *savedSnapshot) {
	prepared, s := l.prepared, l.replica.store
	if l.ended || prepared == nil {
		return
	}
	l.prepared = nil
	var data bytes.Buffer
	err := l.callMachine(func() error {
		defer prepared.Discard()
		return prepared.Save(&data, l.stop)
	})
	l.saving = false
	if l.ended {
		return
	}
	if err != nil {
		l.snapshotFailed()
		return
	}
	if snap.index <= s.snapshotIndex() {
		return // the leader has sent a newer snapshot meanwhile
	}
	snap.data = data.Bytes()
	s.snapshot = snap
	l.record(Record{Kind: RecordSaved, Term: snap.term, Index: snap.index})
	if keep := l.net.cfg.SnapshotKeep; snap.index > s.before+keep {
		s.compact(snap.index - keep)
		l.group.trim()
	}
}

// snapshotFailed puts off the next attempt.
func (l *Log) snapshotFailed() {
	l.nextSave = l.applied + l.net.cfg.SnapshotEvery
	l.record(Record{Kind: RecordSaveFailed, Index: l.applied})
}
