package object

import (
	"testing"
	"time"
)

func TestTimesAreNeverSentShorter(t *testing.T) {
	for _, c := range []struct {
		of   time.Duration
		want uint64
	}{{0, 0}, {1, 1}, {time.Millisecond, 1}, {time.Millisecond + 1, 2}, {5 * time.Second, 5000}, {-time.Second, 0}} {
		if got := Millis(c.of); got != c.want {
			t.Errorf("%v is sent as %d ms, want %d", c.of, got, c.want)
		}
	}
}

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
