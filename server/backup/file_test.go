package backup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol/backupfile"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/kinds"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/meta"
)

// magic is the prefix of backup files.
const magic = "signalbox backup"

// cluster has two data shards with a semaphore each, and a node.
func cluster(t *testing.T) *States {
	t.Helper()
	s := NewStates(backupfile.Header{Cluster: "c", Begun: time.Unix(1e9, 0).UTC(), Shards: 2, Level: level.Newest,
		Version: "1"})
	s.Meta = meta.New()
	var done meta.Effects
	s.Meta.Apply(&meta.Batch{Commands: []meta.Command{
		{Kind: meta.CmdRoutingInit, Cluster: "c", Shards: []meta.ShardID{1, 2}},
		{Kind: meta.CmdNodeCreate, Path: "/n"},
	}}, &done)
	for _, g := range s.Meta.Routing().Ranges {
		var slots shard.SlotSet
		slots.Add(g.First, g.Last)
		m := machine.New(kinds.All(), machine.Options{Slots: slots})
		var out shard.Effects
		for i := 0; m.State().Semaphores == nil; i++ {
			m.Apply(&shard.Batch{Commands: []shard.Command{{Kind: shard.CmdSemaphoreCreate, Level: 1, Node: 1,
				Name: fmt.Append(nil, "s", i), Count: 1, Data: bytes.Repeat([]byte("d"), 300_000)}}}, &out)
		}
		s.Data[g.Shard] = m
	}
	for id := range meta.ShardID(3) {
		s.Sections[id] = backupfile.Section{Shard: uint64(id), Term: 3, Index: 100 + uint64(id)}
	}
	return s
}

func saved(t *testing.T, s *States) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := s.Save(&file); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func TestABackupIsLoadedAsItWasSaved(t *testing.T) {
	s := cluster(t)
	file := saved(t, s)
	got, err := Load(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if got.Header != s.Header || len(got.Sections) != 3 || got.Sections[2] != s.Sections[2] || got.Meta.Digest() !=
		s.Meta.Digest() || got.Data[1].Digest() != s.Data[1].Digest() || got.Data[2].Digest() != s.Data[2].Digest() {
		t.Errorf("%+v", got)
	}
	if again := saved(t, got); !bytes.Equal(again, file) {
		t.Error("it has other bytes when it is saved again")
	}
}

// TestATornBackupIsNone: a file truncated anywhere is refused, with the position.
func TestATornBackupIsNone(t *testing.T) {
	file := saved(t, cluster(t))
	for n := 0; n < len(file); n += max(1, min(len(file)-n-1, 9973)) {
		_, err := Load(bytes.NewReader(file[:n]))
		if !errors.Is(err, backupfile.ErrDamaged) && !errors.Is(err, machine.ErrBadSnapshot) &&
			!errors.Is(err, meta.ErrSnapshot) {
			t.Fatalf("%d of %d bytes: %v", n, len(file), err)
		}
		if n > len(file)/2 && !strings.Contains(err.Error(), "shard") && !strings.Contains(err.Error(), "seal") {
			t.Fatalf("%d of %d bytes: no place in %v", n, len(file), err)
		}
	}
	if _, err := Load(bytes.NewReader(append(file, 0))); !errors.Is(err, backupfile.ErrDamaged) {
		t.Errorf("a byte behind the end: %v", err)
	}
}

// TestAFlippedBitIsNoticed: a flipped bit is detected, and its section named.
func TestAFlippedBitIsNoticed(t *testing.T) {
	file := saved(t, cluster(t))
	names := map[string]int{}
	for at := 0; at < len(file); at += 4999 {
		flipped := bytes.Clone(file)
		flipped[at] ^= 1 << (at % 8)
		_, err := Load(bytes.NewReader(flipped))
		if err == nil {
			t.Fatalf("byte %d of %d is not noticed", at, len(file))
		}
		for _, name := range []string{"shard 1", "shard 2", "meta shard", "header", "newer version"} {
			if strings.Contains(err.Error(), name) {
				names[name]++
			}
		}
	}
	if names["shard 1"] < 10 || names["shard 2"] < 10 {
		t.Errorf("named: %v", names)
	}
}

// TestASectionOfAnotherFile: each record is valid alone, and the seal shows that the records do not belong together.
func TestASectionOfAnotherFile(t *testing.T) {
	one, two := cluster(t), cluster(t)
	two.Sections[1] = backupfile.Section{Shard: 1, Term: 9, Index: 9}
	a, b := saved(t, one), saved(t, two)
	if len(a) <= len(b) {
		t.Skip("the files have one length")
	}
	cut := bytes.LastIndex(b, []byte(`"term":9`)) + 400_000
	mixed := append(bytes.Clone(b[:cut]), a[cut+len(a)-len(b):]...)
	if _, err := Load(bytes.NewReader(mixed)); !errors.Is(err, backupfile.ErrDamaged) {
		t.Errorf("got %v", err)
	}
}

func TestANewerFormatIsSaid(t *testing.T) {
	file := saved(t, cluster(t))
	file[len(magic)]++
	if _, err := Load(bytes.NewReader(file)); !errors.Is(err, backupfile.ErrNewer) {
		t.Errorf("got %v", err)
	}
}

func TestAShardThatIsMissing(t *testing.T) {
	s := cluster(t)
	delete(s.Data, 2)
	if _, err := Load(bytes.NewReader(saved(t, s))); !errors.Is(err, backupfile.ErrIncomplete) {
		t.Errorf("without a data shard: %v", err)
	}
	s = cluster(t)
	s.Meta = nil
	if _, err := Load(bytes.NewReader(saved(t, s))); !errors.Is(err, backupfile.ErrIncomplete) {
		t.Errorf("without the meta shard: %v", err)
	}
}

// TestTheFileOfAHostMayLackShards: a host with some shards writes a file with these shards, to be read together with
// other files.
func TestTheFileOfAHostMayLackShards(t *testing.T) {
	a, b := cluster(t), cluster(t)
	for _, at := range []struct {
		s       *States
		without meta.ShardID
	}{{a, 1}, {b, 2}} {
		delete(at.s.Data, at.without)
		delete(at.s.Sections, at.without)
	}
	var parts []*States
	for _, s := range []*States{a, b} {
		part, err := LoadPart(bytes.NewReader(saved(t, s)))
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, part)
	}
	best, err := Choose(parts)
	if err != nil || len(best.Missing()) != 0 || len(best.Data) != 2 {
		t.Errorf("%v: %+v", err, best)
	}
	if best, err = Choose(parts[:1]); err != nil || Names(best.Missing()) != "shard 1" {
		t.Errorf("%v: %+v", err, best)
	}
	none := cluster(t)
	clear(none.Data)
	_, err = Load(bytes.NewReader(saved(t, none)))
	if !errors.Is(err, backupfile.ErrIncomplete) || !strings.HasSuffix(err.Error(), "shard 1, shard 2 is missing") {
		t.Errorf("without any data shard: %v", err)
	}
}

