package host

import (
	"bytes"
	"log/slog"
	"testing"
	"time"
)

func TestTheLogOfTheEngineIsForOperators(t *testing.T) {
	var b bytes.Buffer
	plain := slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	log := newEngineLog(slog.New(plain)).With("host", "a")
	say := func(level slog.Level, message string) { log.Log(t.Context(), level, message, "engine", "transport") }
	say(slog.LevelInfo, "t2 became candidate")
	say(slog.LevelWarn, "mutual TLS disabled, communication is insecure")
	say(slog.LevelWarn, "[00000:00002] had 8 LocalTick msgs in one batch")
	say(slog.LevelError, "Nodehost x failed to get a connection to b:1, refused")
	say(slog.LevelWarn, "b:1 became unreachable, affected 0 nodes")
	say(slog.LevelWarn, "b:1 became unreachable, affected 1 nodes")
	say(slog.LevelWarn, "c:1 became unreachable, affected 0 nodes")
	say(slog.LevelError, "the disk is gone")
	const mismatch = "different deployment: host 2 has 1, this host has 2"
	for port := range 3 {
		log.Warn("ended a connection", "remote_address", port, "error", "b: "+mismatch)
	}
	log.Warn("ended a connection", "remote_address", 4, "error", "c: "+mismatch)
	log.Info("opened")
	const hint = ` hint="were all hosts given the same list of hosts, --cluster-name and --shards?"`
	want := `level=WARN msg="b:1 became unreachable, affected 0 nodes" host=a engine=transport
level=WARN msg="c:1 became unreachable, affected 0 nodes" host=a engine=transport
level=ERROR msg="the disk is gone" host=a engine=transport
level=WARN msg="ended a connection" host=a remote_address=0 error="b: ` + mismatch + `"` + hint + `
level=WARN msg="ended a connection" host=a remote_address=4 error="c: ` + mismatch + `"` + hint + `
level=INFO msg=opened host=a
`
	if b.String() != want {
		t.Errorf("got:\n%swant:\n%s", b.String(), want)
	}
	now := time.Now()
	memory := repeats{last: map[string]time.Time{"b": now}}
	if memory.due("b", now.Add(repeatEvery-1)) || !memory.due("b", now.Add(repeatEvery)) {
		t.Error("a warning that still holds is repeated too often or not at all")
	}
}
