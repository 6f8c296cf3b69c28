package hosts

import (
	"strings"
	"testing"
)

func TestAnIncarnationIsReadAsItIsWritten(t *testing.T) {
	want := Incarnation{0: 0xab, 15: 0x07}
	text, err := want.MarshalText()
	if err != nil || string(text) != "ab"+strings.Repeat("00", 14)+"07" {
		t.Fatalf("it is written as %s, %v", text, err)
	}
	var got Incarnation
	if err := got.UnmarshalText(text); err != nil || got != want {
		t.Errorf("it is read as %s, %v", got, err)
	}
	for _, bad := range []string{"", "ab", string(text) + "00", strings.ToUpper(string(text)),
		strings.Repeat("x", 32), "0x" + string(text)[2:]} {
		if err := got.UnmarshalText([]byte(bad)); err == nil || got != want {
			t.Errorf("%q is taken for %s, %v", bad, got, err)
		}
	}
}

func TestWhichStartIsThatOfAnOlderCopy(t *testing.T) {
	newest := Start{Number: 5, Draw: 77}
	for _, c := range []struct {
		start Start
		want  bool
	}{
		{Start{4, 1}, true}, {Start{4, 77}, true}, {Start{5, 76}, true}, {Start{5, 77}, false}, {Start{6, 1}, false},
		{Start{6, 77}, false}, {Start{0, 0}, true},
	} {
		if got := c.start.IsCopy(newest); got != c.want {
			t.Errorf("start %+v after %+v: a copy: %t", c.start, newest, got)
		}
	}
	if (Start{1, 9}).IsCopy(Start{}) {
		t.Error("the first start that is seen is taken for a copy")
	}
}
