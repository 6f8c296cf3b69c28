package server_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/executor"
	"github.com/signalbox/signalbox/server/peerrpc"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

// unreliable are calls between hosts that lose every third report to the meta shard, and repeat every second report
// seconds later.
type unreliable struct {
	executor.Calls
	reports *atomic.Int64
	late    *sync.WaitGroup
}

var errLost = errors.New("the report is lost")

func (u unreliable) Call(ctx context.Context, to shard.HostID, request []byte) ([]byte, error) {
	r, err := peerrpc.Read(request)
	if err == nil && r.Kind == protocol.KindHostNotify && r.HostNotify.Event == protocol.HostUpkeep {
		if u.reports.Add(1)%3 == 0 {
			return nil, errLost
		}
		u.late.Go(func() {
			time.Sleep(3 * time.Second)
			again, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			_, _ = u.Calls.Call(again, to, request)
		})
	}
	return u.Calls.Call(ctx, to, request)
}

// TestReportsThatAreLostLateOrTwiceDoNoHarm: the meta leader changes while hosts report, and each grace change still
// takes effect on all hosts.
func TestReportsThatAreLostLateOrTwiceDoNoHarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reports atomic.Int64
		var late sync.WaitGroup
		c := servertest.Start(t, servertest.Hosts(3), servertest.Config(func(c *server.Config) {
			c.Calls = unreliable{c.Calls, &reports, &late}
		}))
		defer late.Wait()
		g := graced{t, c}
		g.create(25 * time.Second)
		for _, grace := range []time.Duration{2 * time.Second, 20 * time.Second, 4 * time.Second} {
			g.alter(grace)
			if err := c.Elect(0, c.Leader(0)%3+1); err != nil {
				t.Fatal(err)
			}
			for id := shard.HostID(1); id <= 3; id++ {
				if !settles(t, c, id, 20*time.Second) {
					t.Fatalf("the change to %v is not settled on host %d", grace, id)
				}
			}
		}
		if err := c.Elect(1, c.Leader(0)%3+1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // it serves
		speak(t, c, c.Leader(1)).session("/jobs", time.Minute)
		synctest.Wait() // the meta leader may apply the record after the followers
		if known, _ := c.Host(c.Leader(0)).Topology(); known.Records.Longest(known.Clock.Now).Timeout != 60_000 {
			t.Errorf("the longest timeout on record is %+v", known.Records.Longest(known.Clock.Now))
		}
		if took := g.lockOutlives(); took < 5*time.Second || took > 9*time.Second {
			t.Errorf("the lock went on after %v; timeout and grace are 5 s", took)
		}
		if n := reports.Load(); n < 12 {
			t.Errorf("only %d reports were made", n)
		}
	})
}

// TestAGraceIsNotConfirmedForAHostThatCannotReport: the host has the meta shard's log, and its calls reach no other
// host.
func TestAGraceIsNotConfirmedForAHostThatCannotReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var off atomic.Bool
		c := servertest.Start(t, servertest.Hosts(3), servertest.Config(func(c *server.Config) {
			if c.ID == 3 {
				c.Calls = muted{c.Calls, &off}
			}
		}))
		if err := c.Elect(0, 1); err != nil {
			t.Fatal(err)
		}
		g := graced{t, c}
		g.create(25 * time.Second)
		off.Store(true)
		g.alter(2 * time.Second)
		if settles(t, c, 1, 20*time.Second) {
			t.Error("the change is settled, and a host has not reported it")
		}
		off.Store(false)
		if !settles(t, c, 1, 5*time.Second) {
			t.Error("the change is not settled when all hosts can report")
		}
	})
}
