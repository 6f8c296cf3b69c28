package process

import (
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/process"
)

// decisions are the decisions in DESIGN.md, section 9, by number.
var decisions = []struct{ name, text string }{
	{"1 a round goes on while a member that joined waits for its epoch", three + `
		join d
		send a others x
		reply b 1 y
		reply c 1 z
		complete a nearly over
		result 1 nearly over
		at 202
		epoch 2
		inbox c complete:1=nearly over prepare:2(a,4)`},
	{"1 and is over when a member of it has left", three + `
		leave c
		state forming
		send a b x
		refused FENCED
		complete a x
		refused FENCED
		fail a x
		refused FENCED
		prepared b
		refused FENCED`},
	{"2 an exchange that waits for who has left takes other replies, and is cancelled", three + `
		send a others x
		leave c
		reply b 1 y
		inbox a -
		at 300
		inbox a end:1#1=cancelled[b=y]-gone cancel:1 prepare:2(a,2)
		reply b 1 y epoch=1
		refused FENCED`},
	{"2 one that does not wait for it ends with all", three + `
		send a b x
		leave c
		reply b 1 y
		inbox a end:1#1=all[b=y]`},
	{"3 an exchange whose sender has left leads nowhere", three + `
		send b others x
		leave b
		inbox a request:1#1<gone=x
		reply a 1 y
		ack a
		reload
		reply c 1 z
		ack c
		at 300
		inbox a cancel:1 prepare:2(a,2)
		inbox c cancel:1 prepare:2(a,2)`},
	{"4 a member that joins and leaves within the delay changes nothing", three + `
		join d
		leave d
		at 1000
		epoch 1
		state running
		inbox b -
		send a all x`},
	{"4 neither where the round is not prepared yet", `
		join a
		at 101
		join b
		leave b
		at 1000
		epoch 1
		state preparing
		why awaiting-prepare epoch 2 waits for 1 of 1 members to be prepared: a (1, 1 not acknowledged)`},
	{"4 but another member in the place of one is another view", three + `
		complete a x
		leave c
		join d
		state complete
		at 300
		epoch 2`},
	{"5 an epoch closes where too few members are left", `
		spec min=3` + three + `
		send a others x
		leave c
		at 1000
		epoch 1
		state forming
		inbox a end:1#1=cancelled[]-b,gone cancel:1
		why too-few-members 2 members have joined, but 3 are required
		join c
		at 1101
		epoch 2`},
	{"5 or none that coordinates", `
		join a
		join b observer
		at 101
		round
		leave a
		at 300
		inbox b cancel:1
		why no-candidate
		epoch 1
		state forming
		alter min=2
		join b
		at 500
		epoch 1
		alter min=1
		at 700
		epoch 2`},
	{"7 no request is sent before all are prepared", `
		join a
		join b
		at 101
		prepared a
		send a b x
		refused PRECONDITION_FAILED 1 of 2
		complete a x
		refused PRECONDITION_FAILED
		prepared b
		send a b x
		inbox b request:1#1<a=x`},
	{"8 a member that has joined is of no epoch until the next", three + `
		join d
		send d a x
		refused FENCED
		send a d x
		refused NOT_FOUND no member 5
		send a all x
		inbox d -
		reply d 1 y
		refused FENCED
		prepared d
		refused FENCED
		completed d
		refused FENCED`},
	{"9 requests before a completion are delivered", three + `
		send a b x
		complete a y
		inbox a end:1#1=cancelled[]-b complete:1=y
		inbox b request:1#1<a=x complete:1=y
		reply b 1 z
		refused FENCED
		send b a x
		refused FENCED complete
		completed b
		inbox b -`},
	{"10 a completion is handled after its epoch", three + `
		complete a x
		restart more
		at 300
		inbox b complete:1=x prepare:2(a,3)
		reload
		completed b epoch=1
		inbox b prepare:2(a,3)
		ack c
		completed c epoch=1
		completed c epoch=1
		completed a epoch=2
		refused FENCED`},
	{"11 the inbox of a member that is away does not grow", `
		join a
		join b
		at 101
		restart 1
		at 300
		restart 2
		at 500
		restart 3
		at 700
		epoch 4
		inbox b cancel:3 prepare:4(a,2)
		reload
		leave a
		at 1000
		inbox b cancel:4 prepare:5(b,1)`},
	{"12 a member that cannot prepare gives the round up", `
		join a
		join b
		at 101
		prepared a
		fail a x
		refused PRECONDITION_FAILED
		fail b no disk
		state forming
		why opening the next epoch opens in 2s; fail by b: no disk
		at 2101
		epoch 1
		at 2102
		epoch 2`},
	{"12 and so does a coordinator that cannot go on", three + `
		fail b x
		refused PRECONDITION_FAILED a (1) coordinates
		fail a gave up
		at 2101
		epoch 1
		at 2102
		epoch 2
		inbox b cancel:1 prepare:2(a,3)`},
	{"13 two members of one name are two", `
		join a worker
		join b worker
		join a another
		refused PRECONDITION_FAILED joined as worker
		at 101
		inbox b prepare:1(worker,2)`},
	{"14 the candidate that joined first coordinates, also when another one becomes a candidate", `
		join a observer
		join b
		at 101
		join a
		at 1000
		epoch 1
		coordinator b
		restart now
		at 1200
		coordinator a`},
	{"16 where all members are gone nothing but results stays", three + `
		complete a x
		restart y
		at 300
		round
		send a all y
		leave a
		leave b
		leave c
		at 600
		state forming
		why no-members
		results 1
		join d
		at 800
		inbox d prepare:3(d,1)`},
}

