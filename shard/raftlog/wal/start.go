package wal

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/signalbox/signalbox/shard/raftlog/internal/direct"
)

// Start replays the log and prepares for appends. If a file is not as originally written, the error is an ErrDamaged.
func (l *Log) Start(owner Owner) error {
	l.owner = owner
	if err := l.start(); err != nil {
		for _, s := range l.segments {
			err = errors.Join(err, s.close())
		}
		return err
	}
	l.making.run(l.make, l.makeNext)
	l.removing.run(l.reclaim, l.removeUnneeded)
	signal(l.reclaim)
	return nil
}

func (l *Log) start() error {
	if err := l.prepareDirectory(); err != nil {
		return fmt.Errorf("wal: open the log: %w", err)
	}
	numbers, err := listSegments(l.options.Disk, l.options.Dir)
	if err != nil {
		return fmt.Errorf("wal: open the log: %w", err)
	}
	if len(numbers) == 0 {
		return l.begin()
	}
	if err := checkGaps(l.options.Dir, numbers); err != nil {
		return err
	}
	tail, err := l.replay(numbers)
	if err != nil {
		return err
	}
	if err := l.goOn(tail); err != nil {
		return fmt.Errorf("wal: open %s: %w", l.current().path, err)
	}
	return nil
}

// prepareDirectory removes the file of a process killed while creating a segment. Then prepareDirectory makes the
// directory entries durable: this process relies on the entries, and an earlier process may have been killed before
// syncing.
func (l *Log) prepareDirectory() error {
	dir := l.options.Dir
	for _, name := range []string{partialName, reuseName} {
		err := l.options.Disk.Remove(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return errors.Join(SyncDirectory(l.options.Disk, dir), SyncDirectory(l.options.Disk, filepath.Dir(dir)))
}

// begin creates the first segment.
func (l *Log) begin() error {
	if l.options.Existing {
		return missing(segmentName(l.options.Dir, 1))
	}
	var id [8]byte
	_, _ = rand.Read(id[:]) // Read never fails
	l.id, l.first = binary.LittleEndian.Uint64(id[:]), 1
	h := header{log: l.id, number: 1, first: 1, capacity: min(capacityLeast, l.options.SegmentBytes)}
	pause := l.pause
	l.pause = 0
	s, err := l.makeSegment(h, func() bool { return false })
	l.pause = pause
	if err != nil {
		return err
	}
	l.segments = []*segment{s}
	l.pending.start, l.synced = firstRecord, firstRecord
	return nil
}

// tail is the place where a log continues: in the last unsealed segment.
type tail struct {
	content
	sector []byte // the last sector of complete records
}

// replay reads all segments. A last segment without records becomes the next segment.
func (l *Log) replay(numbers []uint64) (t tail, err error) {
	var memory []byte
	var last *image
	for _, number := range numbers {
		path := segmentName(l.options.Dir, number)
		m, err := readImage(l.options.Disk, path, number, memory)
		if err != nil {
			return t, err
		}
		memory = m.data[:0]
		if last != nil && m.log != last.log {
			return t, damagedAt(path, 0)
		}
		l.id = m.log
		l.segments = append(l.segments, newSegment(l.options.Dir, m.header))
		c, err := m.read(l.owner.Replay)
		if err != nil {
			return t, err
		}
		if last != nil {
			if err := last.checkChain(l.options.Dir, t.content, &c); err != nil {
				return t, err
			}
		}
		l.first = max(l.first, c.first)
		if last != nil && !t.sealed {
			l.next = l.current()
			l.segments = l.segments[:len(l.segments)-1]
			break // nothing comes after a segment without records
		}
		l.current().end = c.end
		t = tail{c, slices.Clone(m.data[direct.Down(c.end):c.end])}
		last = m
	}
	return t, l.checkAll(last, t, numbers)
}

// checkAll checks that no segment is missing or superfluous.
func (l *Log) checkAll(last *image, t tail, numbers []uint64) error {
	count := len(l.segments)
	if l.next != nil {
		count++
	}
	switch {
	case l.first < numbers[0]:
		return missing(segmentName(l.options.Dir, l.first))
	case count < len(numbers):
		return damagedAt(last.path, t.end)
	case l.current().number < l.options.Least.Segment && l.next == nil:
		return missing(segmentName(l.options.Dir, l.options.Least.Segment))
	case (End{Segment: l.current().number, Offset: t.end}).Before(l.options.Least):
		return damagedAt(last.path, t.end)
	default:
		return last.checkChain(l.options.Dir, t.content, nil)
	}
}

// goOn opens the last segment for writing. Torn bytes at the end are overwritten if a reader could mistake the bytes
// for records after new records. All read records are made durable, because the writing process may have been killed
// before syncing.
func (l *Log) goOn(t tail) error {
	s := l.current()
	file, err := l.options.Disk.OpenData(s.path)
	if err != nil {
		return err
	}
	s.file = file
	if l.next != nil {
		if l.next.file, err = l.options.Disk.OpenData(l.next.path); err != nil {
			return err
		}
	}
	b := &l.pending
	b.start = direct.Down(t.end)
	b.room(max(len(t.sector), int(t.stale-b.start)))
	b.used = copy(b.memory, t.sector)
	b.kept = b.used
	if t.stale > t.end {
		erased := buffer{memory: b.memory, start: b.start, used: int(t.stale - b.start)}
		clear(erased.memory[b.used:])
		if err := erased.write(s); err != nil {
			return err
		}
	}
	s.end = 0
	l.synced = t.end
	return errors.Join(l.syncSealed(), file.SyncData())
}

// syncSealed makes the segment before the current segment durable. All earlier segments were durable before the sealed
// segment's first record.
func (l *Log) syncSealed() error {
	if len(l.segments) < 2 {
		return nil
	}
	file, err := l.options.Disk.OpenData(l.segments[len(l.segments)-2].path)
	if err != nil {
		return err
	}
	return errors.Join(file.SyncData(), file.Close())
}
