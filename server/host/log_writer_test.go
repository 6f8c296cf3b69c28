package host

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// stuckWriter blocks writes until released.
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

func newStuckLog() (*stuckWriter, *LogWriter) {
	w := &stuckWriter{entered: make(chan struct{}, 1), release: make(chan struct{})}
	return w, NewLogWriter(w, func(to io.Writer) slog.Handler { return slog.NewTextHandler(to, nil) })
}

func TestALogWithoutAReaderBlocksNoLogger(t *testing.T) {
	w, q := newStuckLog()
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
		t.Fatal("the logger waits for the writer")
	}
	dropped := q.Dropped()
	if kept := lines - int(dropped); kept*text > logWriterBytes || kept*text < logWriterBytes*9/10 {
		t.Errorf("%d of %d lines were kept", kept, lines)
	}
	close(w.release)
	q.Close()
	log.Info("after the end")
	got := w.taken.String()
	if n := strings.Count(got, "\n"); n != lines-int(dropped)+2 {
		t.Errorf("%d lines were written, and %d of %d dropped", n, dropped, lines)
	}
	if !strings.HasPrefix(got, "time=") || !strings.Contains(got, "msg=first") {
		t.Error("the first line is missing")
	}
	if !strings.Contains(got, "log lines were dropped") {
		t.Error("no line says that others were dropped")
	}
}

func TestTheEndWaitsForTheLastLinesButNotForEver(t *testing.T) {
	w, q := newStuckLog()
	log := slog.New(slog.NewTextHandler(q, nil))
	log.Info("last")
	began := time.Now()
	q.Close()
	if took := time.Since(began); took < logCloseTime {
		t.Errorf("the end came after %v, and the writer is stuck", took)
	}
	close(w.release)
	<-q.done
	if !strings.Contains(w.taken.String(), "msg=last") {
		t.Error("the last line was lost")
	}
}
