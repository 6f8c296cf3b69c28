package slots

import (
	"errors"
	"reflect"
	"testing"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

func TestGenerationsInTheTableOnlyRise(t *testing.T) {
	var table Table
	table.Init(3, 1)
	if g := table.Attempt(3); g != 1 {
		t.Errorf("the first attempt has %d", g)
	}
	if g := table.Attempt(3); g != 3 {
		t.Errorf("the second attempt has %d", g)
	}
	assign := func(want int, list ...Assignment) {
		t.Helper()
		if got, err := table.Assign(list); got != want || err != nil {
			t.Errorf("%v changed %d slots: %v", list, got, err)
		}
	}
	assign(1, Assignment{3, Owner{2, 3}})
	assign(0, Assignment{3, Owner{2, 3}}, Assignment{3, Owner{5, 1}}) // twice, and late
	if got := table.Of(3); got != (Entry{Owner{2, 3}, 4}) {
		t.Errorf("the slot is %+v", got)
	}
	for _, bad := range []Assignment{{3, Owner{2, 5}}, {4, Owner{2, 1}}, {3, Owner{0, 4}}, {shard.Slots, Owner{2, 0}}} {
		if n, err := table.Assign([]Assignment{{3, Owner{9, 4}}, bad}); n != 0 || err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
	if got := table.Of(3); got.Shard != 2 {
		t.Error("a refused assignment changed a slot")
	}
}

func TestTheTableHasOneForm(t *testing.T) {
	table := NewTable([]uint64{1, 2, 3, 4})
	if n := len(codec.Save(nil, table.Code)); n > 32 {
		t.Errorf("a table in four runs takes %d bytes", n)
	}
	table.Attempt(0)
	table.Attempt(4095)
	read := func(src []byte) (*Table, error) {
		got, c := &Table{}, codec.Reader(src)
		got.Code(c)
		return got, c.Finish("read")
	}
	saved := codec.Save(nil, table.Code)
	if got, err := read(saved); err != nil || !reflect.DeepEqual(got, table) {
		t.Errorf("the table is not read: %v", err)
	}
	for n := range saved {
		if _, err := read(saved[:n]); !errors.Is(err, codec.Err) {
			t.Errorf("the first %d of %d bytes: %v", n, len(saved), err)
		}
	}
	for _, bad := range [][]byte{
		{0x80, 0x20, 1, 2, 1},             // a generation above the last
		{0x81, 0x20, 1, 0, 0},             // a slot too many
		{1, 1, 0, 0, 0xff, 0x1f, 1, 0, 0}, // two runs instead of one
		{0, 1, 0, 0},
	} {
		if _, err := read(bad); !errors.Is(err, codec.Err) {
			t.Errorf("%x: %v", bad, err)
		}
	}
}

func TestAnAttemptIsPendingUntilItsOutcomeIsRecorded(t *testing.T) {
	for name, outcome := range map[string]Owner{"opened": {2, 1}, "kept": {1, 2}} {
		table := NewTable([]uint64{1})
		if g := table.Pending(7); g != 0 {
			t.Errorf("%s: generation %d is pending before the first attempt", name, g)
		}
		g := table.Attempt(7)
		if got := table.Pending(7); got != g {
			t.Errorf("%s: generation %d is pending, want %d", name, got, g)
		}
		if _, err := table.Assign([]Assignment{{7, outcome}}); err != nil {
			t.Fatal(err)
		}
		if got := table.Pending(7); got != 0 {
			t.Errorf("%s: generation %d is still pending", name, got)
		}
	}
}
