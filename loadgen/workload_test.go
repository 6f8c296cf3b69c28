package loadgen

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/loadgen/report"
	"github.com/signalbox/signalbox/server/servertest"
)

func TestEveryWorkloadRunsAndItsChecksHold(t *testing.T) {
	for _, hosts := range []int{1, 3} {
		srv := servertest.Start(t, servertest.Hosts(hosts), servertest.Shards(2))
		for _, x := range Workloads() {
			t.Run(fmt.Sprintf("%s on %d hosts", x.Name, hosts), func(t *testing.T) {
				report, err := Run(t.Context(), short(srv, x.Name))
				check(t, err)
				if report.Workload != x.Name || report.Hosts != hosts || report.Seconds < 0.15 {
					t.Errorf("the report is of %s on %d hosts for %g s", report.Workload, report.Hosts, report.Seconds)
				}
				if !kinds[x.Name].idles && (report.Operations == 0 || report.PerSecond <= 0 ||
					report.LatencyUS == nil) {
					t.Errorf("%d operations, %g a second, latency %v",
						report.Operations, report.PerSecond, report.LatencyUS)
				}
			})
		}
	}
}

func TestVariantsOfWorkloads(t *testing.T) {
	const long = 2 * time.Second // long enough for every kind of event, on a slow machine too
	srv := servertest.Start(t, servertest.Hosts(3))
	for _, v := range []struct {
		name   string
		change func(*Config)
		judge  func(t *testing.T, r *report.Report)
	}{
		{"lock", func(c *Config) { c.Ephemeral = true }, nil},
		{"lock", func(c *Config) { c.Rate = 200 }, func(t *testing.T, r *report.Report) {
			if r.Rate != 200 || r.Operations != 60 {
				t.Errorf("%d operations at a rate of %g for 300 ms", r.Operations, r.Rate)
			}
		}},
		{"watch", func(c *Config) { c.Free, c.Callers, c.Warmup, c.Duration = true, 1, 0, long },
			func(t *testing.T, r *report.Report) {
				// Each watcher is sent every update, or a merged one; the last updates may still be on their way.
				if sent := *r.Events + *r.Merged; sent == 0 || sent > *r.Updates*int64(r.Watchers) {
					t.Errorf("%d updates for %d watchers, %d events and %d merged",
						*r.Updates, r.Watchers, *r.Events, *r.Merged)
				}
				if r.ConvergeMS != nil {
					t.Error("nobody has waited, and it was measured how long")
				}
			}},
		{"watch", func(c *Config) { c.SharedWatches, c.Callers = true, 2 }, wantAllEvents},
		{"watch", func(c *Config) { c.Callers, c.Watchers = 3, 10 }, func(t *testing.T, r *report.Report) {
			if *r.Updates == 0 || *r.Events < *r.Updates*3 || *r.Events > *r.Updates*4 {
				t.Errorf("%d updates, %d events: every update has 3 or 4 watchers", *r.Updates, *r.Events)
			}
		}},
		{"discovery", func(c *Config) { c.SharedWatches = true }, nil},
		{"discovery", func(c *Config) { c.Rate, c.Callers = 100, 4 }, func(t *testing.T, r *report.Report) {
			if r.BytesPerChangeAndConsumer == nil || *r.BytesPerChangeAndConsumer < 1 {
				t.Errorf("bytes for each change and consumer: %v", r.BytesPerChangeAndConsumer)
			}
		}},
		{"mixed", func(c *Config) { c.Weights, c.Duration = map[string]int{"echo": 1, "counting": 3}, long },
			func(t *testing.T, r *report.Report) {
				if r.Parts["echo"] == 0 || r.Parts["counting"] == 0 ||
					r.Parts["echo"]+r.Parts["counting"] != r.Operations {
					t.Errorf("the parts of %d operations are %v", r.Operations, r.Parts)
				}
			}},
	} {
		t.Run(v.name, func(t *testing.T) {
			config := short(srv, v.name)
			v.change(&config)
			report, err := Run(t.Context(), config)
			check(t, err)
			if v.judge != nil {
				v.judge(t, report)
			}
		})
	}
}

func wantAllEvents(t *testing.T, r *report.Report) {
	if *r.Updates == 0 || *r.Events != *r.Updates*int64(r.Watchers)/2 {
		t.Errorf("%d updates of two semaphores for %d watchers made %d events", *r.Updates, r.Watchers, *r.Events)
	}
}

func TestWatchersThatAreWaitedForAreSentEveryUpdate(t *testing.T) {
	srv := servertest.Start(t)
	config := short(srv, "watch")
	config.Callers, config.Warmup = 1, 0
	report, err := Run(t.Context(), config)
	check(t, err)
	if *report.Updates != report.Operations || *report.Events != report.Operations*int64(config.Watchers) {
		t.Errorf("%d operations, %d updates, %d watchers, %d events",
			report.Operations, *report.Updates, config.Watchers, *report.Events)
	}
	if report.ConvergeMS == nil || report.ConvergeMS.P50 <= 0 {
		t.Errorf("the time until all have seen it: %v", report.ConvergeMS)
	}
}

