package wal

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
)

// keepFactor bounds the room of a log on the disk: its sealed segments are at most so many times as large as the needed
// bytes of the whole log. Where the segments are larger, the needed records of the oldest segment are appended again,
// and its file is removed. So every byte that is written again frees at least one unneeded byte.
const keepFactor = 2

// Reclaim removes segments with no or few needed bytes, in the background. The channel is closed at the end of the
// removal, or when the log is closed.
func (l *Log) Reclaim() <-chan struct{} {
	done := make(chan struct{})
	l.mu.Lock()
	l.reclaims = append(l.reclaims, done)
	l.mu.Unlock()
	signal(l.reclaim)
	return done
}

// removeUnneeded removes segments as long as a removal is due.
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

// removeOldest removes the oldest segment, unless the segment is worth keeping, and reports a removal. Segments are
// removed from the oldest on, so that a record which a later record has replaced can never come back.
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

// rewrite has the owner append what is needed of a segment again. The lock is held, except meanwhile, and also after
// a panic.
func (l *Log) rewrite(segment uint64) error {
	l.mu.Unlock()
	defer l.mu.Lock()
	return l.owner.Rewrite(segment)
}

// isDue reports whether the oldest segment is to be removed. The lock is held.
func (l *Log) isDue(oldest *segment) bool {
	sealed := int64(0)
	for _, s := range l.segments[:len(l.segments)-1] {
		sealed += s.size()
	}
	return sealed > 0 && (oldest.needed == 0 || sealed > keepFactor*l.needed)
}

// noteFirst records that segments before a number are not needed. The note becomes durable together with all earlier
// records, and so with the replacements for the content of those segments. The lock is held, except meanwhile.
func (l *Log) noteFirst(number uint64) bool {
	at, err := l.append(Key{}, kindFirst, binary.LittleEndian.AppendUint64(nil, number))
	if err != nil || l.sync(at) != nil {
		return false
	}
	l.first = number
	return true
}

// removeFile removes the oldest segment's file, or keeps the file for another use. After a failure the removal is tried
// again later. The lock is held, except meanwhile.
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
