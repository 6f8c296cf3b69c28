package process

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/process"
)

// crowd is a running round of n members. Its commands are not checked against the caller's contract, so that their cost
// is unaffected.
type crowd struct {
	*Process
	tb      testing.TB
	list    []*Member
	now     uint64
	order   uint64
	touched int
	out     Effects
}

func (c *crowd) NextOrder() uint64 { c.order++; return c.order }
func (c *crowd) touch(*Member)     { c.touched++ }
func (c *crowd) MayGrow(int) bool  { return true }

func (c *crowd) at() At {
	c.out.Reset()
	c.touched = 0
	return At{Now: c.now, Revision: c.order, Caller: c, Out: &c.out}
}

func newCrowd(tb testing.TB, n int) *crowd {
	c := &crowd{tb: tb, now: 1000}
	c.Process, _ = New(c.at(), defaultSpec(), kind.ChangeInfo{Author: "op", Reason: "crowd"})
	for k := range n {
		m := &Member{ID: c.NextOrder()}
		c.Process.Join(c.at(), m, kind.Joining{Name: fmt.Sprintf("worker-%05d.example.org", k), Candidate: true})
		c.list = append(c.list, m)
	}
	c.turn()
	return c
}

// turn opens the next epoch and prepares everyone.
func (c *crowd) turn() {
	c.now += 10_000
	c.Process.Due(c.at())
	for _, m := range c.list {
		if a := c.Prepared(c.at(), m, c.Epoch()); a.Status != protocol.StatusSuccess {
			c.tb.Fatal(a.Text)
		}
	}
}

func (c *crowd) broadcast(payload []byte) Answer {
	return c.Send(c.at(), c.list[0], Request{Epoch: c.Epoch(), Audience: kind.ToAll, Payload: payload})
}

func (c *crowd) reply(m *Member, exchange uint64, data []byte) Answer {
	return c.Reply(c.at(), m, answering{Epoch: c.Epoch(), Exchange: exchange, Data: data})
}

func (c *crowd) ackAll() {
	for _, m := range c.list {
		c.Ack(c.at(), m, m.lastSeq)
	}
}

// TestNoCommandTouchesMoreThanAllMembers: with the maximum number of members, no command touches more links than
// permitted, and commands not for all members touch few.
func TestNoCommandTouchesMoreThanAllMembers(t *testing.T) {
	const mostTouched = 2048 // shard.MaxTouched
	c := newCrowd(t, kind.MaxMembers)
	distinct := func() int {
		seen := make(map[*Member]bool)
		for _, m := range c.out.Inbox {
			seen[m] = true
		}
		return len(seen)
	}
	few := func(what string, a Answer) {
		t.Helper()
		if a.Status != protocol.StatusSuccess || c.touched > 3 {
			t.Errorf("%s touches %d members: %v", what, c.touched, a)
		}
	}
	if a := c.Process.Join(c.at(), &Member{ID: c.NextOrder()}, kind.Joining{Name: "one more"}); a.Status !=
		protocol.StatusPreconditionFailed {
		t.Errorf("more members than may be: %v", a)
	}
	a := c.broadcast([]byte("x"))
	if n := distinct(); n != kind.MaxMembers || c.touched > mostTouched {
		t.Errorf("a broadcast is for %d members, and touches %d", n, c.touched)
	}
	few("a reply", c.reply(c.list[7], a.Exchange, nil))
	few("an ack", c.Ack(c.at(), c.list[7], c.list[7].lastSeq))
	c.Complete(c.at(), c.list[0], c.Epoch(), nil)
	if n := distinct(); n != kind.MaxMembers || c.touched > 2*kind.MaxMembers {
		t.Errorf("a completion is for %d members, and touches %d times", n, c.touched)
	}
	few("a restart", c.Act(c.at(), kind.Action{Kind: kind.ActionRestart}))
	few("a kick", c.Act(c.at(), kind.Action{Kind: kind.ActionEvict, MemberID: c.list[5].ID}))
	few("leaving", c.Process.Leave(c.at(), c.list[6]))
	c.now += 10_000
	c.Process.Due(c.at())
	if n := distinct(); n != kind.MaxMembers-2 || n > mostTouched {
		t.Errorf("an epoch opens for %d members", n)
	}
}

