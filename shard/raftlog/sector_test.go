package raftlog

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/signalbox/signalbox/shard/raftlog/internal/direct"
)

// sectorsIn opens a file of old content that a sectorWriter is to overwrite.
func sectorsIn(t *testing.T, old []byte) (*sectorWriter, string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, old, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := direct.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return newSectorWriter(file, testFile, testBuffer), name
}

const testBuffer = 64 << 10

func TestASectorWriterWritesWhatItIsGivenAndZerosAndAMark(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	old := bytes.Repeat([]byte{0xee}, 3*testBuffer)
	w, name := sectorsIn(t, old)
	var want []byte
	var held int64
	for len(want) < 2*testBuffer {
		p := make([]byte, 1+random.IntN([]int{100, sector, 5 * sector, testBuffer}[random.IntN(4)]))
		for i := range p {
			p[i] = byte(random.Uint32()) | 1
		}
		if n, err := w.Write(p); n != len(p) || err != nil {
			t.Fatalf("%d bytes of %d were written: %v", n, len(p), err)
		}
		want = append(want, p...)
		if random.IntN(3) == 0 {
			continue
		}
		if err := w.flush(); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		end := wholeSectors(len(want) + markRoom + sector - 1)
		if !bytes.Equal(got[:len(want)], want) || len(bytes.Trim(got[len(want):end-markBytes], "\x00")) != 0 {
			t.Fatalf("after %d bytes the file is not what was written", len(want))
		}
		if end < len(old) && !bytes.Equal(got[end:], old[end:]) {
			t.Fatalf("after %d bytes more was overwritten than to the end of the mark's sector", len(want))
		}
		if marked := synced(got, 0, testFile); marked != held {
			t.Fatalf("the mark says that %d bytes are synced, want %d", marked, held)
		}
		if marked := synced(got, 0, testFile+1); marked != 0 {
			t.Fatalf("another file has the mark too, of %d bytes", marked)
		}
		if random.IntN(2) == 0 {
			w.markSynced()
			held = int64(len(want))
		}
	}
	w.markSynced()
	if err := w.writeMark(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if marked := synced(got, len(want), testFile); !bytes.Equal(got[:len(want)], want) || marked != int64(len(want)) {
		t.Errorf("the last mark says %d of %d bytes, or what is before it has changed", marked, len(want))
	}
}

func TestAMarkCountsOnlyWhereItWasWritten(t *testing.T) {
	b := make([]byte, 3*sector)
	putMark(b[:2*sector], 2*sector, 77, testFile)
	if got := synced(b, 0, testFile); got != 77 {
		t.Errorf("it says %d", got)
	}
	copy(b[sector:], bytes.Clone(b[:sector]))
	copy(b[2*sector:], bytes.Clone(b[sector:2*sector]))
	putMark(b[:sector], sector, 77, testFile)
	copy(b[2*sector:], b[:sector])
	clear(b[:sector])
	if got := synced(b, 0, testFile); got != 0 {
		t.Errorf("one of another place says %d", got)
	}
}

func TestAFlushWithNothingNewWritesNothing(t *testing.T) {
	w, name := sectorsIn(t, nil)
	if err := w.flush(); err != nil {
		t.Fatal(err)
	}
	if size := sizeOf(t, name); size != 0 {
		t.Errorf("%d bytes were written", size)
	}
	if _, err := w.Write([]byte("something")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.flush(); err != nil {
			t.Fatal(err)
		}
		if size := sizeOf(t, name); size != sector {
			t.Errorf("%d bytes were written, want %d", size, sector)
		}
	}
}

func TestASyncAllocatesNothing(t *testing.T) {
	f, path := filesIn(t)
	file := create(t, f, path("000002.log"))
	batch := chunkOf(walFull, 2, bytes.Repeat([]byte("x"), 3000))
	allocated := testing.AllocsPerRun(100, func() {
		if _, err := file.Write(batch); err != nil {
			t.Fatal(err)
		}
		if err := file.Sync(); err != nil {
			t.Fatal(err)
		}
	})
	if allocated != 0 {
		t.Errorf("%v allocations for a batch", allocated)
	}
}
