package raftlog

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// directIn opens a file of old content that a directWriter is to overwrite.
func directIn(t *testing.T, old []byte) (*directWriter, string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, old, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := openDirect(name)
	if err != nil {
		t.Skipf("this file system cannot write past the cache: %v", err)
	}
	t.Cleanup(func() { file.Close() })
	return newDirectWriter(file), name
}

func TestADirectWriterWritesWhatItIsGivenAndZerosUpToASector(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	old := bytes.Repeat([]byte{0xee}, 3*directBuffer)
	w, name := directIn(t, old)
	var want []byte
	for len(want) < 2*directBuffer {
		p := make([]byte, 1+random.IntN([]int{100, sector, 5 * sector, directBuffer}[random.IntN(4)]))
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
		end := wholeSectors(len(want) + sector - 1)
		if !bytes.Equal(got[:len(want)], want) || len(bytes.Trim(got[len(want):end], "\x00")) != 0 {
			t.Fatalf("after %d bytes the file is not what was written", len(want))
		}
		if end < len(old) && !bytes.Equal(got[end:], old[end:]) {
			t.Fatalf("after %d bytes more was overwritten than a sector", len(want))
		}
	}
}

func TestAFlushWithNothingNewWritesNothing(t *testing.T) {
	w, name := directIn(t, nil)
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
