package process

import (
	"slices"
	"testing"

	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/process"
)

// TestWhatComesAgainIsNotHandledAgain: after a lost connection a host may push items that the member already has.
func TestWhatComesAgainIsNotHandledAgain(t *testing.T) {
	for _, c := range []struct {
		name   string
		pushed [][]uint64 // the seqs of the items in each push
		want   []uint64
	}{
		{"all once", [][]uint64{{1, 2}, {3}}, []uint64{1, 2, 3}},
		{"one push again", [][]uint64{{1, 2}, {1, 2}, {3}}, []uint64{1, 2, 3}},
		{"all from the beginning", [][]uint64{{1}, {2}, {1, 2, 3}}, []uint64{1, 2, 3}},
		{"what is older than that", [][]uint64{{4}, {3, 4, 9}}, []uint64{4, 9}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPart(&Member{object: object.Object{Name: "x"}}, nil)
			defer p.end(nil)
			p.running = true // no item is handled: all stay in the queue
			for _, seqs := range c.pushed {
				var items protocol.Items
				for _, seq := range seqs {
					items.Append(protocol.Item{Seq: seq, Kind: kind.ItemRequest, Epoch: 7})
				}
				p.Take(&items)
			}
			var got []uint64
			for _, it := range p.queue {
				got = append(got, it.seq)
			}
			if !slices.Equal(got, c.want) || p.Received() != c.want[len(c.want)-1] {
				t.Errorf("%v is to be handled, and %d was received", got, p.Received())
			}
		})
	}
}
