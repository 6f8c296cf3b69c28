package slots

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/shard/internal/codec"
)

// tables is a Content with a text for each slot.
type tables struct {
	text  map[uint16]string
	later string
	fits  error
}

func (tab *tables) Pack(slot uint16) (*Parcel, string) {
	return &Parcel{Bytes: []byte(tab.text[slot]), Now: 50}, tab.later
}
func (tab *tables) TakeOut(slot uint16)           { delete(tab.text, slot) }
func (tab *tables) Check(uint16, *Parcel) error   { return tab.fits }
func (tab *tables) TakeIn(slot uint16, p *Parcel) { tab.text[slot] = string(p.Bytes) }
func newTables(slot uint16, text string) *tables  { return &tables{text: map[uint16]string{slot: text}} }
func sealOf(slot uint16, g, to uint64) *Command {
	return &Command{Kind: Seal, Slot: slot, Generation: g, Shard: to, Level: 8}
}
func commandOf(k Kind, slot uint16, g uint64) *Command {
	return &Command{Kind: k, Slot: slot, Generation: g}
}

// apply executes a command that must have the given outcome and reason.
func apply(t *testing.T, s *Slots, f *tables, c *Command, want Outcome, reason string) {
	t.Helper()
	if got := s.Apply(c, f, 100); got.Outcome != want || !strings.Contains(got.Reason, reason) || reason == "" &&
		got.Reason != "" {
		t.Fatalf("%v(%d) is %v: %q; want %v: %q", c.Kind, c.Generation, got.Outcome, got.Reason, want, reason)
	}
}

// sealed returns a shard that has sealed a slot for shard 2, and the command to open the parcel.
func sealed(t *testing.T, text string) (*Slots, *tables, *Command) {
	s, f := New(1, 8), newTables(7, text)
	s.Own(7)
	apply(t, s, f, sealOf(7, 1, 2), Done, "")
	return s, f, &Command{Kind: Open, Slot: 7, Generation: 1, Shard: 1, Parcel: s.Of(7).Parcel}
}

func TestSealTakesTheContentOut(t *testing.T) {
	s, f, open := sealed(t, "content")
	if _, left := f.text[7]; left || string(open.Parcel.Bytes) != "content" || open.Parcel.Level != 8 {
		t.Errorf("the tables have %v, the parcel %+v", f.text, open.Parcel)
	}
	apply(t, s, f, sealOf(7, 1, 2), Done, "sealed before")
	apply(t, s, f, sealOf(7, 3, 2), Void, "the slot is sealed here")
}

func TestSealSaysWhyNot(t *testing.T) {
	s, f := New(1, 8), newTables(7, "content")
	apply(t, s, f, sealOf(7, 1, 2), Void, "never had the slot")
	if len(s.All()) != 0 {
		t.Error("a command without effect leaves a record")
	}
	s.Own(7)
	apply(t, s, f, sealOf(7, 0, 2), Void, "generation 0 is over")
	apply(t, s, f, sealOf(7, 1, 1), Void, "here already")
	c := sealOf(7, 1, 2)
	c.Level = 9
	apply(t, s, f, c, Later, "level 8")
	f.later = "a node that is being dropped has objects here"
	apply(t, s, f, sealOf(7, 1, 2), Later, f.later)
	f.later = ""
	f.text[7] = strings.Repeat("x", MaxBytes+1)
	apply(t, s, f, sealOf(7, 1, 2), Void, errLarge.Error())
	if got := s.Of(7); got.State != Owned || got.Seen != 0 || len(f.text[7]) != MaxBytes+1 {
		t.Errorf("a refused seal changed the slot: %v, seen %d", got.State, got.Seen)
	}
	f.text[7] = ""
	apply(t, s, f, commandOf(Keep, 7, 1), Done, "")
	apply(t, s, f, sealOf(7, 1, 2), Void, "generation 1 is over")
}

func TestAParcelThatDoesNotFitIsRefusedForEver(t *testing.T) {
	_, _, open := sealed(t, "content")
	damaged := *open.Parcel
	damaged.Bytes = []byte("damaged")
	large := *open.Parcel
	large.Records = MaxRecords + 1
	for _, c := range []struct {
		parcel *Parcel
		fits   error
		reason string
	}{
		{&damaged, nil, errDigest.Error()},
		{&large, nil, errLarge.Error()},
		{open.Parcel, errors.New("session 9 has order 3 in both"), "session 9 has order 3 in both"},
	} {
		to, f := New(2, 8), newTables(1, "")
		f.fits = c.fits
		bad := *open
		bad.Parcel = c.parcel
		apply(t, to, f, &bad, Refused, c.reason)
		f.fits = nil
		apply(t, to, f, open, Refused, c.reason)
		apply(t, to, f, commandOf(Refuse, 7, 1), Refused, c.reason)
		if _, in := f.text[7]; in || to.Of(7).Hint != (Place{1, 2}) {
			t.Errorf("a refused parcel was taken in, or the hint is %v", to.Of(7).Hint)
		}
	}
}

