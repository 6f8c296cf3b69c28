package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

// back attaches the session over a new connection, like a client after a lost connection.
func (a *attendant) back(host shard.HostID) {
	a.b.t.Helper()
	a.s = a.b.connect(host)
	a.attaches++
	a.s.must(a.s.ask(&protocol.SessionAttach{SessionID: a.id, SessionSecret: []byte("key"),
		AttachSequence: a.attaches + 1}))
}

// cut loses the connection.
func (a *attendant) cut() {
	_ = a.s.conn.Close()
	a.inbox = nil
}

// TestAReplyThatComesAgainCountsOnce: the connection is cut after the handler returned, and before the reply was
// acknowledged.
func TestAReplyThatComesAgainCountsOnce(t *testing.T) {
	playProcesses(t, func(t *testing.T, b *processBed) {
		all := b.run("a", "b")
		a, other := all[0], all[1]
		request := a.sending("lock", other.member)
		a.s.say(request)
		i := other.next(kind.ItemRequest)
		reply := other.replying(i.Exchange, "locked")
		other.s.say(reply)
		end := a.next(kind.ItemEnd)
		other.cut()
		other.back(b.c.Leader(1))
		other.s.must(other.s.ask(reply))
		a.cut()
		a.back(b.c.Leader(1))
		want(t, "the exchange of the request that was sent again",
			a.s.must(a.s.ask(request)).ProcessSend.Exchange, end.Exchange)
		want(t, "replies", end.Replies.Len(), 1)
		for _, m := range all {
			opened := m.open(m.acked)
			want(t, "the last seq", opened.LastSeq, m.acked)
		}
		a.complete("done")
		for _, m := range all {
			m.finish() // comes next: nothing was sent or handled twice
		}
	})
}

// TestAnInboxIsOpenedAgainAfterACut: nothing is lost, and no received item is sent twice.
func TestAnInboxIsOpenedAgainAfterACut(t *testing.T) {
	playProcesses(t, func(t *testing.T, b *processBed) {
		all := b.run("a", "b")
		a, other := all[0], all[1]
		a.send("1", other.member)
		first := other.next(kind.ItemRequest)
		other.cut()
		a.send("2", other.member)
		a.send("3", other.member)
		other.back(b.c.Leader(1))
		opened := other.open(first.Seq)
		want(t, "the last seq", opened.LastSeq, first.Seq+2)
		if opened.Acked >= first.Seq {
			t.Errorf("acknowledged up to %d, which is more than was", opened.Acked)
		}
		for _, payload := range []string{"2", "3"} {
			want(t, "request", string(other.next(kind.ItemRequest).Payload), payload)
		}
		a.send("4", other.member)
		want(t, "request", string(other.next(kind.ItemRequest).Payload), "4")
		other.cut()
		other.back(b.c.Leader(1))
		other.open(0)
		for _, payload := range []string{"1", "2", "3", "4"} {
			got := string(other.next(kind.ItemRequest).Payload)
			want(t, "from the first that is not acknowledged", got, payload)
		}
	})
}

// TestARoundGoesOnUnderAnotherLeader: members open their inboxes again, and no epoch opens.
func TestARoundGoesOnUnderAnotherLeader(t *testing.T) {
	playProcesses(t, func(t *testing.T, b *processBed) {
		all := b.run("a", "b", "c")
		a := all[0]
		exchange := a.broadcast("lock")
		all[0].answer("0")
		leader := b.c.Leader(1)
		next := leader%3 + 1
		if err := b.c.Elect(1, next); err != nil {
			t.Fatal(err)
		}
		for b.c.Leader(1) != next {
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Second) // until it leads with all its tasks
		for _, m := range all {
			_ = m.s.conn.Close()
			had := m.acked
			m.back(next)
			m.open(had)
		}
		all[1].answer("1")
		all[2].answer("2")
		end := a.next(kind.ItemEnd)
		want(t, "the exchange", end.Exchange, exchange)
		want(t, "the replies", end.Replies.Len(), 3)
		want(t, "the epoch", b.head().Epoch, a.epoch)
	}, servertest.Hosts(3))
}

// TestTheEndOfALeadershipEndsItsInboxes: connections stay open.
func TestTheEndOfALeadershipEndsItsInboxes(t *testing.T) {
	playProcesses(t, func(t *testing.T, b *processBed) {
		a := b.join("a")
		a.prepare()
		leader := b.c.Leader(1)
		if err := b.c.Elect(1, leader%3+1); err != nil {
			t.Fatal(err)
		}
		end := a.ended()
		if end.Status != protocol.StatusMoved && end.Status != protocol.StatusUnavailable {
			t.Errorf("the inbox ends with %v", end)
		}
	}, servertest.Hosts(3))
}

