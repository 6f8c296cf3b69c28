package race

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/bench/internal/failover"
	"github.com/signalbox/signalbox/bench/internal/results"
	"github.com/signalbox/signalbox/loadgen/report"
)

func TestEveryTargetIsOfTheMatrix(t *testing.T) {
	for _, target := range slices.Concat(results.Targets(), results.SlowDiskTargets()) {
		if !slices.ContainsFunc(Matrix(), func(c Cell) bool {
			return c.Name == target.Cell && slices.Contains(c.Hosts, target.Hosts) &&
				slices.Contains(c.Contestants, results.Signalbox)
		}) {
			t.Errorf("nothing measures %s on %d hosts, for: %s", target.Cell, target.Hosts, target.Text)
		}
	}
}

// TestTheMatrixMeasuresEverythingThatTargetsNeed runs the matrix with contestants that only report a rate, and checks
// that every target is measured.
func TestTheMatrixMeasuresEverythingThatTargetsNeed(t *testing.T) {
	var all []Contestant
	for _, name := range slices.Concat(lockers, machine) {
		all = append(all, &pretender{name: name})
	}
	var r results.Report
	Run(t.Context(), Matrix(), all, Settings{Rounds: 1, Dir: t.TempDir()}, &r, silent)
	for _, v := range r.Verdicts {
		if v.Reached == nil {
			t.Errorf("%s on %d hosts is not measured: %s", v.Cell, v.Hosts, v.Want())
		}
	}
}

// pretender records its tasks, and reports immediate success.
type pretender struct {
	name string
	log  *[]string
	run  func(ctx context.Context, t Task) error
}

func (p *pretender) Name() string             { return p.name }
func (p *pretender) Version() results.Version { return results.Version{Name: p.name} }

func (p *pretender) Run(ctx context.Context, t Task) (*report.Report, [][]string, error) {
	if p.log != nil {
		*p.log = append(*p.log, fmt.Sprintf("%s/%d/%s", t.Name, t.Hosts, p.name))
	}
	if p.run != nil {
		if err := p.run(ctx, t); err != nil {
			return nil, nil, err
		}
	}
	one := 1.0
	return &report.Report{
		Figures: []report.Figure{{Name: failover.Next, Value: 1}, {Name: failover.NextWorst, Value: 1}},
		Seconds: 1, PerSecond: 1, EventsPerSecond: &one, LatencyUS: &report.Quantiles{P50: 1}, BytesPerSession: &one,
		RSSBytesPerSession: &one,
		ServerCPUSeconds:   &one, ConvergeMS: &report.Quantiles{P99: 1}, BytesPerChangeAndConsumer: &one,
	}, [][]string{{p.name}}, nil
}

func silent(int, Task, string, time.Duration, *report.Report, error) {}

func cells(t *testing.T, c Choice) []Cell {
	t.Helper()
	chosen, err := c.From(Matrix())
	if err != nil {
		t.Fatal(err)
	}
	return chosen
}

func TestContestantsTakeTurnsWithinARound(t *testing.T) {
	var log []string
	contestants := []Contestant{
		&pretender{name: results.Signalbox, log: &log}, &pretender{name: results.Etcd, log: &log}, &pretender{
			name: results.ZooKeeper, log: &log,
		},
	}
	var r results.Report
	Run(t.Context(), cells(t, Choice{Cells: []string{"lock-1", "watch-1000"}, Hosts: []int{1}}), contestants,
		Settings{Rounds: 2, Dir: t.TempDir()}, &r, silent)
	round := []string{"lock-1/1/signalbox", "lock-1/1/etcd", "lock-1/1/zookeeper", "watch-1000/1/signalbox",
		"watch-1000/1/etcd"}
	if want := append(slices.Clone(round), round...); !slices.Equal(log, want) {
		t.Errorf("they ran\n%v\nwant\n%v", log, want)
	}
	if m := r.Find("lock-1", 1, results.Etcd); m == nil || len(m.Runs) != 2 || m.Runs[1].Round != 2 ||
		m.PerSecond.Median != 1 {
		t.Errorf("the report has %+v", m)
	}
}

func TestRedisRunsOnOneHost(t *testing.T) {
	var log []string
	contestants := []Contestant{
		&pretender{name: results.Signalbox, log: &log}, &pretender{name: results.Redis, log: &log},
	}
	chosen := cells(t, Choice{Cells: []string{"lock-1"}})
	s := Settings{Rounds: 1, Dir: t.TempDir()}
	Run(t.Context(), chosen, contestants, s, new(results.Report), silent)
	if want := []string{"lock-1/1/signalbox", "lock-1/1/redis", "lock-1/3/signalbox"}; !slices.Equal(log, want) {
		t.Errorf("they ran %v, want %v", log, want)
	}
	if got := s.Estimate(chosen, contestants); got != 3*overhead {
		t.Errorf("three runs take %v", got)
	}
}

func TestAFailedRunIsReportedAndTheOthersGoOn(t *testing.T) {
	bad := &pretender{name: results.Signalbox, run: func(context.Context, Task) error { return errors.New("no disk") }}
	var r results.Report
	Run(t.Context(), cells(t, Choice{Cells: []string{"lock-1"}, Hosts: []int{3}}),
		[]Contestant{bad, &pretender{name: results.Etcd}}, Settings{Rounds: 1, Dir: t.TempDir()}, &r, silent)
	if m := r.Find("lock-1", 3, results.Signalbox); m == nil || m.Runs[0].Failed != "no disk" || m.PerSecond != nil {
		t.Errorf("the report has %+v", m)
	}
	if r.Find("lock-1", 3, results.Etcd) == nil || r.Ended != "" {
		t.Errorf("etcd did not run: %q", r.Ended)
	}
}

