package simulation_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

// caseDelay is the delay of the second location.
const caseDelay = 5 * time.Second

// stage is a cluster of three hosts with a rollout of two locations and one leader each, which reach every shown target
// at once.
type stage struct {
	*servertest.Cluster
	client *client.Client
	shown  map[string]chan time.Time // by location: display time of a target
	work   sync.WaitGroup
	stop   context.CancelFunc
}

// onStage plays a scene in a bubble.
func onStage(t *testing.T, configure func(*server.Config), scene func(t *testing.T, s *stage)) {
	synctest.Test(t, func(t *testing.T) {
		cluster, err := servertest.Run(
			servertest.Hosts(3), servertest.Shards(1), servertest.Seed(1), servertest.Config(configure),
		)
		if err != nil {
			t.Fatal(err)
		}
		defer cluster.Close()
		if err := cluster.WaitReady(time.Minute); err != nil {
			t.Fatal(err)
		}
		s := &stage{Cluster: cluster, shown: make(map[string]chan time.Time)}
		ctx, stop := context.WithCancel(t.Context())
		s.stop = stop
		defer s.close(t)
		if s.client, err = client.Open(ctx, cluster.Addresses(), client.WithDialer(cluster.Dial)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.client.CreateNode(ctx, "/jobs", client.NodeConfig{}); err != nil {
			t.Fatal(err)
		}
		s.makeRollout(ctx, t)
		for _, location := range []string{"sas", "man"} {
			s.shown[location] = make(chan time.Time, 10)
			s.lead(ctx, t, location)
		}
		scene(t, s)
	})
}

func (s *stage) close(t *testing.T) {
	s.stop()
	s.work.Wait()
	if err := s.client.Close(); err != nil {
		t.Error(err)
	}
}

// makeRollout creates the rollout once the cluster's level supports it.
func (s *stage) makeRollout(ctx context.Context, t *testing.T) {
	spec := kind.Spec{Locations: []rollout.Location{{Name: "sas"}, {Name: "man", Delay: caseDelay}}}
	err := client.ErrUnsupported
	for errors.Is(err, client.ErrUnsupported) || errors.Is(err, client.ErrUnavailable) {
		_, err = rollout.New(s.client, "/jobs", "dns").Put(ctx, spec, rollout.ChangeInfo{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// lead starts the leader of a location.
func (s *stage) lead(ctx context.Context, t *testing.T, location string) {
	session, err := s.client.Session(ctx, "/jobs", client.SessionTimeout(20*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	m, err := rollout.Join(ctx, session, "dns", rollout.Instance{Name: location, Location: location}, rollout.Manual())
	if err == nil {
		err = m.Lead(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.work.Go(func() {
		for target, err := range m.Targets(ctx) {
			if err != nil {
				return
			}
			s.shown[location] <- time.Now()
			_ = m.Reached(ctx, target) // it fails with the context, or recovers by itself
		}
	})
}

// publish publishes a version and waits until it is shown to sas.
func (s *stage) publish(t *testing.T) time.Time {
	if _, err := rollout.New(s.client, "/jobs", "dns").Publish(t.Context(), []byte("v1")); err != nil {
		t.Fatal(err)
	}
	return <-s.shown["sas"]
}

// TestADelayOutlivesItsLeader: the shard's leader is killed 3 s after sas has reached the version. man gets the version
// only after the shard was led for the full delay, and soon after.
func TestADelayOutlivesItsLeader(t *testing.T) {
	onStage(t, func(*server.Config) {}, func(t *testing.T, s *stage) {
		reached := s.publish(t)
		time.Sleep(3 * time.Second)
		killed, old := time.Now(), s.Leader(1)
		s.Crash(old, true)
		for next := s.Leader(1); next == 0 || next == old; next = s.Leader(1) {
			time.Sleep(10 * time.Millisecond)
		}
		outage := time.Since(killed)
		got := (<-s.shown["man"]).Sub(reached)
		if led := got - outage; led < caseDelay-50*time.Millisecond || got > caseDelay+outage+10*time.Second {
			t.Errorf("man got it after %v, with an outage of %v and a delay of %v", got, outage, caseDelay)
		}
		if err := s.Restart(old); err != nil {
			t.Fatal(err)
		}
	})
}

// TestNoWallClockMovesARollout: the wall clocks of all hosts jump forward by an hour when sas has reached the version,
// and later back by two. Wall clock times in the log are for people only and decide nothing.
func TestNoWallClockMovesARollout(t *testing.T) {
	var mu sync.Mutex
	var step uint64 // in milliseconds, added to clock readings
	var seen int
	bug := withLog(func(l *faultyLog) {
		l.alter = func(c *shard.Command) {
			mu.Lock()
			defer mu.Unlock()
			if c.Time != 0 {
				c.Time += step
				seen++
			}
		}
	})
	turn := func(by time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		step = uint64(by.Milliseconds())
	}
	onStage(t, bug.Config, func(t *testing.T, s *stage) {
		reached := s.publish(t)
		turn(time.Hour)
		time.Sleep(3 * time.Second)
		select {
		case at := <-s.shown["man"]:
			t.Fatalf("man got it after %v", at.Sub(reached))
		default:
		}
		turn(-time.Hour)
		if got := (<-s.shown["man"]).Sub(reached); got < caseDelay || got > caseDelay+time.Second {
			t.Errorf("man got it after %v, with a delay of %v", got, caseDelay)
		}
		rows, err := rollout.New(s.client, "/jobs", "dns").History(t.Context(), "man",
			rollout.Consistency(client.Strict))
		if err != nil || len(rows) != 1 {
			t.Fatalf("man had %v, %v", rows, err)
		}
		if off := time.Since(rows[0].Assigned.Wall); off < 59*time.Minute {
			t.Errorf("by the wall man got it %v ago: its clock was not turned back", off)
		}
	})
	if seen == 0 {
		t.Error("no command has the time of a wall clock")
	}
}
