package lease_test

import (
	"sync"
	"testing"
	"time"

	"github.com/signalbox/signalbox/server/lease"
)

// loop is a reader that a test stops and resumes.
type loop struct {
	last  time.Time
	stood time.Duration
}

func (l *loop) Latest() (last time.Time, stood time.Duration) { return l.last, l.stood }

// readBy returns a holder read by a loop that has just completed a turn.
func readBy(st *stage) (*lease.Holder, *loop) {
	l := &loop{last: st.now, stood: time.Hour}
	h := lease.NewHolder(st.now)
	h.Reader = l
	h.Heard(st.now)
	return h, l
}

func TestASessionDoesNotEndWhileItsReaderStandsStill(t *testing.T) {
	st := newStage(t)
	h, l := readBy(st)
	other := lease.NewHolder(st.now)
	st.started(1, 4*second, h)
	st.started(2, 2*second, other)
	st.pass(3 * second)
	l.last = st.now
	st.due(2) // the loop does not cover connections that it does not read
	st.pass(20 * second)
	st.due()

	l.last, l.stood = st.now, l.stood+20*second // silent for 3 s
	st.due()
	st.pass(5900 * time.Millisecond) // 1 s left, and 5 s to read messages received meanwhile
	l.last = st.now
	st.due() // the loop goes on, and has a backlog to read
	st.pass(200 * time.Millisecond)
	st.due() // no completed turn since the deadline
	l.last = st.now
	st.pass(100 * time.Millisecond)
	st.due(1)
}

func TestAReaderThatDoesNotComeBackKeepsNoSessionAlive(t *testing.T) {
	st := newStage(t)
	h, _ := readBy(st)
	st.started(1, 2*second, h)
	st.pass(30 * second)
	st.due()
	st.pass(time.Second)
	st.due(1)
}

func TestOfTimesThatComeOutOfOrderTheLatestCounts(t *testing.T) {
	st := newStage(t)
	h := lease.NewHolder(st.now)
	st.started(1, 2*second, h)
	late := st.now.Add(second)
	h.Heard(late)
	if !h.MayPong(st.now) {
		t.Fatal("no pong")
	}
	st.pass(2500 * time.Millisecond)
	st.due()
	st.pass(second)
	st.due(1)
}

func TestManyWhoSayWhenAHolderWasHeardNeverPutItBack(t *testing.T) {
	st := newStage(t)
	h := lease.NewHolder(st.now)
	st.started(1, 2*second, h)
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			for i := range 1000 {
				h.Heard(st.now.Add(time.Duration(i*4+g) * time.Millisecond))
			}
		})
	}
	group.Wait()
	st.pass(5900 * time.Millisecond) // active until 3.999 s from the start
	st.due()
	st.pass(200 * time.Millisecond)
	st.due(1)
}