// TestTheFurthestStateOfEachShardIsChosen: by term, then by index, from any host.
func TestTheFurthestStateOfEachShardIsChosen(t *testing.T) {
	a, b := cluster(t), cluster(t)
	a.Sections[1] = backupfile.Section{Shard: 1, Term: 4, Index: 10}
	b.Sections[1] = backupfile.Section{Shard: 1, Term: 3, Index: 99}
	a.Sections[2] = backupfile.Section{Shard: 2, Term: 3, Index: 10}
	b.Sections[2] = backupfile.Section{Shard: 2, Term: 3, Index: 11}
	b.Header.Begun = b.Header.Begun.Add(-time.Hour)
	delete(a.Sections, 0)
	a.Meta = nil
	best, err := Choose([]*States{a, b})
	if err != nil || best.Data[1] != a.Data[1] || best.Data[2] != b.Data[2] || best.Meta != b.Meta ||
		!best.Header.Begun.Equal(b.Header.Begun) {
		t.Errorf("%v: %+v", err, best)
	}
	b.Header.Cluster = "other"
	if _, err := Choose([]*States{a, b}); err == nil {
		t.Error("states of two clusters are mixed")
	}
	if _, err := Choose([]*States{a}); err == nil {
		t.Error("there is no meta shard")
	}
}

// TestASectionThatWasGivenUpCountsForNothing: an abandoned section is replaced by the next section for the same shard,
// wherever the abandoned section broke off.
func TestASectionThatWasGivenUpCountsForNothing(t *testing.T) {
	s := cluster(t)
	var whole bytes.Buffer
	snapshot, err := s.Data[1].PrepareSnapshot()
	if err == nil {
		err = snapshot.Save(&whole, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 100, whole.Len() / 2, whole.Len()} {
		var file bytes.Buffer
		w, err := backupfile.NewWriter(&file, s.Header)
		if err != nil {
			t.Fatal(err)
		}
		part, err := w.Section(backupfile.Section{Shard: 1, Term: 2, Index: 1})
		if err != nil {
			t.Fatal(err)
		}
		_, err = part.Write(whole.Bytes()[:n])
		if err = errors.Join(err, part.GiveUp()); err != nil {
			t.Fatal(err)
		}
		for _, id := range []meta.ShardID{1, 2, 0} {
			if err := s.saveSection(w, id); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := Load(&file)
		if err != nil || got.Sections[1] != s.Sections[1] || got.Data[1].Digest() != s.Data[1].Digest() {
			t.Errorf("after %d of %d bytes: %v", n, whole.Len(), err)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, file []byte) {
		if s, err := Load(bytes.NewReader(file)); err == nil {
			if err := s.Save(io.Discard); err != nil {
				t.Error(err)
			}
		}
	})
}
