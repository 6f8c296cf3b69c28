// Package trace follows operations through client, host and log, and reports the time for each hop. Client and host
// contain no tracing code: trace wraps interfaces that exist anyway (the client's dialer; the host's connection
// handler, log and state machine; the log's sync reports). So tracing costs nothing unless used.
//
// Each host is a separate process. All processes stamp points with the machine's shared clock. Operations run one at a
// time, so an operation's stamps are the stamps between its begin and its end.
//
// Where to start reading: Point in stamp.go lists the points, works in work.go lists the traced operations with their
// hops, Of in run.go is the callers, Serve in host.go is a host.
package trace

import (
	"encoding/gob"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Point is a step in a request's processing.
type Point uint8

// A request's points at its client, at the answering host in order, and at the other hosts in the shard.
const (
	Sending       Point = iota // the client gives the request to its socket
	Arrived                    // the host's event loop has read the request
	Proposed                   // the host proposes a batch to the log
	Writing                    // the store begins to write the batch
	Synced                     // the store has written and synced the batch
	OthersWriting              // another host's store begins to write the batch
	OthersSynced               // another host's store has written and synced the batch
	Applying                   // the state machine is given the batch
	Answered                   // the answer is given to the connection
	Flushing                   // the host gives the answer to its socket
	Read                       // the client has read the answer
	Returned                   // the client's call returns
)

// Stamp is a point's time.
type Stamp struct {
	Point Point
	Nanos int64 // by the machine's monotonic clock, shared by all processes
}

// Recorder stores stamps up to its capacity. A Recorder is safe for concurrent use, and costs each goroutine a few
// nanoseconds.
type Recorder struct {
	began  time.Time
	offset int64
	next   atomic.Int64
	stamps []Stamp
}

// NewRecorder returns a Recorder with capacity for room stamps.
func NewRecorder(room int) (*Recorder, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return nil, fmt.Errorf("trace: read the clock: %w", err)
	}
	return &Recorder{began: time.Now(), offset: now.Nano(), stamps: make([]Stamp, room)}, nil
}

// Now stamps a point.
func (r *Recorder) Now(p Point) { r.put(p, time.Since(r.began)) }

// Before stamps a point that happened ago before now.
func (r *Recorder) Before(p Point, ago time.Duration) { r.put(p, time.Since(r.began)-ago) }

func (r *Recorder) put(p Point, since time.Duration) {
	if i := r.next.Add(1) - 1; i < int64(len(r.stamps)) {
		r.stamps[i] = Stamp{p, r.offset + int64(since)}
	}
}

// Stamps returns the recorded stamps. No stamps may be recorded after the call.
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
