package server_test

import (
	"context"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

// processBed is a cluster with a node for the process "cache", in virtual time.
type processBed struct {
	t    *testing.T
	c    *servertest.Cluster
	s    *speaker // an operator, at the data shard's leader
	node uint64
}

var cache = []byte("cache")

// playProcesses runs a test with a cluster that supports processes.
func playProcesses(t *testing.T, play func(t *testing.T, b *processBed), options ...servertest.Option) {
	t.Helper()
	if !protocol.KindProcessPut.IsKnown() {
		t.Skip("this build has no processes")
	}
	risen(t, func(t *testing.T, c *servertest.Cluster) {
		time.Sleep(time.Second) // for the shards to rise too
		node := nodeAt(t, c, "/prod")
		play(t, &processBed{t: t, c: c, s: speak(t, c, c.Leader(1)), node: node})
	}, options...)
}

// connect connects to a host as a client that understands every push.
func (b *processBed) connect(host shard.HostID) *speaker {
	b.t.Helper()
	conn, err := b.c.Dial(context.Background(), servertest.Address(host))
	if err != nil {
		b.t.Fatal(err)
	}
	s := speakOver(b.t, conn)
	s.must(s.ask(&protocol.Hello{VersionMin: 1, VersionMax: 1, PushKinds: protocol.PushKinds()}))
	return s
}

// put creates the process, and returns its spec revision.
func (b *processBed) put(spec kind.Spec) uint64 {
	b.t.Helper()
	m := &protocol.ProcessPut{NodeID: b.node, Name: cache, Put: kind.Put{Spec: spec}}
	return b.s.must(b.s.ask(m)).ProcessPut.Revision
}

// act carries out an operator's act.
func (b *processBed) act(verb kind.ActionKind, member uint64, reason string) {
	b.t.Helper()
	b.s.must(b.s.ask(&protocol.ProcessAction{
		NodeID: b.node, Name: cache,
		Action: kind.Action{Kind: verb, MemberID: member, By: kind.ChangeInfo{Author: "ann", Reason: reason}},
	}))
}

// arrivalOf is the arrival of a candidate that may create the process.
func arrivalOf(name string) kind.Arrival {
	return kind.Arrival{Joining: kind.Joining{Name: name, Candidate: true}, Create: true}
}

// describe describes a part.
func (b *processBed) describe(part string) *protocol.ProcessDescribeAnswer {
	b.t.Helper()
	s := speak(b.t, b.c, b.c.Leader(1))
	a := s.must(s.ask(&protocol.ProcessDescribe{SectionRequest: protocol.SectionRequest{
		NodeID: b.node, Name: cache, Section: []byte(part), Explain: true, Consistency: protocol.ConsistencyStrict,
	}})).ProcessDescribe
	return &a
}

func (b *processBed) head() (h kind.Overview) {
	b.t.Helper()
	readRecord(b.t, b.describe("").Head, &h)
	return h
}

// attendant is a session that has joined the process, with an open inbox.
type attendant struct {
	*started
	b        *processBed
	attaches uint64
	member   uint64
	epoch    uint64 // last prepared epoch
	acked    uint64
	inbox    []protocol.Item
	end      *protocol.Result // of the inbox
}

// join creates a session over a new connection to the leader, joins, and opens the inbox.
func (b *processBed) join(name string, change ...func(*protocol.ProcessJoin)) *attendant {
	b.t.Helper()
	a := b.joinOver(b.connect(b.c.Leader(1)), name, change...)
	a.open(0)
	return a
}

// joinOver is join over an existing connection, without opening the inbox.
func (b *processBed) joinOver(s *speaker, name string, change ...func(*protocol.ProcessJoin)) *attendant {
	b.t.Helper()
	a := &attendant{started: s.session("/prod", 10*time.Second), b: b}
	m := &protocol.ProcessJoin{
		Mutation: a.mutation(), NodeID: b.node, Name: cache, Arrival: arrivalOf(name),
	}
	for _, f := range change {
		f(m)
	}
	a.member = s.must(s.ask(m)).ProcessJoin.MemberID
	return a
}

// opening is the request to open the member's inbox.
func (a *attendant) opening(after uint64) *protocol.InboxOpen {
	return &protocol.InboxOpen{SessionID: a.id, NodeID: a.b.node, Name: cache, MemberID: a.member, After: after}
}

// open opens the inbox over the session's connection.
func (a *attendant) open(after uint64) protocol.InboxOpenAnswer {
	a.b.t.Helper()
	return a.s.must(a.s.ask(a.opening(after))).InboxOpen
}

// receive waits for the next inbox push.
func (a *attendant) receive() {
	a.b.t.Helper()
	for {
		push := a.s.await(0, protocol.KindInbox).Inbox
		if push.MemberID != a.member {
			continue
		}
		for i := range push.Items.All() {
			a.inbox = append(a.inbox, i)
		}
		if push.End != (protocol.Result{}) {
			a.end = &push.End
		}
		return
	}
}

// receiveAll receives pushes until no more arrive.
func (a *attendant) receiveAll() {
	a.b.t.Helper()
	for {
		payload, err := a.s.read(time.Second)
		if err != nil {
			return
		}
		if push := a.s.decode(payload); push.Kind == protocol.KindInbox && push.Inbox.MemberID == a.member {
			for i := range push.Inbox.Items.All() {
				a.inbox = append(a.inbox, i)
			}
		}
	}
}

// next waits for the next item.
func (a *attendant) next(want kind.ItemKind) protocol.Item {
	a.b.t.Helper()
	for len(a.inbox) == 0 {
		if a.end != nil {
			a.b.t.Fatalf("the inbox of %d has ended: %v", a.member, a.end)
		}
		a.receive()
	}
	i := a.inbox[0]
	a.inbox = a.inbox[1:]
	if i.Kind != want {
		a.b.t.Fatalf("member %d gets %v of epoch %d, want %v", a.member, i.Kind, i.Epoch, want)
	}
	a.acked = i.Seq
	return i
}

// ended waits for the end of the inbox.
func (a *attendant) ended() protocol.Result {
	a.b.t.Helper()
	for a.end == nil {
		a.receive()
	}
	return *a.end
}

func (a *attendant) part() protocol.Part {
	return protocol.Part{MemberID: a.member, Epoch: a.epoch, Ack: a.acked}
}

// prepare waits for an epoch, and prepares for it.
func (a *attendant) prepare() uint64 {
	a.b.t.Helper()
	a.epoch = a.next(kind.ItemPrepare).Epoch
	a.s.must(a.s.ask(&protocol.ProcessPrepareAck{
		Mutation: a.mutation(), NodeID: a.b.node, Name: cache, Part: a.part(),
	}))
	return a.epoch
}

func (a *attendant) sending(payload string, to ...uint64) *protocol.ProcessSend {
	m := &protocol.ProcessSend{
		Mutation: a.mutation(), NodeID: a.b.node, Name: cache, Part: a.part(), Payload: []byte(payload),
	}
	for _, id := range to {
		m.To.Append(protocol.OrderID(id))
	}
	return m
}

// broadcast sends a request to all members, and returns its exchange.
func (a *attendant) broadcast(payload string) uint64 {
	a.b.t.Helper()
	m := a.sending(payload)
	m.Audience = kind.ToAll
	return a.s.must(a.s.ask(m)).ProcessSend.Exchange
}

// send sends a request to members, and returns its exchange.
func (a *attendant) send(payload string, to ...uint64) uint64 {
	a.b.t.Helper()
	return a.s.must(a.s.ask(a.sending(payload, to...))).ProcessSend.Exchange
}

func (a *attendant) replying(exchange uint64, data string) *protocol.ProcessReply {
	return &protocol.ProcessReply{
		Mutation: a.mutation(), NodeID: a.b.node, Name: cache, Part: a.part(), Exchange: exchange, Data: []byte(data),
	}
}

// answer waits for a request, and replies to it.
func (a *attendant) answer(data string) protocol.Item {
	a.b.t.Helper()
	i := a.next(kind.ItemRequest)
	a.s.must(a.s.ask(a.replying(i.Exchange, data)))
	return i
}

func (a *attendant) complete(result string) {
	a.b.t.Helper()
	a.s.must(a.s.ask(&protocol.ProcessComplete{
		Mutation: a.mutation(), NodeID: a.b.node, Name: cache, Part: a.part(), Result: []byte(result),
	}))
}

// finish waits for the completion, and confirms it.
func (a *attendant) finish() protocol.Item {
	a.b.t.Helper()
	i := a.next(kind.ItemComplete)
	a.s.must(a.s.ask(&protocol.ProcessCompleteAck{
		Mutation: a.mutation(), NodeID: a.b.node, Name: cache, Part: a.part(),
	}))
	return i
}

// run lets members join and prepare, the first of them as coordinator.
func (b *processBed) run(names ...string) []*attendant {
	b.t.Helper()
	var all []*attendant
	for _, name := range names {
		all = append(all, b.join(name))
	}
	for _, a := range all {
		a.prepare()
	}
	all[0].next(kind.ItemCoordinate)
	return all
}
