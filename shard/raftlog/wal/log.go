package wal

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/signalbox/signalbox/shard/hosts"
)

// Options are the place of a log and the sizes of its files.
type Options struct {
	Dir  string
	Disk Disk
	// SegmentBytes is the size that segments grow to; 0 stands for DefaultSegmentBytes.
	SegmentBytes int64
	// Existing refuses a directory without a log, because the directory had a log before.
	Existing bool
	// Least is the durable end of the log, as last noted elsewhere. A log with an earlier end is damaged.
	Least End
	// Synced is called, if set, with the duration of each write and sync of records. It must not block.
	Synced func(time.Duration)
	// Full is called, if set, when the disk has no room for a write, and may make room. It is called again with last
	// set before the log gives up: afterwards the users of the log get the error. During the last call the log is
	// locked.
	Full func(err error, last bool)
}

// DefaultSegmentBytes is the size that segments grow to. At any time about five segments of a log and of its reserve
// are without needed records. So with larger segments a small log takes much of the disk. With smaller segments the log
// goes on to the next segment more often, and each time syncs a few small files.
const DefaultSegmentBytes = 16 << 20

// roomPatience is how long the log waits for room before the log fails, roomPause the pause between two tries.
const (
	roomPatience = time.Second
	roomPause    = 20 * time.Millisecond
)

func (o Options) withDefaults() Options {
	o.SegmentBytes = cmp.Or(o.SegmentBytes, DefaultSegmentBytes)
	if o.Synced == nil {
		o.Synced = func(time.Duration) {}
	}
	if o.Full == nil {
		o.Full = func(error, bool) {}
	}
	return o
}

// Owner knows the meaning of a log's records.
type Owner interface {
	// Replay is called by Start for each record, oldest first, from one goroutine. It must not keep data. With Need it
	// declares the needed part of the record.
	Replay(at Place, key Key, kind Kind, data []byte) error
	// Rewrite appends the needed records of a segment and of all earlier segments again, so that the segments are no
	// longer needed. It is called from a goroutine of the log, while other goroutines append. A replay from any later
	// segment on, including the rewritten records, must give the same result as a replay from the beginning.
	Rewrite(segment uint64) error
}

// ErrClosed is returned by calls on a closed log.
var ErrClosed = errors.New("wal: the log is closed")

// Log is a write-ahead log of one process. Its methods may be called from any goroutine, after Start.
//
// An error of a write or a sync is kept: the content of the disk is unknown afterwards, so all later calls return the
// error.
type Log struct {
	options Options
	owner   Owner
	id      uint64

	mu      sync.Mutex
	changed sync.Cond // err, writing or next have changed
	err     error
	// writing: a goroutine writes to the current segment, or goes on to the next segment. Only that goroutine uses the
	// segment's file.
	writing bool
	sealing bool // nothing more can be appended to the current segment
	pending buffer
	spare   []byte // memory for the next buffer
	synced  int64  // how much of the current segment is durable

	segments []*segment // oldest first; the last is the current segment
	next     *segment   // the next segment, once it is made
	first    uint64     // the first needed segment, as far as the log on the disk says
	needed   int64      // bytes, of all segments

	hurry    bool          // an append waits for the next segment
	busy     bool          // the next segment is being made
	reusable bool          // a segment is ready for another use
	pause    time.Duration // between two steps of filling a segment

	make     chan struct{}   // a next segment is wanted
	reclaim  chan struct{}   // segments may have become unneeded
	reclaims []chan struct{} // to be closed after the next look at the segments; guarded by mu
	making   worker
	removing worker
	closing  func() error // close, once
}

// worker is a goroutine of a log.
type worker struct {
	stop  chan struct{}
	ended sync.WaitGroup
}

// run starts the worker. The worker calls do after every wake-up, until the worker is stopped.
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

// stopping reports whether the worker is to end soon.
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

// Open makes the missing directory of a log. Nothing is read before Start.
func Open(options Options) (*Log, error) {
	l := &Log{
		options: options.withDefaults(), pause: fillPause,
		make: make(chan struct{}, 1), reclaim: make(chan struct{}, 1),
	}
	l.changed.L, l.closing = &l.mu, sync.OnceValue(l.close)
	if err := l.options.Disk.MkdirAll(options.Dir, 0o750); err != nil {
		return nil, fmt.Errorf("wal: make the directory: %w", err)
	}
	return l, nil
}

// current is the segment for new records. The lock is held.
func (l *Log) current() *segment { return l.segments[len(l.segments)-1] }

// SegmentBytes is the size of the segment for new records.
func (l *Log) SegmentBytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current().capacity
}

