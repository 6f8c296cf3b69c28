// Package trace follows operations through client, host and log, and says what each hop takes. Neither client nor host
// has anything for it: what it needs to know it sees at doors that they have anyway, of which it puts itself in the way
// (the dialer of the client; the handler of connections, the log and the state machine of the host; what the log says
// of its syncs). So it costs nothing where nothing is traced.
//
// Each host is a process of its own. All processes stamp what happens with the same clock of the machine. One thing is
// done at a time, so the stamps of an operation are those between its begin and its end.
//
// Where to start reading: Point in stamp.go lists what is seen, works in work.go what is followed and its hops, Of in
// run.go is the callers, Serve in host.go a host.
package trace

import (
	"encoding/gob"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Point is something that happens to a request.
type Point uint8

// The points of a request at its client and at the host that answers it, in the order in which it comes by, and those
// of the other hosts of its shard.
const (
	Sending       Point = iota // the client gives the request to its socket
	Arrived                    // the event loop of the host has read it
	Proposed                   // the host proposes a batch to the log
	Writing                    // the store begins to write the batch
	Synced                     // the store has written and synced it
	OthersWriting              // the store of another host begins to write it
	OthersSynced               // the store of another host has written and synced it
	Applying                   // the state machine is given the batch
	Answered                   // the answer is given to the connection
	Flushing                   // the host gives the answer to its socket
	Read                       // the client has read it
	Returned                   // the client's call returns
)

// Stamp is the time of a point.
type Stamp struct {
	Point Point
	Nanos int64 // by the monotonic clock of the machine, which all processes share
}

// Recorder keeps stamps, up to a number. It is safe for use by many goroutines, and costs each a few nanoseconds.
type Recorder struct {
	began  time.Time
	offset int64
	next   atomic.Int64
	stamps []Stamp
}

// NewRecorder returns one with room for so many stamps.
func NewRecorder(room int) (*Recorder, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return nil, fmt.Errorf("trace: read the clock: %w", err)
	}
	return &Recorder{began: time.Now(), offset: now.Nano(), stamps: make([]Stamp, room)}, nil
}

// Now stamps a point.
func (r *Recorder) Now(p Point) { r.put(p, time.Since(r.began)) }

// Before stamps a point that was so long ago.
func (r *Recorder) Before(p Point, ago time.Duration) { r.put(p, time.Since(r.began)-ago) }

func (r *Recorder) put(p Point, since time.Duration) {
	if i := r.next.Add(1) - 1; i < int64(len(r.stamps)) {
		r.stamps[i] = Stamp{p, r.offset + int64(since)}
	}
}

// Stamps returns what was recorded. Nothing is recorded any more when it is called.
func (r *Recorder) Stamps() []Stamp { return r.stamps[:min(r.next.Load(), int64(len(r.stamps)))] }

// write writes the stamps to a file.
func (r *Recorder) write(name string) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := gob.NewEncoder(file).Encode(r.Stamps()); err != nil {
		file.Close()
		return fmt.Errorf("write %s: %w", name, err)
	}
	return file.Close()
}

// read reads stamps from a file.
func read(name string) (stamps []Stamp, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if err := gob.NewDecoder(file).Decode(&stamps); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return stamps, nil
}
