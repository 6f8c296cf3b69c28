package simulation

import (
	"context"
	"slices"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/history"
	"github.com/signalbox/signalbox/test/workload"
)

// witness takes down what the programs and watchers of a process do and see.
type witness struct {
	*history.Recorder
	process *process
}

var _ workload.Recorder = witness{}

func (w witness) Begin(history.Operation) (over func(history.Operation, error)) {
	return func(o history.Operation, _ error) { w.Operation(o) }
}

func (w witness) Session(s *client.Session, x history.Session) (close func()) {
	p := w.process
	x.Client = p.id
	end := w.Recorder.Session(x)
	p.mu.Lock()
	p.sessions = append(p.sessions, x.ID)
	p.mu.Unlock()
	context.AfterFunc(s.Context(), func() {
		end(workload.EndOf(context.Cause(s.Context())))
		p.mu.Lock()
		p.sessions = slices.DeleteFunc(p.sessions, func(id uint64) bool { return id == x.ID })
		p.mu.Unlock()
	})
	return func() { end(history.Closed, "by its user") }
}

func (w witness) Hold(lease *client.Lease, h history.Hold) (end func(why string)) {
	end = w.Recorder.Hold(h)
	context.AfterFunc(lease.Context(), func() { end(context.Cause(lease.Context()).Error()) })
	return end
}

func (w witness) Write(of history.Semaphore, lease *client.Lease) {
	token := lease.Fence()
	w.Recorder.Write(history.Write{Semaphore: of, Order: token, Believed: lease.Err() == nil},
		func() bool { return w.process.world.store.Write(of, token) })
}
