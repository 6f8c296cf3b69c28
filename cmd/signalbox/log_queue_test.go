package main

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stuckWriter takes what is written when it is let.
type stuckWriter struct {
	entered chan struct{} // has a value when a write has begun
	release chan struct{} // closed: writes go through
	taken   bytes.Buffer
}

func (w *stuckWriter) Write(b []byte) (int, error) {
	select {
	case w.entered <- struct{}{}:
	default:
	}
	<-w.release
	return w.taken.Write(b)
}

func newStuckQueue() (*stuckWriter, *logQueue) {
	w := &stuckWriter{entered: make(chan struct{}, 1), release: make(chan struct{})}
	return w, newLogQueue(w, func(to io.Writer) slog.Handler { return slog.NewTextHandler(to, nil) })
}

func TestALogThatNobodyReadsBlocksNobody(t *testing.T) {
	w, q := newStuckQueue()
	log := slog.New(slog.NewTextHandler(q, nil))
	log.Info("first")
	<-w.entered
	const lines, text = 1000, 4000
	logged := make(chan struct{})
	go func() {
		defer close(logged)
		for range lines {
			log.Info(strings.Repeat("x", text))
		}
	}()
	select {
	case <-logged:
	case <-time.After(time.Minute):
		t.Fatal("who logs waits for who writes")
	}
	dropped := q.dropped.Load()
	if kept := lines - int(dropped); kept*text > logQueueBytes || kept*text < logQueueBytes*9/10 {
		t.Errorf("%d of %d lines were kept", kept, lines)
	}
	close(w.release)
	q.close()
	log.Info("after the end")
	got := w.taken.String()
	if n := strings.Count(got, "\n"); n != lines-int(dropped)+2 {
		t.Errorf("%d lines were written, and %d of %d dropped", n, dropped, lines)
	}
	if !strings.HasPrefix(got, "time=") || !strings.Contains(got, "msg=first") {
		t.Error("the first line is missing")
	}
	if !strings.Contains(got, "lines of the log were dropped") {
		t.Error("no line says that others were dropped")
	}
}

func TestTheEndWaitsForTheLastLinesButNotForEver(t *testing.T) {
	w, q := newStuckQueue()
	log := slog.New(slog.NewTextHandler(q, nil))
	log.Info("last")
	began := time.Now()
	q.close()
	if took := time.Since(began); took < logCloseTime {
		t.Errorf("the end came after %v, and the writer is stuck", took)
	}
	close(w.release)
	<-q.done
	if !strings.Contains(w.taken.String(), "msg=last") {
		t.Error("the last line was lost")
	}
}

// TestAHostWhoseErrorsNobodyReadsServes starts a host whose standard error is a full pipe without a reader.
func TestAHostWhoseErrorsNobodyReadsServes(t *testing.T) {
	p := newPlace(t)
	reader, full, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	defer full.Close()
	for room := make([]byte, 4096); err == nil; {
		_ = full.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
		_, err = full.Write(room)
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	command := func(args ...string) *exec.Cmd {
		c := exec.Command(program().Path, args...)
		c.Env = append(os.Environ(), program().Env...)
		return c
	}
	serve := command("serve", "--data-dir", p.Dir, "--listen", p.Client, "--raft-listen", p.Raft, "--admin-listen", p.Admin)
	serve.Stderr = full
	host := launch(t, serve)
	host.awaitLine(1) // it is ready
	node := launch(t, command("node", "create", "/jobs", "--endpoints", p.Client))
	if code := node.wait(patience); code != 0 {
		t.Errorf("a client ended with %d", code)
	}
	host.signal(syscall.SIGTERM)
	if code := host.wait(patience); code != 0 {
		t.Errorf("the host ended with %d", code)
	}
}
