package wal

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
)

// keepFactor bounds a log's disk space: its sealed segments may be at most this many times as large as the needed bytes
// in the whole log. If the segments are larger, the oldest segment's needed records are appended again, and its file is
// removed. So every rewritten byte frees at least one unneeded byte.
const keepFactor = 2

// Reclaim removes segments with no or few needed bytes, in the background. The channel is closed when the removal is
// done, or when the log is closed.
func (l *Log) Reclaim() <-chan struct{} {
	done := make(chan struct{})
	l.mu.Lock()
	l.reclaims = append(l.reclaims, done)
	l.mu.Unlock()
	signal(l.reclaim)
	return done
}

// removeUnneeded removes segments while a removal is due.
func (l *Log) removeUnneeded() {
	l.mu.Lock()
	asked := l.reclaims
	l.reclaims = nil
	l.mu.Unlock()
	for !l.removing.stopping() && l.removeOldest() {
	}
	closeAll(asked)
}

func closeAll(channels []chan struct{}) {
	for _, c := range channels {
		close(c)
	}
}

// removeOldest removes the oldest segment, unless the segment is worth keeping, and reports whether it did. Segments
// are removed oldest first, so a record replaced by a later record can never come back.
func (l *Log) removeOldest() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	oldest := l.segments[0]
	if l.err != nil || !l.isDue(oldest) {
		return false
	}
	if oldest.needed > 0 {
		err := l.rewrite(oldest.number)
		if err == nil && oldest.needed > 0 {
			err = fmt.Errorf("wal: %d bytes of %s are still needed", oldest.needed, oldest.path)
		}
		if err != nil {
			l.fail(err)
			return false
		}
	}
	if !l.noteFirst(oldest.number + 1) {
		return false
	}
	return l.removeFile(oldest)
}

// rewrite makes the owner append a segment's needed records again. The caller holds the lock, which is released
// meanwhile, and held again even after a panic.
func (l *Log) rewrite(segment uint64) error {
	l.mu.Unlock()
	defer l.mu.Lock()
	return l.owner.Rewrite(segment)
}

// isDue reports whether the oldest segment should be removed. The caller holds the lock.
func (l *Log) isDue(oldest *segment) bool {
	sealed := int64(0)
	for _, s := range l.segments[:len(l.segments)-1] {
		sealed += s.size()
	}
	return sealed > 0 && (oldest.needed == 0 || sealed > keepFactor*l.needed)
}

// noteFirst records that segments before a number are not needed. The note becomes durable together with all earlier
// records, and so with the rewritten content of those segments. The caller holds the lock, which is released meanwhile.
func (l *Log) noteFirst(number uint64) bool {
	at, err := l.append(Key{}, kindFirst, binary.LittleEndian.AppendUint64(nil, number))
	if err != nil || l.sync(at) != nil {
		return false
	}
	l.first = number
	return true
}

// removeFile removes the oldest segment's file, or keeps the file for reuse. A failed removal is retried later. The
// caller holds the lock, which is released meanwhile.
func (l *Log) removeFile(oldest *segment) bool {
	_ = oldest.close() // the file was open for reading only
	reuse := !l.reusable && l.next == nil && !l.busy && oldest.size() == l.options.SegmentBytes
	l.mu.Unlock()
	disk, kept := l.options.Disk, filepath.Join(l.options.Dir, reuseName)
	var err error
	if reuse {
		err = disk.Rename(oldest.path, kept)
	} else {
		err = disk.Remove(oldest.path)
	}
	if err != nil {
		l.mu.Lock()
		return false
	}
	err = SyncDirectory(disk, l.options.Dir)
	l.mu.Lock()
	if err != nil {
		l.fail(fmt.Errorf("wal: remove %s: %w: %w", oldest.path, errSync, err))
	}
	l.segments = l.segments[1:]
	l.reusable = l.reusable || reuse
	return true
}
