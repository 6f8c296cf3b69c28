package raftlog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard"
)

const testFile = 42

// state is a value that the engine writes about a replica.
type state struct {
	shard, replica     uint64
	term, vote, commit uint64
}

// written is a record as the engine's store writes it, of values and of whatever else is given.
func written(states []state, more ...[]byte) []byte {
	payload := make([]byte, 12)
	binary.LittleEndian.PutUint32(payload[8:], uint32(len(states)+len(more)))
	for _, s := range states {
		key := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64([]byte{2, 2, 0, 0}, s.shard), s.replica)
		value := binary.AppendUvarint([]byte{8}, s.term)
		value = binary.AppendUvarint(append(value, 16), s.vote)
		value = binary.AppendUvarint(append(value, 24), s.commit)
		payload = append(payload, valueOf(key, value)...)
	}
	for _, m := range more {
		payload = append(payload, m...)
	}
	return chunkOf(walFull, testFile, payload)
}

func valueOf(key, value []byte) []byte {
	b := append([]byte{1}, binary.AppendUvarint(nil, uint64(len(key)))...)
	b = append(b, key...)
	return append(append(b, binary.AppendUvarint(nil, uint64(len(value)))...), value...)
}

func chunkOf(kind byte, file uint32, payload []byte) []byte {
	b := make([]byte, walHead, walHead+len(payload))
	binary.LittleEndian.PutUint16(b[4:], uint16(len(payload)))
	b[6] = kind
	binary.LittleEndian.PutUint32(b[7:], file)
	b = append(b, payload...)
	sum := crc32.Checksum(b[6:], castagnoli)
	binary.LittleEndian.PutUint32(b, (sum>>15|sum<<17)+0xa282ead8)
	return b
}

func TestOnlyAPositionCanWait(t *testing.T) {
	known := state{shard: 1, replica: 1, term: 3, vote: 2, commit: 10}
	on := known
	on.commit = 11
	other := state{shard: 2, replica: 1, term: 9, vote: 9, commit: 5}
	entry := valueOf(append([]byte{1, 1}, make([]byte, 26)...), []byte("an entry"))
	for name, c := range map[string]struct {
		written []byte
		want    bool
	}{
		"the position moves on":         {written([]state{on}), true},
		"twice":                         {slices.Concat(written([]state{on}), written([]state{on})), true},
		"those of two shards":           {written([]state{on, other}), true},
		"the term is new":               {written([]state{{1, 1, 4, 2, 11}}), false},
		"the vote is new":               {written([]state{{1, 1, 3, 1, 11}}), false},
		"the vote of one of two is new": {written([]state{on, {2, 1, 9, 8, 6}}), false},
		"a replica not seen before":     {written([]state{{3, 1, 3, 2, 11}}), false},
		"an entry":                      {written(nil, entry), false},
		"a position and an entry":       {written([]state{on}, entry), false},
		"a position, then an entry":     {slices.Concat(written([]state{on}), written(nil, entry)), false},
		"a deletion":                    {written(nil, append([]byte{0, 20}, make([]byte, 20)...)), false},
		"a record of another file":      {chunkOf(walFull, testFile+1, written([]state{on})[walHead:]), false},
		"the first part of a record":    {chunkOf(walFirst, testFile, written([]state{on})[walHead:]), false},
		"a chunk that is cut off":       {written([]state{on})[:40], false},
		"more than the record says": {chunkOf(walFull, testFile, append(written([]state{on})[walHead:], 0)),
			false},
		"a record without values": {written(nil), true},
		"nothing":                 {nil, false},
		"a position of another form": {written(nil, valueOf(append([]byte{2, 2}, make([]byte, 18)...),
			[]byte{8, 3, 16, 2, 24, 11, 0})), false},
		"a key of another length": {written(nil, valueOf(append([]byte{2, 2}, make([]byte, 17)...),
			[]byte{8, 3, 16, 2, 24, 11})), false},
		"a value of another kind of key": {written(nil, valueOf(append([]byte{3, 3}, make([]byte, 18)...),
			[]byte{8, 3, 16, 2, 24, 11})), false},
		"a length beyond the record's end": {written(nil, []byte{1, 200}), false},
	} {
		t.Run(name, func(t *testing.T) {
			var p positions
			if p.canWait(written([]state{known, other}), testFile) {
				t.Fatal("the first of a replica waits")
			}
			if got := p.canWait(c.written, testFile); got != c.want {
				t.Errorf("can wait: %v, want %v", got, c.want)
			}
		})
	}
}

func TestPositionsDoNotWaitForEver(t *testing.T) {
	var p positions
	waited := 0
	for i := range uint64(3 * (maxWaiting + 1)) {
		if p.canWait(written([]state{{1, 1, 3, 2, i + 1}}), testFile) {
			waited++
		} else if i%(maxWaiting+1) != 0 {
			t.Errorf("position %d does not wait", i)
		}
	}
	if waited != 3*maxWaiting {
		t.Errorf("%d positions waited, want %d", waited, 3*maxWaiting)
	}
}

// TestHostsSyncABatchOnce: the pinned engine writes positions as they are read here, so hosts sync about once for a
// batch, and not twice.
func TestHostsSyncABatchOnce(t *testing.T) {
	var syncs [4]atomic.Int64
	members := newCluster(t, 3, func(c *Config) {
		id := c.Host
		c.Synced = func(time.Duration) { syncs[id].Add(1) }
	})
	openAll(members)
	leader := leaderOf(t, members)
	const batches = 200
	var before [4]int64
	for i := range batches {
		if i == 10 { // the first of a term are synced
			for id := range before {
				before[id] = syncs[id].Load()
			}
		}
		if o := proposeTo(leader.log, fmt.Sprint(i)); o != shard.OutcomeApplied {
			t.Fatalf("batch %d: %v", i, o)
		}
	}
	for _, m := range members {
		id := m.config.Host
		if n := syncs[id].Load() - before[id]; n > batches*3/2 {
			t.Errorf("host %d synced %d times for %d batches", id, n, batches-10)
		}
	}
}
