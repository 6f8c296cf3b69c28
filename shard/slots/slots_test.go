package slots

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// tables is a Content with a text for each slot.
type tables struct {
	text  map[shard.Slot]string
	later string
	fits  error
}

func (tab *tables) Pack(slot shard.Slot, _ Limits) (*Snapshot, string, error) {
	return &Snapshot{Bytes: []byte(tab.text[slot]), Now: 50}, tab.later, nil
}
func (tab *tables) TakeOut(slot shard.Slot)            { delete(tab.text, slot) }
func (tab *tables) Check(shard.Slot, *Snapshot) error  { return tab.fits }
func (tab *tables) Merge(slot shard.Slot, p *Snapshot) { tab.text[slot] = string(p.Bytes) }
func newTables(slot shard.Slot, text string) *tables {
	return &tables{text: map[shard.Slot]string{slot: text}}
}
func sealOf(slot shard.Slot, g, to uint64) *shard.Command {
	return &shard.Command{Kind: shard.CmdSlotSeal, Slot: slot, Count: g, Number: to, Level: 8}
}
func commandOf(k shard.CommandKind, g, number uint64) *shard.Command {
	return &shard.Command{Kind: k, Slot: 7, Count: g, Number: number}
}

// shardWith returns the slots of a shard that owns some.
func shardWith(id uint64, owned ...shard.Slot) *Slots {
	var set shard.SlotSet
	for _, slot := range owned {
		set.Add(slot, slot)
	}
	s := New(id, set)
	return &s
}

// openOf returns the command that opens a slot snapshot.
func openOf(g, from uint64, sn *Snapshot) *shard.Command {
	c := commandOf(shard.CmdSlotOpen, g, from)
	c.Body = sn.Append(nil)
	return c
}

// apply executes a command, and compares outcome and reason.
func apply(t *testing.T, s *Slots, f *tables, c *shard.Command, want Outcome, reason string) {
	t.Helper()
	applyAt(t, s, f, c, 8, want, reason)
}

func applyAt(t *testing.T, s *Slots, f *tables, c *shard.Command, at level.Level, want Outcome, reason string) {
	t.Helper()
	got := s.Apply(c, f, At{Now: 100, Level: at})
	if got.Outcome != want || !strings.Contains(got.Reason, reason) || reason == "" && got.Reason != "" {
		t.Fatalf("%v(%d) is %v: %q; want %v: %q", c.Kind, c.Count, got.Outcome, got.Reason, want, reason)
	}
}

// sealed returns shard 1 after a seal for shard 2, and the command to open the slot snapshot.
func sealed(t *testing.T, text string) (*Slots, *tables, *shard.Command) {
	s, f := shardWith(1, 7), newTables(7, text)
	apply(t, s, f, sealOf(7, 1, 2), Done, "")
	return s, f, openOf(1, 1, s.Of(7).Content)
}

func TestSealTakesTheContentOut(t *testing.T) {
	s, f, open := sealed(t, "content")
	sn, err := Parse(open.Body)
	if _, left := f.text[7]; left || err != nil || string(sn.Bytes) != "content" || sn.Level != 8 || s.Has(7) ||
		s.Changes() != 1 {
		t.Errorf("the tables have %v, the slot snapshot is %+v: %v", f.text, sn, err)
	}
	apply(t, s, f, sealOf(7, 1, 2), Done, "sealed before")
	apply(t, s, f, sealOf(7, 3, 2), Void, "the slot is sealed here")
}

func TestSealSaysWhyNot(t *testing.T) {
	s, f := shardWith(1, 7), newTables(7, "content")
	apply(t, s, f, sealOf(8, 1, 2), Void, "the slot is none here")
	if len(s.Changed()) != 0 || s.Changes() != 0 {
		t.Error("a command without effect leaves a record")
	}
	apply(t, s, f, sealOf(7, 0, 2), Void, "generation 0 is over")
	apply(t, s, f, sealOf(7, 1, 1), Void, "here already")
	c := sealOf(7, 1, 2)
	c.Level = 9
	apply(t, s, f, c, Later, "level 8")
	f.later = "a node that is being dropped has objects here"
	apply(t, s, f, sealOf(7, 1, 2), Later, f.later)
	f.later = ""
	f.text[7] = strings.Repeat("x", Normal.Bytes+1)
	apply(t, s, f, sealOf(7, 1, 2), Void, "the slot has 1048577 bytes and 0 records, the limits are 1048576 and 30000")
	if got := s.Of(7); got.State != Owned || got.Seen != 0 || len(f.text[7]) != Normal.Bytes+1 {
		t.Errorf("a refused seal changed the slot: %v, seen %d", got.State, got.Seen)
	}
	large := sealOf(7, 1, 2)
	large.Flags = shard.FlagForce
	f.text[7] = strings.Repeat("x", Large.Bytes+1)
	apply(t, s, f, large, Void, "the limits are 8388608 and 120000")
	f.text[7] = ""
	apply(t, s, f, commandOf(shard.CmdSlotCancel, 1, 0), Done, "")
	apply(t, s, f, sealOf(7, 1, 2), Void, "generation 1 is over")
}

