package object

import (
	"testing"
)

func TestATextIsCutBetweenLetters(t *testing.T) {
	for _, c := range []struct {
		text, want string
		most       int
	}{{"", "", 3}, {"abc", "abc", 3}, {"abcd", "abc", 3}, {"abé", "ab", 3}, {"a\xff", "a?", 3}} {
		if got := Cut(c.text, c.most); got != c.want {
			t.Errorf("%q is cut to %q, want %q", c.text, got, c.want)
		}
	}
}