// TestADetachedMemberIsOneUntilItsSessionEnds: a detached session stays a member until it expires.
func TestADetachedMemberIsOneUntilItsSessionEnds(t *testing.T) {
	playProcesses(t, func(t *testing.T, b *processBed) {
		all := b.run("a", "b")
		epoch := all[0].epoch
		all[1].cut()
		pings(t, all[0], 2*time.Second)
		want(t, "the epoch after 2 s", b.head().Epoch, epoch)
		all[1].back(b.c.Leader(1))
		all[1].open(all[1].acked)
		pings(t, all[0], time.Second)
		want(t, "the epoch after it came back", b.head().Epoch, epoch)
		all[1].cut()
		pings(t, all[0], 30*time.Second)
		h := b.head()
		want(t, "members", h.Members, 1)
		want(t, "another epoch", h.Epoch > epoch, true)
		all[0].next(kind.ItemCancel)
		want(t, "the epoch that is prepared next", all[0].prepare(), h.Epoch)
	})
}

// pings keeps a session alive for a time.
func pings(t *testing.T, a *attendant, d time.Duration) {
	t.Helper()
	for range int(d / time.Second) {
		time.Sleep(time.Second)
		a.s.must(a.s.ask(&protocol.Ping{}))
	}
}

// TestAMemberThatIsKickedHearsWhy: each of its later commands gets the reason too; it may join again.
func TestAMemberThatIsKickedHearsWhy(t *testing.T) {
	playProcesses(t, func(t *testing.T, b *processBed) {
		all := b.run("a", "b")
		kicked := all[1]
		b.act(kind.ActionEvict, kicked.member, "it hangs")
		end := kicked.ended()
		want(t, "status", end.Status, protocol.StatusNotFound)
		want(t, "why", strings.Contains(end.Message, "evicted by ann: it hangs"), true)
		got := kicked.s.ask(kicked.replying(1, "")).Result
		want(t, "a command", got.Status, protocol.StatusNotFound)
		want(t, "why", got.Message, end.Message)
		got = kicked.s.ask(kicked.opening(0)).Result
		want(t, "opening the inbox", got.Status, protocol.StatusNotFound)
		want(t, "why", got.Message, end.Message)
		a := kicked.s.must(kicked.s.ask(&protocol.ProcessJoin{
			Mutation: kicked.mutation(), NodeID: b.node, Name: cache,
			Arrival: kind.Arrival{Joining: kind.Joining{Name: "b"}},
		})).ProcessJoin
		want(t, "another member", a.MemberID > kicked.member, true)
		all[0].next(kind.ItemCancel)
		all[0].prepare()
	})
}

// TestADeleteByForceEndsTheInboxes: a delete without force is refused while there are members.
func TestADeleteByForceEndsTheInboxes(t *testing.T) {
	playProcesses(t, func(t *testing.T, b *processBed) {
		all := b.run("a", "b", "c")
		b.s.must(b.s.ask(&protocol.ProcessDelete{NodeID: b.node, Name: cache, Force: true}))
		for _, m := range all {
			end := m.ended()
			want(t, "status", end.Status, protocol.StatusNotFound)
			want(t, "why", end.Message, "the process was deleted")
		}
	})
}

// TestAMemberThatLeavesHasNoInboxAnyMore: its connection stores nothing.
func TestAMemberThatLeavesHasNoInboxAnyMore(t *testing.T) {
	playProcesses(t, func(t *testing.T, b *processBed) {
		a := b.join("a")
		a.prepare()
		a.s.must(a.s.ask(&protocol.ProcessLeave{
			Mutation: a.mutation(), NodeID: b.node, Name: cache, MemberID: a.member,
		}))
		want(t, "why", a.ended().Message, "the member left")
	})
}

// TestTheEndOfASessionEndsItsPart: a member's SESSION_STOP cancels the round for the other members.
func TestTheEndOfASessionEndsItsPart(t *testing.T) {
	playProcesses(t, func(t *testing.T, b *processBed) {
		all := b.run("a", "b")
		all[1].s.must(all[1].s.ask(&protocol.SessionStop{SessionID: all[1].id}))
		want(t, "its end", all[1].s.await(0, protocol.KindSessionEnded).SessionEnded.SessionID, all[1].id)
		all[0].next(kind.ItemCancel)
		all[0].prepare()
	})
}

