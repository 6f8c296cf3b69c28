package transport

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// ErrCut is the error of both ends of an in-memory connection after MemoryConn.Cut. ErrCut is a connection reset.
var ErrCut error = cutError{}

type cutError struct{}

func (cutError) Error() string { return "in-memory connection cut" }
func (cutError) Unwrap() error { return syscall.ECONNRESET }

// memoryPipe is one direction of an in-memory connection: the bytes written by one end, in the order of reading at
// the opposite end.
type memoryPipe struct {
	mu      sync.Mutex
	changed *sync.Cond // whatever a read or a write may be waiting for

	chunks   []memoryChunk // in flight
	buffered int           // bytes of chunks, and lost bytes
	limit    int           // beyond limit writes wait; 0 is no limit

	delay  time.Duration
	rate   int // bytes a second for reading; 0 is no limit
	next   time.Time
	paused bool
	lost   bool // nothing arrives any more, without notice
	broken error

	readClosed, writeClosed     bool
	readDeadline, writeDeadline time.Time
	alarm, readAlarm            *time.Timer
	writeAlarm                  *time.Timer
}

// memoryChunk is bytes that may be read from some time on, or the end of the stream.
type memoryChunk struct {
	data []byte
	due  time.Time
	end  bool
}

func newMemoryPipe(limit int) *memoryPipe {
	p := &memoryPipe{limit: limit}
	p.changed = sync.NewCond(&p.mu)
	return p
}

// set changes something about the pipe.
func (p *memoryPipe) set(change func()) {
	p.mu.Lock()
	change()
	p.changed.Broadcast()
	p.mu.Unlock()
}

func (p *memoryPipe) read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.readClosed:
			return 0, net.ErrClosed
		case p.broken != nil:
			return 0, p.broken
		case expired(p.readDeadline):
			return 0, os.ErrDeadlineExceeded
		case len(b) == 0:
			return 0, nil
		}
		if n, end := p.arrive(b); end {
			return 0, io.EOF
		} else if n > 0 {
			p.changed.Broadcast()
			return n, nil
		}
		p.changed.Wait()
	}
}

// arrive moves the readable bytes to b. If bytes may be read later, arrive sets the alarm.
func (p *memoryPipe) arrive(b []byte) (n int, end bool) {
	if p.paused || p.lost {
		return 0, false
	}
	if p.rate > 0 {
		if p.wait(p.next) {
			return 0, false
		}
		b = b[:min(len(b), max(p.rate/throttleSteps, 1))]
	}
	for n < len(b) && len(p.chunks) > 0 {
		chunk := &p.chunks[0]
		if p.wait(chunk.due) {
			break
		}
		if chunk.end {
			end = n == 0 // the end stays, for the next read
			break
		}
		taken := copy(b[n:], chunk.data)
		n += taken
		chunk.data = chunk.data[taken:]
		if len(chunk.data) == 0 {
			*chunk = memoryChunk{}
			p.chunks = p.chunks[1:]
		}
	}
	p.buffered -= n
	if p.rate > 0 && n > 0 {
		p.next = time.Now().Add(time.Duration(n) * time.Second / time.Duration(p.rate))
	}
	return n, end
}

// throttleSteps is in how many pieces a second a throttled pipe delivers.
const throttleSteps = 100

// wait reports whether due is yet to come, and has the pipe looked at when due has come.
func (p *memoryPipe) wait(due time.Time) bool {
	if due.IsZero() {
		return false
	}
	left := time.Until(due)
	if left <= 0 {
		return false
	}
	p.lookAgain(&p.alarm, left)
	return true
}

func (p *memoryPipe) write(b []byte) (written int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.writeClosed:
			return written, net.ErrClosed
		case p.broken != nil:
			return written, p.broken
		case p.readClosed && !p.lost:
			return written, syscall.EPIPE
		case expired(p.writeDeadline):
			return written, os.ErrDeadlineExceeded
		case written == len(b):
			return written, nil
		}
		free := len(b) - written
		if p.limit > 0 {
			free = min(free, p.limit-p.buffered)
		}
		if free > 0 {
			p.append(b[written : written+free])
			written += free
			p.changed.Broadcast()
			continue
		}
		p.changed.Wait()
	}
}

// append puts bytes in flight.
func (p *memoryPipe) append(b []byte) {
	p.buffered += len(b)
	if p.lost {
		return
	}
	due := p.due()
	if last := len(p.chunks) - 1; last >= 0 && p.chunks[last].due.Equal(due) {
		p.chunks[last].data = append(p.chunks[last].data, b...)
		return
	}
	p.chunks = append(p.chunks, memoryChunk{data: append([]byte(nil), b...), due: due})
}

// due is when bytes written now arrive: never before bytes written earlier.
func (p *memoryPipe) due() time.Time {
	var due time.Time
	if p.delay > 0 {
		due = time.Now().Add(p.delay)
	}
	if last := len(p.chunks) - 1; last >= 0 && p.chunks[last].due.After(due) {
		due = p.chunks[last].due
	}
	return due
}

// closeWrite ends the stream after the bytes in flight.
func (p *memoryPipe) closeWrite() {
	p.set(func() {
		if !p.writeClosed {
			p.writeClosed = true
			p.chunks = append(p.chunks, memoryChunk{due: p.due(), end: true})
		}
		stop(p.writeAlarm)
	})
}

// closeRead ends reading, as the reader's end was closed.
func (p *memoryPipe) closeRead() {
	p.set(func() {
		p.readClosed, p.chunks = true, nil
		stop(p.alarm)
		stop(p.readAlarm)
	})
}

func (p *memoryPipe) setReadDeadline(t time.Time) {
	p.set(func() { p.readDeadline = t; p.ring(&p.readAlarm, t) })
}

func (p *memoryPipe) setWriteDeadline(t time.Time) {
	p.set(func() { p.writeDeadline = t; p.ring(&p.writeAlarm, t) })
}

// ring has all waiting reads and writes look again at time t; never if t is zero.
func (p *memoryPipe) ring(alarm **time.Timer, t time.Time) {
	stop(*alarm)
	if !t.IsZero() {
		p.lookAgain(alarm, time.Until(t))
	}
}

func (p *memoryPipe) lookAgain(alarm **time.Timer, after time.Duration) {
	if *alarm == nil {
		*alarm = time.AfterFunc(after, func() { p.set(func() {}) })
	} else {
		(*alarm).Reset(after)
	}
}

func stop(alarm *time.Timer) {
	if alarm != nil {
		alarm.Stop()
	}
}

func expired(deadline time.Time) bool {
	return !deadline.IsZero() && !time.Now().Before(deadline)
}
