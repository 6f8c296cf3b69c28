package replica

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// watchRef is where the notice of a one-shot watch goes.
type watchRef struct {
	conn    Conn
	request uint64
	of      shard.ObjectName // the bytes of the name count in the host's budget of watches
}

// WithWatches calls fn, which may add a watch. No change is lost between the reads of fn and the watch: the watch is
// counted before fn, and a change that finds a watch counted waits for the lock.
func (r *Replica) WithWatches(fn func()) {
	r.mu.Lock()
	defer r.unlockFired()
	r.watching.Add(1)
	fn()
}

// AddWatch adds a one-shot watch. A replaced watch ends with nothing known. The replica's lock is held.
func (r *Replica) AddWatch(c Conn, request uint64, m *protocol.SemaphoreDescribe) {
	of := shard.ObjectName{Node: shard.NodeID(m.NodeID), Name: string(m.Name)}
	replaced, was := r.watches.Add(shard.SessionID(m.SessionID), of.Node, of.Name, m.WatchData, m.WatchOwners,
		watchRef{conn: c, request: request, of: of})
	if was {
		r.fire(replaced, false, false)
	}
}

// countWatches publishes the number of one-shot watches. The lock is held.
func (r *Replica) countWatches() { r.watching.Store(int64(r.watches.Len())) }

// fire appends the one notification of a watch. The lock is held; the caller releases it by unlockFired.
func (r *Replica) fire(ref watchRef, data, owners bool) {
	r.endWatch(ref)
	ref.conn.Push(ref.request, &protocol.Changed{Data: data, Owners: owners})
	r.fired = append(r.fired, ref.conn)
}

// unlockFired releases the lock, and then flushes the connections of fired watches. A flush may cut off a client that
// reads too slowly, and logs the cut; nothing that could wait is done under the lock.
func (r *Replica) unlockFired() {
	fired := r.fired
	r.fired = nil
	r.countWatches()
	r.mu.Unlock()
	for _, c := range fired {
		c.Flush(false)
	}
}

// notifyWatches notifies the one-shot watches of a change, or drops the watches of an ended session.
func (r *Replica) notifyWatches(e *shard.Effect) {
	r.mu.Lock()
	defer r.unlockFired()
	if e.Kind == shard.EffectSessionEnded {
		r.dropWatches(e.Session, nil)
		return
	}
	r.one[0] = *e
	r.watches.Apply(r.one[:], r.fire)
}

// dropWatches drops the watches of a session over one connection, or over all connections if c is nil, without a
// notification. The lock is held.
func (r *Replica) dropWatches(id shard.SessionID, c Conn) {
	r.watches.DropWhere(id, func(ref watchRef) bool {
		if c != nil && ref.conn != c {
			return false
		}
		r.endWatch(ref)
		return true
	})
}

// forgetSessionWatches drops the watches of a session that is leaving a connection.
func (r *Replica) forgetSessionWatches(id shard.SessionID, c Conn) {
	if r.watching.Load() == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropWatches(id, c)
	r.countWatches()
}

// forgetWatches notifies all one-shot watches that a change may have been missed.
func (r *Replica) forgetWatches() {
	r.mu.Lock()
	defer r.unlockFired()
	r.watches.DropAll(func(ref watchRef) { r.fire(ref, false, false) })
}

// endWatch counts off a one-shot watch.
func (r *Replica) endWatch(ref watchRef) {
	r.set.config.Watches.Give(len(ref.of.Name))
	ref.conn.Ended(ref.request)
}