func TestAParcelOfAHigherLevelWaits(t *testing.T) {
	_, _, open := sealed(t, "content")
	to, f := New(2, 7), newTables(1, "")
	apply(t, to, f, open, Later, "level 8")
	if len(to.All()) != 0 {
		t.Error("an open that waits leaves a record")
	}
	to.Raise(8)
	apply(t, to, f, open, Opened, "")
	apply(t, to, f, open, Opened, "")
	apply(t, to, f, commandOf(Refuse, 7, 1), Opened, "")
	if f.text[7] != "content" || !to.Owns(7, 1) || to.Owns(7, 2) {
		t.Error("the slot is not open")
	}
}

func TestOpenNeverOverwrites(t *testing.T) {
	_, _, open := sealed(t, "theirs")
	to, f := New(2, 8), newTables(7, "ours")
	to.Own(7)
	open.Generation = 3
	apply(t, to, f, open, Refused, "the slot is owned here")
	if f.text[7] != "ours" {
		t.Error("a second owner overwrote the first")
	}
}

func TestASlotIsKeptUnderTheSecondGeneration(t *testing.T) {
	s, f, _ := sealed(t, "content")
	apply(t, s, f, commandOf(Keep, 7, 1), Done, "")
	apply(t, s, f, commandOf(Keep, 7, 1), Done, "kept before")
	apply(t, s, f, commandOf(GiveAway, 7, 1), Void, "owned(2)")
	if f.text[7] != "content" || !s.Owns(7, 2) {
		t.Error("the content is not back")
	}
}

func TestAGivenParcelStaysUntilItIsForgotten(t *testing.T) {
	s, f, _ := sealed(t, "content")
	forget := commandOf(GiveAway, 7, 1)
	forget.Forget = true
	apply(t, s, f, forget, Void, "the slot is sealed here")
	for _, again := range []string{"", "given away before"} {
		apply(t, s, f, commandOf(GiveAway, 7, 1), Done, again)
		if x := s.Of(7); x.State != Given || x.Parcel == nil || x.Since != 100 {
			t.Errorf("the slot is %+v", x)
		}
	}
	apply(t, s, f, commandOf(Keep, 7, 1), Void, "given(1)")
	for _, again := range []string{"", "given away before"} {
		apply(t, s, f, forget, Done, again)
	}
	if x := s.Of(7); x.State != Away || x.Parcel != nil {
		t.Errorf("the slot is %+v", x)
	}
	back := commandOf(Return, 7, 1)
	back.As = 5
	apply(t, s, f, back, Void, "away(1)")
}

// TestAGivenParcelComesBackWhereTheOtherShardWasLost: the lost shard's remains have refused the generation, or drop a
// slot that another shard has opened since.
func TestAGivenParcelComesBackWhereTheOtherShardWasLost(t *testing.T) {
	s, f, open := sealed(t, "content")
	apply(t, s, f, commandOf(GiveAway, 7, 1), Done, "")
	back := commandOf(Return, 7, 1)
	back.As = 1
	apply(t, s, f, back, Void, "generation 1 is over")
	back.As = 5
	apply(t, s, f, back, Done, "")
	apply(t, s, f, back, Done, "returned before")
	if f.text[7] != "content" || !s.Owns(7, 5) {
		t.Error("the content is not back")
	}
	lost, g := New(2, 8), newTables(1, "")
	apply(t, lost, g, open, Opened, "")
	yield := &Command{Kind: Yield, Slot: 7, Generation: 5, Shard: 1}
	apply(t, lost, g, yield, Done, "")
	apply(t, lost, g, yield, Void, "away(5)")
	apply(t, lost, g, open, Opened, "") // is over
	if way, to := lost.Route(Request{Slot: 7, Generation: 1}); way != Redirect || to != (Place{1, 5}) ||
		len(g.text) != 1 {
		t.Errorf("the lost shard answers %v %v and has %v", way, to, g.text)
	}
}

func TestOnlySealAndOpenNeedRoom(t *testing.T) {
	for k := Seal; k < kinds; k++ {
		if want := k != Seal && k != Open; k.Frees() != want {
			t.Errorf("%v frees: %v", k, k.Frees())
		}
	}
}