// TestQuotasAreAskedBeforeAnythingChanges: without capacity no session joins, sends or completes; started exchanges
// continue. With capacity the caller is asked for at least the command's growth.
func TestQuotasAreAskedBeforeAnythingChanges(t *testing.T) {
	s := play(t, three+`
		send a b first`)
	a := s.member("a")
	request := Request{Epoch: s.Epoch(), Audience: kind.ToAll, Payload: []byte("payload")}
	commands := map[string]func(at At) Answer{
		"send":     func(at At) Answer { return s.Send(at, a, request) },
		"complete": func(at At) Answer { return s.Complete(at, a, s.Epoch(), []byte("result")) },
		"attributes": func(at At) Answer {
			return s.Process.Join(at, a, kind.Joining{Name: "a", Attributes: []byte("long")})
		},
		"join": func(at At) Answer { return s.Process.Join(at, &Member{ID: 77}, kind.Joining{Name: "d"}) },
	}
	s.full = true
	for name, command := range commands {
		if got, err := s.bed.do(command); err != nil || got.Status != protocol.StatusQuotaExceeded || s.asked == 0 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	s.run([]string{"reply", "b", "1", "answer"})
	s.run([]string{"ack", "b"})
	s.full = false
	s.run([]string{"ack", "a"})
	for _, name := range []string{"attributes", "complete"} {
		got, err := s.bed.do(commands[name])
		if err != nil || got.Status != protocol.StatusSuccess || s.out.Grown > s.asked {
			t.Errorf("%s grows by %d, and asked for %d: %v, %v", name, s.out.Grown, s.asked, got, err)
		}
	}
	s = play(t, three)
	a = s.member("a")
	request.Epoch = s.Epoch()
	got, err := s.bed.do(commands["send"])
	if err != nil || got.Status != protocol.StatusSuccess || s.out.Grown > s.asked {
		t.Errorf("a request grows by %d, and asked for %d: %v, %v", s.out.Grown, s.asked, got, err)
	}
}

// TestAnAckMayComeWithAnotherCommand: two calls with the same At are one command for the caller.
func TestAnAckMayComeWithAnotherCommand(t *testing.T) {
	s := play(t, three+`
		send a b work`)
	b := s.member("b")
	s.do(func(at At) Answer {
		a := s.Reply(at, b, answering{Epoch: s.Epoch(), Exchange: 1, Data: []byte("done")})
		if ack := s.Ack(at, b, b.LastSeq()); ack.Status != protocol.StatusSuccess {
			return ack
		}
		return a
	})
	if b.Acked() != b.LastSeq() || len(s.out.Inbox) != 1 || s.out.Inbox[0] != s.member("a") {
		t.Errorf("%s, and %d members have something new", b.Describe(), len(s.out.Inbox))
	}
	s.run([]string{"inbox", "a", "end:1#1=all[b=done]"})
}

// TestABroadcastHasItsPayloadOnce: a longer payload does not enlarge inboxes, member records and quotas more than once.
func TestABroadcastHasItsPayloadOnce(t *testing.T) {
	c := newCrowd(t, 100)
	c.ackAll()
	payload := bytes.Repeat([]byte("p"), kind.MaxPayload)
	before := c.Process.Size()
	c.broadcast(payload)
	if grown := c.Process.Size() - before; grown > kind.MaxPayload+1024 || c.out.Grown != grown+100*itemBytes {
		t.Errorf("the process grows by %d, all by %d", grown, c.out.Grown)
	}
	if n := len(c.list[9].Save(nil)); n > 200 {
		t.Errorf("a member is saved in %d bytes", n)
	}
	if n := len(c.Save(nil)); n > kind.MaxPayload+8192 {
		t.Errorf("the process is saved in %d bytes", n)
	}
	one, two := c.Inbox(c.list[1], 0, 1<<30, nil), c.Inbox(c.list[2], 0, 1<<30, nil)
	if &one[0].Payload[0] != &two[0].Payload[0] || &one[0].Payload[0] == &payload[0] {
		t.Error("two members have payloads of their own, or that of the command")
	}
}

// TestAReplyThatHasNoRoomIsAFailure: the round continues, and its sender knows.
func TestAReplyThatHasNoRoomIsAFailure(t *testing.T) {
	c := newCrowd(t, 200)
	c.ackAll()
	long := bytes.Repeat([]byte("r"), kind.MaxPayload)
	exchange := c.broadcast(nil).Exchange
	lost := 0
	for _, m := range c.list {
		switch a := c.reply(m, exchange, long); a.Status {
		case protocol.StatusPreconditionFailed:
			lost++
		case protocol.StatusSuccess:
		default:
			t.Fatal(a)
		}
	}
	if lost == 0 || c.held > maxHeld+200*128 {
		t.Errorf("%d replies are lost, %d bytes are held", lost, c.held)
	}
	failed, parts := 0, 0
	for after := uint64(0); ; {
		page := c.Inbox(c.list[0], after, 1<<20, nil)
		if len(page) == 0 {
			break
		}
		for _, d := range page {
			for _, r := range d.Replies {
				if r.Failed && strings.Contains(string(r.Data), "no room") {
					failed++
				}
			}
			if d.Kind == kind.ItemEnd {
				parts++
			}
			after = d.Seq
		}
	}
	if failed != lost || parts < 60 {
		t.Errorf("%d of %d are failures for the sender, in %d parts", failed, lost, parts)
	}
	if a := c.broadcast(long); a.Status != protocol.StatusOverloaded {
		t.Errorf("a process that is full takes a request: %v", a)
	}
	c.ackAll()
	if a := c.broadcast(long); a.Status != protocol.StatusSuccess || c.held > kind.MaxPayload+8192 {
		t.Errorf("it is full still, with %d bytes: %v", c.held, a)
	}
}

// TestRequestsAreBounded: the total waiting in all inboxes.
func TestRequestsAreBounded(t *testing.T) {
	c := newCrowd(t, kind.MaxMembers)
	c.ackAll()
	for n := range maxRequests / kind.MaxMembers {
		if a := c.broadcast(nil); a.Status != protocol.StatusSuccess {
			t.Fatalf("broadcast %d: %v", n, a)
		}
	}
	if a := c.broadcast(nil); a.Status != protocol.StatusOverloaded || c.touched > 0 {
		t.Errorf("one more: %v", a)
	}
	c.Ack(c.at(), c.list[3], c.list[3].lastSeq)
	to := Request{Epoch: c.Epoch(), To: []uint64{c.list[3].ID}}
	if a := c.Send(c.at(), c.list[3], to); a.Status != protocol.StatusSuccess {
		t.Errorf("a request where there is room: %v", a)
	}
	c.Act(c.at(), kind.Action{Kind: kind.ActionRestart})
	c.turn()
	if c.requests != 0 {
		t.Errorf("%d requests are left", c.requests)
	}
}

// TestExchangesAreBounded: per member, and in total.
func TestExchangesAreBounded(t *testing.T) {
	c := newCrowd(t, 20)
	c.ackAll()
	sent := 0
	for k, m := range c.list {
		to := c.list[(k+1)%len(c.list)]
		for n := range maxOpen + 1 {
			a := c.Send(c.at(), m, Request{Epoch: c.Epoch(), To: []uint64{to.ID}})
			if n < maxOpen && sent < maxExchanges && a.Status != protocol.StatusSuccess ||
				(n == maxOpen || sent == maxExchanges) && a.Status != protocol.StatusOverloaded {
				t.Fatalf("exchange %d of member %d, %d of all: %v", n, k, sent, a)
			}
			if a.Status == protocol.StatusSuccess {
				sent++
			}
		}
	}
	if sent != maxExchanges {
		t.Errorf("%d exchanges are open", sent)
	}
	c.Act(c.at(), kind.Action{Kind: kind.ActionRestart})
	c.turn()
	c.ackAll()
	if len(c.exchanges) != 0 || c.held != 0 {
		t.Errorf("%d exchanges are left, with %d bytes", len(c.exchanges), c.held)
	}
}
