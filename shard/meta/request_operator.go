package meta

import (
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/internal/form"
	"github.com/signalbox/signalbox/shard/plan"
)

// What operators ask for. They name a living host by its name, or any by its id.

// HostDrain gives a host the target Offline: what it leads and votes in is handed over.
type HostDrain struct{ Host string }

func (*HostDrain) kind() CommandKind    { return CmdHostDrain }
func (r *HostDrain) code(c *form.Coder) { c.Text(&r.Host, anyLength) }
func (r *HostDrain) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.Drain(at, r.Host)
}

// HostUndrain takes a drain back.
type HostUndrain struct{ Host string }

func (*HostUndrain) kind() CommandKind    { return CmdHostUndrain }
func (r *HostUndrain) code(c *form.Coder) { c.Text(&r.Host, anyLength) }
func (r *HostUndrain) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.Undrain(at, r.Host)
}

// HostCordon says whether a host gets no more replicas, votes and leaderships than it has.
type HostCordon struct {
	Host string
	On   bool
}

func (*HostCordon) kind() CommandKind { return CmdHostCordon }

func (r *HostCordon) code(c *form.Coder) {
	c.Text(&r.Host, anyLength)
	c.Flag(&r.On)
}

func (r *HostCordon) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.Cordon(at, r.Host, r.On)
}

// HostAlter gives a host another failure domain.
type HostAlter struct {
	Host   string
	Domain hosts.Domain
}

func (*HostAlter) kind() CommandKind { return CmdHostAlter }

func (r *HostAlter) code(c *form.Coder) {
	c.Text(&r.Host, anyLength)
	codeDomain(c, &r.Domain)
}

func (r *HostAlter) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.Alter(at, r.Host, r.Domain)
}

// HostExpel makes a host leave for ever. One that is not offline needs force.
type HostExpel struct {
	Host  string
	Force bool
}

func (*HostExpel) kind() CommandKind { return CmdHostExpel }

func (r *HostExpel) code(c *form.Coder) {
	c.Text(&r.Host, anyLength)
	c.Flag(&r.Force)
}

// apply has the expulsion wait for the longest grace period that any node may have: the host may still hear of a longer
// one than is in force now.
func (r *HostExpel) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.Expel(at, r.Host, r.Force, MaxSessionGracePeriodMillis)
}

// HostReplace makes a host take the place of one that is gone, which is expelled. Heard says that the leader that
// proposes it hears the old one.
type HostReplace struct {
	Old, New string
	Heard    bool
}

func (*HostReplace) kind() CommandKind { return CmdHostReplace }

func (r *HostReplace) code(c *form.Coder) {
	c.Text(&r.Old, anyLength)
	c.Text(&r.New, anyLength)
	c.Flag(&r.Heard)
}

func (r *HostReplace) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.Replace(at, r.Old, r.New, r.Heard, MaxSessionGracePeriodMillis)
}

// ShardTransfer asks the governor to hand the leadership of a shard to a host.
type ShardTransfer struct {
	Shard ShardID
	Host  string
}

func (*ShardTransfer) kind() CommandKind { return CmdShardTransfer }

func (r *ShardTransfer) code(c *form.Coder) {
	c.Number((*uint64)(&r.Shard))
	c.Text(&r.Host, anyLength)
}

func (r *ShardTransfer) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.Transfer(at, r.Shard, r.Host)
}

// PolicySet puts another policy in the place of From.
type PolicySet struct{ From, To hosts.Policy }

func (*PolicySet) kind() CommandKind { return CmdPolicySet }

func (r *PolicySet) code(c *form.Coder) {
	for _, p := range []*hosts.Policy{&r.From, &r.To} {
		c.Numbers(&p.Voters, &p.OfflineAfter, &p.ReplaceAfter, &p.StableFor, &p.BalanceEvery, &p.Copies)
	}
}

func (r *PolicySet) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.SetPolicy(at, r.From, r.To)
}

// TokenCreate makes a join token. Who asks has drawn its id and its secret, of which Hash is the hash.
type TokenCreate struct {
	ID     string
	Hash   [32]byte
	Millis uint64 // for which it is good
}

func (*TokenCreate) kind() CommandKind { return CmdTokenCreate }

func (r *TokenCreate) code(c *form.Coder) {
	c.Text(&r.ID, anyLength)
	fixed(c, r.Hash[:])
	c.Number(&r.Millis)
}

func (r *TokenCreate) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.CreateToken(at, r.ID, r.Hash, r.Millis)
}

// TokenRevoke makes a join token useless.
type TokenRevoke struct{ ID string }

func (*TokenRevoke) kind() CommandKind    { return CmdTokenRevoke }
func (r *TokenRevoke) code(c *form.Coder) { c.Text(&r.ID, anyLength) }
func (r *TokenRevoke) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.RevokeToken(at, r.ID)
}

// StepCancel ends an open step. Its subject waits for Hold milliseconds at the least.
type StepCancel struct {
	Step plan.ID
	Hold uint64
}

func (*StepCancel) kind() CommandKind    { return CmdStepCancel }
func (r *StepCancel) code(c *form.Coder) { c.Numbers((*uint64)(&r.Step), &r.Hold) }
func (r *StepCancel) apply(m *Machine, at hosts.At) hosts.Answer {
	switch out := m.topology.plan.Cancel(at.Now, r.Step, at.Why, r.Hold); out {
	case plan.Applied:
		m.topology.records.NoteStep(at, fmt.Sprintf("step %d was cancelled", r.Step))
		return hosts.Answer{}
	case plan.Over:
		return hosts.Answer{Existed: true}
	default:
		return refusal(protocol.StatusNotFound, "there is no step %d", r.Step)
	}
}

// StepForget ends the delay of a subject that has failed.
type StepForget struct{ Subject plan.Subject }

func (*StepForget) kind() CommandKind    { return CmdStepForget }
func (r *StepForget) code(c *form.Coder) { c.Text((*string)(&r.Subject), anyLength) }
func (r *StepForget) apply(m *Machine, at hosts.At) hosts.Answer {
	if m.topology.plan.Forget(r.Subject) != plan.Applied {
		return refusal(protocol.StatusNotFound, "%q does not wait", form.Cut(string(r.Subject), plan.MaxSubject))
	}
	m.topology.records.NoteStep(at, fmt.Sprintf("%s waits no longer", r.Subject))
	return hosts.Answer{}
}
