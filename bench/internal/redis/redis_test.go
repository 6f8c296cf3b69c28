package redis

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/bench/internal/load"
	"github.com/signalbox/signalbox/bench/internal/load/loadtest"
	"github.com/signalbox/signalbox/loadgen/report"
)

// started starts a server, if Redis is installed.
func started(t *testing.T) *Server {
	t.Helper()
	installed, err := Find()
	if err != nil {
		t.Skip(err)
	}
	if testing.Short() {
		t.Skip("it starts a server of Redis")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := Start(ctx, installed, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

func TestLocksOnARealServer(t *testing.T) {
	s := started(t)
	r := loadtest.Some(t, func(d time.Duration) (*report.Report, error) {
		return Drive(t.Context(), []string{s.Endpoint}, load.Plan{
			Workload: "lock", Hosts: 1, Callers: 4, Connections: 2, Duration: d,
		})
	})
	if r.Connections != 2 {
		t.Errorf("%d connections", r.Connections)
	}
	s.Stop()
	if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
		t.Errorf("the data in %s is left: %v", s.dir, err)
	}
}

func TestALockHasOneOwner(t *testing.T) {
	s := started(t)
	client, err := dial(s.Endpoint, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	a, b := lock{client, "key", "a"}, lock{client, "key", "b"}
	for _, step := range []struct {
		what string
		do   func(context.Context) error
		want error
	}{
		{"a locks", a.lock, nil}, {"b locks", b.lock, ErrNotLocked}, {"b unlocks", b.unlock, ErrNotLocked},
		{"a unlocks", a.unlock, nil}, {"b locks", b.lock, nil}, {"a unlocks", a.unlock, ErrNotLocked},
	} {
		if err := step.do(t.Context()); !errors.Is(err, step.want) {
			t.Fatalf("%s: %v, want %v", step.what, err, step.want)
		}
	}
}

func TestWhatTheServerSyncs(t *testing.T) {
	s := started(t)
	client, err := dial(s.Endpoint, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for name, want := range map[string]string{"appendonly": "yes", "appendfsync": "always", "save": ""} {
		got, err := client.Do(t.Context(), client.B().ConfigGet().Parameter(name).Build()).AsStrMap()
		if err != nil || got[name] != want {
			t.Errorf("%s is %q, %v, want %q", name, got[name], err, want)
		}
	}
}

func TestWhatItCannotDoIsRefused(t *testing.T) {
	for want, plan := range map[string]load.Plan{
		`workload "handoff": the`: {Workload: "handoff", Connections: 1},
		"3 connections: the cli":  {Workload: "lock", Connections: 3},
	} {
		_, err := Drive(t.Context(), []string{"127.0.0.1:1"}, plan)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", plan, err, want)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Find(); err == nil || !strings.Contains(err.Error(), "apt-get install redis-server") {
		t.Errorf("where there is none: %v", err)
	}
	if got := versionOf("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64\n"); got != "7.0.15" {
		t.Errorf("the version is %q", got)
	}
}