func TestASnapshotThatDoesNotFitIsRefusedForEver(t *testing.T) {
	s, _, open := sealed(t, "content")
	damaged := *s.Of(7).Content
	damaged.Bytes = []byte("damaged")
	large := *s.Of(7).Content
	large.Records = uint64(Large.Records) + 1
	for _, c := range []struct {
		body   []byte
		fits   error
		reason string
	}{
		{damaged.Append(nil), nil, errDigest.Error()},
		{large.Append(nil), nil, "120001 records"},
		{open.Body[:3], nil, codec.Err.Error()},
		{nil, nil, codec.Err.Error()},
		{open.Body, errors.New("session 9 has order 3 in both"), "session 9 has order 3 in both"},
	} {
		to, f := shardWith(2), newTables(1, "")
		f.fits = c.fits
		bad := *open
		bad.Body = c.body
		apply(t, to, f, &bad, Refused, c.reason)
		f.fits = nil
		apply(t, to, f, open, Refused, c.reason)
		apply(t, to, f, commandOf(shard.CmdSlotRefuse, 1, 1), Refused, c.reason)
		if _, in := f.text[7]; in || to.Of(7).Hint != (Owner{1, 2}) {
			t.Errorf("a refused slot snapshot was merged, or the hint is %v", to.Of(7).Hint)
		}
	}
}

func TestASnapshotOfAHigherLevelWaits(t *testing.T) {
	_, _, open := sealed(t, "content")
	to, f := shardWith(2), newTables(1, "")
	applyAt(t, to, f, open, 7, Later, "level 8")
	newer := *open
	newer.Body = []byte{formNumber + 1}
	apply(t, to, f, &newer, Later, codec.ErrNewer.Error())
	if len(to.Changed()) != 0 {
		t.Error("an open that waits leaves a record")
	}
	apply(t, to, f, open, Opened, "")
	apply(t, to, f, open, Opened, "")
	apply(t, to, f, commandOf(shard.CmdSlotRefuse, 1, 1), Opened, "")
	if f.text[7] != "content" || !to.Owns(7, 1) || to.Owns(7, 2) {
		t.Error("the slot is not open")
	}
}

func TestOpenNeverOverwrites(t *testing.T) {
	_, _, open := sealed(t, "theirs")
	to, f := shardWith(2, 7), newTables(7, "ours")
	open.Count = 3
	apply(t, to, f, open, Refused, "the slot is owned here")
	if f.text[7] != "ours" {
		t.Error("a second owner overwrote the first")
	}
}

func TestACancelledSlotStaysUnderTheSecondGeneration(t *testing.T) {
	s, f, _ := sealed(t, "content")
	apply(t, s, f, commandOf(shard.CmdSlotCancel, 1, 0), Done, "")
	apply(t, s, f, commandOf(shard.CmdSlotCancel, 1, 0), Done, "cancelled before")
	apply(t, s, f, commandOf(shard.CmdSlotRelease, 1, 0), Void, "owned(2)")
	if f.text[7] != "content" || !s.Owns(7, 2) {
		t.Error("the content is not back")
	}
}

func TestATransferredSnapshotStaysUntilItIsForgotten(t *testing.T) {
	s, f, _ := sealed(t, "content")
	release, forget := commandOf(shard.CmdSlotRelease, 1, 0), commandOf(shard.CmdSlotRelease, 1, 0)
	forget.Flags = shard.FlagForget
	apply(t, s, f, forget, Void, "the slot is sealed here")
	for _, again := range []string{"", "released before"} {
		apply(t, s, f, release, Done, again)
		if x := s.Of(7); x.State != Transferred || x.Content == nil || x.Since != 100 {
			t.Errorf("the slot is %+v", x)
		}
	}
	apply(t, s, f, commandOf(shard.CmdSlotCancel, 1, 0), Void, "transferred(1)")
	for _, again := range []string{"", "released before"} {
		apply(t, s, f, forget, Done, again)
	}
	if x := s.Of(7); x.State != Released || x.Content != nil {
		t.Errorf("the slot is %+v", x)
	}
	apply(t, s, f, commandOf(shard.CmdSlotReturn, 1, 5), Void, "released(1)")
}

