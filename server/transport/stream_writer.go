package transport

import (
	"sync"
	"time"

	"github.com/valyala/bytebufferpool"
)

// streamWriter contains the buffers a stream's writer is writing.
type streamWriter struct {
	stream *stream
	batch  []*bytebufferpool.ByteBuffer
	room   [streamWrite]byte
}

var streamWriters = sync.Pool{New: func() any { return new(streamWriter) }}

// write is the writer: it empties the queue, and hangs up if the outbox is then closed. A stream has one writer at a
// time, which the outbox ensures.
func (s *stream) write() {
	w := streamWriters.Get().(*streamWriter)
	w.stream = s
	w.run()
	w.stream = nil
	if cap(w.batch) > keptQueue {
		w.batch = nil
	}
	streamWriters.Put(w)
}

func (w *streamWriter) run() {
	c, last := w.stream, false
	for {
		var closed bool
		w.batch, _, closed = c.out.take(w.batch[:0], everything)
		if closed && !last && len(w.batch) > 0 {
			last = true
			_ = c.conn.SetWriteDeadline(time.Now().Add(lastWriteTimeout))
		}
		if _, err := writeTogether(w, w.room[:0], w.batch); err != nil {
			c.end(err)
			c.hangUp(false)
			return
		}
		more, closed := c.out.leave(true)
		if !more && closed {
			c.hangUp(true)
		}
		if !more {
			return
		}
	}
}

// Write writes in pieces, to keep Pending exact, and calls Drained.
func (w *streamWriter) Write(b []byte) (written int, err error) {
	for written < len(b) && err == nil {
		var n int
		n, err = w.stream.conn.Write(b[written:min(len(b), written+largestWrite)])
		written += n
		w.stream.sent(n)
	}
	return written, err
}

// sent is called by the writer only.
func (s *stream) sent(n int) {
	if s.out.sent(n) && s.events != nil {
		s.turn.Lock()
		defer s.turn.Unlock()
		s.events.Drained()
	}
}

// hangUp closes the connection. If all bytes were sent, TLS first sends the peer a goodbye, which must not take long
// either.
func (s *stream) hangUp(politely bool) {
	if politely && s.conn != s.wire {
		impatient := time.AfterFunc(lastWriteTimeout, func() { _ = s.wire.Close() })
		_ = s.conn.Close()
		impatient.Stop()
	}
	_ = s.wire.Close()
	close(s.hungUp)
}