// Append adds a record, which is durable once a Sync of its place has returned. The data are copied. Records are in the
// log in the order of the calls. In the beginning all bytes of the record are needed. The owner first declares with
// Need its own needed bytes, and then takes the bytes of the record back: otherwise the record's segment could be
// sealed, and become the oldest, before the owner had declared its need. Rewrite waits for an owner between the two.
func (l *Log) Append(key Key, kind Kind, data []byte) (Place, error) {
	if len(data) > maxRecord {
		return Place{}, fmt.Errorf("wal: a record of %d bytes is too long", len(data))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	at, err := l.append(key, kind, data)
	if err == nil {
		l.current().needed += int64(at.Bytes)
		l.needed += int64(at.Bytes)
	}
	return at, err
}

// append appends a record to the current segment, or to the next segment where the record, and after the record the
// seal, does not fit in the current segment. The first record of a segment always fits. The lock is held.
func (l *Log) append(key Key, kind Kind, data []byte) (Place, error) {
	size := int64(recordBytes(len(data)))
	for l.err == nil {
		end := l.pending.end()
		if !l.sealing && (end == firstRecord || end+size+sealBytes <= l.current().capacity) {
			return l.put(key, kind, data), nil
		}
		l.rotate()
	}
	return Place{}, l.err
}

// Sync returns when the record of a place, and every record appended before, is durable. Callers that wait at the same
// time share a write and a sync by one of the callers.
func (l *Log) Sync(at Place) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sync(at)
}

// sync is Sync. The lock is held.
func (l *Log) sync(at Place) error {
	for {
		now := l.current().number
		switch {
		case at.Segment < now || at.Segment == now && int64(at.Offset)+int64(at.Bytes) <= l.synced:
			return nil // the record is on the disk
		case l.err != nil:
			return l.err
		case l.writing:
			l.changed.Wait()
		default:
			l.writing = true
			l.flush()
			l.writing = false
			l.changed.Broadcast()
		}
	}
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

// insist runs a function that takes room on the disk, and for a moment runs the function again while the disk has no
// room: a holder of room for the log may give the room back meanwhile. A repetition must not depend on the progress of
// the run before.
func (l *Log) insist(do func() error) error {
	err := do()
	if err == nil {
		return nil
	}
	for until := time.Now().Add(roomPatience); NoRoom(err) && time.Now().Before(until); {
		l.options.Full(err, false)
		time.Sleep(roomPause)
		err = do()
	}
	return err
}

// Need adds a number of bytes, which may be negative, to the needed bytes of a segment. Of a nil log, which stands for
// an inspected log, nothing is needed.
func (l *Log) Need(segment uint64, bytes int64) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.segment(segment)
	s.needed += bytes
	l.needed += bytes
	if s.needed < 0 {
		panic(fmt.Sprintf("wal: %d bytes of segment %d are needed", s.needed, segment))
	}
}

// segment returns a segment by its number. The lock is held.
func (l *Log) segment(number uint64) *segment { return l.segments[number-l.segments[0].number] }

// Read returns the data of a record. The segment must be needed until Read returns.
func (l *Log) Read(at Place) ([]byte, error) {
	s, err := l.readable(at)
	if err != nil {
		return nil, err
	}
	b := make([]byte, at.Bytes)
	if err := readAt(s.reader, b, int64(at.Offset)); err != nil {
		return nil, fmt.Errorf("wal: read %s: %w", s.path, err)
	}
	h, data, ok := recordAt(b, int64(at.Offset), s.chain)
	if !ok || h.bytes() != int(at.Bytes) {
		return nil, damagedAt(s.path, int64(at.Offset))
	}
	return data, nil
}

// readable returns the segment of a place, open for reading, after a write of pending records.
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

// End is a durable end of a log.
type End = hosts.LogEnd

// End returns the durable end of the log. Of a closed log it is the final end.
func (l *Log) End() End {
	l.mu.Lock()
	defer l.mu.Unlock()
	return End{Segment: l.current().number, Offset: l.synced}
}

// Size is the size of a log.
type Size struct {
	Segments int
	Disk     int64 // bytes
	Needed   int64 // bytes
}

// Size returns the size of the log.
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

// Close makes all records durable, and marks the end. It returns the kept error of the log, if any.
func (l *Log) Close() error {
	return l.closing()
}

func (l *Log) close() error {
	if l.owner == nil {
		return nil // the log was never started
	}
	l.removing.end() // before making ends: removing may wait for a new segment
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

// mark makes everything durable, and then a mark that says so. The lock is held.
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
