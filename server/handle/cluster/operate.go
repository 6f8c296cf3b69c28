package cluster

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/shard/plan"
)

// Operator actions on the cluster's hosts. Every action is a meta shard command, proposed by the meta shard leader.

func (h *handlers) hostOperate(r *handle.Request) (handle.Reply, error) {
	m := &r.HostUpdate
	request, err := h.hostRequest(m)
	if err != nil {
		return nil, handle.BadRequest(err.Error())
	}
	return h.Operate(r, &m.Operation, request, func(e *meta.Effect, since uint64) protocol.AnswerMessage {
		return &protocol.HostUpdateAnswer{HostID: uint64(e.Host), Existed: handle.Existed(e), Since: since}
	})
}

// hostRequest returns the request to the meta shard.
func (h *handlers) hostRequest(m *protocol.HostUpdate) (meta.Request, error) {
	name := string(m.Host)
	switch m.Action {
	case protocol.HostDrain:
		return &meta.HostDrain{Host: name}, nil
	case protocol.HostUndrain:
		return &meta.HostUndrain{Host: name}, nil
	case protocol.HostCordon, protocol.HostUncordon:
		return &meta.HostCordon{Host: name, On: m.Action == protocol.HostCordon}, nil
	case protocol.HostAlter:
		domain, err := host.ParseDomain(string(m.Domain))
		return &meta.HostAlter{Host: name, Domain: domain}, err
	case protocol.HostSetWeight:
		return &meta.HostWeigh{Host: name, Weight: m.Weight}, nil
	case protocol.HostExpel:
		return &meta.HostExpel{Host: name, Force: m.Force}, nil
	case protocol.HostReplace:
		return &meta.HostReplace{Old: name, New: string(m.Successor), Heard: h.hears(name)}, nil
	}
	return nil, fmt.Errorf("unknown host operation %v", m.Action)
}

// hears reports whether a host, identified by an operator's name for it, has answered recently. The caller leads the
// meta shard.
func (h *handlers) hears(name string) bool {
	t, ok := h.Meta.Machine.Topology()
	if !ok {
		return false
	}
	x := hostOf(t.Records, name)
	return x != nil && h.Meta.Hears(x.ID)
}

// hostOf returns the host for an operator's name, or nil if unknown.
func hostOf(r *hosts.Records, name string) *hosts.Host {
	if h := r.Named(name); h != nil {
		return h
	}
	id, err := strconv.ParseUint(name, 10, 64)
	if err != nil {
		return nil
	}
	return r.Host(shard.HostID(id))
}

func (h *handlers) shardTransfer(r *handle.Request) (handle.Reply, error) {
	m := &r.ShardTransferLeader
	request := &meta.ShardTransfer{Shard: meta.ShardID(m.ShardID), Host: string(m.Host)}
	return h.Operate(r, &m.Operation, request, func(e *meta.Effect, since uint64) protocol.AnswerMessage {
		return &protocol.ShardTransferLeaderAnswer{HostID: uint64(e.Host), Existed: handle.Existed(e), Since: since}
	})
}

// slotOf returns the slot with a number from a request.
func slotOf(number uint64) (shard.Slot, error) {
	if number >= shard.Slots {
		return 0, handle.BadRequest(fmt.Sprintf("there is no slot %d; slots have the numbers 0 to %d", number,
			shard.Slots-1))
	}
	return shard.Slot(number), nil
}

func (h *handlers) slotMove(r *handle.Request) (handle.Reply, error) {
	m := &r.SlotMove
	slot, err := slotOf(m.Slot)
	if err != nil {
		return nil, err
	}
	request := &meta.SlotMove{Slot: slot, To: meta.ShardID(m.ShardID), Large: m.Large, Cancel: m.Cancel}
	return h.Operate(r, &m.Operation, request, func(e *meta.Effect, since uint64) protocol.AnswerMessage {
		return &protocol.SlotMoveAnswer{Existed: handle.Existed(e), Since: since}
	})
}

// shardUpdate adds, removes or weighs data shards.
func (h *handlers) shardUpdate(r *handle.Request) (handle.Reply, error) {
	m := &r.ShardUpdate
	var ids []hosts.ShardID
	for id := range m.ShardIDs.All() {
		ids = append(ids, hosts.ShardID(id))
	}
	if len(ids) > hosts.MaxShards {
		return nil, handle.BadRequest(fmt.Sprintf("a cluster has at most %d shards", hosts.MaxShards))
	}
	var request meta.Request
	switch m.Action {
	case protocol.ShardAdd:
		return h.shardAdd(r)
	case protocol.ShardRemove:
		request = &meta.ShardRemove{Shards: ids}
	case protocol.ShardSetWeight:
		if len(ids) != 1 {
			return nil, handle.BadRequest("give one shard, and its weight")
		}
		request = &meta.ShardWeigh{Shard: ids[0], Weight: m.Weight}
	default:
		return nil, handle.BadRequest(fmt.Sprintf("unknown shard operation %v", m.Action))
	}
	return h.Operate(r, &m.Operation, request, func(e *meta.Effect, since uint64) protocol.AnswerMessage {
		return shardsUpdated(ids, e, since)
	})
}

