package rollout_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/clienttest"
)

const (
	path = clienttest.Path
	name = "dns"
)

func TestMain(m *testing.M) { clienttest.Main(m) }

var by = rollout.ChangeInfo{Author: "anna", Reason: "a test"}

// spec is the document's example: sas, man 5 s later, vla 5 s after man.
func spec() rollout.Spec {
	return rollout.Spec{Locations: []rollout.Location{
		{Name: "sas"}, {Name: "man", Delay: 5 * time.Second}, {Name: "vla", Delay: 5 * time.Second},
	}}
}

// stage is a cluster with a client and a rollout, for one test.
type stage struct {
	*clienttest.Stage
	rollout *rollout.Rollout
}

// play runs a test on a stage with a rollout, in a bubble of time.
func play(t *testing.T, hosts int, s rollout.Spec, f func(t *testing.T, g *stage)) {
	t.Helper()
	if !protocol.KindRolloutPut.IsKnown() {
		t.Skip("this build has no rollouts")
	}
	clienttest.Play(t, hosts, func(t *testing.T, st *clienttest.Stage) {
		g := &stage{st, rollout.New(st.Client, path, name)}
		clienttest.Check(t, g.rollout.Create(t.Context(), s, by))
		f(t, g)
	})
}

// join lets a new session take part as an instance.
func (st *stage) join(location, instance string, options ...rollout.JoinOption) *rollout.Member {
	st.T.Helper()
	return st.joinBy(st.Session(), location, instance, options...)
}

func (st *stage) joinBy(s *client.Session, location, instance string, options ...rollout.JoinOption) *rollout.Member {
	st.T.Helper()
	m, err := rollout.Join(st.T.Context(), s, name, rollout.Instance{Name: instance, Location: location}, options...)
	clienttest.Check(st.T, err)
	return m
}

func (st *stage) publish(payload string, options ...rollout.PublishOption) uint64 {
	st.T.Helper()
	seq, err := st.rollout.Publish(st.T.Context(), []byte(payload), options...)
	clienttest.Check(st.T, err)
	return seq
}

// state returns the rollout's state.
func (st *stage) state() *rollout.State {
	st.T.Helper()
	s, err := st.rollout.Describe(st.T.Context(), rollout.Consistency(client.Strict), rollout.WithReasons())
	clienttest.Check(st.T, err)
	return s
}

// instance returns the hosts' record of an instance, or nil before its join.
func (st *stage) instance(location, instance string) *rollout.InstanceState {
	st.T.Helper()
	for i, err := range st.rollout.Instances(st.T.Context(), location, rollout.Consistency(client.Strict)) {
		clienttest.Check(st.T, err)
		if i.Name == instance {
			return i
		}
	}
	return nil
}

// run is a loop over a member's targets, in the background until its stop.
type run struct {
	targets  chan *rollout.Target // that were yielded
	apply    chan error           // each target's result
	reported chan struct{}        // hosts have the last result
	err      chan error           // the loop's final error
	stop     context.CancelFunc
}

// run lets each yielded target wait for its result: nil means reached.
func (st *stage) run(m *rollout.Member) *run {
	ctx, stop := context.WithCancel(context.Background())
	r := &run{
		targets: make(chan *rollout.Target), apply: make(chan error), reported: make(chan struct{}, 1),
		err: make(chan error, 1), stop: stop,
	}
	st.T.Cleanup(stop)
	go func() {
		for t, err := range m.Targets(ctx) {
			if err != nil {
				r.err <- err
				return
			}
			select {
			case r.targets <- t:
			case <-ctx.Done():
				return
			}
			select {
			case err := <-r.apply:
				if err == nil {
					err = m.Reached(ctx, t)
				} else {
					err = m.Failed(ctx, t, "", err)
				}
				if err != nil && !errors.Is(err, rollout.ErrSuperseded) {
					r.err <- err
					return
				}
				select {
				case r.reported <- struct{}{}:
				default:
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return r
}

// next returns the next yielded target.
func (r *run) next(t *testing.T) *rollout.Target {
	t.Helper()
	select {
	case target := <-r.targets:
		return target
	case err := <-r.err:
		t.Fatal(err)
	case <-time.After(never):
		t.Fatal("no target was yielded")
	}
	return nil
}

// reach takes the next target, checks its seq and reaches it. Then hosts know this.
func (r *run) reach(t *testing.T, seq uint64) *rollout.Target {
	t.Helper()
	target := r.next(t)
	if target.Seq != seq {
		t.Fatalf("got the target %d, want %d", target.Seq, seq)
	}
	select {
	case <-r.reported: // of one before
	default:
	}
	r.apply <- nil
	select {
	case <-r.reported:
	case err := <-r.err:
		t.Fatal(err)
	case <-time.After(never):
		t.Fatalf("the target %d was not reported", seq)
	}
	return target
}

// quiet checks that no target is yielded for a time.
func (r *run) quiet(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case target := <-r.targets:
		t.Fatalf("the target %d is yielded", target.Seq)
	case err := <-r.err:
		t.Fatal(err)
	case <-time.After(d):
	}
}

// end returns the loop's final error.
func (r *run) end(t *testing.T) error {
	t.Helper()
	select {
	case err := <-r.err:
		return err
	case <-time.After(never):
		t.Fatal("the loop goes on")
		return nil
	}
}

// never bounds a wait, on the bubble's clock, for an event that must come.
const never = time.Minute

// clusterHost is one of three hosts, in turn.
func clusterHost(n uint64) shard.HostID { return shard.HostID(1 + n%3) }
