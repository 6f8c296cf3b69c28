// Package watch implements the handlers for streaming watch requests.
package watch

import (
	"errors"
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/server/watch"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// Handlers returns the handlers.
func (w *Watches) Handlers() handle.Table {
	return handle.Table{protocol.KindWatch: w.watch, protocol.KindWatchStop: w.stop}
}

func (w *Watches) watch(r *handle.Request) (handle.Reply, error) {
	m := &r.Watch
	id := shard.NodeID(m.NodeID)
	if err := w.Object(r, id, m.Name); err != nil {
		return nil, err
	}
	if err := knowsView(m); err != nil {
		return nil, err
	}
	open := *m
	open.Name, open.View = slices.Clone(m.Name), slices.Clone(m.View)
	return w.openIn(shard.SlotOf(id, m.Name), r.Conn, r.ID, &open)
}

// openIn opens a watch in the shard that has the object's slot. If the client knows a later owner than the host, the
// watch needs a barrier.
func (w *Watches) openIn(slot shard.Slot, c handle.Connection, request uint64, m *protocol.Watch) (
	handle.Reply, error,
) {
	rp := w.Set.Of(slot)
	if !rp.Holds() || !rp.HasSlot(slot) {
		return w.Elsewhere(rp, slot, m.Generation, func() (handle.Reply, error) {
			return w.openIn(slot, c, request, m)
		})
	}
	fresh := rp.MayAnswer(w.Consistency(0, shard.NodeID(m.NodeID))) && m.Generation <= w.Set.Generation(slot)
	if !w.begin(c, request) {
		return nil, handle.BadRequest("a watch with the same id is being opened")
	}
	return handle.Later(func(t handle.Ticket) {
		then := func(fresh, _ bool) {
			w.Add(t.Conn, func() {
				err := error(&replica.BetweenShards)
				if !fresh || rp.HasSlot(slot) {
					err = w.open(t, rp, m, fresh)
				}
				switch {
				case err != nil:
					t.Append(nil, err)
				case !rp.HasSlot(slot): // the slot has left meanwhile, maybe too early to end the watch
					rp.Hub.EndSlots(func(s shard.Slot) bool { return s != slot }, replica.BetweenShards)
				}
				w.finish(rp, t.Conn, t.Request)
			})
		}
		if fresh {
			then(true, true)
		} else {
			rp.Confirm(then)
		}
	}), nil
}

// knowsView refuses a watch if the host does not know its kind or view.
func knowsView(m *protocol.Watch) error {
	switch {
	case m.ObjectKind.IsSemaphore() && len(m.View) > 0:
		return handle.BadRequest("a semaphore has no views; watch the whole semaphore")
	case m.ObjectKind.IsSemaphore(), shard.KnowsKind(shard.ObjectKind(m.ObjectKind)):
		return nil
	}
	return handle.Refuse(protocol.StatusUnsupported,
		fmt.Sprintf("the host does not support objects of kind %v", m.ObjectKind))
}

// open opens a watch at a replica, if the replica is up to date. The hub answers.
func (w *Watches) open(t handle.Ticket, rp *replica.Replica, m *protocol.Watch, fresh bool) error {
	if !fresh {
		return &handle.NotUpToDate
	}
	if !t.Conn.Watch() {
		return handle.TooManyWatches()
	}
	id := shard.NodeID(m.NodeID)
	err := error(&replica.NodeGone)
	if w.Meta.Machine.NodeAlive(id) != meta.NodeIsDead {
		err = rp.Hub.Open(t.Conn, t.Request, m)
	}
	switch {
	case err == nil:
	case errors.Is(err, watch.ErrBudget):
		err = handle.TooMuchWatched()
	case errors.Is(err, watch.ErrInUse):
		err = handle.BadRequest(err.Error())
	}
	if err != nil {
		t.Conn.Ended(t.Request)
		return err
	}
	t.Conn.CompleteElsewhere(t.Ticket)
	if w.Meta.Machine.NodeAlive(id) == meta.NodeIsDead {
		// The node was dropped while the watch was being opened, possibly too early to end the watch.
		rp.Hub.EndNode(id, replica.NodeGone)
	}
	if !t.Conn.Caller().PermitsIn(protocol.KindWatch, id, protocol.Text(m.Name)) {
		// The right was revoked while the watch was being opened.
		rp.Hub.EndUnless(t.Conn, func(of shard.ObjectName) bool { return t.Conn.May(protocol.KindWatch, of) },
			replica.Withdrawn)
	}
	return nil
}

// stop stops a watch. If the watch is waiting to be opened, the first WATCH_STOP stops it once it is open, and
// further stops are refused. A WATCH_STOP is never refused because of a limit: it frees memory the host holds for the
// client.
func (w *Watches) stop(r *handle.Request) (handle.Reply, error) {
	id := r.WatchStop.WatchID
	switch opening, taken := w.stopOpening(r.Conn, id, r.Ticket()); {
	case !opening:
		return stopAt(r.Conn, id, w.Set.All()...)
	case !taken:
		return nil, noSuchWatch
	}
	return handle.Later(func(handle.Ticket) {}), nil // the opening holds the ticket
}

var noSuchWatch error = &protocol.Result{Status: protocol.StatusNotFound, Message: "the watch does not exist"}

// stopAt stops a watch at one of the given replicas.
func stopAt(c handle.Connection, id uint64, at ...*replica.Replica) (protocol.AnswerMessage, error) {
	for _, rp := range at {
		if rp.Hub.Stop(c, id) {
			c.Ended(id)
			return &protocol.WatchStopAnswer{}, nil
		}
	}
	return nil, noSuchWatch
}
