package raftlogtest

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// pair is a connection from a to b, seen from both ends.
func pair(t *testing.T, n *Network) (a, b net.Conn) {
	t.Helper()
	l := n.Listen("b")
	a, err := n.Dial("a")(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	if b, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return a, b
}

func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := c.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

// expect reads a text, and returns the time of its first byte.
func expect(t *testing.T, c net.Conn, text string) time.Time {
	t.Helper()
	b := make([]byte, len(text))
	if _, err := io.ReadFull(c, b); err != nil || string(b) != text {
		t.Fatalf("%q, %v", b, err)
	}
	return time.Now()
}

// TestMessagesTakeTheirTime: in order.
func TestMessagesTakeTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewNetwork()
		a, b := pair(t, n)
		began, delay := time.Now(), time.Second
		n.Delay(func(string, string) time.Duration { return delay })
		send(t, a, "one")
		delay = 0
		send(t, a, "two")
		if at := expect(t, b, "onetwo"); at != began.Add(time.Second) {
			t.Errorf("after %v", at.Sub(began))
		}
		send(t, b, "back")
		if at := expect(t, a, "back"); at != began.Add(time.Second) {
			t.Errorf("an answer after %v", at.Sub(began))
		}
	})
}

// TestACutHoldsBackOneWay: the opposite direction continues, and held data arrives later, even if its sender has ended.
func TestACutHoldsBackOneWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewNetwork()
		a, b := pair(t, n)
		n.Cut("a", "b", true)
		began := time.Now()
		send(t, a, "late")
		send(t, b, "at once")
		if at := expect(t, a, "at once"); at != began {
			t.Errorf("the other way takes %v", at.Sub(began))
		}
		n.End("a")
		if _, err := a.Write([]byte("more")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a process that has ended writes: %v", err)
		}
		time.AfterFunc(time.Minute, n.Heal)
		if at := expect(t, b, "late"); at != began.Add(time.Minute) {
			t.Errorf("after %v", at.Sub(began))
		}
		if _, err := b.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("then %v", err)
		}
		if _, err := b.Write([]byte("?")); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("nobody reads, and a write ends with %v", err)
		}
	})
}

// TestAConnectionThatLosesEverythingEnds: like a socket without acknowledgements.
func TestAConnectionThatLosesEverythingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewNetwork()
		a, _ := pair(t, n)
		n.Cut("a", "b", true)
		send(t, a, "lost")
		time.Sleep(lossTimeout)
		if _, err := a.Write([]byte("more")); !errors.Is(err, syscall.ETIMEDOUT) {
			t.Errorf("it ends with %v", err)
		}
	})
}

// TestAnEndedProcessReachesNoOther: neither can the ended process, nor one that dials it; the next process can.
func TestAnEndedProcessReachesNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewNetwork()
		n.Listen("b")
		before := n.Dial("a")
		n.End("a")
		n.Listen("a")
		if _, err := before(t.Context(), "b"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("the process of before: %v", err)
		}
		if _, err := n.Dial("a")(t.Context(), "b"); err != nil {
			t.Errorf("the next one: %v", err)
		}
		n.End("b")
		if _, err := n.Dial("a")(t.Context(), "b"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("nobody listens: %v", err)
		}
		n.Cut("b", "a", true)
		if _, err := n.Dial("a")(t.Context(), "b"); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("no answer passes: %v", err)
		}
	})
}

// TestDeadlinesOfConnections: for reads without data, and for writes without buffer space.
func TestDeadlinesOfConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewNetwork()
		a, b := pair(t, n)
		_ = a.SetDeadline(time.Now().Add(time.Second))
		if _, err := a.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a read: %v", err)
		}
		_ = a.SetDeadline(time.Now().Add(time.Second))
		send(t, a, string(make([]byte, pipeBytes)))
		if _, err := a.Write([]byte("more")); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a write: %v", err)
		}
		_ = a.SetDeadline(time.Time{})
		time.AfterFunc(time.Second, func() { _, _ = io.ReadFull(b, make([]byte, pipeBytes)) })
		send(t, a, "more")
		expect(t, b, "more")
	})
}
