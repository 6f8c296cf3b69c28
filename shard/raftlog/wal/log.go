package wal

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/signalbox/signalbox/shard/hosts"
)

// Options say where a log is and how large its files become.
type Options struct {
	Dir  string
	Disk Disk
	// SegmentBytes is the size that segments grow to. DefaultSegmentBytes where it is 0.
	SegmentBytes int64
	// Existing refuses a directory without a log: it had one before.
	Existing bool
	// Least is up to where the log was durable when that was last noted elsewhere. A log that ends before is damaged.
	Least End
	// Synced is called, if set, with the duration of each write and sync of records. It must not block.
	Synced func(time.Duration)
	// Full is called, if set, when the disk has no room for what is to be written, and may make some. It is called
	// again with last set before the log gives up: its users get the error next. The log is locked then.
	Full func(err error, last bool)
}

// DefaultSegmentBytes is the size that segments grow to. Of a log and the reserve beside it about five segments are not
// needed at any time, so with larger ones a small log takes much of the disk, and with smaller ones the log goes on to
// the next one more often, for which a few small files are synced.
const DefaultSegmentBytes = 16 << 20

// roomPatience is how long the log waits for room before it fails, roomPause between two tries.
const (
	roomPatience = time.Second
	roomPause    = 20 * time.Millisecond
)

func (o Options) withDefaults() Options {
	if o.SegmentBytes == 0 {
		o.SegmentBytes = DefaultSegmentBytes
	}
	if o.Synced == nil {
		o.Synced = func(time.Duration) {}
	}
	if o.Full == nil {
		o.Full = func(error, bool) {}
	}
	return o
}

// Owner is what knows the meaning of a log's records.
type Owner interface {
	// Replay is called by Start for each record, oldest first, from one goroutine. It must not keep data. It declares
	// with Need what of the record is needed.
	Replay(at Place, key Key, kind Kind, data []byte) error
	// Rewrite appends again what is needed of a segment and of those before it, so that it is needed no more. It is
	// called from a goroutine of the log, while other goroutines append. What is replayed from any later segment on,
	// including what was rewritten, must be the same as what is replayed from the beginning.
	Rewrite(segment uint64) error
}

// ErrClosed is returned by calls on a log that was closed.
var ErrClosed = errors.New("wal: the log is closed")

// Log is a write-ahead log of one process. Its methods may be called from any goroutine, after Start.
//
// An error of a write or a sync is kept: what is on the disk after it is not known, so all later calls return it.
type Log struct {
	options Options
	owner   Owner
	id      uint64

	mu      sync.Mutex
	changed sync.Cond // err, writing or next have changed
	err     error
	// writing: a goroutine writes to the current segment, or goes on to the next one. It alone uses the segment's file.
	writing bool
	sealing bool // nothing can be appended to the current segment any more
	pending buffer
	spare   []byte // memory for the next buffer
	synced  int64  // how much of the current segment is durable

	segments []*segment // oldest first; the last one is the current one
	next     *segment   // the one after it, once it is made
	first    uint64     // the first segment that is needed, as far as the log on the disk says
	needed   int64      // bytes, of all segments

	hurry    bool          // an append waits for the next segment
	busy     bool          // the next segment is being made
	reusable bool          // there is a segment to be used again
	pause    time.Duration // between two steps of filling a segment

	make      chan struct{}   // a next segment is wanted
	reclaim   chan struct{}   // segments may not be needed any more
	reclaims  []chan struct{} // to be closed when that was looked into; guarded by mu
	making    worker
	removing  worker
	closeOnce sync.Once
	closeErr  error
}

// worker is a goroutine of a log.
type worker struct {
	stop  chan struct{}
	ended sync.WaitGroup
}

// run starts it. It does something whenever it is woken, until it is stopped.
func (w *worker) run(wake <-chan struct{}, do func()) {
	w.stop = make(chan struct{})
	w.ended.Go(func() {
		for {
			select {
			case <-w.stop:
				return
			case <-wake:
				do()
			}
		}
	})
}

// stopping reports whether it is to end soon.
func (w *worker) stopping() bool {
	select {
	case <-w.stop:
		return true
	default:
		return false
	}
}

func (w *worker) end() {
	if w.stop != nil {
		close(w.stop)
		w.ended.Wait()
	}
}

// Open makes the directory of a log if there is none. Nothing is read before Start.
func Open(options Options) (*Log, error) {
	l := &Log{
		options: options.withDefaults(), pause: fillPause,
		make: make(chan struct{}, 1), reclaim: make(chan struct{}, 1),
	}
	l.changed.L = &l.mu
	if err := l.options.Disk.MkdirAll(options.Dir, 0o750); err != nil {
		return nil, fmt.Errorf("wal: make the directory: %w", err)
	}
	return l, nil
}

// current is the segment that is written. The lock is held.
func (l *Log) current() *segment { return l.segments[len(l.segments)-1] }

// SegmentBytes is how large the segment is that is written at the moment.
func (l *Log) SegmentBytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current().capacity
}

