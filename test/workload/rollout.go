package workload

import (
	"context"
	"strings"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/test/history"
)

// Names in a test's rollouts.
const (
	sas, man, vla = "sas", "man", "vla"
	gate          = "errors"
	// codeBad is the error code for unusable versions.
	codeBad = "bad-version"
)

// Rollouts returns the specs for a test's rollouts, by name: one rollout gets published versions, the other requests
// versions from sources. A slower test has a pace above 1, and longer times.
func Rollouts(pace time.Duration) map[string]rollout.Spec {
	spec := rollout.Spec{
		Locations: []rollout.Location{
			{Name: sas}, {Name: man, Delay: 1000 * pace * time.Millisecond, Gates: []string{gate}},
			{Name: vla, Delay: 700 * pace * time.Millisecond, MaxFailing: 1},
		},
		Reelect: rollout.Reelect{
			Codes: []string{codeBad}, After: 2 * pace * time.Second, Attempts: 2, Interval: pace * time.Second, Most: 3,
		},
		KeepVersions: maxKept, ProgressDeadline: 10 * pace * time.Second,
	}
	asked := spec
	asked.Versions, asked.AskInterval = rollout.Asked, pace*time.Second
	asked.Locations = []rollout.Location{{Name: sas}, {Name: man, Delay: 1500 * pace * time.Millisecond}}
	return map[string]rollout.Spec{"published": spec, "asked": asked}
}

// maxKept is the maximum version count kept by a rollout.
const maxKept = 1024

// StartRollouts starts working with the current and future rollouts.
func (p *WorkerPool) StartRollouts() {
	p.begin()
	for _, name := range []string{"published", "asked"} {
		locations := Rollouts(p.Pace)[name].Locations
		for i := range 2 { // so that two clients have instances everywhere
			instance := &instance{worker: p.next(name), polls: (p.Number+i)%3 == 0}
			instance.location = locations[(2*p.Number+i)%len(locations)].Name
			p.run(instance.run)
		}
	}
	publisher, source, checker := p.next("published"), p.next("asked"), p.next("published")
	p.run(publisher.publish)
	p.run(source.offer)
	p.run(checker.check)
}

// of is the rollout's name in the history.
func (w *worker) of() history.Rollout { return history.Rollout{Node: w.Node, Name: w.name} }

// Mark prefixes of versions that are unusable, or that no gate passes.
const (
	good     = "good"
	bad      = "bad"
	ungated  = "ungated"
	finished = "final"
)

func (w *worker) versionMark(s *client.Session) string {
	return w.mark(s, Pick(w.random, good, good, good, good, good, good, bad, ungated))
}

// is reports whether a version has a quality that counts.
func (w *worker) is(mark, kind string) bool { return strings.HasPrefix(mark, kind) && !w.calm.Load() }

// pendingRequest is a request in progress.
type pendingRequest struct {
	history.Request
	end func(history.Request, error)
}

// begin records a request's start.
func (w *worker) begin(s *client.Session, r history.Request) *pendingRequest {
	r.Rollout, r.Session, r.Called = w.of(), s.ID(), w.Recorder.Now()
	return &pendingRequest{r, w.Recorder.BeginRequest(r)}
}

// finish records the outcome.
func (p *pendingRequest) finish(err error) {
	p.Outcome, p.Error = OutcomeOf(err)
	p.end(p.Request, err)
}

// publish publishes versions.
func (w *worker) publish(ctx context.Context) {
	w.inSessions(ctx, func(ctx context.Context, s *client.Session) {
		for Sleep(ctx, UpTo(w.random, 10*w.Think)) && !w.one(50) {
			if w.calm.Load() {
				continue
			}
			w.publishOne(ctx, s)
		}
	})
}

func (w *worker) publishOne(ctx context.Context, s *client.Session) {
	ctx, cancel := context.WithTimeout(ctx, UpTo(w.random, Pick(w.random, 100*time.Millisecond, 30*time.Second)))
	defer cancel()
	mark := w.versionMark(s)
	r := w.begin(s, history.Request{Kind: history.Publish, Mark: mark})
	var err error
	r.Seq, err = rollout.Publish(ctx, s, w.name, []byte(mark), rollout.Label(mark))
	r.finish(err)
}
