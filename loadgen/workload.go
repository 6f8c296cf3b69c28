package loadgen

import (
	"context"
	"slices"

	"github.com/signalbox/signalbox/loadgen/report"
)

// operation is the repeated work of a caller. A single goroutine calls an operation.
type operation func(ctx context.Context) error

// workload is a way to make load. A single goroutine calls the methods, in the order of the declaration; between
// prepare and check the operations run, twice with a warm-up.
type workload interface {
	// prepare makes the objects for the callers.
	prepare(ctx context.Context, r *run) error
	// caller returns the operation of caller i, before any operation runs.
	caller(i int) operation
	// begin is called when the measurement begins. No operation runs.
	begin()
	// check looks for broken promises. No operation runs any more. The operations have reported their own findings to
	// the run.
	check(ctx context.Context) error
	// report adds the figures of the workload.
	report(to *report.Report)
}

// kind is a workload in the choice of users.
type kind struct {
	Info
	make     func() workload
	defaults func(c *Config) // sets usual values; nil for none
	mixes    bool            // can be a part of mixed
	idles    bool            // has no callers
}

// Info describes a workload.
type Info struct {
	Name string
	// Summary is a single line. Operation is the work counted as one operation. Checks are the checked promises.
	Summary   string
	Operation string
	Checks    string
	// Settings names settings used by some workloads only.
	Settings []string
}

// kinds are filled by init, because the kind of mixed looks other kinds up.
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

// Workloads describes all workloads.
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

// plain is a workload with nothing to begin, to check or to report. Workloads embed plain.
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

// echo is the workload echo: pings, which show the capacity of the connections without the log and the disk.
type echo struct {
	plain
	run *run
}

func (e *echo) prepare(_ context.Context, r *run) error {
	e.run = r
	return nil
}

func (e *echo) caller(i int) operation { return e.run.fleet.client(i).Ping }
