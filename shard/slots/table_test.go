package slots

import (
	"errors"
	"reflect"
	"testing"

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
	assign(1, Assignment{3, Place{2, 3}})
	assign(0, Assignment{3, Place{2, 3}}, Assignment{3, Place{5, 1}}) // twice, and late
	if got := table.Of(3); got != (Entry{Place{2, 3}, 4}) {
		t.Errorf("the slot is %+v", got)
	}
	for _, bad := range []Assignment{{3, Place{2, 5}}, {4, Place{2, 1}}, {3, Place{0, 4}}, {Count, Place{2, 0}}} {
		if n, err := table.Assign([]Assignment{{3, Place{9, 4}}, bad}); n != 0 || err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
	if got := table.Of(3); got.Shard != 2 {
		t.Error("a refused assignment changed a slot")
	}
}

func TestTheTableHasOneForm(t *testing.T) {
	var table Table
	for slot := range uint16(Count) {
		table.Init(slot, uint64(slot/1024+1))
	}
	if n := len(table.Save(nil)); n > 32 {
		t.Errorf("a table in four runs takes %d bytes", n)
	}
	table.Attempt(0)
	table.Attempt(4095)
	saved := table.Save(nil)
	if got, err := LoadTable(saved); err != nil || !reflect.DeepEqual(got, &table) {
		t.Errorf("the table is not read: %v", err)
	}
	for n := range saved {
		if _, err := LoadTable(saved[:n]); !errors.Is(err, codec.Err) {
			t.Errorf("the first %d of %d bytes: %v", n, len(saved), err)
		}
	}
	for _, bad := range [][]byte{
		{1, 0x80, 0x20, 1, 2, 1},             // a generation above the last
		{1, 0x81, 0x20, 1, 0, 0},             // a slot too many
		{1, 1, 1, 0, 0, 0xff, 0x1f, 1, 0, 0}, // two runs instead of one
		{1, 0, 1, 0, 0},
	} {
		if _, err := LoadTable(bad); !errors.Is(err, codec.Err) {
			t.Errorf("%x: %v", bad, err)
		}
	}
	if _, err := LoadTable([]byte{2}); !errors.Is(err, codec.ErrNewer) {
		t.Errorf("a later form: %v", err)
	}
}