// TestATransferredSnapshotComesBackIfTheOtherShardWasLost: the lost shard's remains have refused the generation, or
// drop a slot that another shard has opened since.
func TestATransferredSnapshotComesBackIfTheOtherShardWasLost(t *testing.T) {
	s, f, open := sealed(t, "content")
	apply(t, s, f, commandOf(shard.CmdSlotRelease, 1, 0), Done, "")
	apply(t, s, f, commandOf(shard.CmdSlotReturn, 1, 1), Void, "generation 1 is over")
	apply(t, s, f, commandOf(shard.CmdSlotReturn, 1, 5), Done, "")
	apply(t, s, f, commandOf(shard.CmdSlotReturn, 1, 5), Done, "returned before")
	if f.text[7] != "content" || !s.Owns(7, 5) {
		t.Error("the content is not back")
	}
	lost, g := shardWith(2), newTables(1, "")
	apply(t, lost, g, open, Opened, "")
	supersede := commandOf(shard.CmdSlotSupersede, 5, 1)
	apply(t, lost, g, commandOf(shard.CmdSlotSupersede, 5, 2), Void, "no other shard")
	apply(t, lost, g, supersede, Done, "")
	apply(t, lost, g, supersede, Void, "released(5)")
	apply(t, lost, g, open, Opened, "") // is over
	if way, to := lost.Route(Request{Slot: 7, Generation: 1}); way != Redirect || to != (Owner{1, 5}) ||
		len(g.text) != 1 {
		t.Errorf("the lost shard answers %v %v and has %v", way, to, g.text)
	}
}

func TestOnlySealAndOpenNeedDiskSpace(t *testing.T) {
	for k := shard.CmdSlotSeal; k <= shard.CmdSlotSupersede; k++ {
		if want := k != shard.CmdSlotSeal && k != shard.CmdSlotOpen; Frees(k) != want {
			t.Errorf("%v frees: %v", k, Frees(k))
		}
	}
}

func TestRoute(t *testing.T) {
	s, f, _ := sealed(t, "content")
	none, owner, refused := shardWith(2), shardWith(3, 7), shardWith(4)
	apply(t, owner, f, commandOf(shard.CmdSlotCancel, 3, 0), Done, "") // owned under 4
	apply(t, refused, f, commandOf(shard.CmdSlotRefuse, 1, 1), Refused, "cancelled")
	for _, c := range []struct {
		name string
		at   *Slots
		r    Request
		want Way
		to   Owner
	}{
		{"a mutation at the owner, whatever it names", owner, Request{Generation: 9}, Serve, Owner{}},
		{"a read of before", owner, Request{Generation: 1, Reads: true}, Serve, Owner{}},
		{"a read of a later owner", owner, Request{Generation: 5, Reads: true}, Barrier, Owner{}},
		{"a sealed slot", s, Request{}, Redirect, Owner{2, 1}},
		{"a sealed slot, for a client of that generation", s, Request{Generation: 1}, Unavailable, Owner{}},
		{"a client that is ahead", none, Request{Generation: 1}, Park, Owner{}},
		{"a shard that has heard of nothing", none, Request{}, Unavailable, Owner{}},
		{"the table knows", none, Request{Table: Owner{3, 4}}, Redirect, Owner{3, 4}},
		{"the table says that the slot is here", none, Request{Generation: 4, Table: Owner{2, 4}}, Park, Owner{}},
		{"the table is behind the log", s, Request{Table: Owner{3, 0}}, Redirect, Owner{2, 1}},
		{"a refusal", refused, Request{Generation: 1}, Redirect, Owner{1, 2}},
		{"a refusal, for who heard of the keep", refused, Request{Generation: 2}, Park, Owner{}},
	} {
		c.r.Slot = 7
		if way, to := c.at.Route(c.r); way != c.want || to != c.to {
			t.Errorf("%s: %v %v, want %v %v", c.name, way, to, c.want, c.to)
		}
	}
}