// Append adds a record, which is durable once a Sync of its place has returned. The data are copied. Records that are
// appended one after the other stand in that order. All bytes of the record are needed until the owner, who has said by
// then which are, takes them back with Need: its segment may be sealed, and be the oldest, before the owner comes to
// say so. Rewrite waits for an owner who is about to.
func (l *Log) Append(key Key, kind Kind, data []byte) (Place, error) {
	if len(data) > maxRecord {
		return Place{}, fmt.Errorf("wal: a record of %d bytes is too long", len(data))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	at, err := l.append(key, kind, data)
	if err == nil {
		l.need(at.Segment, int64(at.Bytes))
	}
	return at, err
}

// append is Append. The lock is held.
func (l *Log) append(key Key, kind Kind, data []byte) (Place, error) {
	size := recordBytes(len(data))
	for l.err == nil && !l.fits(size) {
		l.rotate()
	}
	if l.err != nil {
		return Place{}, l.err
	}
	return l.put(key, kind, data), nil
}

// Sync returns when the record of a place, and all that was appended before it, is durable. Those who wait at the same
// time share a write and a sync, which one of them does.
func (l *Log) Sync(at Place) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sync(at)
}

// sync is Sync. The lock is held.
func (l *Log) sync(at Place) error {
	for !l.durable(at) && l.err == nil {
		if l.writing {
			l.changed.Wait()
			continue
		}
		l.writing = true
		l.flush()
		l.writing = false
		l.changed.Broadcast()
	}
	if l.durable(at) {
		return nil
	}
	return l.err
}

// durable reports whether the record of a place is on the disk. The lock is held.
func (l *Log) durable(at Place) bool {
	now := l.current().number
	return at.Segment < now || at.Segment == now && at.end() <= l.synced
}

// fail keeps the first error. The lock is held.
func (l *Log) fail(err error) {
	if l.err == nil {
		l.err = err
		if NoRoom(err) {
			l.options.Full(err, true)
		}
	}
	l.changed.Broadcast()
}

// insist does what takes room on the disk, and again for a moment where that has none: what holds room for the log may
// give it back meanwhile. What is done again must not depend on how far it came before.
func (l *Log) insist(do func() error) error {
	err := do()
	for until := time.Now().Add(roomPatience); NoRoom(err) && time.Now().Before(until); {
		l.options.Full(err, false)
		time.Sleep(roomPause)
		err = do()
	}
	return err
}

// Need says that so many bytes more of a segment are needed, or fewer if it is negative.
func (l *Log) Need(segment uint64, bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.need(segment, bytes)
}

// need is Need. The lock is held.
func (l *Log) need(segment uint64, bytes int64) {
	s := l.segment(segment)
	s.needed += bytes
	l.needed += bytes
	if s.needed < 0 {
		panic(fmt.Sprintf("wal: %d bytes of segment %d are needed", s.needed, segment))
	}
}

// segment returns a segment by its number. The lock is held.
func (l *Log) segment(number uint64) *segment { return l.segments[number-l.segments[0].number] }

// Read returns the data of a record, in the memory of b where there is room. The segment must be needed until it
// returns.
func (l *Log) Read(at Place, b []byte) ([]byte, error) {
	s, err := l.readable(at)
	if err != nil {
		return nil, err
	}
	if cap(b) < int(at.Bytes) {
		b = make([]byte, at.Bytes)
	}
	b = b[:at.Bytes]
	if err := readAt(s.reader, b, int64(at.Offset)); err != nil {
		return nil, fmt.Errorf("wal: read %s: %w", s.path, err)
	}
	h, data, ok := recordAt(b, int64(at.Offset), s.chain)
	if !ok || h.bytes() != int(at.Bytes) {
		return nil, damagedAt(s.path, int64(at.Offset))
	}
	return data, nil
}

// readable returns the segment of a place, open for reading. What was not written yet is written first.
func (l *Log) readable(at Place) (*segment, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.sync(at); err != nil {
		return nil, err
	}
	s := l.segment(at.Segment)
	if s.reader == nil {
		file, err := l.options.Disk.Open(s.path)
		if err != nil {
			return nil, fmt.Errorf("wal: read: %w", err)
		}
		s.reader = file
	}
	return s, nil
}

// End is up to where a log is durable.
type End = hosts.LogEnd

// End returns up to where the log is durable. Once the log is closed that is the end of all that it ever holds.
func (l *Log) End() End {
	l.mu.Lock()
	defer l.mu.Unlock()
	return End{Segment: l.current().number, Offset: l.synced}
}

// Size says how large a log is.
type Size struct {
	Segments int
	Disk     int64 // bytes
	Needed   int64 // bytes
}

// Size returns how large the log is.
func (l *Log) Size() Size {
	l.mu.Lock()
	defer l.mu.Unlock()
	size := Size{Segments: len(l.segments), Needed: l.needed}
	for _, s := range l.segments {
		size.Disk += s.size()
	}
	if l.next != nil {
		size.Disk += l.next.size()
	}
	if l.reusable {
		size.Disk += l.options.SegmentBytes
	}
	return size
}

// Close makes durable what was appended, and marks it as such. It returns the error that the log has kept, if any.
func (l *Log) Close() error {
	l.closeOnce.Do(func() { l.closeErr = l.close() })
	return l.closeErr
}

func (l *Log) close() error {
	if l.owner == nil {
		return nil // it was never started
	}
	l.removing.end() // before the other one: it may wait for a segment to be made
	l.mu.Lock()
	err := l.mark()
	l.fail(ErrClosed)
	for l.writing {
		l.changed.Wait()
	}
	closeAll(l.reclaims)
	l.reclaims = nil
	l.mu.Unlock()
	l.making.end()
	for _, s := range l.segments {
		err = errors.Join(err, s.close())
	}
	if l.next != nil {
		err = errors.Join(err, l.next.close())
	}
	return err
}

// mark makes all durable, and then a mark that says so. The lock is held.
func (l *Log) mark() error {
	for range 2 {
		at, err := l.append(Key{}, kindMark, nil)
		if err == nil {
			err = l.sync(at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
