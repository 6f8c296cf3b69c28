package workload

import (
	"time"

	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/test/history"
)

// The names of the processes of a test: in one a member that does not answer is waited for, in the other it is put out.
const (
	waiting = "waiting"
	kicking = "kicking"
)

// processNames are those of Processes in an order that does not change.
var processNames = []string{waiting, kicking}

// Processes returns the specs of the processes of a test, by their names. A test in which less happens has a larger
// pace than 1, and longer times. If one gathers, its epochs open with the last member that they need.
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

// StartProcesses begins the work with the processes that there are or will be.
func (p *WorkerPool) StartProcesses() {
	p.begin()
	for i, name := range []string{waiting, kicking, processNames[p.Number%2]} {
		m := &member{worker: p.next(name), observer: i == 2 && p.Number%3 == 0}
		p.run(m.run)
	}
}

// inProcess names the process of a worker in the history.
func (w *worker) inProcess() history.Process { return history.Process{Node: w.Node, Name: w.name} }

// beginChange records that something changes a process from now on, and returns what records its outcome.
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

// changed records that something may change a process from now on: what becomes of it is not known.
func (w *worker) changed(c history.ProcessChange) {
	c.Process, c.Called = w.inProcess(), w.Recorder.Now()
	w.Recorder.Report(history.Entry{Change: &c})
}
