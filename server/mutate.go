package server

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// hasName reports whether an object may have the name, and answers if not.
func (c *conn) hasName(r *protocol.Request, name []byte) bool {
	if len(name) == 0 {
		c.failure(r, protocol.StatusBadRequest, "a name has at least one byte")
		return false
	}
	return true
}

// refuseSession answers a request of a session that does not act over this connection. An ended session is never
// called alive: a client would attach the session again. A session hidden from the client is answered like an ended
// session.
func (c *conn) refuseSession(r *protocol.Request, id shard.SessionID, message string) {
	home := c.host.set.Of(id.Slot())
	alive := protocol.Result{Status: protocol.StatusBadSession, Message: message}
	over := protocol.Result{Status: protocol.StatusSessionExpired, Message: "the session is over"}
	request, kind := r.ID, r.Kind
	home.Find(id, nil, protocol.ConsistencyRelaxed, func(s replica.HomeSession) {
		switch {
		case s.Liveness == shard.Unknown:
			c.Fail(request, kind, &protocol.Result{Status: protocol.StatusUnavailable, Message: homeAway})
		case s.Liveness == shard.Alive && c.sees(s.Node):
			c.Fail(request, kind, &alive)
		default:
			c.Fail(request, kind, &over)
		}
		c.flush()
	})
}

// mutate queues a change of an object at its shard.
func (c *conn) mutate(r *protocol.Request) {
	h := c.host
	command := replica.CommandOf(r, &c.body)
	id, frees := command.Node, replica.Mutations[r.Kind].Frees
	if !(frees && c.givesBack(r.Kind, &command)) && !c.authorizeIn(r, id, command.Name) ||
		!c.hasName(r, command.Name) {
		return
	}
	rp := h.set.Of(shard.SlotOf(id, command.Name))
	if session := command.Session; session != 0 {
		if b := c.bindingOf(r, session); b == nil {
			return
		} else if b.node != id {
			c.failure(r, protocol.StatusBadSession, otherNode)
			return
		}
	} else if alive := h.meta.Machine.NodeAlive(id); alive == meta.NodeLater {
		c.mutateLater(r, command)
		return
	} else if alive != meta.NodeIsAlive {
		c.failure(r, protocol.StatusNotFound, replica.NoSuchNode)
		return
	}
	if replica.Mutations[r.Kind].MayChangeNothing && c.answerUnchanged(r, rp, &command) {
		return
	}
	// Owners may release, and objects may be deleted, on a full disk too: there is room left for such changes. If
	// another host leads, its disk counts.
	if !frees && rp.Leads() && !h.admitsWrites(c, r.ID, r.Kind, rp) {
		return
	}
	o := pipeline.Op{Caller: c, Source: c.source, Request: r.ID, Kind: r.Kind, Started: c.started}
	o.Delayable = rp.WillWait(r.Kind, &command)
	if c.submit(o, rp, &command) && !slices.Contains(c.touched, rp) {
		c.touched = append(c.touched, rp)
	}
}

// givesBack reports whether a session releases or leaves an object of its own over this connection. Giving back takes
// no right: a refusal would only keep the object from other sessions.
func (c *conn) givesBack(k protocol.Kind, command *shard.Command) bool {
	of := shard.Ref{Node: command.Node, Name: protocol.Text(command.Name)}
	switch k {
	case protocol.KindRelease:
		of.Kind = shard.KindSemaphore
	case protocol.KindRolloutLeave:
		of.Kind = shard.KindRollout
	case protocol.KindProcessLeave:
		of.Kind = shard.KindProcess
	default:
		return false
	}
	return !c.unbound() && c.rights.Valid() && c.Acts(command.Session) &&
		c.host.set.Of(shard.SlotOf(of.Node, command.Name)).Machine.Linked(command.Session, of)
}

