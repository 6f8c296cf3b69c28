package raftlog

import (
	"sync"

	"github.com/lni/dragonboat/v4/raftio"
	"github.com/signalbox/signalbox/shard"
)

// events delivers the engine's changes of leadership to the state machines. The queue is unbounded, because the
// engine's goroutine must never wait, and one goroutine of the host drains it, because state machines need the changes
// in order.
type events struct {
	host *Host
	wake chan struct{} // holds a token while the queue may hold an event

	mu    sync.Mutex
	queue []event // guarded by mu
}

type event struct {
	log        *Log
	leadership shard.Leadership
}

func newEvents(h *Host) *events {
	return &events{host: h, wake: make(chan struct{}, 1)}
}

// LeaderUpdated is called by the engine for every change of leadership that it learns of. The log shows it at once, and
// run notifies its state machine.
func (e *events) LeaderUpdated(info raftio.LeaderInfo) {
	l := e.host.log(info.ShardID)
	if l == nil {
		return
	}
	leadership := shard.Leadership{Leader: shard.HostID(info.LeaderID), Term: info.Term}
	l.setLeadership(leadership)
	e.mu.Lock()
	e.queue = append(e.queue, event{log: l, leadership: leadership})
	e.mu.Unlock()
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// run hands the events on until stop is closed.
func (e *events) run(stop <-chan struct{}) {
	var events []event
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
			event.log.notifyLeadership(event.leadership)
		}
		clear(events)
	}
}

// Transfers is notified of the snapshots that hosts send each other. Its methods must not block.
type Transfers interface {
	// SnapshotSent: another host has received a whole snapshot.
	SnapshotSent(shardID uint64)
	// SnapshotNotSent: a snapshot did not reach another host. The engine sends it again.
	SnapshotNotSent(shardID uint64)
	// SnapshotReceived: this host has received a whole snapshot.
	SnapshotReceived(shardID uint64)
}

// systemEvents returns the listener for the engine's events other than changes of leadership, nil where there is none.
func (c Config) systemEvents() raftio.ISystemEventListener {
	if c.Transfers == nil {
		return nil
	}
	return transferEvents{c.Transfers}
}

// transferEvents passes on the events of snapshots between hosts, and no others.
type transferEvents struct{ to Transfers }

func (t transferEvents) SendSnapshotCompleted(i raftio.SnapshotInfo) { t.to.SnapshotSent(i.ShardID) }
func (t transferEvents) SendSnapshotAborted(i raftio.SnapshotInfo)   { t.to.SnapshotNotSent(i.ShardID) }
func (t transferEvents) SnapshotReceived(i raftio.SnapshotInfo)      { t.to.SnapshotReceived(i.ShardID) }

func (transferEvents) NodeHostShuttingDown()                       {}
func (transferEvents) NodeUnloaded(raftio.NodeInfo)                {}
func (transferEvents) NodeDeleted(raftio.NodeInfo)                 {}
func (transferEvents) NodeReady(raftio.NodeInfo)                   {}
func (transferEvents) MembershipChanged(raftio.NodeInfo)           {}
func (transferEvents) ConnectionEstablished(raftio.ConnectionInfo) {}
func (transferEvents) ConnectionFailed(raftio.ConnectionInfo)      {}
func (transferEvents) SendSnapshotStarted(raftio.SnapshotInfo)     {}
func (transferEvents) SnapshotRecovered(raftio.SnapshotInfo)       {}
func (transferEvents) SnapshotCreated(raftio.SnapshotInfo)         {}
func (transferEvents) SnapshotCompacted(raftio.SnapshotInfo)       {}
func (transferEvents) LogCompacted(raftio.EntryInfo)               {}
func (transferEvents) LogDBCompacted(raftio.EntryInfo)             {}
