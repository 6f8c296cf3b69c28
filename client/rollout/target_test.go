package rollout

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/signalbox/signalbox/protocol"
)

// TestTargetsThatDifferInAnythingAreTwo: a recreated rollout counts from the beginning.
func TestTargetsThatDifferInAnythingAreTwo(t *testing.T) {
	one := func() *Target { return &Target{Generation: 3, Seq: 2, Label: "r2", Payload: []byte("zone")} }
	others := []*Target{
		nil,
		{Generation: 4, Seq: 2, Label: "r2", Payload: []byte("zone")},
		{Generation: 3, Seq: 1, Label: "r2", Payload: []byte("zone")},
		{Generation: 3, Seq: 2, Label: "r", Payload: []byte("zone")},
		{Generation: 3, Seq: 2, Label: "r2", Payload: []byte("other")},
	}
	again := one()
	again.Attempt = 7
	if !one().same(again) || !others[0].same(nil) {
		t.Error("a target is not the same as itself")
	}
	for _, other := range others {
		if one().same(other) || other.same(one()) {
			t.Errorf("%+v is taken for %+v", other, one())
		}
	}
}

func TestLongTextsAreCutBetweenLetters(t *testing.T) {
	const most = protocol.MaxRolloutTextBytes
	for _, text := range []string{
		"", "short", strings.Repeat("x", most), strings.Repeat("x", most+1), strings.Repeat("я", most),
		"x" + strings.Repeat("я", most), strings.Repeat("世", most), "xx" + strings.Repeat("𝄞", most),
	} {
		got := cut(text)
		if !strings.HasPrefix(text, got) || !utf8.ValidString(got) || len(got) > most ||
			len(text) > most && len(got) <= most-utf8.UTFMax {
			t.Errorf("%.8q of %d bytes is cut to %d", text, len(text), len(got))
		}
	}
	if got := cut("a\xff\xfeb"); got != "a?b" {
		t.Errorf("what is no text becomes %q", got)
	}
}