func TestRoute(t *testing.T) {
	s, f, _ := sealed(t, "content")
	none, owner := New(2, 8), New(3, 8)
	owner.Own(7)
	apply(t, owner, f, commandOf(Keep, 7, 3), Done, "") // owned under 4
	refused := New(4, 8)
	apply(t, refused, f, &Command{Kind: Refuse, Slot: 7, Generation: 1, Shard: 1}, Refused, "cancelled")
	for _, c := range []struct {
		name string
		at   *Slots
		r    Request
		want Way
		to   Place
	}{
		{"a mutation at the owner, whatever it names", owner, Request{Generation: 9}, Serve, Place{}},
		{"a read of before", owner, Request{Generation: 1, Reads: true}, Serve, Place{}},
		{"a read of a later owner", owner, Request{Generation: 5, Reads: true}, Barrier, Place{}},
		{"a sealed slot", s, Request{}, Redirect, Place{2, 1}},
		{"a sealed slot, for a client of that generation", s, Request{Generation: 1}, Unavailable, Place{}},
		{"a client that is ahead", none, Request{Generation: 1}, Park, Place{}},
		{"a shard that has heard of nothing", none, Request{}, Unavailable, Place{}},
		{"the table knows", none, Request{Table: Place{3, 4}}, Redirect, Place{3, 4}},
		{"the table says that the slot is here", none, Request{Generation: 4, Table: Place{2, 4}}, Park, Place{}},
		{"the table is behind the log", s, Request{Table: Place{3, 0}}, Redirect, Place{2, 1}},
		{"a refusal", refused, Request{Generation: 1}, Redirect, Place{1, 2}},
		{"a refusal, for who heard of the keep", refused, Request{Generation: 2}, Park, Place{}},
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
		p := Parcel{Now: c.sealed}
		if got := p.Moment(c.at, c.now); got != c.want {
			t.Errorf("%d sealed at %d is %d at %d, want %d", c.at, c.sealed, got, c.now, c.want)
		}
	}
}

func TestEveryCommandHasOneForm(t *testing.T) {
	_, _, open := sealed(t, "content")
	for _, c := range []Command{
		*sealOf(4095, math.MaxUint64, 3), *open, {Kind: Refuse, Slot: 7, Generation: 1, Shard: 2},
		*commandOf(Keep, 7, 300), {Kind: GiveAway, Slot: 7, Generation: 1, Forget: true},
		{Kind: Return, Slot: 7, Generation: 1, As: 5}, {Kind: Yield, Slot: 7, Generation: 1, Shard: 2},
	} {
		saved := c.Append(nil)
		if got, err := Parse(saved); err != nil || !reflect.DeepEqual(got, c) {
			t.Errorf("%+v became %+v: %v", c, got, err)
		}
		for n := range saved {
			if _, err := Parse(saved[:n]); !errors.Is(err, codec.Err) {
				t.Errorf("%v: the first %d of %d bytes: %v", c.Kind, n, len(saved), err)
			}
		}
		if _, err := Parse(append(saved, 0)); !errors.Is(err, codec.Err) {
			t.Errorf("%v: a byte too many: %v", c.Kind, err)
		}
	}
	for _, bad := range [][]byte{{1, 0, 7, 1}, {1, byte(kinds), 7, 1}, {1, byte(Keep), 0x80, 0x20, 1}} {
		if _, err := Parse(bad); !errors.Is(err, codec.Err) {
			t.Errorf("%x: %v", bad, err)
		}
	}
}

func TestSlotsThatNoCommandsLeadToAreNotLoaded(t *testing.T) {
	s, f, open := sealed(t, "content")
	apply(t, s, f, &Command{Kind: Refuse, Slot: 8, Generation: 5, Shard: 3}, Refused, "cancelled")
	saved := s.Save(nil)
	loaded := New(1, 8)
	if err := loaded.Load(saved); err != nil || !reflect.DeepEqual(loaded, s) {
		t.Fatalf("%+v became %+v: %v", s, loaded, err)
	}
	if err := loaded.Load([]byte{2}); !errors.Is(err, codec.ErrNewer) {
		t.Errorf("a later form: %v", err)
	}
	damaged := *open.Parcel
	damaged.Digest++
	for _, bad := range []Slot{
		{Number: Count}, {State: Owned, Generation: 1}, {Generation: 1, Seen: 1}, {State: Away}, {To: 1},
		{State: Sealed, Generation: 1, Seen: 1, To: 2, Parcel: &damaged},
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
}
