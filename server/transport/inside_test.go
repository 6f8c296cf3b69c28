package transport

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/server/transport/conntest"
)

// memoryPair is both ends of an in-memory connection inside a bubble.
type memoryPair struct {
	*testing.T
	client *conntest.Conn
	server Conn
	closed chan error

	mu    sync.Mutex
	bytes []byte
}

// heard is the data received by the server.
func (p *memoryPair) heard() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.bytes)
}

// inBubble runs test over a connection in virtual time, which advances whenever nothing else can happen.
func inBubble(t *testing.T, buffer int, test func(p *memoryPair)) {
	synctest.Test(t, func(t *testing.T) {
		p := &memoryPair{T: t, closed: make(chan error, 1)}
		opened := make(chan Conn, 1)
		m := NewInside(handlerFunc(func(c Conn) Events {
			opened <- c
			return &pairEvents{memoryPair: p, conn: c}
		}), conntest.Buffered(buffer))
		conn, err := m.Dial()
		if err != nil {
			t.Fatal(err)
		}
		p.client, p.server = conn.(*conntest.Conn), <-opened
		test(p)
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		if _, err := m.Dial(); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dialled after Close: %v", err)
		}
	})
}

type pairEvents struct {
	*memoryPair
	conn Conn
}

func (e *pairEvents) Data(b []byte) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.bytes = append(e.bytes, b...)
	return len(b)
}

func (e *pairEvents) Drained()         {}
func (e *pairEvents) Closed(err error) { e.closed <- err }

func (p *memoryPair) write(text string) {
	p.Helper()
	if _, err := p.client.Write([]byte(text)); err != nil {
		p.Fatal(err)
	}
}

// read is the data that the client reads at once.
func (p *memoryPair) read() string {
	p.Helper()
	room := make([]byte, 1000)
	n, err := p.client.Read(room)
	if err != nil {
		p.Fatal(err)
	}
	return string(room[:n])
}

func TestMemoryDelay(t *testing.T) {
	inBubble(t, 0, func(p *memoryPair) {
		began := time.Now()
		p.client.Delay(conntest.ToServer, 30*time.Millisecond)
		p.write("slow ")
		p.client.Delay(conntest.ToServer, 0)
		p.write("and not overtaken")
		time.Sleep(29 * time.Millisecond)
		synctest.Wait()
		if p.heard() != "" {
			p.Errorf("heard %q after %v", p.heard(), time.Since(began))
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if p.heard() != "slow and not overtaken" {
			p.Errorf("heard %q after %v", p.heard(), time.Since(began))
		}

		p.client.Delay(conntest.ToClient, time.Second)
		began = time.Now()
		p.server.Send(pooled([]byte("answer")))
		if got := p.read(); got != "answer" || time.Since(began) != time.Second {
			p.Errorf("read %q after %v", got, time.Since(began))
		}
	})
}

func TestMemoryCut(t *testing.T) {
	inBubble(t, 0, func(p *memoryPair) {
		p.client.Pause(conntest.BothWays)
		p.write("lost")
		p.client.Cut()
		if err := <-p.closed; !errors.Is(err, conntest.ErrCut) || !errors.Is(err, syscall.ECONNRESET) {
			p.Errorf("the server's side gets %v", err)
		}
		if _, err := p.client.Read(make([]byte, 1)); !errors.Is(err, conntest.ErrCut) {
			p.Errorf("the client reads %v", err)
		}
		if _, err := p.client.Write(make([]byte, 1)); !errors.Is(err, conntest.ErrCut) {
			p.Errorf("the client writes %v", err)
		}
		if p.heard() != "" {
			p.Errorf("heard %q", p.heard())
		}
	})
}

func TestMemoryLoseGivesNoNotice(t *testing.T) {
	inBubble(t, 100, func(p *memoryPair) {
		p.write("arrives")
		synctest.Wait()
		p.client.Lose(conntest.BothWays)
		p.write("does not")
		p.server.Send(pooled(make([]byte, 1000)))
		_ = p.client.SetReadDeadline(time.Now().Add(time.Hour))
		if _, err := p.client.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			p.Errorf("the client reads %v", err)
		}
		if n := p.server.Pending(); n != 1000 {
			// The whole is in one pending write; the buffer is full after 100.
			p.Errorf("Pending is %d", n)
		}
		_ = p.client.Close()
		time.Sleep(time.Hour)
		select {
		case err := <-p.closed:
			p.Errorf("the server's side was told: %v", err)
		default:
		}
		if p.heard() != "arrives" {
			p.Errorf("heard %q", p.heard())
		}
	})
}

func TestMemoryPauseAndResume(t *testing.T) {
	inBubble(t, 0, func(p *memoryPair) {
		p.client.Pause(conntest.ToServer)
		p.write("held")
		time.Sleep(time.Hour)
		synctest.Wait()
		if p.heard() != "" {
			p.Errorf("heard %q", p.heard())
		}
		p.server.Send(pooled([]byte("free")))
		if got := p.read(); got != "free" {
			p.Errorf("read %q the other way", got)
		}
		p.client.Resume(conntest.ToServer)
		synctest.Wait()
		if p.heard() != "held" {
			p.Errorf("heard %q", p.heard())
		}
	})
}

func TestMemoryThrottle(t *testing.T) {
	inBubble(t, 1000, func(p *memoryPair) {
		began := time.Now()
		p.client.Throttle(conntest.ToClient, 10_000)
		p.server.Send(pooled(make([]byte, 20_000)))
		if _, err := io.ReadFull(p.client, make([]byte, 20_000)); err != nil {
			p.Fatal(err)
		}
		// The first piece arrives at once.
		if took := time.Since(began); took < 1900*time.Millisecond || took > 2*time.Second {
			p.Errorf("20,000 bytes at 10,000 a second took %v", took)
		}
	})
}

func TestMemoryDeadlines(t *testing.T) {
	inBubble(t, 100, func(p *memoryPair) {
		began := time.Now()
		_ = p.client.SetReadDeadline(began.Add(time.Second))
		if _, err := p.client.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) ||
			time.Since(began) != time.Second {
			p.Errorf("read: %v after %v", err, time.Since(began))
		}
		p.client.Pause(conntest.ToServer)
		_ = p.client.SetWriteDeadline(began.Add(3 * time.Second))
		n, err := p.client.Write(make([]byte, 1000))
		if n != 100 || !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != 3*time.Second {
			p.Errorf("write: %d, %v after %v", n, err, time.Since(began))
		}
		_ = p.client.SetDeadline(time.Time{})
		p.client.Resume(conntest.ToServer)
		p.write("works again")
		p.server.Send(pooled([]byte("indeed")))
		if got := p.read(); got != "indeed" {
			p.Errorf("read %q", got)
		}
		// Moving a deadline ends the waiting read.
		go func() {
			time.Sleep(time.Minute)
			_ = p.client.SetReadDeadline(time.Now())
		}()
		began = time.Now()
		if _, err := p.client.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) ||
			time.Since(began) != time.Minute {
			p.Errorf("read: %v after %v", err, time.Since(began))
		}
	})
}

func TestMemoryCloseOfTheClient(t *testing.T) {
	inBubble(t, 0, func(p *memoryPair) {
		p.client.Delay(conntest.ToServer, time.Second)
		p.write("last words")
		began := time.Now()
		_ = p.client.Close()
		if err := <-p.closed; !errors.Is(err, io.EOF) || time.Since(began) != time.Second {
			p.Errorf("Closed says %v after %v", err, time.Since(began))
		}
		if p.heard() != "last words" {
			p.Errorf("heard %q", p.heard())
		}
	})
}
