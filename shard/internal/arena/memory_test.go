package arena

import (
	"runtime"
	"slices"
	"testing"
)

// TestChunksStandTogether: memory for many items is in few pieces, which the garbage collector visits one by one.
func TestChunksStandTogether(t *testing.T) {
	const chunks = 1024
	var me memory[[64]byte]
	n := testing.AllocsPerRun(1, func() {
		me = memory[[64]byte]{chunks: slices.Grow(me.chunks[:0], chunks), taken: slices.Grow(me.taken[:0], chunks),
			pieces: slices.Grow(me.pieces[:0], chunks)}
		for c := range uint32(chunks) {
			me.take(c)
		}
	})
	// Sixteen per piece; the first have their own pieces, plus the chunk of zeros.
	if most := 16 + chunks/16 + 1; int(n) > most {
		t.Errorf("%d chunks are in %.0f pieces; %d are enough", chunks, n, most)
	}
}

// TestTakenMemoryStays: the garbage collector sees pieces, though not their chunks.
func TestTakenMemoryStays(t *testing.T) {
	const chunks = 4 * pieceChunks
	var me memory[uint64]
	for c := range uint32(chunks) {
		me.take(c)
	}
	for c := range uint32(chunks) {
		if c%pieceChunks == 0 || c >= 2*pieceChunks {
			continue
		}
		me.give(c) // a piece with one used chunk stays
	}
	stays := func(visit func(h Handle)) {
		for h := range Handle(chunks * chunkSize) {
			if me.has(h >> chunkBits) {
				visit(h)
			}
		}
	}
	stays(func(h Handle) { *me.At(h) = uint64(h) })
	var others [][]uint64
	for range 10 {
		runtime.GC()
		for _, size := range []int{chunkSize, pieceChunks * chunkSize} {
			for range 100 {
				others = append(others, slices.Repeat([]uint64{^uint64(0)}, size))
			}
		}
	}
	stays(func(h Handle) {
		if *me.At(h) != uint64(h) {
			t.Fatalf("place %d has %d", h, *me.At(h))
		}
	})
	for c := range uint32(chunks) {
		if !me.has(c) && *me.chunk(c) != ([chunkSize]uint64{}) {
			t.Fatalf("chunk %d is given back and not zero", c)
		}
	}
	runtime.KeepAlive(others)
}
