package arena

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestTextsKeepWhatTheyGot compares texts of all lengths with a list of strings. Later texts overwrite freed memory, so
// a text whose memory was assigned twice differs at the end.
func TestTextsKeepWhatTheyGot(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	ts := NewTexts()
	type kept struct {
		text Text
		want string
	}
	var list []kept
	drawn := func() string {
		n := r.IntN(20)
		if r.IntN(4) == 0 {
			n = r.IntN(400) // long ones too
		}
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return string(b)
	}
	check := func(k kept) {
		t.Helper()
		if got := ts.String(k.text); got != k.want || !ts.Is(k.text, []byte(k.want)) ||
			len(ts.Bytes(k.text)) != len(k.want) {
			t.Fatalf("the text is %q and not %q", got, k.want)
		}
	}
	for range 20_000 {
		switch i := r.IntN(max(len(list), 1)); {
		case len(list) < 100 || r.IntN(2) == 0:
			s := drawn()
			list = append(list, kept{ts.Keep([]byte(s)), s})
			check(list[len(list)-1])
		case r.IntN(2) == 0:
			s := drawn()
			ts.Replace(&list[i].text, []byte(s))
			list[i].want = s
		default:
			check(list[i])
			ts.Free(list[i].text)
			list = slices.Delete(list, i, i+1)
		}
	}
	for _, k := range list {
		check(k)
		ts.Free(k.text)
	}
	for class := range ts.rooms {
		room := reflect.ValueOf(ts.rooms[class]).Elem()
		used, free := int(room.FieldByName("used").Uint())-1, room.FieldByName("free").Len()
		if used != free || used < 1 {
			t.Errorf("%d of %d places of class %d are free at the end", free, used, class)
		}
	}
	if ts.long.Size() != 0 {
		t.Errorf("%d long texts stay", ts.long.Size())
	}
}

// TestTextsOfEveryLengthStandWhereTheyFit: one byte stores a text's length.
func TestTextsOfEveryLengthStandWhereTheyFit(t *testing.T) {
	ts := NewTexts()
	for n := range 300 {
		text := ts.Keep([]byte(strings.Repeat("x", n)))
		if class := text & classMask; n > 0 && class < longText && roomSizes[class] < n+1 || class > longText {
			t.Errorf("%d bytes stand in class %d", n, class)
		}
		if len(ts.Bytes(text)) != n {
			t.Errorf("%d bytes were kept as %d", n, len(ts.Bytes(text)))
		}
	}
}

// TestWhatReadersGotStays: all data read from a machine is compared again after its object was deleted and new texts
// with equal lengths use the same memory.
