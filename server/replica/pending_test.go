package replica

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/shard"
)

// propose proposes commands in one batch, and returns the last answer.
func propose(t *testing.T, r *Replica, commands ...shard.Command) shard.Effect {
	t.Helper()
	last := make(chan *shard.Effect, 1)
	for i := range commands {
		done := func(*shard.Effect, protocol.Status) {}
		if i == len(commands)-1 {
			done = func(e *shard.Effect, _ protocol.Status) {
				if e != nil {
					kept := *e
					e = &kept
				}
				last <- e
			}
		}
		if !r.Pipeline.Add(pipeline.Op{Done: done}, &commands[i]) {
			t.Fatal("the queue is full")
		}
	}
	r.Pipeline.Flush()
	e := <-last
	if e == nil {
		t.Fatal("a command was not applied")
	}
	return *e
}

// linked starts a session with so many ephemeral semaphores.
func linked(t *testing.T, r *Replica, links int) shard.SessionID {
	t.Helper()
	id := propose(t, r, shard.Command{Kind: shard.CmdSessionCreate, Node: 1, Timeout: 10_000,
		Slot: someSlot(r)}).Session
	const step = 8000
	for from := 0; from < links; from += step {
		var commands []shard.Command
		for i := from; i < min(links, from+step); i++ {
			commands = append(commands, acquireOf(id, i))
		}
		if e := propose(t, r, commands...); e.Status != protocol.StatusSuccess {
			t.Fatalf("%v after %d", e.Status, from)
		}
	}
	return id
}

func acquireOf(id shard.SessionID, i int) shard.Command {
	return shard.Command{
		Kind: shard.CmdAcquire, Node: 1, Session: id, Number: uint64(i) +
			1, Acked: uint64(i), Name: fmt.Appendf(nil, "e%d", i),
		Count: 1, Flags: shard.FlagEphemeral,
	}
}

// TestANewLeaderGoesOnWithWhatAnotherHasBegun: the leader that ended a session may be gone before all holdings are
// released. The next leader finds the remaining work in the state.
func TestANewLeaderGoesOnWithWhatAnotherHasBegun(t *testing.T) {
	h := standalone(t, 1)
	r := h.All()[0]
	id := linked(t, r, 3*shard.MaxWork)
	if e := propose(t, r, shard.Command{Kind: shard.CmdSessionEnd, Session: id}); e.Status != protocol.StatusSuccess {
		t.Fatal(e.Status)
	}
	if n := r.Machine.Pending(); n != 1 {
		t.Fatalf("%d things are pending", n)
	}
	term := r.leader.stage().term
	r.leader.end()
	r.leader.begin(term + 1)
	for late := time.Now().Add(patience); r.Machine.Count().Links > 0; {
		if time.Now().After(late) {
			t.Fatalf("%d links are left", r.Machine.Count().Links)
		}
		r.leader.run(h.Now())
		select {
		case <-h.wakes: // an applied batch left work
		case <-time.After(time.Millisecond):
		}
	}
	if r.Machine.Pending() != 0 || r.Machine.Count().Sessions != 0 {
		t.Fatalf("%d things are pending, %+v", r.Machine.Pending(), r.Machine.Count())
	}
}

func TestAnAcquireBeyondTheLimitOfLinksLearnsTheLimit(t *testing.T) {
	h := standalone(t, 1)
	r := h.All()[0]
	id := linked(t, r, shard.MaxLinksPerSession)
	command := acquireOf(id, shard.MaxLinksPerSession)
	e := propose(t, r, command)
	if says := r.results.refusal(&command, e.Status); e.Status != protocol.StatusPreconditionFailed ||
		!strings.Contains(says, "65536") {
		t.Fatalf("%v: %q", e.Status, says)
	}
}

// TestDeadRemoteSessionsThatAreTooMuchForOneCommandAreForgottenAtOnce: dead remote sessions hold more than one command
// releases; the rest is proposed immediately, without waiting for the next full check.
func TestDeadRemoteSessionsThatAreTooMuchForOneCommandAreForgottenAtOnce(t *testing.T) {
	h := standalone(t, 2)
	r := h.All()[0]
	var remotes []shard.SessionID
	var commands []shard.Command
	for n := range shard.MaxWork {
		id := shard.NewSessionID(shard.Slots-1, uint64(n)+1)
		remotes = append(remotes, id)
		for number := uint64(1); number <= 2; number++ {
			commands = append(commands, shard.Command{
				Kind: shard.CmdAcquire, Node: 1, Session: id, Number: number, Name: nameIn(r, int(number)), Count: 1,
				Timeout: shard.Forever, Flags: shard.FlagEphemeral,
			})
		}
	}
	propose(t, r, commands...)
	r.leader.forgetDead(remotes)
	// no event signals it
	for late := time.Now().Add(patience); r.Machine.Count().RemoteSessions > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("%d dead remote sessions are left", r.Machine.Count().RemoteSessions)
		}
	}
}
