package main

import (
	"strings"
	"testing"
)

func TestALockWithAnotherLimitThanWasAskedForSaysSo(t *testing.T) {
	p, _, c := lockPlace(t)
	if err := c.Node("/jobs").Create(t.Context(), "few", 1, nil); err != nil {
		t.Fatal(err)
	}
	locked := p.tool(t, "lock", "/jobs", "few", "--limit", "3", "--", "true")
	locked.wait(patience)
	if said := locked.Errors(); !strings.Contains(said, `the limit of "few" is 1, not 3; to change the limit, run signalbox semaphore resize /jobs few`) {
		t.Errorf("it said %q", said)
	}
}
