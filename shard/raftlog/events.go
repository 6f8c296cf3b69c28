package raftlog

import (
	"sync"

	"github.com/lni/dragonboat/v4/raftio"
	"github.com/signalbox/signalbox/shard"
)

// events delivers the engine's leadership changes to the state machines. The queue is unbounded, because the engine's
// goroutine must never wait, and a single goroutine drains it, because state machines need the changes in order.
type events struct {
	otherEvents
	host      *Host
	transfers Transfers
	wake      chan struct{} // holds a token while the queue may hold an event

	mu      sync.Mutex
	queue   []event         // guarded by mu, as is changed
	changed map[uint64]bool // shards with changed members
}

type event struct {
	log        *Log
	leadership shard.Leadership
}

func newEvents(h *Host) *events {
	transfers := h.config.Transfers
	if transfers == nil {
		transfers = noTransfers{}
	}
	return &events{host: h, transfers: transfers, wake: make(chan struct{}, 1), changed: make(map[uint64]bool)}
}

// LeaderUpdated is called by the engine for every leadership change it learns about. The log shows the change at once,
// and run notifies the state machine.
func (e *events) LeaderUpdated(info raftio.LeaderInfo) {
	if l := e.host.log(info.ShardID); l != nil && l.replica.Replica == info.ReplicaID {
		l.setLeader(info)
	}
}

// MembershipChanged is called by the engine when a replica has applied a member change. The engine holds locks during
// the call, so run reads the change later.
func (e *events) MembershipChanged(info raftio.NodeInfo) {
	e.mu.Lock()
	e.changed[info.ShardID] = true
	e.mu.Unlock()
	signal(e.wake)
}

// notify queues a leadership change for a log's state machine.
func (e *events) notify(l *Log, leadership shard.Leadership) {
	e.mu.Lock()
	e.queue = append(e.queue, event{log: l, leadership: leadership})
	e.mu.Unlock()
	signal(e.wake)
}

// run delivers the events until stop is closed.
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
		changed := e.changed
		e.changed = make(map[uint64]bool)
		e.mu.Unlock()
		if len(changed) > 0 {
			e.host.refreshVoters(changed)
		}
		for _, event := range events {
			event.log.notifyLeadership(event.leadership)
		}
		clear(events)
	}
}

// Transfers is notified about snapshots between hosts. The methods must not block.
type Transfers interface {
	// SnapshotSent: another host has received a whole snapshot.
	SnapshotSent(shardID uint64)
	// SnapshotNotSent: a snapshot did not reach another host. The engine sends it again.
	SnapshotNotSent(shardID uint64)
	// SnapshotReceived: this host has received a whole snapshot.
	SnapshotReceived(shardID uint64)
}

// SendSnapshotCompleted is called by the engine, like the next two methods.
func (e *events) SendSnapshotCompleted(i raftio.SnapshotInfo) { e.transfers.SnapshotSent(i.ShardID) }

// SendSnapshotAborted implements raftio.ISystemEventListener.
func (e *events) SendSnapshotAborted(i raftio.SnapshotInfo) { e.transfers.SnapshotNotSent(i.ShardID) }

// SnapshotReceived implements raftio.ISystemEventListener.
func (e *events) SnapshotReceived(i raftio.SnapshotInfo) {
	if l := e.host.log(i.ShardID); l != nil {
		l.machine.supersede()
	}
	e.transfers.SnapshotReceived(i.ShardID)
}

// noTransfers is used if the host's owner does not want notifications about snapshots between hosts.
type noTransfers struct{}

func (noTransfers) SnapshotSent(uint64)     {}
func (noTransfers) SnapshotNotSent(uint64)  {}
func (noTransfers) SnapshotReceived(uint64) {}

// otherEvents are the events that are not used here.
type otherEvents struct{}

func (otherEvents) NodeHostShuttingDown()                       {}
func (otherEvents) NodeUnloaded(raftio.NodeInfo)                {}
func (otherEvents) NodeDeleted(raftio.NodeInfo)                 {}
func (otherEvents) NodeReady(raftio.NodeInfo)                   {}
func (otherEvents) ConnectionEstablished(raftio.ConnectionInfo) {}
func (otherEvents) ConnectionFailed(raftio.ConnectionInfo)      {}
func (otherEvents) SendSnapshotStarted(raftio.SnapshotInfo)     {}
func (otherEvents) SnapshotRecovered(raftio.SnapshotInfo)       {}
func (otherEvents) SnapshotCreated(raftio.SnapshotInfo)         {}
func (otherEvents) SnapshotCompacted(raftio.SnapshotInfo)       {}
func (otherEvents) LogCompacted(raftio.EntryInfo)               {}
func (otherEvents) LogDBCompacted(raftio.EntryInfo)             {}
