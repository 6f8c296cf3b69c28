package inbox

import (
	"testing"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/process"
)

// endless is a machine whose inboxes always have one new item.
type endless struct{}

func (endless) Inbox(_ shard.NodeID, _ []byte, _ shard.SessionID, _ shard.OrderID, after uint64, _ int,
	dst []process.Delivery) ([]process.Delivery, process.InboxPosition, process.Answer) {
	dst = append(dst, process.Delivery{Seq: after + 1, Kind: kind.ItemRequest})
	return dst, process.InboxPosition{}, process.Answer{}
}

// drain is a connection that accepts everything.
type drain struct{ pushes int }

func (d *drain) Push(uint64, protocol.PushMessage) { d.pushes++ }
func (*drain) Flush(bool)                          {}
func (*drain) Pending() int                        { return 0 }
func (*drain) Acts(shard.SessionID) bool           { return true }

// BenchmarkNote pushes an item to one of a thousand members, from note to push.
func BenchmarkNote(b *testing.B) {
	t, sink := New(Config{Machine: endless{}}), new(drain)
	const members = 1000
	for i := range members {
		t.Open(Member{Session: shard.SessionID(i + 1), Node: 1, Name: "p", ID: shard.OrderID(i + 1)}, sink, 0,
			func(process.InboxPosition) bool { return true })
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		t.Note(shard.SessionID(i%members+1), shard.OrderID(i%members+1))
		t.Deliver()
	}
	if sink.pushes == 0 {
		b.Error("nothing was pushed")
	}
}
