package logdb

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"

	pb "github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

// memoryOnly is a replica without any data in a log.
func memoryOnly() *replica { return &replica{db: new(DB), mu: newLock()} }

// has records that entries are in the record at a place.
func (r *replica) has(t *testing.T, first, count uint64, rewritten bool, at wal.Place) {
	t.Helper()
	if err := r.do(read{change: change{rewritten: rewritten}, first: first, count: count}, at, kept{}); err != nil {
		t.Fatal(err)
	}
}

// TestEveryEntryIsFoundWhereItWasLast: entries are added, overwritten by another leader's, rewritten completely and
// partly, and removed from the front. An array has the expected places. No piece is empty or long.
func TestEveryEntryIsFoundWhereItWasLast(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		r := memoryOnly()
		where := make([]uint64, 1, 20000) // each entry's record, or zero
		for record := uint64(1); record < 3000; record++ {
			length := uint64(len(where))
			first, count, rewritten := length, uint64(1+random.IntN(5)), false
			switch draw := random.IntN(200); {
			case draw == 0:
				removed := uint64(random.IntN(len(where)))
				r.removeTo(removed)
				clear(where[:removed+1])
				continue
			case draw == 1:
				first = length - uint64(random.IntN(len(where)/20+1))
			case draw == 2:
				first += uint64(random.IntN(10))
			case draw < 20 && length > 10:
				first = 1 + uint64(random.IntN(len(where)-1))
				count, rewritten = min(length-first, 1+uint64(random.IntN(3*pieceRuns))), true
			}
			first = max(first, 1)
			if !rewritten {
				where = where[:min(length, first)]
			}
			for uint64(len(where)) < first+count {
				where = append(where, 0)
			}
			for i := first; i < first+count; i++ {
				where[i] = record
			}
			r.has(t, first, count, rewritten, wal.Place{Segment: record})
		}
		for index, record := range where {
			if found, ok := r.entries.at(uint64(index)); ok != (record > 0) || ok && found.place.Segment != record {
				t.Fatalf("seed %d: entry %d is in record %d, want %d", seed, index, found.place.Segment, record)
			}
		}
		for i, piece := range r.entries {
			if len(piece) == 0 || len(piece) > 2*pieceRuns {
				t.Errorf("seed %d: piece %d has %d runs", seed, i, len(piece))
			}
		}
	}
}

// TestALongListOfEntriesGrowsByPieces: a save takes as little memory after many entries as after few. A list in one
// slice was copied whole with every growth; with a million batches a growth held a host up for 100 ms.
func TestALongListOfEntriesGrowsByPieces(t *testing.T) {
	const many = 1 << 20
	r := memoryOnly()
	var before, after runtime.MemStats
	for index := uint64(1); index <= many; {
		runtime.ReadMemStats(&before)
		for range 1 << 10 {
			r.has(t, index, 1, false, wal.Place{Segment: 1})
			index++
		}
		runtime.ReadMemStats(&after)
		if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 1<<20 {
			t.Fatalf("1,024 records after %d took %d bytes of memory", index-1025, bytes)
		}
	}
}

// TestOthersAreServedWhileEntriesAreRemoved: entries before a snapshot are removed in steps of one piece.
func TestOthersAreServedWhileEntriesAreRemoved(t *testing.T) {
	db := openMemory(t)
	for i := range uint64(3 * pieceRuns) {
		saved(t, db, update(pb.State{Term: 1}, entriesOf(i+1, i+1, 1)))
	}
	r := db.existing(3, 4)
	var steps []uint64
	for to := uint64(0); to < 3*pieceRuns-10; {
		to = r.removePiece(3*pieceRuns - 10)
		steps = append(steps, to)
	}
	if want := []uint64{pieceRuns, 2 * pieceRuns, 3*pieceRuns - 10}; !reflect.DeepEqual(steps, want) {
		t.Errorf("removed up to %v, want %v", steps, want)
	}
	if first, count := r.entries.extent(0); first != 3*pieceRuns-9 || count != 10 {
		t.Errorf("%d entries from %d on, want the last 10", count, first)
	}
}

// TestCommandsOfManyEntriesAreInFewPieces: with unchanged contents.
func TestCommandsOfManyEntriesAreInFewPieces(t *testing.T) {
	const count, size = 5000, 300
	db := openMemory(t)
	command := func(i uint64) []byte { return bytes.Repeat([]byte{byte(i), byte(i >> 8)}, size/2) }
	for i := range uint64(count) {
		saved(t, db, update(pb.State{Term: 1}, []pb.Entry{{Index: i + 1, Term: 1, Cmd: command(i)}}))
	}
	entries := make([]pb.Entry, 0, count)
	objects := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapObjects
	}
	before := objects()
	entries, _, err := db.IterateEntries(entries, 0, 3, 4, 1, count+1, math.MaxUint64)
	if err != nil || len(entries) != count {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	if more := int(objects() - before); more > count/10 {
		t.Errorf("%d commands are %d more objects of the heap", count, more)
	}
	for i := range entries {
		if c := entries[i].Cmd; !bytes.Equal(c, command(uint64(i))) || cap(c) != len(c) {
			t.Fatalf("entry %d has %d bytes of room for %x", i+1, cap(c), c)
		}
	}
}
