package loadgen

import (
	"context"
	"slices"

	"github.com/signalbox/signalbox/loadgen/report"
)

// operation is a caller's repeated work. A single goroutine calls an operation.
type operation func(ctx context.Context) error

// workload is a way to generate load. A single goroutine calls the methods, in declaration order; the operations run
// between prepare and check, twice with a warm-up.
type workload interface {
	// prepare creates the callers' objects.
	prepare(ctx context.Context, r *run) error
	// caller returns caller i's operation, before any operation runs.
	caller(i int) operation
	// begin is called when the measurement begins. No operation runs.
	begin()
	// check looks for violated guarantees. No operation runs any more. The operations have already reported their own
	// findings to the run.
	check(ctx context.Context) error
	// report adds the workload's figures.
	report(to *report.Report)
}

// kind is a workload users can choose.
type kind struct {
	Info
	make     func() workload
	defaults func(c *Config) // sets defaults; nil for none
	mixes    bool            // can be part of mixed
	idles    bool            // has no callers
}

// Info describes a workload.
type Info struct {
	Name string
	// Summary is a single line. Operation describes the work counted as one operation. Checks are the checked
	// guarantees.
	Summary   string
	Operation string
	Checks    string
	// Settings names settings that only some workloads use.
	Settings []string
}

// kinds is filled by init, because mixed looks up other kinds.
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

// plain is a workload with nothing to begin, check or report. Workloads embed plain.
type plain struct{}

func (plain) begin()                      {}
func (plain) check(context.Context) error { return nil }
func (plain) report(*report.Report)       {}

var echoKind = &kind{
	Info: Info{
		Name:      "echo",
		Summary:   "pings, without log and disk: the limit for connections alone",
		Operation: "an answered ping",
		Checks:    "every ping is answered",
	},
	make: func() workload { return &echo{} }, mixes: true,
}

// echo is the workload echo: pings, which show the connections' capacity without the log and the disk.
type echo struct {
	plain
	run *run
}

func (e *echo) prepare(_ context.Context, r *run) error {
	e.run = r
	return nil
}

func (e *echo) caller(i int) operation { return e.run.fleet.client(i).Ping }