func TestTheEndOfTheContextEndsTheRaceAndIsNoFailure(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	run := func(ctx context.Context, t Task) error {
		if t.Name == "lock-64" {
			cancel(errors.New("interrupted"))
			return context.Cause(ctx)
		}
		return nil
	}
	var r results.Report
	Run(ctx, cells(t, Choice{Hosts: []int{1}}), []Contestant{&pretender{name: results.Etcd, run: run}},
		Settings{Rounds: 5, Dir: t.TempDir()}, &r, silent)
	if r.Ended != "interrupted" || len(r.Measurements) != 1 || r.Measurements[0].Cell != "lock-1" {
		t.Errorf("it ended with %q and %+v", r.Ended, r.Measurements)
	}
}

func TestARunHasADirectoryOfItsOwnThatGoesWithIt(t *testing.T) {
	home := t.TempDir()
	seen := make(map[string]bool)
	run := func(_ context.Context, task Task) error {
		if seen[task.Dir] || filepath.Dir(task.Dir) != home {
			t.Errorf("it runs in %s", task.Dir)
		}
		seen[task.Dir] = true
		return os.WriteFile(filepath.Join(task.Dir, "log"), nil, 0o644)
	}
	var r results.Report
	Run(t.Context(), cells(t, Choice{Cells: []string{"lock-*"}}), []Contestant{&pretender{
		name: results.Etcd, run: run,
	}},
		Settings{Rounds: 1, Dir: home}, &r, silent)
	if left, err := os.ReadDir(home); err != nil || len(left) > 0 || len(seen) != 6 {
		t.Errorf("%d runs left %v, %v", len(seen), left, err)
	}
}

func TestPartsOfTheMatrixAreChosen(t *testing.T) {
	names := func(chosen []Cell) string {
		var all []string
		for _, c := range chosen {
			all = append(all, c.Name)
		}
		return strings.Join(all, " ")
	}
	for _, c := range []struct {
		choice Choice
		want   string
	}{
		{Choice{Cells: []string{"lock-*", "fsync"}}, "fsync lock-1 lock-64 lock-512"},
		{Choice{Contestants: []string{results.Floor}, Hosts: []int{3}}, "proposal"},
		{Choice{Contestants: []string{results.ZooKeeper}},
			"lock-1 lock-64 lock-512 handoff-32 read-strict-64 read-relaxed-64 session-64 barrier-1 failover-8"},
		{Choice{Cells: []string{"growth-*"}}, "growth-512"},
		{Choice{Contestants: []string{results.Redis}}, "lock-1 lock-64 lock-512"},
		{Choice{Cells: []string{"lock-100"}}, "lock-100"},
		{Choice{Cells: []string{"watch-50"}}, "watch-50"},
	} {
		if got := names(cells(t, c.choice)); got != c.want {
			t.Errorf("%+v chooses %q, want %q", c.choice, got, c.want)
		}
	}
	sized := cells(t, Choice{Cells: []string{"lock-100", "watch-50"}})
	if sized[0].Callers != 100 || sized[0].Watchers != 0 || sized[1].Watchers != 50 || sized[1].Callers != 1 {
		t.Errorf("other sizes: %+v", sized)
	}
	for _, wrong := range []Choice{
		{Cells: []string{"lokc-*"}}, {Cells: []string{"lock-0"}}, {Contestants: []string{"consul"}}, {Hosts: []int{5}},
		{Cells: []string{"fsync"}, Contestants: []string{results.Etcd}},
		{Contestants: []string{results.Redis}, Hosts: []int{3}},
	} {
		if chosen, err := wrong.From(Matrix()); err == nil {
			t.Errorf("%+v chooses %q", wrong, names(chosen))
		}
	}
}

func TestAMatrixThatWasChosenFromIsAsBefore(t *testing.T) {
	matrix := Matrix()
	if _, err := (Choice{Hosts: []int{3}, Contestants: []string{results.Etcd}}).From(matrix); err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(matrix, Matrix(), func(a, b Cell) bool {
		return slices.Equal(a.Hosts, b.Hosts) && slices.Equal(a.Contestants, b.Contestants)
	}) {
		t.Errorf("it is %+v", matrix)
	}
}

func TestARaceTakesAboutAsLongAsItsRuns(t *testing.T) {
	s := Settings{Rounds: 3, Warmup: time.Second, JavaWarmup: 6 * time.Second, Duration: 5 * time.Second}
	all := []Contestant{&pretender{name: results.Signalbox}, &pretender{name: results.ZooKeeper}}
	chosen := []Cell{
		{Hosts: []int{1, 3}, Contestants: everybody},
		{Hosts: []int{1}, Contestants: alone, LeastDuration: 10 * time.Second},
	}
	want := 3 * (2*(1+5) + 2*(6+5) + (1 + 10)) * time.Second
	if got := s.Estimate(chosen, all) - 3*5*overhead; got != want {
		t.Errorf("it takes %v besides the start of servers, want %v", got, want)
	}
}

func TestConnectionsAreNoMoreThanAreUsed(t *testing.T) {
	s := Settings{Connections: 8}
	for _, c := range []struct {
		cell Cell
		want int
	}{
		{Cell{Callers: 1}, 1}, {Cell{Callers: 64}, 8}, {Cell{Callers: 1, Watchers: 1000}, 8},
		{Cell{Connections: 100}, 100},
	} {
		if got := (Task{Cell: c.cell, Settings: s}).connections(); got != c.want {
			t.Errorf("%+v has %d connections, want %d", c.cell, got, c.want)
		}
	}
}
