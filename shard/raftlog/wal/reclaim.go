package wal

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
)

// keepFactor bounds what a log takes on the disk: its sealed segments are at most so many times as large as what is
// needed of the whole log. Where they are larger, what is needed of the oldest one is appended again, and its file
// removed. So every byte that is written again frees one that is not needed, at the least.
const keepFactor = 2

// Reclaim removes segments that are not needed, or little of which is, in the background. The channel is closed when
// that is done, or the log is closed.
func (l *Log) Reclaim() <-chan struct{} {
	done := make(chan struct{})
	l.mu.Lock()
	l.reclaims = append(l.reclaims, done)
	l.mu.Unlock()
	signal(l.reclaim)
	return done
}

// removeUnneeded removes segments while there is one to be removed.
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

// removeOldest removes the oldest segment, unless it is worth keeping, and reports whether it did. Segments are removed
// from the oldest on: what a later one has replaced can then never come back.
func (l *Log) removeOldest() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	oldest := l.segments[0]
	if l.err != nil || !l.isDue(oldest) {
		return false
	}
	if oldest.needed > 0 {
		l.mu.Unlock()
		err := l.owner.Rewrite(oldest.number)
		l.mu.Lock()
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

// isDue reports whether the oldest segment is to be removed. The lock is held.
func (l *Log) isDue(oldest *segment) bool {
	sealed := int64(0)
	for _, s := range l.segments[:len(l.segments)-1] {
		sealed += s.size()
	}
	return sealed > 0 && (oldest.needed == 0 || sealed > keepFactor*l.needed)
}

// noteFirst records that segments before a number are not needed, and makes that durable with all that was appended
// before it: what replaces the content of those segments. The lock is held, except meanwhile.
func (l *Log) noteFirst(number uint64) bool {
	at, err := l.append(Key{}, kindFirst, binary.LittleEndian.AppendUint64(nil, number))
	if err != nil || l.sync(at) != nil {
		return false
	}
	l.first = number
	return true
}

// removeFile removes the oldest segment's file, or keeps it to be used again. Where that fails it is tried again later.
// The lock is held, except meanwhile.
func (l *Log) removeFile(oldest *segment) bool {
	_ = oldest.close() // it was open for reading only
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
	err = disk.syncDirectory(l.options.Dir)
	l.mu.Lock()
	if err != nil {
		l.fail(fmt.Errorf("wal: remove %s: %w: %w", oldest.path, errSync, err))
	}
	l.segments = l.segments[1:]
	l.reusable = l.reusable || reuse
	return true
}
