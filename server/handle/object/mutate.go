package object

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/mutation"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// Handlers returns the handlers.
func Handlers(h *handle.Host) handle.Table {
	o := handlers{h}
	table := handle.Table{
		protocol.KindSemaphoreDescribe: o.semaphoreDescribe,
		protocol.KindSemaphoreList:     o.semaphoreList,
		protocol.KindRolloutDescribe:   o.rolloutDescribe,
		protocol.KindRolloutList:       o.rolloutList,
		protocol.KindRolloutPlan:       o.rolloutPlan,
		protocol.KindProcessDescribe:   o.processDescribe,
		protocol.KindProcessList:       o.processList,
		protocol.KindInboxOpen:         o.inboxOpen,
	}
	for k := range mutation.All {
		if mutation.All[k].Command != nil {
			table[protocol.Kind(k)] = o.mutate
		}
	}
	return table
}

type handlers struct{ *handle.Host }

// mutate queues an object change at its shard.
func (h handlers) mutate(r *handle.Request) (handle.Reply, error) {
	command := mutation.CommandOf(r.Request, &r.Body)
	id, frees := command.Node, mutation.All[r.Kind].Frees
	r.Node = id
	if !(frees && h.givesBack(r, &command)) {
		if err := h.AuthorizeIn(r, id, command.Name); err != nil {
			return nil, err
		}
	}
	if err := handle.HasName(command.Name); err != nil {
		return nil, err
	}
	slot := shard.SlotOf(id, command.Name)
	rp := h.Set.Of(slot)
	if command.Session != 0 {
		if err := h.BindingIn(r, command.Session, id); err != nil {
			return nil, err
		}
	} else if alive := h.Meta.Machine.NodeAlive(id); alive == meta.NodeLater {
		return h.mutateLater(r, slot, command)
	} else if alive != meta.NodeIsAlive {
		return nil, noSuchNode
	}
	if mutation.All[r.Kind].MayChangeNothing && rp.Leads() && rp.MayAnswer(protocol.ConsistencyRelaxed) {
		// If a report or an ask from a rollout instance changes nothing, it is answered without the log. An answer
		// about targets is as fresh as a RELAXED read.
		if answer := rp.Unchanged(&command); answer != nil {
			h.Metrics.Unlogged(r.Kind)
			return answer, nil
		}
	}
	if err := h.admits(r.Kind, rp); err != nil {
		return nil, err
	}
	return h.submit(r.Ticket(), rp.WillWait(r.Kind, &command), slot, &command)
}

var noSuchNode error = &protocol.Result{Status: protocol.StatusNotFound, Message: replica.NoSuchNode}

// admits refuses a change that needs disk space while the disk is full. Owners may still release, and objects may be
// deleted: space is reserved for such changes. If a remote host leads, its disk counts.
func (h handlers) admits(k protocol.Kind, rp *replica.Replica) error {
	if mutation.All[k].Frees || !rp.Leads() {
		return nil
	}
	return h.AdmitsWrites(rp)
}

// givesBack reports whether a session releases or leaves its own object over the connection. Release requires no
// right: a refusal would only keep the object from other sessions.
func (h handlers) givesBack(r *handle.Request, command *shard.Command) bool {
	of := shard.Ref{Node: command.Node, Name: protocol.Text(command.Name)}
	switch r.Kind {
	case protocol.KindRelease:
		of.Kind = shard.KindSemaphore
	case protocol.KindRolloutLeave:
		of.Kind = shard.KindRollout
	case protocol.KindProcessLeave:
		of.Kind = shard.KindProcess
	default:
		return false
	}
	return !r.Caller.Unbound() && r.Caller.Valid() && r.Conn.Acts(command.Session) &&
		h.Set.Of(shard.SlotOf(of.Node, command.Name)).Machine.Linked(command.Session, of)
}

// mutateLater is mutate in a node that is unknown on the local host. The node may just have been created through a
// remote host, so mutateLater asks the meta shard first.
func (h handlers) mutateLater(r *handle.Request, slot shard.Slot, command shard.Command) (handle.Reply, error) {
	if err := h.admits(r.Kind, h.Set.Of(slot)); err != nil {
		return nil, err
	}
	t, command := r.Ticket(), command.Clone()
	return h.ConfirmMeta(func() (handle.Reply, error) {
		if h.Meta.Machine.NodeAlive(command.Node) != meta.NodeIsAlive {
			return nil, noSuchNode
		}
		return h.submit(t, false, slot, &command)
	}), nil
}

// submit queues a command whose result completes a request.
func (h handlers) submit(t handle.Ticket, delayable bool, slot shard.Slot, command *shard.Command) (
	handle.Reply, error,
) {
	rp := h.Set.Of(slot)
	if !rp.Leads() {
		again := command.Clone()
		return h.Elsewhere(rp, slot, 0, func() (handle.Reply, error) { return h.submit(t, false, slot, &again) })
	}
	if needs := shard.LevelOf(command); needs > rp.Pipeline.Level() {
		return nil, h.AboveLevel(needs)
	}
	o := pipeline.Op{Ticket: t.Ticket, Caller: t.Conn, Source: t.Conn.Source(), Delayable: delayable}
	if !rp.Pipeline.Add(o, command) {
		return nil, handle.QueueFull()
	}
	return handle.Queued{Replica: rp}, nil
}