// TestTheLastConnectionHasTheInbox: the previous connection is notified of the loss.
func TestTheLastConnectionHasTheInbox(t *testing.T) {
	playProcesses(t, func(t *testing.T, b *processBed) {
		a := b.join("a")
		a.prepare()
		a.next(kind.ItemCoordinate)
		second := b.connect(b.c.Leader(1))
		got := second.ask(a.opening(a.acked)).Result
		want(t, "over a connection that it does not act over", got.Status, protocol.StatusBadSession)
		second.must(second.ask(&protocol.SessionBind{SessionID: a.id, SessionSecret: []byte("key")}))
		second.must(second.ask(a.opening(a.acked)))
		want(t, "the end over the first", a.ended().Status, protocol.StatusBadSession)
		a.broadcast("x")
		push := second.await(0, protocol.KindInbox).Inbox
		want(t, "items over the second", push.Items.Len(), 1)
		a.receiveAll()
		want(t, "items over the first", len(a.inbox), 0)
	})
}

// TestAnInboxIsPushedOnlyToWhoUnderstandsIt: a client that does not announce INBOX cannot open one.
func TestAnInboxIsPushedOnlyToWhoUnderstandsIt(t *testing.T) {
	playProcesses(t, func(t *testing.T, b *processBed) {
		a := b.joinOver(speak(t, b.c, b.c.Leader(1)), "a")
		got := a.s.ask(a.opening(0)).Result
		want(t, "status", got.Status, protocol.StatusUnsupported)
		want(t, "why", strings.Contains(got.Message, "INBOX"), true)
	})
}

// TestAFullInboxHurtsItsSenderAlone: only senders to the full inbox are refused.
func TestAFullInboxHurtsItsSenderAlone(t *testing.T) {
	playProcesses(t, func(t *testing.T, b *processBed) {
		all := b.run("a", "b", "c")
		a, full, other := all[0], all[1], all[2]
		for k := range 256 {
			sender := all[2*(k%2)] // one member has at most 256 exchanges
			sender.send("x", full.member)
		}
		refused := other.sending("in time", full.member)
		want(t, "the request 257", other.s.ask(refused).Result.Status, protocol.StatusOverloaded)
		want(t, "once more", other.s.ask(refused).Result.Status, protocol.StatusOverloaded)
		broadcast := a.sending("all")
		broadcast.Audience = kind.ToAll
		want(t, "one to all", a.s.ask(broadcast).Result.Status, protocol.StatusOverloaded)
		a.send("only you", other.member)
		want(t, "what reaches another", string(other.next(kind.ItemRequest).Payload), "only you")
		for range 256 {
			full.next(kind.ItemRequest)
		}
		full.s.must(full.s.ask(&protocol.InboxAck{
			Mutation: full.mutation(), NodeID: b.node, Name: cache, MemberID: full.member, Ack: full.acked,
		}))
		other.s.must(other.s.ask(refused))
		want(t, "after the ack, under the same number", string(full.next(kind.ItemRequest).Payload), "in time")
		long := a.s.ask(a.sending(strings.Repeat("x", 64<<10+1), other.member)).Result
		want(t, "a payload that is too long", long.Status, protocol.StatusBadRequest)
	})
}

// TestASlowMemberHoldsUpNoOther: pushes ahead of acknowledgements are bounded; other members get theirs at once, and
// the slow member gets the rest when it acknowledges.
func TestASlowMemberHoldsUpNoOther(t *testing.T) {
	playProcesses(t, func(t *testing.T, b *processBed) {
		all := b.run("a", "b", "c")
		a, slow, quick := all[0], all[1], all[2]
		payload := strings.Repeat("x", 60_000)
		const requests = 40
		for range requests {
			a.send(payload, slow.member, quick.member)
			quick.answer("done")
		}
		slow.receiveAll()
		if got, most := len(slow.inbox), 1<<20/60_000+1; got > most || got == 0 {
			t.Errorf("%d items are pushed ahead of its acknowledgements, at most %d may be", got, most)
		}
		for range requests {
			slow.answer("done")
		}
		for range requests {
			end := a.next(kind.ItemEnd)
			want(t, "replies", end.Replies.Len(), 2)
		}
	})
}
