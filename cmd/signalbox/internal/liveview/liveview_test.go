package liveview

import "testing"

func TestAScreenCutsLinesAndKeepsColours(t *testing.T) {
	const red, end = "\x1b[31m", plainColour
	for _, c := range []struct{ line, want string }{
		{"short", "short"}, {"just five!", "just f"}, {"éééééééé", "éééééé"},
		{red + "halted" + end + " now", red + "halted" + end},
		{red + "halted now" + end, red + "halted" + end},
	} {
		if got := cut(c.line, 6); got != c.want && got != c.want+end {
			t.Errorf("%q is cut to %q, want %q", c.line, got, c.want)
		}
	}
}
