package growth

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/loadgen/report"
)

// server is a server with a start time, which saves a snapshot with every third load.
type server struct {
	starts    time.Duration
	killed    bool
	objects   int
	sessions  int
	loads     int
	snapshots int
}

func (s *server) AwaitCaughtUp(context.Context) (int, error) { time.Sleep(s.starts); return 0, nil }
func (s *server) Kill(int)                                   { s.killed = true }
func (s *server) PID(int) int                                { return os.Getpid() }

func (s *server) Start(int) error {
	if !s.killed {
		return errors.New("it runs")
	}
	return nil
}

func (s *server) subject() Subject {
	return Subject{
		Server:    s,
		Fill:      func(_ context.Context, n int) error { s.objects += n; return nil },
		Open:      func(_ context.Context, n int) error { s.sessions += n; return nil },
		Snapshots: func() (int, error) { return s.snapshots, nil },
		Load: func(context.Context) (*report.Report, error) {
			if s.loads++; s.loads%3 == 0 {
				s.snapshots++
			}
			rate := float64(1000 * s.loads)
			return &report.Report{PerSecond: rate, LatencyUS: &report.Quantiles{P99: rate}}, nil
		},
	}
}

func TestAServerIsMeasuredEmptyAndFullAndBesideASnapshotAndAfterAKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{starts: 3 * time.Second}
		r, err := Run(t.Context(), Plan{Objects: 50, Sessions: 7}, s.subject())
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]float64{
			Empty: 1000, EmptyTail: 1, Full: 2000, FullTail: 2, SnapshotTail: 3, Ready: 3,
		} {
			if got, ok := r.Figure(name); !ok || got != want {
				t.Errorf("%s is %v, %v; want %v", name, got, ok, want)
			}
		}
		for _, name := range []string{ObjectMemory, SessionMemory} {
			if _, ok := r.Figure(name); !ok {
				t.Errorf("%s is not measured", name)
			}
		}
		if s.objects != 50 || s.sessions != 7 || s.loads != 3 {
			t.Errorf("it has %d objects and %d sessions after %d loads", s.objects, s.sessions, s.loads)
		}
	})
}

func TestWhatAServerCannotDoIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := (&server{}).subject()
		of.Open, of.Snapshots = nil, nil
		r, err := Run(t.Context(), Plan{Objects: 5, Sessions: 7}, of)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{SessionMemory, SnapshotTail} {
			if v, ok := r.Figure(name); ok {
				t.Errorf("%s is %v", name, v)
			}
		}
		of.Fill = func(context.Context, int) error { return errors.New("no room") }
		if _, err := Run(t.Context(), Plan{}, of); err == nil || !strings.Contains(err.Error(), "fill it: no room") {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestManyMakesEachOnceAndEndsWithTheFirstError(t *testing.T) {
	var mu sync.Mutex
	made := make(map[int]int)
	one := func(_ context.Context, i int) error {
		mu.Lock()
		defer mu.Unlock()
		made[i]++
		return nil
	}
	if err := Many(t.Context(), 1000, one); err != nil || len(made) != 1000 {
		t.Errorf("%d were made, %v", len(made), err)
	}
	bad := errors.New("bad")
	if err := Many(t.Context(), 1000, func(context.Context, int) error { return bad }); !errors.Is(err, bad) {
		t.Errorf("the error is %v", err)
	}
}

func TestMemoryIsTheSecondFieldInPages(t *testing.T) {
	if got, err := parseResident([]byte("100 7 3 1 0 5 0\n")); err != nil || got != 7*int64(os.Getpagesize()) {
		t.Errorf("it is %d, %v", got, err)
	}
	if got, err := resident(os.Getpid()); err != nil || got <= 0 {
		t.Errorf("this process has %d, %v", got, err)
	}
	for _, text := range []string{"", "100", "100 many"} {
		if got, err := parseResident([]byte(text)); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}
