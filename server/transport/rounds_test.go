//go:build linux || darwin || freebsd

package transport

import (
	"net"
	"testing"
	"time"
)

// halting is a connection whose loop stalls while it receives bytes.
type halting struct {
	halted chan struct{}
	goOn   chan struct{}
}

func (h halting) Data(b []byte) int {
	h.halted <- struct{}{}
	<-h.goOn
	return len(b)
}
func (halting) Drained()     {}
func (halting) Closed(error) {}

func TestAnEventLoopTellsThatItStoodStill(t *testing.T) {
	conns := make(chan Conn, 1)
	h := halting{halted: make(chan struct{}), goOn: make(chan struct{})}
	l, err := ListenGnet("127.0.0.1:0", handlerFunc(func(c Conn) Events {
		conns <- c
		return h
	}), NetOptions{Loops: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	rounds := (<-conns).(interface{ Rounds() *Rounds }).Rounds()
	until := func(what string, ok func(last time.Time, stood time.Duration) bool) {
		t.Helper()
		poll(&fixture{T: t}, what, func() bool { return ok(rounds.Latest()) })
	}
	began := time.Now()
	until("an idle loop to come round", func(last time.Time, _ time.Duration) bool { return last.After(began) })

	if _, err := client.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	<-h.halted
	stopped := time.Now()
	time.Sleep(roundMissed + roundEvery) // long enough to count as a stall
	_, before := rounds.Latest()
	if last, _ := rounds.Latest(); last.After(stopped) {
		t.Fatal("a loop that stands still comes round")
	}
	h.goOn <- struct{}{}
	until("the loop to come round again", func(last time.Time, _ time.Duration) bool { return last.After(stopped) })
	if _, stood := rounds.Latest(); stood-before < roundMissed {
		t.Fatal("it does not tell that it stood still")
	}
}
