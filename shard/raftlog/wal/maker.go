package wal

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/signalbox/signalbox/shard/raftlog/internal/direct"
)

const (
	// capacityLeast is the first segment's size, which takes a few milliseconds to write. Each later segment is
	// capacityGrowth times as large as the previous segment, up to Options.SegmentBytes.
	capacityLeast  = 1 << 20
	capacityGrowth = 4
	// makeAfter is how much must have been written to a segment before the next segment is created, so an idle host
	// does not pay for a next segment.
	makeAfter = 64 << 10
	// fillStep is how much is written and synced at a time, with fillPause between two steps, so the log's own syncs
	// find the disk free, and other work finds a processor.
	fillStep  = 256 << 10
	fillPause = 2 * time.Millisecond
	// roomFor is how many new segments must fit on the disk before one segment is preallocated.
	roomFor = 16
)

// Syncing a growing file makes the file system write its journal too, which takes about as long again. So the next
// segment is filled with zeros in advance, or is a former segment; its old records are not valid in another segment. If
// disk space or time is short, the next segment is only a header, and grows.

// makeNext creates the next segment if it is missing.
func (l *Log) makeNext() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next != nil || l.err != nil {
		return
	}
	h := l.nextHeader()
	l.busy = true
	l.mu.Unlock()
	var s *segment
	err := l.insist(func() (err error) {
		s, err = l.makeSegment(h, l.hurried)
		return err
	})
	l.mu.Lock()
	switch {
	case err == nil:
		l.next = s
	case l.hurry || errors.Is(err, errSync):
		l.fail(err)
	}
	l.busy, l.hurry = false, false
	l.changed.Broadcast()
}

// nextHeader is the header for the segment after the current segment. The caller holds the lock.
func (l *Log) nextHeader() header {
	now := l.current()
	capacity := max(capacityLeast, capacityGrowth*now.capacity)
	return header{
		log: l.id, number: now.number + 1, first: l.first,
		capacity: direct.Up(min(capacity, l.options.SegmentBytes)),
	}
}

// hurried reports whether an append waits for the new segment, or the log is being closed.
func (l *Log) hurried() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hurry || l.err != nil
}

// awaitNext waits for the next segment, and reports whether it exists. The caller holds the lock, which is released
// meanwhile.
func (l *Log) awaitNext() bool {
	for l.next == nil && l.err == nil {
		l.hurry = true
		signal(l.make)
		l.changed.Wait()
	}
	return l.err == nil
}

// errSync is the error for a failed directory sync. Afterwards the directory's entries are unreliable.
var errSync = errors.New("sync the directory")

// makeSegment creates a segment. The segment gets its name once it is complete.
func (l *Log) makeSegment(h header, hurried func() bool) (*segment, error) {
	partial := filepath.Join(l.options.Dir, partialName)
	file, err := l.reused(partial, &h)
	if file == nil && err == nil && l.hasRoom(h.capacity) {
		file, err = l.filled(partial, &h, hurried)
	}
	if file == nil {
		h.capacity, h.filled = min(h.capacity, capacityLeast), firstRecord
		file, err = l.options.Disk.OpenData(partial)
	}
	if err != nil {
		return nil, fmt.Errorf("wal: make a segment: %w", err)
	}
	s := newSegment(l.options.Dir, h)
	s.file = file
	if err := l.name(s, partial); err != nil {
		return nil, errors.Join(fmt.Errorf("wal: make %s: %w", s.path, err), file.Close())
	}
	return s, nil
}

// name writes a segment's header, and then gives the file the segment's name.
func (l *Log) name(s *segment, partial string) error {
	sector := direct.Memory(firstRecord)
	s.header.put(sector)
	if _, err := s.file.WriteAt(sector, 0); err != nil {
		return err
	}
	if err := s.file.SyncData(); err != nil {
		return err
	}
	if err := l.options.Disk.Rename(partial, s.path); err != nil {
		return err
	}
	if err := SyncDirectory(l.options.Disk, l.options.Dir); err != nil {
		return fmt.Errorf("%w: %w", errSync, err)
	}
	return nil
}

// reused opens a segment for reuse, nil if there is none.
func (l *Log) reused(partial string, h *header) (direct.File, error) {
	l.mu.Lock()
	there := l.reusable && h.capacity == l.options.SegmentBytes
	l.reusable = l.reusable && !there
	l.mu.Unlock()
	if !there {
		return nil, nil
	}
	if err := l.options.Disk.Rename(filepath.Join(l.options.Dir, reuseName), partial); err != nil {
		return nil, err
	}
	h.filled = h.capacity
	return l.options.Disk.OpenData(partial)
}

// filled creates a file filled with zeros, nil after a failure.
func (l *Log) filled(partial string, h *header, hurried func() bool) (direct.File, error) {
	file, err := l.options.Disk.OpenData(partial)
	if err != nil {
		return nil, err
	}
	if err := fill(file, h, l.pause, hurried); err != nil { // the disk may be full
		return nil, errors.Join(file.Close(), l.options.Disk.Remove(partial))
	}
	return file, nil
}

func fill(file direct.File, h *header, pause time.Duration, hurried func() bool) error {
	zeros := direct.Memory(fillStep)
	for h.filled < h.capacity && (h.filled == 0 || !hurried()) {
		time.Sleep(pause)
		step := zeros[:min(fillStep, h.capacity-h.filled)]
		if _, err := file.WriteAt(step, h.filled); err != nil {
			return err
		}
		if err := file.SyncData(); err != nil {
			return err
		}
		h.filled += int64(len(step))
	}
	return nil
}

func (l *Log) hasRoom(size int64) bool {
	usage, err := l.options.Disk.GetDiskUsage(l.options.Dir)
	return err == nil && usage.AvailBytes/roomFor >= uint64(size)
}
