package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/loadgen"
	"github.com/signalbox/signalbox/loadgen/report"
)

// call carries out a command line.
func call(t *testing.T, ctx context.Context, args ...string) (code int, out, err string) {
	t.Helper()
	var o, e bytes.Buffer
	code = execute(ctx, args, streams{out: &o, err: &e})
	return code, o.String(), e.String()
}

func TestListExplainsEveryWorkload(t *testing.T) {
	code, out, _ := call(t, t.Context(), "list")
	if code != exitDone {
		t.Errorf("exit code %d", code)
	}
	for _, x := range loadgen.Workloads() {
		if !strings.Contains(out, "\n"+x.Name+"\n") && !strings.HasPrefix(out, x.Name+"\n") {
			t.Errorf("there is nothing of %s", x.Name)
		}
	}
}

func TestHelpTeaches(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"run", "--help"}, {"list", "--help"}} {
		code, out, _ := call(t, t.Context(), args...)
		if code != exitDone || !strings.Contains(out, "Usage:") {
			t.Errorf("%q: exit code %d:\n%s", args, code, out)
		}
	}
	_, out, _ := call(t, t.Context(), "run", "--help")
	for _, flag := range []string{
		"--workload", "--concurrency", "--connections", "--duration", "--rate", "--endpoints", "--hosts", "--output",
		"--html",
		"--warmup", "--token-file", "--node", "--limit", "--watchers", "--max-errors", "Examples:", "Exit codes:",
	} {
		if !strings.Contains(out, flag) {
			t.Errorf("help does not tell of %s", flag)
		}
	}
}

func TestMistakesAreReportedWithWhatToDo(t *testing.T) {
	for _, x := range []struct {
		args string
		says string
	}{
		{"run", "loadgen list explains them"},
		{"run -w nothing", "there are echo, lock"},
		{"run -w lock --output xml", "it can be text or json"},
		{"run -w lock --hosts 2", "the number can be 1 or 3"},
		{"run -w lock --no-such", "loadgen run --help lists the flags"},
		{"run -w lock more", `"more"`},
		{"run -w mixed --weights lock", "NAME=NUMBER"},
		{"run -w mixed --weights idle=3", "cannot be mixed"},
		{"run -w lock --tls-ca x.pem", "without --tls"},
		{"run -w lock --tls --tls-ca /no/such.pem", "/no/such.pem"},
		{"run -w lock --token-file /no/such", "/no/such"},
		{"nothing", "--help"},
	} {
		code, out, err := call(t, t.Context(), strings.Fields(x.args)...)
		if code != exitUsage || !strings.Contains(err, x.says) || out != "" {
			t.Errorf("%s: exit code %d, and it says %q", x.args, code, err)
		}
	}
}

func TestARunThroughTheCommandLine(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a program and starts processes")
	}
	began, page := time.Now(), filepath.Join(t.TempDir(), "page.html")
	code, out, says := call(t, t.Context(), "run", "-w", "mixed", "--weights", "lock=1,echo=1", "--concurrency", "4",
		"--duration", "2s", "--output", "json", "--html", page)
	if code != exitDone {
		t.Fatalf("exit code %d: %s", code, says)
	}
	var report report.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil || report.Operations == 0 || report.Callers != 4 {
		t.Errorf("%v, %+v", err, report)
	}
	if report.StagesUS["lock"] == nil || report.StagesUS["echo"] == nil ||
		!strings.HasPrefix(report.Command, "loadgen run -w mixed ") ||
		report.Started.Before(began.Truncate(time.Second)) {
		t.Errorf("%+v", report)
	}
	if text, err := os.ReadFile(page); err != nil || !bytes.Contains(text, []byte("<svg")) ||
		!bytes.Contains(text, []byte("--accent: #")) {
		t.Errorf("the page: %v, %s", err, text)
	}
}

func TestACommandThatIsInterruptedSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, _, says := call(t, ctx, "run", "-w", "echo", "--endpoints", "127.0.0.1:1")
	if code != exitSignal || !strings.Contains(says, "context canceled") {
		t.Errorf("exit code %d: %s", code, says)
	}
}

func TestExitCodes(t *testing.T) {
	for _, x := range []struct {
		err  error
		code int
	}{
		{nil, exitDone},
		{errors.New("anything"), exitFailed},
		{errors.Join(errors.New("anything"), loadgen.ErrOperations), exitOperations},
		{errors.Join(loadgen.ErrOperations, loadgen.ErrCheck), exitCheck},
		{usageError{errors.New("anything")}, exitUsage},
	} {
		if got := exitCode(t.Context(), x.err); got != x.code {
			t.Errorf("%v: exit code %d, and not %d", x.err, got, x.code)
		}
	}
}

func TestProgressIsOneLineThatIsWrittenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := newProgress(&out)
		shown := func() string {
			p.mu.Lock()
			defer p.mu.Unlock()
			return screen(out.String())
		}
		p.show(loadgen.Progress{Step: "preparing lock"})
		if got := shown(); got != "| preparing lock, 0s" {
			t.Errorf("the line is %q", got)
		}
		// The indicator moves without an update.
		time.Sleep(2*time.Second + turnEvery/2)
		synctest.Wait()
		if got := shown(); got != "| preparing lock, 2s" {
			t.Errorf("the line is %q", got)
		}
		time.Sleep(turnEvery)
		synctest.Wait()
		if got := shown(); got != "/ preparing lock, 2s" {
			t.Errorf("the line is %q", got)
		}
		p.show(loadgen.Progress{
			Elapsed: time.Second, Duration: 10 * time.Second, Operations: 500, PerSecond: 500, Errors: 2,
		})
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if got := shown(); got != "/ [=========           ] 5s of 10s: 500 operations, 500 a second, 2 errors" {
			t.Errorf("the line is %q", got)
		}
		p.show(loadgen.Progress{
			Elapsed: time.Second, Duration: time.Hour, Operations: 1e15, PerSecond: 1e15, Errors: 1e15,
		})
		if got := shown(); len(got) > lineWidth {
			t.Errorf("the line is too long for a terminal: %q", got)
		}
		p.clear()
		if strings.Contains(out.String(), "\n") {
			t.Error("there is more than one line")
		}
		if got := screen(out.String()); got != "" {
			t.Errorf("in the end the line is %q", got)
		}
	})
}

func TestTheCommandLineOfAReportCanBeTyped(t *testing.T) {
	got := commandLine([]string{"run", "-w", "lock", "--node", "/a b", "--data=it's", "", "--rate=1.5"})
	if want := `loadgen run -w lock --node '/a b' '--data=it'\''s' '' --rate=1.5`; got != want {
		t.Errorf("%s, and not %s", got, want)
	}
}

// screen returns the line that a terminal displays after the given output.
func screen(written string) string {
	var line []rune
	at := 0
	for _, c := range written {
		if c == '\r' {
			at = 0
			continue
		}
		if at == len(line) {
			line = append(line, c)
		} else {
			line[at] = c
		}
		at++
	}
	return strings.TrimRight(string(line), " ")
}
