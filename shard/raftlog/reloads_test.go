package raftlog

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestTheEngineHasTheIntervalThatIsReplaced(t *testing.T) {
	if !reloadSet || nodeReloadInterval != reloadEvery {
		t.Errorf("the engine has another value, which was left alone: %v; read engine.go of its version again",
			nodeReloadInterval)
	}
}

func TestAnotherIntervalIsLeftAlone(t *testing.T) {
	for _, found := range []time.Duration{0, foundReload - 1, foundReload + 1} {
		interval := found
		if setReload(&interval) || interval != found {
			t.Errorf("%v became %v", found, interval)
		}
	}
	interval := foundReload
	if !setReload(&interval) || interval != reloadEvery {
		t.Errorf("what is expected became %v", interval)
	}
}

func TestAnIntervalThatIsLeftAloneIsLogged(t *testing.T) {
	defer func(was bool) { reloadSet = was }(reloadSet)
	for _, set := range []bool{true, false} {
		var out bytes.Buffer
		reloadSet = set
		reportReload(slog.New(slog.NewTextHandler(&out, nil)))
		if strings.Contains(out.String(), "looks for shards") == set {
			t.Errorf("set %v: %q", set, out.String())
		}
	}
}
