package loadgen

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// built is the host program, built when the first test needs it.
var built struct {
	once   sync.Once
	dir    string
	binary string
	err    error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir) // in the directory for temporary things
	}
	os.Exit(code)
}

func build(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("it builds a program and starts processes")
	}
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "loadgen-test-"); built.err == nil {
			built.binary, built.err = findBinary(context.Background(), "", built.dir)
		}
	})
	check(t, built.err)
	return built.binary
}

// dirs returns the directories of runs.
func dirs(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(os.TempDir(), "loadgen-*"))
	check(t, err)
	return found
}

func TestHostsAreStartedAndTakenAway(t *testing.T) {
	binary := build(t)
	t.Setenv("TMPDIR", t.TempDir())
	report, err := Run(t.Context(), Config{
		Workload: "lock", Binary: binary, Callers: 4, Duration: 300 * time.Millisecond,
	})
	check(t, err)
	if report.Operations == 0 || report.Hosts != 1 {
		t.Errorf("%+v", report)
	}
	if report.ServerRSSBytes == nil || *report.ServerRSSBytes < 1<<20 || *report.ServerHeapBytes < 1<<18 ||
		*report.ServerCPUSeconds < 0 {
		t.Errorf("memory %v, heap %v, CPU %v", report.ServerRSSBytes, report.ServerHeapBytes, report.ServerCPUSeconds)
	}
	if left := dirs(t); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

func TestSessionsAreWeighed(t *testing.T) {
	binary := build(t)
	t.Setenv("TMPDIR", t.TempDir())
	report, err := Run(t.Context(), Config{
		Workload: "idle", Binary: binary, Sessions: 3000, Connections: 3, Duration: 200 * time.Millisecond,
	})
	check(t, err)
	if report.BytesPerSession == nil || *report.BytesPerSession < 50 || *report.BytesPerSession > 5000 {
		t.Errorf("a session takes %v bytes of heap", report.BytesPerSession)
	}
}

func TestAHostThatEndsBreaksTheRunOff(t *testing.T) {
	config := Config{Workload: "echo", Hosts: 1, Binary: build(t)}
	t.Setenv("TMPDIR", t.TempDir())
	x, err := startHosts(t.Context(), &config)
	check(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	x.guard(cancel)
	if config.Endpoints != x.each[0].client || len(config.Admin) != 1 {
		t.Errorf("the host is at %s, and %v", config.Endpoints, config.Admin)
	}
	conn, err := net.Dial("tcp", config.Endpoints)
	check(t, err)
	check(t, conn.Close())
	check(t, x.each[0].process.Signal(syscall.SIGKILL))
	<-ctx.Done()
	if cause := context.Cause(ctx); !errors.Is(cause, errEnded) || !strings.Contains(cause.Error(), "host-a") {
		t.Errorf("the cause is %v", cause)
	}
	check(t, x.stop())
	if left := dirs(t); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

func TestAProgramThatDoesNotServeIsReported(t *testing.T) {
	binary := build(t)
	t.Setenv("TMPDIR", t.TempDir())
	for _, x := range []struct {
		config Config
		says   string
	}{
		{Config{Workload: "echo", Binary: binary, ServerFlags: []string{"--no-such-flag"}},
			"unknown flag: --no-such-flag"},
		{Config{Workload: "echo", Binary: "/no/such/program"}, "/no/such/program"},
	} {
		report, err := Run(t.Context(), x.config)
		if report != nil {
			t.Errorf("%+v", report)
		}
		wantError(t, err, x.says)
	}
	if left := dirs(t); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

func TestARunThatIsBrokenOffTakesItsHostsAway(t *testing.T) {
	binary := build(t)
	t.Setenv("TMPDIR", t.TempDir())
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	_, err := Run(ctx, Config{
		Workload: "watch", Binary: binary, Hosts: 3, Watchers: 20, Duration: patience,
		Progress: func(p Progress) {
			if strings.HasPrefix(p.Step, "measuring") {
				stop(errTest)
			}
		},
	})
	if !errors.Is(err, errTest) {
		t.Error(err)
	}
	if left := dirs(t); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}
