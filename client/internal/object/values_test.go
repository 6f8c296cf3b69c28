package object

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
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

func TestMomentsBecomeAges(t *testing.T) {
	now := Clock(10_000)
	for _, c := range []struct {
		at   uint64
		want client.Moment
	}{
		{0, client.Moment{}},
		{1, client.Moment{Happened: true, Ago: 9999 * time.Millisecond, Time: time.Millisecond}},
		{10_000, client.Moment{Happened: true, Time: 10 * time.Second}},
		{10_001, client.Moment{Happened: true, Time: 10_001 * time.Millisecond}}, // in this very millisecond
	} {
		if got := now.Moment(c.at, 0); got != c.want {
			t.Errorf("moment %d: got %+v, want %+v", c.at, got, c.want)
		}
	}
	if got := now.Moment(1, 1_000_000); !got.Wall.Equal(time.UnixMilli(1_000_000)) {
		t.Errorf("by the wall clock: %v", got.Wall)
	}
	for at, want := range map[uint64]time.Duration{0: 0, 9000: 0, 10_000: 0, 12_000: 2 * time.Second} {
		if got := now.Until(at); got != want {
			t.Errorf("until %d: %v, want %v", at, got, want)
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
