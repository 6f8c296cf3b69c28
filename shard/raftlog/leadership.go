package raftlog

import (
	"sync"

	"github.com/lni/dragonboat/v4/raftio"
	"github.com/signalbox/signalbox/shard"
)

// leadershipEvents carries what the engine tells about leaders to the state machines: an unbounded
// queue, because the engine's goroutine must never wait, drained by one goroutine of the host, because
// state machines want their events in order.
type leadershipEvents struct {
	host *Host
	wake chan struct{} // one token while the queue may hold something

	mu    sync.Mutex
	queue []leadershipEvent // guarded by mu
}

type leadershipEvent struct {
	log        *Log
	leadership shard.Leadership
}

func newLeadershipEvents(h *Host) *leadershipEvents {
	return &leadershipEvents{host: h, wake: make(chan struct{}, 1)}
}

// LeaderUpdated is called by the engine for every change of its belief. The log believes it at once;
// its state machine hears of it from run.
func (e *leadershipEvents) LeaderUpdated(info raftio.LeaderInfo) {
	l := e.host.log(info.ShardID)
	if l == nil {
		return
	}
	leadership := shard.Leadership{Leader: shard.HostID(info.LeaderID), Term: info.Term}
	l.believe(leadership)
	e.mu.Lock()
	e.queue = append(e.queue, leadershipEvent{log: l, leadership: leadership})
	e.mu.Unlock()
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// run hands the events on until stop is closed.
func (e *leadershipEvents) run(stop <-chan struct{}) {
	var events []leadershipEvent
	for {
		select {
		case <-stop:
			return
		case <-e.wake:
		}
		e.mu.Lock()
		events, e.queue = e.queue, events[:0]
		e.mu.Unlock()
		for _, event := range events {
			event.log.tellLeadership(event.leadership)
		}
		clear(events)
	}
}
