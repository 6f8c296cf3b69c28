package main

import (
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// logQueueBytes is how much of the log may wait to be written. Further lines are dropped.
	logQueueBytes = 1 << 20
	// logCloseTime is how long the end of a host waits for its last lines to be written.
	logCloseTime = time.Second
)

// logQueue is a writer that never blocks who writes to it: a host logs with locks held, and whoever reads its standard
// error may stop reading. Lines wait in a queue that one goroutine writes from. Where the queue is full they are
// dropped and counted, and a line says how many when the writer takes lines again.
type logQueue struct {
	to      io.Writer
	report  *slog.Logger  // writes to the writer directly
	dropped atomic.Uint64 // since the queue was made

	mu         sync.Mutex // guards what follows
	waiting    []byte
	writing    int    // bytes that are being written
	unreported uint64 // lines dropped since the last report
	closed     bool

	wake chan struct{} // has a value when there is something to do
	done chan struct{} // closed when nothing is written any more
}

// newLogQueue returns a queue of lines for a writer. Its own words are formatted by the handler that newHandler
// returns.
func newLogQueue(to io.Writer, newHandler func(io.Writer) slog.Handler) *logQueue {
	q := &logQueue{to: to, report: slog.New(newHandler(to)), wake: make(chan struct{}, 1), done: make(chan struct{})}
	go q.run()
	return q
}

// Write implements io.Writer. It takes a whole line, or drops it.
func (q *logQueue) Write(line []byte) (int, error) {
	q.mu.Lock()
	if q.closed || len(q.waiting)+q.writing+len(line) > logQueueBytes {
		q.unreported++
		q.dropped.Add(1)
	} else {
		q.waiting = append(q.waiting, line...)
	}
	q.mu.Unlock()
	q.signal()
	return len(line), nil
}

func (q *logQueue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// run writes until the queue is closed and empty. An error of the writer is nothing that could be said anywhere.
func (q *logQueue) run() {
	defer close(q.done)
	var lines []byte
	for range q.wake {
		q.mu.Lock()
		lines, q.waiting = q.waiting, lines[:0]
		q.writing = len(lines)
		dropped, closed := q.unreported, q.closed
		q.unreported = 0
		q.mu.Unlock()
		_, _ = q.to.Write(lines)
		if dropped > 0 {
			q.report.Warn("lines of the log were dropped: they came faster than they could be written", "lines", dropped)
		}
		q.mu.Lock()
		q.writing = 0
		q.mu.Unlock()
		if closed {
			return
		}
	}
}

// close writes what waits, which may take logCloseTime where the writer blocks. Lines that come later are dropped.
func (q *logQueue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.signal()
	select {
	case <-q.done:
	case <-time.After(logCloseTime):
	}
}
