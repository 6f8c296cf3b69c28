package shard

import (
	"slices"
	"testing"
)

// TestChunksStandTogether: memory for many things is in few pieces, which a collection of garbage looks at one by one.
func TestChunksStandTogether(t *testing.T) {
	const chunks = 1024
	var me memory[[64]byte]
	n := testing.AllocsPerRun(1, func() {
		me = memory[[64]byte]{chunks: slices.Grow(me.chunks[:0], chunks), taken: slices.Grow(me.taken[:0], chunks)}
		for c := range uint32(chunks) {
			me.take(c)
		}
	})
	// Sixteen in a piece; the first are pieces of their own, and then there is the chunk of zeros.
	if most := 16 + chunks/16 + 1; int(n) > most {
		t.Errorf("%d chunks are in %.0f pieces; %d are enough", chunks, n, most)
	}
}
