package workload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/test/history"
)

// The names in the rollouts of a test.
const (
	sas, man, vla = "sas", "man", "vla"
	gate          = "errors"
	// codeBad is the code of the error of versions that cannot be used.
	codeBad = "bad-version"
)

// Rollouts returns the specs of the rollouts of a test, by their names: versions of one are published, and those of the
// other are made by sources that are asked. A test in which less happens has a larger pace than 1, and longer times.
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

// maxKept is the most versions that a rollout keeps.
const maxKept = 1024

// RolloutWorkers are what works with rollouts in one client process, with sessions of its own. The exported fields are
// set before Start.
type RolloutWorkers struct {
	Client   *client.Client
	Recorder Recorder
	Node     string
	Number   int           // of the client
	Timeout  time.Duration // of sessions
	Think    time.Duration // the mean pause between two things that a worker does
	Pace     time.Duration // that of Rollouts
	// Random returns what the worker of an index draws from.
	Random func(worker int) *rand.Rand

	calm  atomic.Bool // nothing fails any more, and no version comes
	stop  context.CancelFunc
	group sync.WaitGroup
}

// Start begins the work, for the rollouts that there are or will be.
func (w *RolloutWorkers) Start() {
	var ctx context.Context
	ctx, w.stop = context.WithCancel(context.Background())
	n := 0
	next := func() worker {
		n++
		return worker{RolloutWorkers: w, random: w.Random(n), number: n}
	}
	for _, name := range []string{"published", "asked"} {
		locations := Rollouts(w.Pace)[name].Locations
		for i := range 2 { // so that two clients have instances everywhere
			instance := &instance{worker: next(), polls: (w.Number+i)%3 == 0}
			instance.name, instance.location = name, locations[(2*w.Number+i)%len(locations)].Name
			w.group.Go(func() { instance.run(ctx) })
		}
	}
	publisher, source, checker := next(), next(), next()
	publisher.name, source.name, checker.name = "published", "asked", "published"
	w.group.Go(func() { publisher.publish(ctx) })
	w.group.Go(func() { source.offer(ctx) })
	w.group.Go(func() { checker.check(ctx) })
}

// Calm ends what stands in the way of versions: from now on nothing fails, and no version is published or made.
// Instances, sources and checkers stay.
func (w *RolloutWorkers) Calm() { w.calm.Store(true) }

// Close ends the work, before the client ends.
func (w *RolloutWorkers) Close() {
	w.stop()
	w.group.Wait()
}

// worker is one goroutine that works with a rollout.
type worker struct {
	*RolloutWorkers
	random *rand.Rand
	number int
	name   string // of the rollout
	marks  int
}

// of names the rollout in the history.
func (w *worker) of() history.Rollout { return history.Rollout{Node: w.Node, Name: w.name} }

// inSessions works in one session after the other, until the context ends.
func (w *worker) inSessions(ctx context.Context, work func(ctx context.Context, s *client.Session)) {
	for ctx.Err() == nil {
		s, err := w.Client.Session(ctx, w.Node, client.SessionTimeout(w.Timeout))
		if err != nil {
			w.pause(ctx)
			continue
		}
		closed := w.Recorder.Session(s, history.Session{ID: s.ID(), Node: w.Node, Timeout: w.Timeout})
		working, cancel := context.WithCancel(ctx)
		end := context.AfterFunc(s.Context(), cancel)
		work(working, s)
		end()
		cancel()
		if ctx.Err() != nil {
			return // the session ends with its client
		}
		closed()
		closing, cancel := context.WithTimeout(ctx, time.Second)
		_ = s.Close(closing) // one that reaches no host leaves the session to its timeout
		cancel()
	}
}

// pause waits for a while, and reports whether the context let it.
func (w *worker) pause(ctx context.Context) bool { return Sleep(ctx, UpTo(w.random, 2*w.Think)) }

// one reports whether something happens that happens one time of so many, while it is not calm.
func (w *worker) one(of int) bool { return w.random.IntN(of) == 0 && !w.calm.Load() }

// mark is what is published or done once.
func (w *worker) mark(s *client.Session, kind string) string {
	w.marks++
	return fmt.Sprintf("%s-%x-%d", kind, s.ID(), w.marks)
}

// What marks of versions begin with that cannot be used, or that no gate lets through.
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

// pendingRequest is a request that is under way.
type pendingRequest struct {
	history.Request
	end func(history.Request, error)
}

// begin records that a request begins now.
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
