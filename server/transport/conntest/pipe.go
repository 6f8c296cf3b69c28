package conntest

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// ErrCut is the error of both ends of a connection after Conn.Cut. ErrCut is a connection reset.
var ErrCut error = cutError{}

type cutError struct{}

func (cutError) Error() string { return "in-memory connection cut" }
func (cutError) Unwrap() error { return syscall.ECONNRESET }

// pipe is one direction of a connection: the bytes written by one end, in the order of reading at the opposite end.
type pipe struct {
	mu      sync.Mutex
	changed *sync.Cond // whatever a read or a write may be waiting for

	chunks   []chunk // in flight
	buffered int     // bytes of chunks, and lost bytes
	limit    int     // beyond limit writes wait; 0 is no limit

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

// chunk is bytes readable from some time on, or the end of the stream.
type chunk struct {
	data []byte
	due  time.Time
	end  bool
}

func newPipe(limit int) *pipe {
	p := &pipe{limit: limit}
	p.changed = sync.NewCond(&p.mu)
	return p
}

// set changes something about the pipe.
func (p *pipe) set(change func()) {
	p.mu.Lock()
	change()
	p.changed.Broadcast()
	p.mu.Unlock()
}

func (p *pipe) read(b []byte) (int, error) {
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
func (p *pipe) arrive(b []byte) (n int, end bool) {
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
		first := &p.chunks[0]
		if p.wait(first.due) {
			break
		}
		if first.end {
			end = n == 0 // the end stays, for the next read
			break
		}
		taken := copy(b[n:], first.data)
		n += taken
		first.data = first.data[taken:]
		if len(first.data) == 0 {
			*first = chunk{}
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
func (p *pipe) wait(due time.Time) bool {
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

func (p *pipe) write(b []byte) (written int, err error) {
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
func (p *pipe) append(b []byte) {
	p.buffered += len(b)
	if p.lost {
		return
	}
	due := p.due()
	if last := len(p.chunks) - 1; last >= 0 && p.chunks[last].due.Equal(due) {
		p.chunks[last].data = append(p.chunks[last].data, b...)
		return
	}
	p.chunks = append(p.chunks, chunk{data: append([]byte(nil), b...), due: due})
}

// due is when bytes written now arrive: never before bytes written earlier.
func (p *pipe) due() time.Time {
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
func (p *pipe) closeWrite() {
	p.set(func() {
		if !p.writeClosed {
			p.writeClosed = true
			p.chunks = append(p.chunks, chunk{due: p.due(), end: true})
		}
		stop(p.writeAlarm)
	})
}

// closeRead ends reading, as the reader's end was closed.
func (p *pipe) closeRead() {
	p.set(func() {
		p.readClosed, p.chunks = true, nil
		stop(p.alarm)
		stop(p.readAlarm)
	})
}

func (p *pipe) setReadDeadline(t time.Time) {
	p.set(func() { p.readDeadline = t; p.ring(&p.readAlarm, t) })
}

func (p *pipe) setWriteDeadline(t time.Time) {
	p.set(func() { p.writeDeadline = t; p.ring(&p.writeAlarm, t) })
}

// ring has all waiting reads and writes look again at time t; never if t is zero.
func (p *pipe) ring(alarm **time.Timer, t time.Time) {
	stop(*alarm)
	if !t.IsZero() {
		p.lookAgain(alarm, time.Until(t))
	}
}

func (p *pipe) lookAgain(alarm **time.Timer, after time.Duration) {
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
