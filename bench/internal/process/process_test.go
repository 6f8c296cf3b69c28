package process

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func shell(t *testing.T, script string) Spec {
	t.Helper()
	return Spec{Name: "the script", Command: []string{"sh", "-c", script}, Log: filepath.Join(t.TempDir(), "log")}
}

func TestOutputIsWhatWasPrinted(t *testing.T) {
	spec := shell(t, `echo "$WORD"; echo aside >&2`)
	spec.Env = []string{"WORD=said"}
	out, err := Output(t.Context(), spec)
	if err != nil || string(out) != "said\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestAFailureIsToldWithTheEndOfTheLog(t *testing.T) {
	_, err := Output(t.Context(), shell(t, "echo the disk is full >&2; exit 3"))
	if err == nil || !strings.Contains(err.Error(), "the script: exit status 3") || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("%v", err)
	}
	spec := shell(t, "")
	spec.Command = []string{filepath.Join(t.TempDir(), "nowhere")}
	if _, err := Start(spec); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that is not there: %v", err)
	}
}

// awaitFile waits until a script has made a file.
func awaitFile(t *testing.T, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := Await(ctx, name, nil, func(context.Context) error { _, err := os.Stat(name); return err }); err != nil {
		t.Fatal(err)
	}
}

func TestStopEndsTheWholeGroup(t *testing.T) {
	ready, child := filepath.Join(t.TempDir(), "ready"), filepath.Join(t.TempDir(), "child")
	p, err := Start(shell(t, `sleep 1000 & echo $! > `+child+`; touch `+ready+`; wait`))
	if err != nil {
		t.Fatal(err)
	}
	awaitFile(t, ready)
	p.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	err = Await(ctx, "the end of the group", nil, func(context.Context) error {
		if syscall.Kill(-p.command.Process.Pid, 0) != syscall.ESRCH {
			return errors.New("somebody is left")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestTheEndOfTheContextStopsAProcess(t *testing.T) {
	ready := filepath.Join(t.TempDir(), "ready")
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("over")
	spec := shell(t, "touch "+ready+"; exec sleep 1000")
	ended := make(chan error, 1)
	go func() {
		_, err := Output(ctx, spec)
		ended <- err
	}()
	awaitFile(t, ready)
	cancel(over)
	if err := <-ended; !errors.Is(err, over) {
		t.Errorf("%v", err)
	}
}

func TestAServerThatEndsWhileItStartsIsNotWaitedFor(t *testing.T) {
	p, err := Start(shell(t, "echo the port is taken >&2; exit 1"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	err = Await(t.Context(), "the server", []*Process{p}, func(context.Context) error { return errors.New("refused") })
	if err == nil || !strings.Contains(err.Error(), "the port is taken") {
		t.Errorf("%v", err)
	}
}

func TestFreeAddressesAreAllDifferent(t *testing.T) {
	all, err := FreeAddresses(50)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, address := range all {
		if seen[address] {
			t.Errorf("%s is given twice", address)
		}
		seen[address] = true
	}
}
