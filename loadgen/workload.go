package loadgen

import (
	"context"
	"slices"

	"github.com/signalbox/signalbox/loadgen/report"
)

// operation is what a caller does again and again. It is called by one goroutine.
type operation func(ctx context.Context) error

// workload is one way to make load. Its methods are called in the order in which they are written here, by
// one goroutine; between prepare and check the operations run, twice where there is a warm-up.
type workload interface {
	// prepare makes what the callers need.
	prepare(ctx context.Context, r *run) error
	// caller returns what caller i does. It is called before any operation runs.
	caller(i int) operation
	// begin is called when the measurement begins. No operation runs.
	begin()
	// check looks whether everything is as it must be. No operation runs any more. What operations found
	// while they ran they have reported to the run.
	check(ctx context.Context) error
	// report adds what only this workload knows.
	report(to *report.Report)
}

// kind is a workload as users choose it.
type kind struct {
	Info
	make     func() workload
	defaults func(c *Config) // what is usual for it; nil for nothing
	mixes    bool            // it can be a part of mixed
	idles    bool            // it has no callers
}

// Info describes a workload.
type Info struct {
	Name string
	// Summary is one line, Operation what is counted as one, Checks what is looked after.
	Summary   string
	Operation string
	Checks    string
	// Settings names the settings that only some workloads have.
	Settings []string
}

// kinds are filled by init, because that of mixed looks others up.
var kinds map[string]*kind

func init() {
	kinds = make(map[string]*kind)
	for _, k := range everyKind() {
		kinds[k.Name] = k
	}
}

func everyKind() []*kind {
	return []*kind{
		echoKind, lockKind, handoffKind, countingKind, readRelaxedKind, readStrictKind, sessionKind, idleKind,
		watchKind, discoveryKind, configKind, rolloutTargetsKind, rolloutReportsKind, barrierKind,
		processBroadcastKind, processEpochKind, processRoundsKind, mixedKind,
	}
}

// Workloads describes all there are.
func Workloads() []Info {
	var all []Info
	for _, k := range everyKind() {
		all = append(all, k.Info)
	}
	return all
}

func names() []string {
	var all []string
	for _, k := range everyKind() {
		all = append(all, k.Name)
	}
	return slices.Clip(all)
}

// plain is a workload with nothing to begin, to check or to report. Others embed it.
type plain struct{}

func (plain) begin()                      {}
func (plain) check(context.Context) error { return nil }
func (plain) report(*report.Report)       {}

var echoKind = &kind{
	Info: Info{
		Name:      "echo",
		Summary:   "pings, which no log and no disk has a part in: what connections alone can do",
		Operation: "one ping answered",
		Checks:    "that it is answered",
	},
	make: func() workload { return &echo{} }, mixes: true,
}

type echo struct {
	plain
	run *run
}

func (e *echo) prepare(_ context.Context, r *run) error {
	e.run = r
	return nil
}

func (e *echo) caller(i int) operation { return e.run.fleet.client(i).Ping }
