package workload

import (
	"time"

	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/test/history"
)

// Names of a test's processes: waiting waits for a member that does not answer, kicking removes it.
const (
	waiting = "waiting"
	kicking = "kicking"
)

// processNames are the names of Processes in a fixed order.
var processNames = []string{waiting, kicking}

// Processes returns the specs of a test's processes, by name. A slower test has a pace above 1, and longer times. With
// gathers, one process opens epochs only with the last required member.
func Processes(pace time.Duration, gathers bool) map[string]process.Spec {
	spec := process.Spec{
		OpenDelay: 100 * pace * time.Millisecond, MaxOpenDelay: pace * time.Second, KeepResults: resultsKept,
	}
	strict := spec
	strict.MinMembers, strict.ReplyTimeout, strict.OnTimeout = 2, 4*pace*time.Second, process.TimeoutEvict
	if gathers {
		strict.OpenDelay = time.Millisecond
	}
	return map[string]process.Spec{waiting: spec, kicking: strict}
}

// resultsKept is how many results a process keeps.
const resultsKept = 64

// StartProcesses starts working with the current and future processes.
func (p *WorkerPool) StartProcesses() {
	p.begin()
	for i, name := range []string{waiting, kicking, processNames[p.Number%2]} {
		m := &member{worker: p.next(name), observer: i == 2 && p.Number%3 == 0}
		p.run(m.run)
	}
}

// inProcess is a worker's process in the history.
func (w *worker) inProcess() history.Process { return history.Process{Node: w.Node, Name: w.name} }

// beginChange records the start of a process change, and returns a function to record its outcome.
func (w *worker) beginChange(c history.ProcessChange) (end func(c history.ProcessChange, err error)) {
	c.Process, c.Called = w.inProcess(), w.Recorder.Now()
	number := w.Recorder.Report(history.Entry{Change: &c})
	called := c.Called
	return func(c history.ProcessChange, err error) {
		c.Process, c.Called, c.Returned = w.inProcess(), called, w.Recorder.Now()
		c.Outcome, c.Error = OutcomeOf(err)
		w.Recorder.Replace(number, history.Entry{Change: &c})
	}
}

// changed records a possible process change from now on, with an unknown outcome.
func (w *worker) changed(c history.ProcessChange) {
	c.Process, c.Called = w.inProcess(), w.Recorder.Now()
	w.Recorder.Report(history.Entry{Change: &c})
}
