package replica

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
)

// TestAHostThatStoodStillLeadsNothingBeforeOthersCouldRefuseIt: after a stall it neither proposes nor proves anything
// until it has asked other hosts, even before its loop has detected the stall.
func TestAHostThatStoodStillLeadsNothingBeforeOthersCouldRefuseIt(t *testing.T) {
	var ahead atomic.Int64
	began := time.Now()
	asked, answered := make(chan bool), make(chan bool)
	s := standaloneWith(t, 1, level.Newest, func(c *Config) {
		c.Clock = func() time.Time { return began.Add(time.Duration(ahead.Load())) }
		c.Rejoin = func() {
			asked <- true
			<-answered
		}
	})
	r := s.All()[0]
	leads := func(when string, want bool) {
		t.Helper()
		proved := make(chan error, 1)
		err := r.end.Barrier(func(err error) { proved <- err })
		if err == nil {
			err = <-proved
		}
		if (err == nil) != want || err != nil && !errors.Is(err, shard.ErrNotLeader) {
			t.Errorf("%s a barrier gives %v", when, err)
		}
		if want {
			return
		}
		if err := r.end.Propose(nil, func(shard.Outcome) {}); !errors.Is(err, shard.ErrNotLeader) {
			t.Errorf("%s a proposal gives %v", when, err)
		}
	}
	s.rejoin(s.Now())
	ahead.Add(int64(standstill))
	leads("after a moment", true)
	ahead.Add(1)
	leads("after a standstill", false)
	s.rejoin(s.Now())
	<-asked
	leads("while the others are asked", false)
	ahead.Add(int64(time.Second))
	s.rejoin(s.Now())
	leads("a round later", false)
	answered <- true
	s.retiring.Wait()
	leads("when the others were asked", true)
}
