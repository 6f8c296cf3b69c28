package meta

import (
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/internal/codec"
	"github.com/signalbox/signalbox/shard/plan"
)

// Requests from operators. They name a living host by its name, or any host by its id.

// HostDrain sets a host's target to Offline: its leaderships and votes are transferred.
type HostDrain struct{ Host string }

func (hd *HostDrain) code(c *codec.Coder) { c.Text(&hd.Host, anyLength) }
func (hd *HostDrain) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.Drain(at, hd.Host)
}

// HostUndrain reverts a drain.
type HostUndrain struct{ Host string }

func (hu *HostUndrain) code(c *codec.Coder) { c.Text(&hu.Host, anyLength) }
func (hu *HostUndrain) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.Undrain(at, hu.Host)
}

// HostCordon sets whether a host is excluded from new replicas, votes and leaderships.
type HostCordon struct {
	Host string
	On   bool
}

func (hc *HostCordon) code(c *codec.Coder) { codeAll(c, &hc.Host, &hc.On) }

func (hc *HostCordon) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.Cordon(at, hc.Host, hc.On)
}

// HostAlter changes a host's failure domain.
type HostAlter struct {
	Host   string
	Domain hosts.Domain
}

func (ha *HostAlter) code(c *codec.Coder) { codeAll(c, &ha.Host, &ha.Domain) }

func (ha *HostAlter) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.Alter(at, ha.Host, ha.Domain)
}

// HostWeigh sets a host's weight.
type HostWeigh struct {
	Host   string
	Weight uint64
}

func (hw *HostWeigh) code(c *codec.Coder) { codeAll(c, &hw.Host, &hw.Weight) }

func (hw *HostWeigh) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.Weigh(at, hw.Host, hw.Weight)
}

// HostExpel removes a host permanently. A host that is not offline needs force.
type HostExpel struct {
	Host  string
	Force bool
}

func (he *HostExpel) code(c *codec.Coder) { codeAll(c, &he.Host, &he.Force) }

// apply makes the expulsion wait for the longest grace period that any node may have, because the host may still learn
// about a longer period than the present one.
func (he *HostExpel) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.Expel(at, he.Host, he.Force, MaxSessionGracePeriodMillis)
}

// HostReplace lets a host replace a host that is gone, and expels the old host. Heard is set if the proposing leader is
// still in contact with the old host.
type HostReplace struct {
	Old, New string
	Heard    bool
}

func (r *HostReplace) code(c *codec.Coder) { codeAll(c, &r.Old, &r.New, &r.Heard) }

func (r *HostReplace) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.Replace(at, r.Old, r.New, r.Heard, MaxSessionGracePeriodMillis)
}

// ShardTransfer asks the governor to transfer a shard's leadership to a host.
type ShardTransfer struct {
	Shard ShardID
	Host  string
}

func (st *ShardTransfer) code(c *codec.Coder) { codeAll(c, &st.Shard, &st.Host) }

func (st *ShardTransfer) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.Transfer(at, st.Shard, st.Host)
}

// ShardRecover rebuilds a shard that has permanently lost its majority, by an operator's order. The leader has chosen
// the host, and determined which hosts are lost.
type ShardRecover struct{ hosts.Recovery }

func (sr *ShardRecover) code(c *codec.Coder) {
	codeAll(c, &sr.Shard, &sr.Host, &sr.Empty)
	codec.List(c, &sr.Lost, anyLength, func(id *shard.HostID) { c.Number((*uint64)(id)) })
	c.Text(&sr.Against, anyLength)
}

func (sr *ShardRecover) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.Recover(at, sr.Recovery, MaxSessionGracePeriodMillis)
}

// ShardOverlap ends a rebuilt shard's wait, by an operator's order.
type ShardOverlap struct{ Shard ShardID }

func (so *ShardOverlap) code(c *codec.Coder) { codeAll(c, &so.Shard) }

func (so *ShardOverlap) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.AcceptOverlap(at, so.Shard)
}

// SlotMove orders that a slot moves to the data shard To. Large allows a slot above the usual size limit. With Cancel,
// the order is dropped instead.
type SlotMove struct {
	Slot          shard.Slot
	To            ShardID
	Large, Cancel bool
}

func (sm *SlotMove) code(c *codec.Coder) { codeAll(c, &sm.Slot, &sm.To, &sm.Large, &sm.Cancel) }

func (sm *SlotMove) apply(m *Machine, at hosts.At) hosts.Answer {
	if sm.Cancel {
		return m.topology.records.CancelMove(at, sm.Slot)
	}
	return m.topology.records.MoveSlot(at, sm.Slot, sm.To, sm.Large)
}

// PolicySet replaces the policy From by To.
type PolicySet struct{ From, To kind.Policy }

func (ps *PolicySet) code(c *codec.Coder) {
	c.Fields(ps.From.Fields)
	c.Fields(ps.To.Fields)
}

func (ps *PolicySet) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.SetPolicy(at, ps.From, ps.To)
}

// TokenCreate creates a join token. The asking client has drawn the id and the secret; Hash is the secret's hash.
type TokenCreate struct {
	ID     string
	Hash   [32]byte
	Millis uint64 // how long the token is valid
}

func (tc *TokenCreate) code(c *codec.Coder) { codeAll(c, &tc.ID, &tc.Hash, &tc.Millis) }

func (tc *TokenCreate) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.CreateToken(at, tc.ID, tc.Hash, tc.Millis)
}

// TokenRevoke revokes a join token.
type TokenRevoke struct{ ID string }

func (r *TokenRevoke) code(c *codec.Coder) { c.Text(&r.ID, anyLength) }
func (r *TokenRevoke) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.RevokeToken(at, r.ID)
}

// StepCancel ends an open step. The step's subject waits for at least Hold milliseconds.
type StepCancel struct {
	Step plan.ID
	Hold uint64
}

func (sc *StepCancel) code(c *codec.Coder) { c.Numbers((*uint64)(&sc.Step), &sc.Hold) }
func (sc *StepCancel) apply(m *Machine, at hosts.At) hosts.Answer {
	switch out := m.topology.plan.Cancel(at.Now, sc.Step, at.Why, sc.Hold); out {
	case plan.Applied:
		m.topology.records.Note(at, hosts.EventStep, fmt.Sprintf("step %d was cancelled", sc.Step))
		return hosts.Answer{}
	case plan.Over:
		return hosts.Answer{Existed: true}
	default:
		return refusal(protocol.StatusNotFound, "there is no step %d", sc.Step)
	}
}

// StepForget ends a subject's delay after a failure.
type StepForget struct{ Subject plan.Subject }

func (sf *StepForget) code(c *codec.Coder) { c.Text((*string)(&sf.Subject), anyLength) }
func (sf *StepForget) apply(m *Machine, at hosts.At) hosts.Answer {
	if m.topology.plan.Forget(sf.Subject) != plan.Applied {
		return refusal(protocol.StatusNotFound, "%q does not wait", codec.Cut(string(sf.Subject), plan.MaxSubject))
	}
	m.topology.records.Note(at, hosts.EventStep, fmt.Sprintf("%s waits no longer", sf.Subject))
	return hosts.Answer{}
}
