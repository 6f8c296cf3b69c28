package process

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	processkind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine/machinetest"
)

// running is a round with prepared members and empty inboxes.
func running(t testing.TB, members int, spec processkind.Spec) *round {
	r := newRound(t, members, spec)
	r.prepareAll()
	r.ackAll()
	return r
}

// ackAll acknowledges everything in all inboxes.
func (r *round) ackAll() {
	for i := range r.members {
		r.ack(i)
	}
}

// ack acknowledges everything in the member's inbox.
func (r *round) ack(i int) {
	_, at, _ := Inboxes{r.M}.Inbox(1, []byte("p"), r.IDs[i], r.members[i], 0, 1, nil)
	if at.Acked < at.LastSeq {
		r.in(i, shard.CmdInboxAck, shard.Command{Count: at.LastSeq})
	}
}

// answerAll replies to an exchange for the members from index from on, and acknowledges everything.
func (r *round) answerAll(exchange uint64, from int) {
	for i := from; i < len(r.members); i++ {
		r.reply(i, exchange, "")
	}
	r.ackAll()
}

var processSpec = processkind.Spec{
	OpenDelay: time.Millisecond, MaxOpenDelay: time.Millisecond, MinMembers: 1, MaxPayload: processkind.MaxPayload,
	KeepResults: 4,
}

// BenchmarkProcessSend: a 1 KiB request to 1,000 members.
func BenchmarkProcessSend(b *testing.B) {
	r := running(b, 1000, processSpec)
	payload := string(make([]byte, 1024))
	b.ReportAllocs()
	for b.Loop() {
		exchange := r.broadcast(0, processkind.ToAll, payload)
		b.StopTimer()
		r.answerAll(exchange, 0)
		b.StartTimer()
	}
}

// BenchmarkProcessReply: a 100-byte reply, with its request's acknowledgement, among many.
func BenchmarkProcessReply(b *testing.B) {
	for _, n := range []int{3, 1000} {
		b.Run(fmt.Sprintf("members=%d", n), func(b *testing.B) {
			r := running(b, n, processSpec)
			b.ReportAllocs()
			c := shard.Command{Kind: shard.CmdProcessReply, Name: []byte("p"), Data: make([]byte, 100)}
			for i := n; b.Loop(); i++ {
				if i == n {
					b.StopTimer()
					if i = 0; c.Timeout > 0 {
						r.ackAll()
					}
					c.Timeout, c.Term = r.broadcast(0, processkind.ToAll, ""), r.epoch()
					b.StartTimer()
				}
				c.Order = r.members[i]
				c.Count = r.hosted().Member(uint64(c.Order)).LastSeq()
				r.ApplyAs(i, &c)
			}
			if r.Result().Status != protocol.StatusSuccess {
				b.Fatalf("%+v", r.Result())
			}
		})
	}
}

// BenchmarkProcessAck: a separate acknowledgement for a request.
func BenchmarkProcessAck(b *testing.B) {
	r := running(b, 1000, processSpec)
	b.ReportAllocs()
	c := shard.Command{Kind: shard.CmdInboxAck, Name: []byte("p")}
	exchange := uint64(0)
	for i := 1000; b.Loop(); i++ {
		if i == 1000 {
			b.StopTimer()
			if i = 0; exchange > 0 {
				r.answerAll(exchange, 0)
			}
			exchange = r.broadcast(0, processkind.ToAll, "")
			b.StartTimer()
		}
		c.Order = r.members[i]
		c.Count = r.hosted().Member(uint64(c.Order)).LastSeq()
		r.ApplyAs(i, &c)
	}
}

// BenchmarkProcessEpoch: the command that ends an epoch with an open request, and opens the next one.
func BenchmarkProcessEpoch(b *testing.B) {
	for _, n := range []int{1000, 2000} {
		b.Run(fmt.Sprintf("members=%d", n), func(b *testing.B) {
			r := running(b, n, processSpec)
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				r.prepareAll()
				r.broadcast(0, processkind.ToAll, "")
				r.restart()
				r.now += 2
				r.One.Stamp.Elapsed = r.now
				b.StartTimer()
				r.Do(shard.Command{Kind: shard.CmdDue, Term: 1})
			}
		})
	}
}

// restart is an operator's.
func (r *round) restart() {
	act := processkind.Action{Kind: processkind.ActionRestart, By: processkind.ChangeInfo{Author: "op"}}
	r.Do(shard.Command{Kind: shard.CmdProcessAct, Node: 1, Name: []byte("p"), Body: Append(nil, &act)})
}

// BenchmarkProcessSnapshot saves a shard with 10,000 processes, each with three members, and reports the size per
// process with its members.
func BenchmarkProcessSnapshot(b *testing.B) {
	const processes = 10_000
	t := machinetest.NewAt(empty(), level.Newest, 3)
	t.Do(shard.Command{Kind: shard.CmdLead, Term: 1})
	before, quota := machinetest.Heap(), t.M.Usage(1).Bytes
	for k := range processes {
		name := fmt.Appendf(nil, "process-%05d", k)
		for i := range 3 {
			body := Append(nil, &processkind.Arrival{
				Joining: processkind.Joining{Name: "member", Candidate: true}, Create: true, Spec: processSpec,
			})
			t.As(i, shard.Command{Kind: shard.CmdProcessJoin, Name: name, Body: body})
		}
	}
	for t.PassTo(2); t.Result().Flags&shard.FlagMore != 0; {
		t.PassTo(2)
	}
	heap, taken := machinetest.Heap()-before, t.M.Usage(1).Bytes-quota
	for b.Loop() {
		sn, err := t.M.PrepareSnapshot()
		if err != nil {
			b.Fatal(err)
		}
		if err := sn.Save(io.Discard, nil); err != nil {
			b.Fatal(err)
		}
		sn.Discard()
	}
	b.ReportMetric(float64(heap)/processes, "heap-B/process")
	b.ReportMetric(float64(taken)/processes, "quota-B/process")
}

// BenchmarkWorstReads: how long reads of the largest process hold the machine's lock.
func BenchmarkWorstReads(b *testing.B) {
	r := running(b, processkind.MaxMembers, processSpec)
	r.fillInboxes()
	machinetest.BenchmarkRead(b, "a process and why", func() {
		var d Description
		Describe(r.M, 1, "p", shard.PartOptions{Why: true}, &d)
	})
	machinetest.BenchmarkRead(b, "an inbox", func() {
		Inboxes{r.M}.Inbox(1, []byte("p"), r.IDs[0], r.members[0], 0, maxUnreadBytes, nil)
	})
	machinetest.BenchmarkRead(b, "a walk over processes", func() { Walk(r.M, 0, 0, func(*Status) {}) })
}