// answerUnchanged answers a report or an ask of a rollout's instance without the log, if the request changes nothing,
// and reports whether it did. An answer about targets is as fresh as a RELAXED read.
func (c *conn) answerUnchanged(r *protocol.Request, rp *replica.Replica, command *shard.Command) bool {
	if !rp.Leads() || !rp.MayAnswer(protocol.ConsistencyRelaxed) {
		return false
	}
	answer := rp.Unchanged(command)
	if answer == nil {
		return false
	}
	c.Answer(r.ID, answer)
	c.host.metrics.Answered(r.Kind, c.host.set.Clock()-c.started)
	c.host.metrics.Unlogged(r.Kind)
	return true
}

// mutateLater is mutate in a node that is unknown at this host: the node may have been made a moment ago, through
// another host. So mutateLater asks the meta shard first.
func (c *conn) mutateLater(r *protocol.Request, command shard.Command) {
	h := c.host
	if rp := h.set.Of(shard.SlotOf(command.Node, command.Name)); !replica.Mutations[r.Kind].Frees && rp.Leads() &&
		!h.admitsWrites(c, r.ID, r.Kind, rp) {
		return
	}
	command = command.Clone()
	o := pipeline.Op{Caller: c, Source: c.source, Request: r.ID, Kind: r.Kind, Started: c.started}
	c.confirmMeta(r, func() {
		rp := h.set.Of(shard.SlotOf(command.Node, command.Name))
		switch {
		case h.meta.Machine.NodeAlive(command.Node) != meta.NodeIsAlive:
			c.Fail(o.Request, o.Kind, &protocol.Result{Status: protocol.StatusNotFound, Message: replica.NoSuchNode})
		case c.submit(o, rp, &command):
			rp.Pipeline.Flush()
		}
	})
}

// Why a request about a node or a session is refused, in words for people.
const (
	metaAway = "the meta shard cannot be asked at the moment"
	homeAway = "the session's home shard cannot be asked at the moment"

	otherNode = "the session is of another node"
)

// submit queues a command whose result answers a request, or answers the request with a refusal. It reports whether
// the shard's pipeline has to be flushed.
func (c *conn) submit(o pipeline.Op, rp *replica.Replica, command *shard.Command) bool {
	if !rp.Leads() {
		c.moved(o.Request, o.Kind, rp)
		return false
	}
	if needs := shard.LevelOf(command); needs > rp.Pipeline.Level() {
		c.Fail(o.Request, o.Kind, c.host.aboveLevel(needs))
		return false
	}
	if !rp.Pipeline.Add(o, command) {
		c.overloaded(o.Request, o.Kind, "the shard's queue is full")
		return false
	}
	return true
}

// moved answers with the address of the leader of a shard.
func (c *conn) moved(id uint64, k protocol.Kind, rp *replica.Replica) {
	result := c.host.set.Moved(rp)
	c.Fail(id, k, &result)
}

// guarded is a shard whose leader may have to refuse changes: see replica.Replica.Guard.
type guarded interface{ Guard() error }

// admitsWrites reports whether this host, as the leader of a shard, takes changes at the moment, and answers the
// request if not.
func (h *Host) admitsWrites(c *conn, id uint64, k protocol.Kind, of guarded) bool {
	err := of.Guard()
	if err == nil {
		err = h.ownRefusal()
	}
	if err != nil {
		c.Fail(id, k, &protocol.Result{
			Status: protocol.StatusStorageFull, Message: clip(err.Error()), WaitMillis: 1000,
		})
	}
	return err == nil
}

// ownRefusal returns why this host refuses changes in all shards: its own disk or memory is nearly full.
func (h *Host) ownRefusal() error {
	for _, guard := range []func() error{h.config.Guard, h.config.Memory} {
		if guard == nil {
			continue
		}
		if err := guard(); err != nil {
			return err
		}
	}
	return nil
}

// refusal returns why this host refuses changes in a shard, nil if it takes changes.
func (h *Host) refusal() error {
	if err := h.ownRefusal(); err != nil {
		return err
	}
	for _, r := range h.replicas {
		if err := r.Guard(); err != nil {
			return err
		}
	}
	return h.meta.Guard()
}
