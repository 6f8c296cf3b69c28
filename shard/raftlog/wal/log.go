package wal

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/signalbox/signalbox/shard/hosts"
)

// Options locate a log and set its file sizes.
type Options struct {
	Dir  string
	Disk Disk
	// SegmentBytes is the size up to which segments grow; 0 means DefaultSegmentBytes.
	SegmentBytes int64
	// Existing makes a directory without a log an error, because the directory had a log before.
	Existing bool
	// Least is the durable end of the log, as last recorded elsewhere. A log with an earlier end is damaged.
	Least End
	// Synced is called, if set, with the duration of each write and sync of records. It must not block.
	Synced func(time.Duration)
	// Full is called, if set, when the disk has no space for a write, and may free space. Before the log gives up, Full
	// is called again with last set; afterwards the log's users get the error. During the last call the log is locked.
	Full func(err error, last bool)
}

// DefaultSegmentBytes is the size up to which segments grow. At any time about five segments, in a log and its reserve,
// have no needed records, so larger segments would make a small log use much disk. With smaller segments the log
// switches segments more often, and each switch syncs a few small files.
const DefaultSegmentBytes = 16 << 20

// roomPatience is how long the log waits for disk space before it fails, roomPause the pause between two attempts.
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

// Owner knows what a log's records mean.
type Owner interface {
	// Replay is called by Start for each record, oldest first, from one goroutine. It must not keep data. It declares
	// the needed part of the record with Need.
	Replay(at Place, key Key, kind Kind, data []byte) error
	// Rewrite appends again the needed records in a segment and in all earlier segments, so these segments are no
	// longer needed. It is called from a log goroutine, while other goroutines append. A replay from any later segment
	// on, including the rewritten records, must give the same result as a replay from the beginning.
	Rewrite(segment uint64) error
}

// ErrClosed is returned by calls on a closed log.
var ErrClosed = errors.New("wal: the log is closed")

// Log is a write-ahead log in one process. Its methods are safe for concurrent use, after Start.
//
// A write or sync error is permanent: the disk content is unknown afterwards, so all later calls return the error.
type Log struct {
	options Options
	owner   Owner
	id      uint64

	mu      sync.Mutex
	changed sync.Cond // err, writing or next have changed
	err     error
	// writing is set while a goroutine writes to the current segment, or switches to the next segment. Only that
	// goroutine uses the segment's file.
	writing bool
	sealing bool // nothing more can be appended to the current segment
	pending buffer
	spare   []byte // memory for the next buffer
	synced  int64  // durable bytes in the current segment

	segments []*segment // oldest first; the last is the current segment
	next     *segment   // the next segment, once it exists
	first    uint64     // the first needed segment, according to the log on disk
	needed   int64      // bytes, over all segments

	hurry    bool          // an append waits for the next segment
	busy     bool          // the next segment is being created
	reusable bool          // a segment is ready for another use
	pause    time.Duration // between two steps of filling a segment

	make     chan struct{}   // a next segment is wanted
	reclaim  chan struct{}   // segments may have become unneeded
	reclaims []chan struct{} // closed after the next check of the segments; guarded by mu
	making   worker
	removing worker
	closing  func() error // close, once
}

// worker is a goroutine of a log.
type worker struct {
	stop  chan struct{}
	ended sync.WaitGroup
}

// run starts the worker. The worker calls do after every wake-up, until it is stopped.
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

// stopping reports whether the worker should end soon.
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

// Open creates a missing log directory. Nothing is read before Start.
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

// current is the segment for new records. The caller holds the lock.
func (l *Log) current() *segment { return l.segments[len(l.segments)-1] }

// SegmentBytes is the size of the segment for new records.
func (l *Log) SegmentBytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current().capacity
}

// Append adds a record, which is durable once Sync for its place has returned. The data are copied. The log orders
// records by the calls. At first all bytes in the record are needed. The owner first declares its own needed bytes with
// Need, and then subtracts the record's bytes: otherwise the record's segment could be sealed, and become the oldest,
// before the owner had declared its need. Rewrite waits for an owner between the two calls.
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

// append appends a record to the current segment, or to the next segment if the record and a following seal do not fit
// in the current segment. A segment's first record always fits. The caller holds the lock.
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

// Sync returns when the record at a place, and every record appended before, is durable. Concurrent callers share one
// write and one sync, done by one of the callers.
func (l *Log) Sync(at Place) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sync(at)
}

// sync implements Sync. The caller holds the lock.
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

// fail keeps the first error. The caller holds the lock.
func (l *Log) fail(err error) {
	if l.err == nil {
		l.err = err
		if NoRoom(err) {
			l.options.Full(err, true)
		}
	}
	l.changed.Broadcast()
}

// insist runs a function that needs disk space, and for a short time repeats it while the disk has no space: a holder
// of reserved space may release it meanwhile. A repetition must not depend on the progress of the previous run.
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

// Need adds a number of bytes, which may be negative, to a segment's needed bytes. A nil log stands for an inspected
// log and ignores the call.
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

// segment returns the segment with a number. The caller holds the lock.
func (l *Log) segment(number uint64) *segment { return l.segments[number-l.segments[0].number] }

// Read returns a record's data. The segment must be needed until Read returns.
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

// readable returns the segment for a place, open for reading, after writing pending records.
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

// End is a log's durable end.
type End = hosts.LogEnd

// End returns the log's durable end. For a closed log it is the final end.
func (l *Log) End() End {
	l.mu.Lock()
	defer l.mu.Unlock()
	return End{Segment: l.current().number, Offset: l.synced}
}

// Size is a log's size.
type Size struct {
	Segments int
	Disk     int64 // bytes
	Needed   int64 // bytes
}

// Size returns the log's size.
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

// Close makes all records durable, and marks the end. It returns the log's permanent error, if any.
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

// mark makes everything durable, and then writes a durable mark as evidence. The caller holds the lock.
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
