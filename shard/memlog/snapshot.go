package memlog

import (
	"bytes"

	"github.com/signalbox/signalbox/shard"
)

// prepareSnapshot fixes the state after the entry that was applied last, if it is time for that, to
// be saved later.
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
	img := &image{index: l.applied, term: term}
	l.net.schedule(l.net.cfg.SnapshotSave.draw(l.net.rng), event{host: l.host, log: l, run: func() {
		if l.net.real != nil {
			l.net.real.startSave(l, img)
			return
		}
		l.addCall(call{kind: callSave, image: img})
	}})
}

// save writes the prepared snapshot into the image and drops the log that it makes superfluous.
func (l *Log) save(img *image) {
	snapshot, s := l.prepared, l.replica.store
	if l.ended || snapshot == nil {
		return
	}
	l.prepared = nil
	var data bytes.Buffer
	err := l.callMachine(func() error {
		defer snapshot.Discard()
		return snapshot.Save(&data, l.stop)
	})
	l.saving = false
	if l.ended {
		return
	}
	if err != nil {
		l.snapshotFailed()
		return
	}
	if img.index <= s.snapshotIndex() {
		return // the leader has sent a newer one meanwhile
	}
	img.data = data.Bytes()
	s.snapshot = img
	l.net.trace.add(l.net.now, Record{
		Kind: RecordSaved, Group: l.group.id, Host: l.host.id, Term: img.term, Index: img.index,
	})
	if keep := l.net.cfg.SnapshotKeep; img.index > s.before+keep {
		s.compact(img.index - keep)
		l.group.trim()
	}
}

// snapshotFailed puts off the next attempt.
func (l *Log) snapshotFailed() {
	l.nextSave = l.applied + l.net.cfg.SnapshotEvery
	l.net.trace.add(l.net.now, Record{Kind: RecordSaveFailed, Group: l.group.id, Host: l.host.id, Index: l.applied})
}