// shardAdd adds shards. The governor chooses the hosts with the first replicas. Any objection is stored in the command,
// because a repeated order must get the same answer as the first.
func (h *handlers) shardAdd(r *handle.Request) (handle.Reply, error) {
	m := &r.ShardUpdate
	count, origin, number := m.Count, h.Origin(r, &m.Operation), m.Operation.Idempotency
	if count == 0 || count > hosts.MaxShards {
		return nil, handle.BadRequest(fmt.Sprintf("the number of shards to add is %d; 1 to %d are allowed", count,
			hosts.MaxShards))
	}
	if err := h.LeadsMeta(); err != nil {
		return nil, err
	}
	number.Client = bytes.Clone(number.Client)
	return h.aside(func() (handle.Reply, error) {
		g := h.Governing()
		if g == nil {
			return nil, handle.ErrNotGoverning
		}
		v, err := g.View()
		if err != nil {
			return nil, handle.ErrNotGoverning
		}
		request := &meta.ShardAdd{}
		request.Hosts, request.Against = governor.Choose(v, int(count))
		return h.MetaChange(protocol.KindShardUpdate, meta.NewCommand(request, origin), &number,
			func(e *meta.Effect, since uint64) protocol.AnswerMessage {
				var ids []hosts.ShardID
				for i := range hosts.ShardID(count) {
					ids = append(ids, e.Shard+i)
				}
				return shardsUpdated(ids, e, since)
			})
	})
}

func shardsUpdated(ids []hosts.ShardID, e *meta.Effect, since uint64) *protocol.ShardUpdateAnswer {
	a := &protocol.ShardUpdateAnswer{Existed: handle.Existed(e), Since: since}
	for _, id := range ids {
		a.ShardIDs.Append(protocol.ShardID(id))
	}
	return a
}

func (h *handlers) rebalance(r *handle.Request) (handle.Reply, error) {
	m := &r.Rebalance
	return h.Operate(r, &m.Operation, &meta.Rebalance{Action: m.Action},
		func(e *meta.Effect, since uint64) protocol.AnswerMessage {
			return &protocol.RebalanceAnswer{Existed: handle.Existed(e), Since: since}
		})
}

// shardRecover rebuilds a shard. The governor asks all hosts, and judges whether the quorum is lost. Any objection is
// stored in the command, because a repeated order must get the same answer as the first.
func (h *handlers) shardRecover(r *handle.Request) (handle.Reply, error) {
	m := &r.ShardRecover
	if err := h.LeadsMeta(); err != nil {
		return nil, err
	}
	if m.AcceptOverlap {
		request := &meta.ShardOverlap{Shard: meta.ShardID(m.ShardID)}
		return h.Operate(r, &m.Operation, request, func(_ *meta.Effect, since uint64) protocol.AnswerMessage {
			return &protocol.ShardRecoverAnswer{Since: since}
		})
	}
	id, empty, origin, number := hosts.ShardID(m.ShardID), m.Empty, h.Origin(r, &m.Operation), m.Operation.Idempotency
	number.Client = bytes.Clone(number.Client)
	return h.aside(func() (handle.Reply, error) {
		n, err := h.Recovery(id, empty)
		if err != nil {
			return nil, handle.ErrNotGoverning
		}
		command := meta.NewCommand(&meta.ShardRecover{Recovery: n}, origin)
		return h.MetaChange(protocol.KindShardRecover, command, &number,
			func(e *meta.Effect, since uint64) protocol.AnswerMessage {
				longest := h.Meta.Machine.LongestTimeout()
				return &protocol.ShardRecoverAnswer{HostID: uint64(e.Host), Since: since,
					WaitMillis:    meta.MaxSessionGracePeriodMillis*65/64 + longest.Timeout + h.Set.LongestGrace(),
					LongestMillis: longest.Timeout, LongestSession: uint64(longest.Session)}
			})
	})
}

func (h *handlers) stepCancel(r *handle.Request) (handle.Reply, error) {
	m := &r.StepCancel
	var request meta.Request
	switch {
	case (m.StepID == 0) == (len(m.Subject) == 0):
		return nil, handle.BadRequest(
			"give a step to cancel, or a delay to end")
	case m.StepID != 0:
		request = &meta.StepCancel{Step: plan.ID(m.StepID), Hold: m.HoldMillis}
	default:
		request = &meta.StepForget{Subject: plan.Subject(m.Subject)}
	}
	return h.Operate(r, &m.Operation, request, func(e *meta.Effect, since uint64) protocol.AnswerMessage {
		return &protocol.StepCancelAnswer{Existed: handle.Existed(e), Since: since}
	})
}

func (h *handlers) policy(r *handle.Request) (handle.Reply, error) {
	m := &r.PolicySet
	return h.Operate(r, &m.Operation, &meta.PolicySet{From: m.From, To: m.To},
		func(e *meta.Effect, since uint64) protocol.AnswerMessage {
			return &protocol.PolicySetAnswer{Existed: handle.Existed(e), Since: since}
		})
}
