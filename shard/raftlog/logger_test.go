package raftlog

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/lni/dragonboat/v4/logger"
)

func TestTheEngineLogsToSlog(t *testing.T) {
	before := engineLog.Load()
	defer engineLog.Store(before)
	for _, c := range []struct {
		part  string
		write func(logger.ILogger)
		want  string
	}{
		{"raft", func(l logger.ILogger) { l.Debugf("a %d", 1) }, "level=DEBUG msg=\"a 1\" engine=raft\n"},
		{"raft", func(l logger.ILogger) { l.Infof("b") }, "level=DEBUG msg=b engine=raft\n"},
		{"raft", func(l logger.ILogger) { l.Warningf("c") }, "level=INFO msg=c engine=raft\n"},
		{"rsm", func(l logger.ILogger) { l.Warningf("rej") }, "level=INFO msg=rej engine=rsm\n"},
		{"logdb", func(l logger.ILogger) { l.Warningf("d") }, "level=WARN msg=d engine=logdb\n"},
		{"logdb", func(l logger.ILogger) { l.Errorf("e") }, "level=ERROR msg=e engine=logdb\n"},
	} {
		var out bytes.Buffer
		engineLog.Store(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
		c.write(&engineLogger{part: c.part})
		if !strings.HasSuffix(out.String(), c.want) {
			t.Errorf("got %q, want %q", out.String(), c.want)
		}
	}
}

func TestTheEnginesPanicsPanicAndAreRemembered(t *testing.T) {
	before := engineLog.Load()
	defer engineLog.Store(before)
	var out bytes.Buffer
	engineLog.Store(slog.New(slog.NewTextHandler(&out, nil)))
	defer func() {
		if r := recover(); r != "transport: port 7" || lastEnginePanic() != r {
			t.Errorf("recovered %v, remembered %q", r, lastEnginePanic())
		}
		if !strings.Contains(out.String(), "level=ERROR msg=\"port 7\"") {
			t.Errorf("logged %q", out.String())
		}
	}()
	(&engineLogger{part: "transport"}).Panicf("port %d", 7)
}

func TestWhatIsNotLoggedCostsNothing(t *testing.T) {
	before := engineLog.Load()
	defer engineLog.Store(before)
	engineLog.Store(slog.New(slog.DiscardHandler))
	l := &engineLogger{part: "raft"}
	if n := testing.AllocsPerRun(100, func() { l.Infof("no arguments") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
