package logdb

import (
	"errors"
	"math"
	"reflect"
	"testing"

	pb "github.com/lni/dragonboat/v4/raftpb"
)

func testChanges() map[string]change {
	entries := []pb.Entry{
		{Index: 7, Term: 3, Type: pb.EncodedEntry, Key: math.MaxUint64, ClientID: 1 << 49, SeriesID: 9, RespondedTo: 2,
			Cmd: []byte("command")},
		{Index: 8, Term: 4, Cmd: make([]byte, 300)},
	}
	return map[string]change{
		"nothing":   {},
		"cleared":   {cleared: true},
		"bootstrap": {bootstrap: []byte("bootstrap")},
		"state":     {state: pb.State{Term: math.MaxUint64, Vote: 1, Commit: 1 << 40}},
		"snapshot":  {snapshot: []byte("snapshot"), installed: true},
		"entries":   {entries: entries},
		"rewritten": {entries: entries[1:], rewritten: true},
		"all": {cleared: true, bootstrap: []byte{}, state: pb.State{Commit: 1}, snapshot: []byte("s"), installed: true,
			entries: entries},
	}
}

func TestAChangeIsReadAsItWasWritten(t *testing.T) {
	for name, want := range testChanges() {
		got, err := readChange(want.appendTo([]byte("before"))[len("before"):])
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got.count > 0 {
			if got.entries, err = got.decode(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if !reflect.DeepEqual(got.change, want) {
			t.Errorf("%s is read as %+v, was %+v", name, got.change, want)
		}
	}
}

func TestAChangeOfAnotherFormIsRefused(t *testing.T) {
	for name, c := range testChanges() {
		whole := c.appendTo(nil)
		for n := range whole {
			got, err := readChange(whole[:n])
			if err == nil && got.count > 0 {
				_, err = got.decode()
			}
			if !errors.Is(err, errForm) {
				t.Errorf("%s, %d of %d bytes: %v", name, n, len(whole), err)
			}
		}
	}
	for name, b := range map[string][]byte{
		"an unknown flag": {isUnknown}, "more than it says": {isCleared, 1}, "no entries": {hasEntries, 1, 0},
	} {
		if _, err := readChange(b); !errors.Is(err, errForm) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzReadChange: a record with valid checksums may still contain anything, if a different version wrote it.
func FuzzReadChange(f *testing.F) {
	for _, c := range testChanges() {
		f.Add(c.appendTo(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := readChange(b)
		if err == nil && r.count > 0 {
			_, _ = r.decode()
		}
	})
}
