package replica

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"sync/atomic"
)

// watchRef is the destination for a one-shot watch's notification.
type watchRef struct {
	conn    Conn
	request uint64
	of      shard.ObjectName // the name's bytes count in the host's watch budget
}

// OneShotWatches are a shard's watches that end with their first change.
type OneShotWatches struct {
	r        *Replica
	watching atomic.Int64              // number of watches
	watches  *shard.WatchSet[watchRef] // guarded by Replica.mu
	fired    []Conn                    // to be flushed after the lock is released; guarded by Replica.mu
	one      [1]shard.Effect           // used while batches are applied
}

// With calls fn, which may add a watch. No change between fn's reads and the watch is missed: the watch is counted
// before fn, and a change that finds a watch counted waits for the lock.
func (osw *OneShotWatches) With(fn func()) {
	osw.r.mu.Lock()
	defer osw.unlockFired()
	osw.watching.Add(1)
	fn()
}

// Add adds a one-shot watch. A replaced watch ends without any news. The replica's lock is held.
func (osw *OneShotWatches) Add(c Conn, request uint64, m *protocol.SemaphoreDescribe) {
	of := shard.ObjectName{Node: shard.NodeID(m.NodeID), Name: string(m.Name)}
	replaced, was := osw.watches.Add(shard.SessionID(m.SessionID), of.Node, of.Name, m.WatchData, m.WatchOwners,
		watchRef{conn: c, request: request, of: of})
	if was {
		osw.fire(replaced, false, false)
	}
}

// count publishes the number of one-shot watches. The lock is held.
func (osw *OneShotWatches) count() { osw.watching.Store(int64(osw.watches.Len())) }

// fire appends a watch's only notification. The lock is held; the caller releases it with unlockFired.
func (osw *OneShotWatches) fire(ref watchRef, data, owners bool) {
	osw.end(ref)
	ref.conn.Push(ref.request, &protocol.WatchChanged{Data: data, Owners: owners})
	osw.fired = append(osw.fired, ref.conn)
}

// unlockFired releases the lock, and then flushes the connections of fired watches. A flush may disconnect a slow
// client and log the disconnect; the lock must not be held during anything that could block.
func (osw *OneShotWatches) unlockFired() {
	fired := osw.fired
	osw.fired = nil
	osw.count()
	osw.r.mu.Unlock()
	for _, c := range fired {
		c.Flush(false)
	}
}

// notify notifies one-shot watches about a change, or drops an ended session's watches.
func (osw *OneShotWatches) notify(e *shard.Effect) {
	osw.r.mu.Lock()
	defer osw.unlockFired()
	if e.Kind == shard.EffectSessionEnded {
		osw.drop(e.Session, nil)
		return
	}
	osw.one[0] = *e
	osw.watches.Apply(osw.one[:], osw.fire)
}

// drop drops a session's watches over one connection, or over all connections if c is nil, without a notification.
// The lock is held.
func (osw *OneShotWatches) drop(id shard.SessionID, c Conn) {
	osw.watches.DropWhere(id, func(ref watchRef) bool {
		if c != nil && ref.conn != c {
			return false
		}
		osw.end(ref)
		return true
	})
}

// forgetSession drops the watches of a session that is leaving a connection.
func (osw *OneShotWatches) forgetSession(id shard.SessionID, c Conn) {
	if osw.watching.Load() == 0 {
		return
	}
	osw.r.mu.Lock()
	defer osw.r.mu.Unlock()
	osw.drop(id, c)
	osw.count()
}

// forget notifies all one-shot watches that a change may have been missed.
func (osw *OneShotWatches) forget() {
	osw.r.mu.Lock()
	defer osw.unlockFired()
	osw.watches.DropAll(func(ref watchRef) { osw.fire(ref, false, false) })
}

// leave notifies the watches on objects in slots for which stays returns false: the client describes such an object
// again, and the answer comes from the shard that has the slot.
func (osw *OneShotWatches) leave(stays func(shard.Slot) bool) {
	if osw.watching.Load() == 0 {
		return
	}
	osw.r.mu.Lock()
	defer osw.unlockFired()
	osw.watches.DropObjects(func(of shard.ObjectName) bool { return stays(shard.SlotOf(of.Node, []byte(of.Name))) },
		func(ref watchRef) { osw.fire(ref, false, false) })
}

// end decrements the count of one-shot watches.
func (osw *OneShotWatches) end(ref watchRef) {
	osw.r.set.config.Watches.Give(len(ref.of.Name))
	ref.conn.Ended(ref.request)
}