func TestMomentsMoveByTheTimesOfBothShards(t *testing.T) {
	for _, c := range []struct{ at, sealed, now, want uint64 }{
		{0, 100, 1000, 0},
		{5100, 100, 1000, 6001}, // 5 s are left
		{5100, 100, 1 << 44, 1<<44 + 5001},
		{50, 1 << 44, 1000, 1}, // long ago, and the other shard is young
		{1 << 44, 1<<44 + 10, 1000, 991},
		{999, 1000, 1000, 1000},
	} {
		p := Snapshot{Now: c.sealed}
		if got := p.Moment(c.at, c.now); got != c.want {
			t.Errorf("%d sealed at %d is %d at %d, want %d", c.at, c.sealed, got, c.now, c.want)
		}
	}
}

func TestEverySnapshotHasOneForm(t *testing.T) {
	_, _, open := sealed(t, "content")
	sn, err := Parse(open.Body)
	if err != nil || !bytes.Equal(sn.Append(nil), open.Body) {
		t.Fatalf("%+v: %v", sn, err)
	}
	for n := range open.Body {
		if _, err := Parse(open.Body[:n]); !errors.Is(err, codec.Err) {
			t.Errorf("the first %d of %d bytes: %v", n, len(open.Body), err)
		}
	}
	if _, err := Parse(append(open.Body, 0)); !errors.Is(err, codec.Err) {
		t.Errorf("a byte too many: %v", err)
	}
}

func TestSlotsThatNoCommandsLeadToAreNotLoaded(t *testing.T) {
	s, f, open := sealed(t, "content")
	s.owned.Add(100, 200)
	s.owned.Add(4000, 4095)
	refuse := commandOf(shard.CmdSlotRefuse, 5, 3)
	refuse.Slot = 8
	apply(t, s, f, refuse, Refused, "cancelled")
	saved := s.Save(nil)
	loaded := shardWith(1)
	if err := loaded.Load(saved); err != nil {
		t.Fatal(err)
	}
	contents := s.Contents()
	for _, bad := range [][]*Snapshot{nil, {{Digest: contents[0].Digest}}, {{}}, append(contents, contents[0])} {
		if err := loaded.Load(saved); err != nil || loaded.SetContents(bad) == nil {
			t.Errorf("%d slot snapshots: %v", len(bad), err)
		}
	}
	if err := loaded.Load(saved); err != nil || loaded.SetContents(contents) != nil || !reflect.DeepEqual(loaded, s) {
		t.Fatalf("%+v became %+v: %v", s, loaded, err)
	}
	if err := loaded.Load([]byte{2}); !errors.Is(err, codec.ErrNewer) {
		t.Errorf("a later form: %v", err)
	}
	sn, _ := Parse(open.Body)
	for _, bad := range []Slot{
		{Number: shard.Slots}, {State: Owned, Generation: 1}, {State: Owned}, {Generation: 1, Seen: 1},
		{State: Released}, {To: 1}, {State: Sealed, Generation: 1, To: 2, Content: sn},
	} {
		wrong := Slots{slots: []Slot{bad}}
		if err := loaded.Load(wrong.Save(nil)); !errors.Is(err, codec.Err) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	twice := Slots{slots: []Slot{{Number: 3}, {Number: 3}}}
	if err := loaded.Load(twice.Save(nil)); !errors.Is(err, codec.Err) || !bytes.Equal(loaded.Save(nil), saved) {
		t.Errorf("a slot twice: %v", err)
	}
	for _, runs := range [][]byte{
		{1, 0, 0}, {1, 0xff, 0x1f, 2}, {2, 0, 1, 0, 1}, {1, 1, 0xff, 0xff, 0xff, 0xff, 0x7f},
	} {
		if err := loaded.Load(append(append([]byte{formNumber, 0}, runs...), 0)); !errors.Is(err, codec.Err) {
			t.Errorf("runs %v: %v", runs, err)
		}
	}
}

// FuzzParse: bytes are a slot snapshot in exactly one form, or none.
func FuzzParse(f *testing.F) {
	sn := Snapshot{Level: 1, Now: 50, LastOrder: 1 << 40, Records: 3, Bytes: []byte("content")}
	sn.Sign()
	f.Add(sn.Append(nil))
	f.Fuzz(func(t *testing.T, src []byte) {
		if sn, err := Parse(src); err == nil && !bytes.Equal(sn.Append(nil), src) {
			t.Errorf("%x is read, and written as %x", src, sn.Append(nil))
		}
	})
}
