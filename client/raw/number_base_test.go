package raw_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/signalbox/signalbox/protocol"
)

// attachDrawing attaches a session with a number base drawn by the attach.
func (g *gateway) attachDrawing(id, sequence uint64) *handle {
	g.t.Helper()
	over := make(chan error, 2)
	p := params(sequence, over)
	p.AllocateSequences = true
	s, err := g.raw.Attach(g.t.Context(), id, p)
	if err != nil {
		g.t.Fatal(err)
	}
	return &handle{t: g.t, Session: s, over: over, number: s.SequenceBase()}
}

// TestAnAttachDrawsNumbersThatNoOtherHas: attaches come through two gateways, under the same sequence, a higher one,
// and, at a new leader without knowledge, a lower one. From its first number, each handle can repeat the previous
// handle's work in all shards as new work.
func TestAnAttachDrawsNumbersThatNoOtherHas(t *testing.T) {
	for _, shards := range []int{1, 4} {
		t.Run(fmt.Sprintf("%d shards", shards), func(t *testing.T) {
			play(t, 3, shards, func(t *testing.T, r *rig) {
				gateways := []*gateway{r.gateway, r.another()}
				h := r.start()
				if h.SequenceBase() != 0 {
					t.Errorf("a session that was started begins at %d", h.SequenceBase())
				}
				last := uint64(0)
				for i, sequence := range []uint64{0, 0, 7, 7, 900, 3, 3} {
					h.acquireAndRelease()
					if i == 5 {
						r.moveLeaders(shards)
					}
					h = gateways[i%2].attachDrawing(h.ID(), sequence)
					base := h.SequenceBase()
					if base < last+protocol.SequencesPerAttach || base < (sequence+2)<<32 {
						t.Fatalf("attach %d, of sequence %d: base %d, the last one was %d", i, sequence, base, last)
					}
					last = base
				}
				h.acquireAndRelease()
			})
		})
	}
}

// acquireAndRelease does both for names in all shards, by the handle's next numbers.
func (h *handle) acquireAndRelease() {
	h.t.Helper()
	for i := range 16 {
		name := fmt.Sprintf("lock-%d", i)
		expect(h.t, h.acquire(name, 0), acquired)
		h.release(name)
	}
}

// moveLeaders gives each data shard another leader, without knowledge of attaches.
func (r *rig) moveLeaders(shards int) {
	r.t.Helper()
	for id := range uint64(shards) {
		if err := r.cluster.Elect(id+1, r.cluster.Leader(id+1)%3+1); err != nil {
			r.t.Fatal(err)
		}
	}
	synctest.Wait()
}

// TestAnAttachDrawsNumbersInItsOwnRoundTrip: like an attach without a draw it takes one request.
func TestAnAttachDrawsNumbersInItsOwnRoundTrip(t *testing.T) {
	play(t, 1, 4, func(t *testing.T, r *rig) {
		var requests atomic.Int64
		g := r.tap(func(protocol.Kind) bool { return requests.Add(1) > 0 })
		id := r.start().ID()
		g.attach(id, 0)
		before := requests.Load()
		h := g.attachDrawing(id, 0)
		if n := requests.Load() - before; n != 1 || h.SequenceBase() == 0 {
			t.Errorf("it took %d requests and drew %d", n, h.SequenceBase())
		}
	})
}

// TestABaseIsAboveWhatTheSessionHasUsedAtHome, including numbers from a clock or from an owner's own counter.
func TestABaseIsAboveWhatTheSessionHasUsedAtHome(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, r *rig) {
		h := r.start()
		for _, used := range []uint64{1, 1 << 54, 1<<60 + 12} {
			h.number = used
			h.acquireAndRelease()
			if h = r.attachDrawing(h.ID(), 0); h.SequenceBase() <= used+32 {
				t.Errorf("the base is %d, the session has used up to %d", h.SequenceBase(), used+32)
			}
		}
		h.number = 1<<64 - 40
		h.acquireAndRelease()
		p := params(0, nil)
		p.AllocateSequences = true
		_, err := r.raw.Attach(t.Context(), h.ID(), p)
		if !errors.Is(err, protocol.ErrPreconditionFailed) {
			t.Errorf("an attach that finds no numbers left: %v", err)
		}
	})
}
