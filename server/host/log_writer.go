package host

import (
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// logWriterBytes is the maximum size of the queued lines. Further lines are dropped.
	logWriterBytes = 1 << 20
	// logCloseTime is how long a stopping host waits for its last lines to be written.
	logCloseTime = time.Second
)

// LogWriter is a log line writer that never blocks its callers: a host logs with locks held, and the reader of its
// standard error may stop reading. Lines are queued, and a single goroutine writes the queue. If the queue is full,
// lines are dropped and counted; the count is logged as soon as the underlying writer accepts lines again.
type LogWriter struct {
	to      io.Writer
	report  *slog.Logger  // writes to the writer directly
	dropped atomic.Uint64 // since creation

	mu         sync.Mutex // guards the fields below
	waiting    []byte
	writing    int    // bytes in the current write
	unreported uint64 // lines dropped since the last report
	closed     bool

	wake chan struct{} // has a value if the goroutine has work
	done chan struct{} // closed after the last line is written
}

// NewLogWriter returns a LogWriter for a writer. The handler returned by newHandler formats the LogWriter's own
// lines.
func NewLogWriter(to io.Writer, newHandler func(io.Writer) slog.Handler) *LogWriter {
	w := &LogWriter{to: to, report: slog.New(newHandler(to)), wake: make(chan struct{}, 1), done: make(chan struct{})}
	go w.run()
	return w
}

// Dropped returns the number of dropped lines.
func (w *LogWriter) Dropped() uint64 { return w.dropped.Load() }

// Write implements io.Writer. Write queues a whole line, or drops it.
func (w *LogWriter) Write(line []byte) (int, error) {
	w.mu.Lock()
	if w.closed || len(w.waiting)+w.writing+len(line) > logWriterBytes {
		w.unreported++
		w.dropped.Add(1)
	} else {
		w.waiting = append(w.waiting, line...)
	}
	w.mu.Unlock()
	w.signal()
	return len(line), nil
}

func (w *LogWriter) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// run writes until the queue is closed and empty. Write errors are ignored, because there is no place to report them.
func (w *LogWriter) run() {
	defer close(w.done)
	var lines []byte
	for range w.wake {
		w.mu.Lock()
		lines, w.waiting = w.waiting, lines[:0]
		w.writing = len(lines)
		dropped, closed := w.unreported, w.closed
		w.unreported = 0
		w.mu.Unlock()
		_, _ = w.to.Write(lines)
		if dropped > 0 {
			w.report.Warn("log lines were dropped: the output was too slow", "lines",
				dropped)
		}
		w.mu.Lock()
		w.writing = 0
		w.mu.Unlock()
		if closed {
			return
		}
	}
}

// Close writes the queued lines, waiting at most logCloseTime if the underlying writer blocks. Later lines are
// dropped.
func (w *LogWriter) Close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.signal()
	select {
	case <-w.done:
	case <-time.After(logCloseTime):
	}
}
