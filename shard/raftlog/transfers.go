package raftlog

import "github.com/lni/dragonboat/v4/raftio"

// Transfers is told of the snapshots that hosts send each other. Its methods must not block.
type Transfers interface {
	// SnapshotSent tells that another host has all of a snapshot.
	SnapshotSent(shardID uint64)
	// SnapshotNotSent tells that another host was to get a snapshot and did not. It is tried again.
	SnapshotNotSent(shardID uint64)
	// SnapshotReceived tells that this host has all of a snapshot.
	SnapshotReceived(shardID uint64)
}

// systemEvents is who listens to what the engine tells besides who leads; nil where nobody wants to know.
func (c Config) systemEvents() raftio.ISystemEventListener {
	if c.Transfers == nil {
		return nil
	}
	return transferEvents{c.Transfers}
}

// transferEvents picks, of all that the engine tells, what is of snapshots between hosts.
type transferEvents struct{ to Transfers }

func (e transferEvents) SendSnapshotCompleted(i raftio.SnapshotInfo) { e.to.SnapshotSent(i.ShardID) }
func (e transferEvents) SendSnapshotAborted(i raftio.SnapshotInfo)   { e.to.SnapshotNotSent(i.ShardID) }
func (e transferEvents) SnapshotReceived(i raftio.SnapshotInfo)      { e.to.SnapshotReceived(i.ShardID) }

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
