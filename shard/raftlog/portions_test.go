package raftlog

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestTheEngineTakesSmallPortionsOfTheLog(t *testing.T) {
	if !portionsSet || maxEntriesToApplySize != applyBytes || maxEntrySize != replicateBytes ||
		taskQueueBusyCap != tasksAhead {
		t.Errorf("the engine has other values, which were left alone: %d and %d bytes, %d tasks; read "+
			"internal/raft/logentry.go, internal/raft/raft.go and internal/rsm/taskqueue.go of its version again",
			maxEntriesToApplySize, maxEntrySize, taskQueueBusyCap)
	}
}

func TestOtherPortionsAreLeftAlone(t *testing.T) {
	for _, found := range [][3]uint64{
		{}, {foundPortion, foundPortion, foundAhead + 1}, {foundPortion - 1, foundPortion, foundAhead},
		{foundPortion, 1, foundAhead},
	} {
		now := found
		if setPortions(&now[0], &now[1], &now[2]) || now != found {
			t.Errorf("%v became %v", found, now)
		}
	}
}

func TestPortionsThatAreLeftAloneAreLogged(t *testing.T) {
	defer func(was bool) { portionsSet = was }(portionsSet)
	for _, set := range []bool{true, false} {
		var out bytes.Buffer
		portionsSet = set
		reportPortions(slog.New(slog.NewTextHandler(&out, nil)))
		if strings.Contains(out.String(), "little memory") == set {
			t.Errorf("set %v: %q", set, out.String())
		}
	}
}
