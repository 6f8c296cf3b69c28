package keptlog

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol/level"
)

// sum is a machine that adds numbers. A mistake is in what it does, or in what it writes.
type sum struct {
	of      uint64
	mistake string
}

func (s *sum) Level() level.Level { return level.First }
func (s *sum) Digest() uint64     { return s.of }

func (s *sum) Save() ([]byte, error) {
	if s.mistake == "saves otherwise" {
		return binary.BigEndian.AppendUint64(nil, s.of), nil
	}
	return binary.LittleEndian.AppendUint64(nil, s.of), nil
}

func (s *sum) Restore(file []byte) error {
	s.of = binary.LittleEndian.Uint64(file)
	return nil
}

func (s *sum) Apply(batch []byte) (again []byte, err error) {
	switch s.mistake {
	case "adds otherwise":
		s.of++
	case "reads otherwise":
		return nil, fmt.Errorf("bytes that are no batch")
	case "writes otherwise":
		batch = append([]byte{0}, batch...)
	}
	s.of += uint64(batch[len(batch)-1])
	return batch, nil
}

func TestWhatABuildDoesOtherwiseIsNoticed(t *testing.T) {
	w, m := Writer{}, &sum{}
	for i := range 9 {
		if i%4 == 0 {
			if err := w.Snapshot(m, &sum{}); err != nil {
				t.Fatal(err)
			}
		}
		w.Batch([]byte{byte(i)})
		if _, err := m.Apply([]byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Snapshot(m, &sum{}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "frozen", FileName(level.First, "sums"))
	if err := w.Keep(file); err != nil {
		t.Fatal(err)
	}
	if err := w.Keep(file); err == nil {
		t.Error("a log that is kept was written anew")
	}
	log, err := read(file)
	if err != nil {
		t.Fatal(err)
	}
	for mistake, want := range map[string]string{
		"":                 "",
		"adds otherwise":   "the digest is",
		"reads otherwise":  "bytes that are no batch",
		"writes otherwise": "is written as",
		"saves otherwise":  "is saved with other bytes",
	} {
		err := log.Check(func() Machine { return &sum{mistake: mistake} })
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", mistake, err)
		}
	}
	log.Batches = log.Batches[1:]
	if err := log.Check(func() Machine { return &sum{} }); err == nil {
		t.Error("a log without the last state passes")
	}
}
