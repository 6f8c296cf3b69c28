package replica

import (
	"testing"
	"time"
)

func TestCommitTimeIsThatOfTheLastSeconds(t *testing.T) {
	var c commitTimes
	start := time.Now()
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	if got := c.p99(at(0)); got != 0 {
		t.Errorf("without commits: %v", got)
	}
	for range 99 {
		c.note(at(0), 3*time.Millisecond)
	}
	c.note(at(0), time.Minute)
	if got := c.p99(at(1)); got != 4096*time.Microsecond {
		t.Errorf("99 of 100 commits took 3 ms: %v", got)
	}
	c.note(at(2), 40*time.Millisecond)
	if got := c.p99(at(6)); got != 65536*time.Microsecond {
		t.Errorf("2 of 101 commits took 40 ms and more: %v", got)
	}
	c.note(at(7), time.Millisecond)
	if got := c.p99(at(12)); got != 1024*time.Microsecond {
		t.Errorf("5 s after a commit of 1 ms: %v", got)
	}
	if got := c.p99(at(30)); got != 0 {
		t.Errorf("23 s after the last commit: %v", got)
	}
}