// TestFiveThousandInstancesAreSentEachTargetOnce: each new target is one push per instance, little larger than the
// payload.
func TestFiveThousandInstancesAreSentEachTargetOnce(t *testing.T) {
	srv := servertest.Start(t)
	config := short(srv, "rollout-targets")
	config.Callers, config.Watchers, config.Warmup, config.Payload = 1, 5000, 0, 256
	r, err := Run(t.Context(), config)
	check(t, err)
	if *r.Updates == 0 || *r.Events != *r.Updates*5000 {
		t.Errorf("%d targets for 5,000 instances were sent in %d pushes", *r.Updates, *r.Events)
	}
	if each := *r.BytesPerChangeAndConsumer; each < 256 || each > 256+40 {
		t.Errorf("a target with a payload of 256 bytes was sent in %.0f", each)
	}
	if r.StagesUS["target"] == nil || r.ConvergeMS == nil {
		t.Errorf("the times until one instance was sent its target: %v, and until all were: %v",
			r.StagesUS["target"], r.ConvergeMS)
	}
}

func TestARunLeavesNothingBehind(t *testing.T) {
	srv := servertest.Start(t)
	c, err := client.Open(t.Context(), srv.Addresses(), client.WithDialer(srv.Dial))
	check(t, err)
	defer c.Close()
	const kept = "/kept"
	_, err = c.CreateNode(t.Context(), kept, client.NodeConfig{})
	check(t, err)
	for _, node := range []string{"", "/made", kept} {
		config := short(srv, "lock")
		config.Node = node
		_, err := Run(t.Context(), config)
		check(t, err)
	}
	var paths []string
	for n, err := range c.ListNodes(t.Context(), "/") {
		check(t, err)
		paths = append(paths, n.Path)
	}
	if len(paths) != 1 || paths[0] != kept {
		t.Errorf("there are the nodes %q", paths)
	}
	for x, err := range c.Node(kept).Semaphores(t.Context()) {
		check(t, err)
		t.Errorf("semaphore %q is left", x.Name)
	}
}

func TestARunThatIsBrokenOffReportsWhatItHas(t *testing.T) {
	srv := servertest.Start(t)
	ctx, stop := context.WithCancelCause(t.Context())
	config := short(srv, "lock")
	config.Duration = patience
	config.Progress = func(p Progress) {
		if strings.HasPrefix(p.Step, "measuring") {
			stop(errTest)
		}
	}
	report, err := Run(ctx, config)
	if !errors.Is(err, errTest) || report == nil {
		t.Errorf("the report is %v, the error is %v", report, err)
	}
	if report != nil && len(report.Errors) > 0 {
		t.Errorf("what was broken off is counted as %v", report.Errors)
	}
}

func TestARunWhoseWatchesBreakOffEndsAtOnce(t *testing.T) {
	srv := servertest.Start(t)
	config := short(srv, "watch")
	config.Duration, config.Warmup = patience, 0
	config.Progress = func(p Progress) {
		if strings.HasPrefix(p.Step, "measuring") {
			go srv.CutClients(1)
		}
	}
	report, err := Run(t.Context(), config)
	if !errors.Is(err, ErrCheck) || !errors.Is(err, errBroke) || report == nil || len(report.Violations) == 0 {
		t.Fatalf("the report is %v, the error is %v", report, err)
	}
	if report.Seconds > patience.Seconds()/2 {
		t.Errorf("it went on for %g s", report.Seconds)
	}
}

func TestErrorsAreCountedAndFailTheRun(t *testing.T) {
	srv := servertest.Start(t)
	config := short(srv, "mixed")
	config.Weights = map[string]int{"echo": 1}
	kinds["echo"].make = func() workload { return failingWorkload{} }
	t.Cleanup(func() { kinds["echo"].make = func() workload { return &echo{} } })
	for _, allowed := range []int64{0, -1} {
		config.AllowErrors = allowed
		report, err := Run(t.Context(), config)
		if report == nil || report.Errors["OTHER"] == 0 || report.ErrorExamples["OTHER"] != errTest.Error() ||
			report.Operations != 0 {
			t.Fatalf("the report is %+v", report)
		}
		if failed := errors.Is(err, ErrOperations); failed != (allowed == 0) {
			t.Errorf("with %d allowed the error is %v", allowed, err)
		}
	}
}

type failingWorkload struct{ plain }

func (failingWorkload) prepare(context.Context, *run) error { return nil }
func (failingWorkload) caller(int) operation                { return failing }

func TestWorkloadsAreDescribed(t *testing.T) {
	for _, x := range Workloads() {
		if x.Summary == "" || x.Operation == "" || x.Checks == "" {
			t.Errorf("%+v", x)
		}
	}
}
