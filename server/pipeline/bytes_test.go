package pipeline

import (
	"fmt"
	"testing"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
)

// TestTheBytesOfTheQueueFollowTheMemory: clients queue no more than the bound, plus a few commands from sources with
// little queued.
func TestTheBytesOfTheQueueFollowTheMemory(t *testing.T) {
	const bound = 4 << 20
	p := New(Options{Proposer: 1, QueuedBytes: bound})
	data := make([]byte, 60_000)
	p.SetLevel(level.Newest)
	for n := range 200 {
		s := NewSource(fmt.Sprint(n), nil)
		for p.Add(Op{Source: s, Caller: &caller{new(bool)}}, &shard.Command{
			Kind: shard.CmdSemaphoreCreate, Node: 1, Name: []byte("name"), Count: 1, Data: data}) {
		}
	}
	if got := p.flows.root.bytes; got < bound || got > bound+len(data)*2 {
		t.Errorf("%d bytes are queued, want about %d", got, bound)
	}
}
