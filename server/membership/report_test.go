package membership

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/server/metrics"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/server/watch"
	"github.com/signalbox/signalbox/shard"
)

// silent are calls of hosts that never answer.
type silent struct{ made, underWay atomic.Int64 }

func (s *silent) Call(ctx context.Context, _ shard.HostID, _ []byte) ([]byte, error) {
	s.made.Add(1)
	s.underWay.Add(1)
	defer s.underWay.Add(-1)
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestReportsUnderWayAreBounded: while no host answers, further reports fail at once. The host reports nothing after it
// has closed.
func TestReportsUnderWayAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		set := replica.New(replica.Config{Hosts: []shard.HostID{1, 2}, Shards: 1, Clock: time.Now, Log: log,
			Metrics: metrics.New(), Watches: watch.NewBudget(1 << 20)})
		calls := new(silent)
		m := New(Config{ID: 1, Hosts: []shard.HostID{2}, Calls: calls, Set: set, Log: log})
		report := func() {
			for range 2 * reportsAtOnce {
				m.ReportCommands([]byte("commands"))
			}
			synctest.Wait()
		}
		report()
		if n := calls.underWay.Load(); n != reportsAtOnce {
			t.Errorf("%d reports are under way, want %d", n, reportsAtOnce)
		}
		time.Sleep(askWithin)
		synctest.Wait()
		if n := calls.underWay.Load(); n != 0 {
			t.Errorf("%d reports are under way after %v", n, askWithin)
		}
		report()
		if n := calls.made.Load(); n != 2*reportsAtOnce {
			t.Errorf("%d reports were made, want %d", n, 2*reportsAtOnce)
		}
		m.Close()
		report()
		if n := calls.underWay.Load(); n != 0 {
			t.Errorf("%d reports are under way after the end", n)
		}
	})
}
