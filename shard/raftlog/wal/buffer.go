package wal

import (
	"fmt"
	"time"

	"github.com/signalbox/signalbox/shard/raftlog/internal/direct"
)

const (
	// bufferLeast is the initial memory for records between two syncs.
	bufferLeast = 256 << 10
	// bufferKept is the maximum memory reused for the next buffer. A larger buffer is released after the write.
	bufferKept = 4 << 20
)

// buffer has the current segment's next bytes: whole sectors; the first sector may have been partly written before. The
// first sector is then rewritten, with new records behind its old end. A crash during the write leaves each sector with
// the old or the new content, and both begin with everything written before.
type buffer struct {
	memory []byte // aligned, and whole sectors
	start  int64  // segment offset at which the memory begins
	used   int
	kept   int // how many used bytes were written before
}

func (b *buffer) end() int64 { return b.start + int64(b.used) }

// room makes the memory long enough for n bytes more, and for padding the last sector.
func (b *buffer) room(n int) {
	want := b.used + n
	if want <= len(b.memory) {
		return
	}
	memory := direct.Memory(direct.Up(max(want, bufferLeast, 2*len(b.memory))))
	copy(memory, b.memory[:b.used])
	b.memory = memory
}

// put adds a record that fits. The caller holds the lock.
func (l *Log) put(key Key, kind Kind, data []byte) Place {
	size := recordBytes(len(data))
	b := &l.pending
	b.room(size)
	at := b.end()
	putRecord(b.memory[b.used:], head{key: key, kind: kind, synced: uint32(l.synced)}, data, at, l.current().chain)
	b.used += size
	if l.next == nil && at+int64(size) >= firstRecord+makeAfter {
		signal(l.make)
	}
	return Place{Segment: l.current().number, Offset: uint32(at), Bytes: uint32(size)}
}

// flush writes and syncs the pending records. The caller holds the lock, which is released during the write, and has
// set l.writing.
func (l *Log) flush() {
	out := l.pending
	if out.used == out.kept {
		return
	}
	// If this buffer's last sector is not full, the next buffer begins with it.
	full := out.used - out.used%direct.Sector
	next := buffer{memory: l.spare, start: out.start + int64(full)}
	next.room(out.used - full)
	next.used = copy(next.memory, out.memory[full:out.used])
	next.kept = next.used
	l.pending, l.spare = next, nil
	s := l.current()
	l.mu.Unlock()
	begun := time.Now()
	err := l.insist(func() error { return out.write(s) })
	l.options.Synced(time.Since(begun))
	l.mu.Lock()
	if len(out.memory) <= bufferKept {
		l.spare = out.memory
	}
	if err != nil {
		l.fail(fmt.Errorf("wal: write %s: %w", s.path, err))
		return
	}
	l.synced = out.end()
}

func (b *buffer) write(s *segment) error {
	sectors := b.memory[:(b.used+direct.Sector-1)&^(direct.Sector-1)]
	clear(sectors[b.used:])
	if _, err := s.file.WriteAt(sectors, b.start); err != nil {
		return err
	}
	return s.file.SyncData()
}

// rotate switches to the next segment, or waits for the writing goroutine. The caller holds the lock, which is released
// meanwhile.
func (l *Log) rotate() {
	if l.writing {
		l.changed.Wait()
		return
	}
	l.writing = true
	l.advance()
	l.writing, l.sealing = false, false
	l.changed.Broadcast()
}

// advance seals the current segment, which is durable before the first write to the next segment. The caller holds the
// lock, which is released meanwhile.
func (l *Log) advance() {
	if !l.awaitNext() {
		return
	}
	l.sealing = true
	l.put(Key{}, kindSeal, nil)
	last := l.current()
	last.end = l.pending.end()
	l.flush()
	if l.err != nil {
		return
	}
	if err := last.file.Close(); err != nil {
		l.fail(fmt.Errorf("wal: close %s: %w", last.path, err))
		return
	}
	last.file = nil
	l.segments = append(l.segments, l.next)
	l.next = nil
	l.pending.start, l.pending.used, l.pending.kept = firstRecord, 0, 0
	l.synced = firstRecord
	signal(l.reclaim)
}

// signal wakes the reader of a channel, now or at its next read.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