func TestDecisions(t *testing.T) {
	for _, d := range decisions {
		t.Run(d.name, func(t *testing.T) { play(t, d.text) })
	}
}

// TestDecision6EpochsAreNeverGivenTwice: a process recreated in the same shard starts above its predecessor.
func TestDecision6EpochsAreNeverGivenTwice(t *testing.T) {
	s := play(t, three)
	order, last := s.order, s.Epoch()
	a := s.Deletable(false)
	if a.Status != protocol.StatusPreconditionFailed || !strings.Contains(a.Text, "3 members") {
		t.Errorf("%+v", a)
	}
	if a := s.Deletable(true); a.Status != protocol.StatusSuccess {
		t.Errorf("%+v", a)
	}
	again, _ := newBed(defaultSpec())
	again.order = order
	if _, err := again.join("a", kind.Joining{Candidate: true}); err != nil {
		t.Fatal(err)
	}
	if err := again.play(5000); err != nil || again.Epoch() <= last {
		t.Errorf("epoch %d after %d: %v", again.Epoch(), last, err)
	}
	if a := again.Deletable(false); a.Status != protocol.StatusPreconditionFailed {
		t.Errorf("%+v", a)
	}
	if _, err := again.leave("a"); err != nil || again.Deletable(false).Status != protocol.StatusSuccess {
		t.Errorf("%v: a process without members cannot be deleted", err)
	}
}

// TestDecision15EndsHaveParts: long replies are split into parts, an ack may come between them, and an inbox page has
// the requested size.
func TestDecision15EndsHaveParts(t *testing.T) {
	s := play(t, three+`
		send a all x`)
	a := s.member("a")
	long := strings.Repeat("r", kind.MaxPayload)
	for _, name := range []string{"a", "b", "c"} {
		s.run([]string{"reply", name, "1", long})
	}
	end := s.Inbox(a, 3, 1<<30, nil)
	if len(end) != 3 || end[0].Seq != 4 || end[2].Seq != 6 || end[0].Last || !end[2].Last {
		t.Fatalf("%d parts", len(end))
	}
	if len(end[1].Replies) != 1 || end[2].Replies[0].From != s.member("c").ID {
		t.Errorf("the parts have other replies")
	}
	if page := s.Inbox(a, 0, partBytes, nil); len(page) != 2 || page[1].Seq != 4 {
		t.Errorf("a page has %d items", len(page))
	}
	if page := s.Inbox(a, 4, 1, end[:1]); len(page) != 2 || page[1].Seq != 5 {
		t.Errorf("the smallest page has %d items", len(page)-1)
	}
	s.run([]string{"ack", "a", "5"})
	s.run([]string{"reload"})
	a = s.member("a")
	if rest := s.Inbox(a, a.acked, 1<<30, nil); len(rest) != 1 || rest[0].Seq != 6 || !rest[0].Last || a.open != 1 {
		t.Errorf("%d parts are left", len(rest))
	}
	s.run([]string{"ack", "a"})
	if s.member("a").open != 0 || len(s.exchanges) != 1 {
		t.Errorf("the exchange is forgotten, though others have its request: %d", len(s.exchanges))
	}
	s.run([]string{"ack", "b"})
	s.run([]string{"ack", "c"})
	if len(s.exchanges) != 0 || s.held != 0 {
		t.Errorf("%d exchanges are kept, with %d bytes", len(s.exchanges), s.held)
	}
}
