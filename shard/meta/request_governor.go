package meta

import (
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/internal/codec"
	"github.com/signalbox/signalbox/shard/plan"
	"github.com/signalbox/signalbox/shard/slots"
)

// Requests from the governor, which is the meta shard's leader. Each request with a decision names the governor's term.

// HostFailed sets a silent or stuck host's target to Offline.
type HostFailed struct {
	Term   uint64
	Host   shard.HostID
	Epoch  uint64 // epoch of the host's target at decision time
	Reason hosts.Reason
	Text   string
}

func (hf *HostFailed) code(c *codec.Coder) {
	codeAll(c, &hf.Term, &hf.Host, &hf.Epoch)
	codec.Small(c, &hf.Reason)
	c.Text(&hf.Text, anyLength)
}

func (hf *HostFailed) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.Failed(at, hf.Term, hf.Host, hf.Epoch, hf.Reason, hf.Text)
}

// HostReach reports that a host has been brought to a target.
type HostReach struct {
	Term    uint64
	Host    shard.HostID
	Variant protocol.HostState
	Epoch   uint64
}

func (r *HostReach) code(c *codec.Coder) {
	c.Numbers(&r.Term, (*uint64)(&r.Host), &r.Epoch)
	codec.Small(c, &r.Variant)
}

func (r *HostReach) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.Reach(at, r.Term, r.Host, r.Variant, r.Epoch)
}

// HostSlow says that a host is many times slower than the other hosts, or has recovered.
type HostSlow struct {
	Term uint64
	Host shard.HostID
	Slow bool
	Text string
}

func (hs *HostSlow) code(c *codec.Coder) {
	codeAll(c, &hs.Term, &hs.Host)
	c.Flags(&hs.Slow)
	c.Text(&hs.Text, anyLength)
}

func (hs *HostSlow) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.SetSlow(at, hs.Term, hs.Host, hs.Slow, hs.Text)
}

// ReplicasKnown is the membership of a shard, as the shard's leader has read it with a barrier.
type ReplicasKnown struct {
	Term    uint64
	Shard   ShardID
	Change  uint64
	Members []hosts.Member
}

func (r *ReplicasKnown) code(c *codec.Coder) {
	c.Numbers(&r.Term, (*uint64)(&r.Shard), &r.Change)
	codec.List(c, &r.Members, anyLength, func(m *hosts.Member) {
		role := uint64(m.Role)
		if m.Filled {
			role |= filledMember
		}
		c.Numbers(&m.Replica, &role)
		c.Must(role < 2*filledMember, "the role is %d", role)
		if c.Reading() {
			m.Role, m.Filled = hosts.Role(role%filledMember), role >= filledMember
		}
	})
}

func (r *ReplicasKnown) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.Known(at, r.Term, r.Shard, r.Change, r.Members)
}

// filledMember is added to a learner's role once the replica is completely built.
const filledMember = 1 << 8

// ShardsCounted reports shard counters, as known to the leaders.
type ShardsCounted struct {
	Term uint64
	List []hosts.Count
}

func (sc *ShardsCounted) code(c *codec.Coder) {
	c.Number(&sc.Term)
	codec.List(c, &sc.List, anyLength, func(n *hosts.Count) {
		c.Numbers((*uint64)(&n.Shard), (*uint64)(&n.LastOrder), (*uint64)(&n.LastRevision), &n.LastSession)
	})
}

func (sc *ShardsCounted) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.Count(at, sc.Term, sc.List)
}

// SlotAssign is the outcome of an attempt to move a slot, as both shards have it in their logs: the owner under a
// generation, and the reason if the owner has kept the slot.
type SlotAssign struct {
	Slot       shard.Slot
	Shard      ShardID
	Generation uint64
	Text       string
}

func (sa *SlotAssign) code(c *codec.Coder) { codeAll(c, &sa.Slot, &sa.Shard, &sa.Generation, &sa.Text) }

func (sa *SlotAssign) apply(m *Machine, at hosts.At) hosts.Answer {
	r := m.topology.records
	before := r.Slots()
	a := r.AssignSlot(at, sa.Slot, slots.Owner{Shard: uint64(sa.Shard), Generation: sa.Generation}, sa.Text)
	if a.Status == protocol.StatusSuccess && !a.Existed {
		m.routing.Ranges = m.slotRanges()
		if before.Of(sa.Slot).Shard != uint64(sa.Shard) {
			m.routing.Version++
		}
	}
	return a
}

// ShardGrants is a leader's report that the shard's group has begun to grant.
type ShardGrants struct {
	Shard ShardID
	Group uint64
}

func (sg *ShardGrants) code(c *codec.Coder) { codeAll(c, &sg.Shard, &sg.Group) }

func (sg *ShardGrants) apply(m *Machine, _ hosts.At) hosts.Answer {
	return m.topology.records.Grants(sg.Shard, sg.Group)
}

// ShardBound is the session timeout bound a shard's leader sets, at a host.
type ShardBound struct {
	Shard ShardID
	Host  shard.HostID
	Bound hosts.TimeoutBound
}

func (sb *ShardBound) code(c *codec.Coder) {
	b := &sb.Bound
	c.Numbers((*uint64)(&sb.Shard), (*uint64)(&sb.Host), &b.Term, &b.Number, &b.Longest.Timeout,
		(*uint64)(&b.Longest.Session))
}

func (sb *ShardBound) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.SetBound(at, sb.Shard, sb.Host, sb.Bound)
}

// ReplicaCleared is a host's report about deleting a replica that is no longer a member.
type ReplicaCleared struct {
	Shard       ShardID
	Replica     uint64
	Incarnation hosts.Incarnation
}

func (r *ReplicaCleared) code(c *codec.Coder) { codeAll(c, &r.Shard, &r.Replica, &r.Incarnation) }

func (r *ReplicaCleared) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.Cleared(at, r.Shard, r.Replica, r.Incarnation)
}

// StepBegin opens a step. A step that adds a replica assigns the replica id. Revision is the plan's revision at
// decision time.
type StepBegin struct {
	Term, Revision uint64
	Proposal       plan.Proposal[governor.Action]
}

func (sb *StepBegin) code(c *codec.Coder) {
	c.Numbers(&sb.Term, &sb.Revision)
	var proposal []byte
	if !c.Reading() {
		proposal = planConfig.AppendProposal(nil, &sb.Proposal)
	}
	if c.Bytes(&proposal, anyLength); c.Reading() {
		var rest []byte
		var err error
		sb.Proposal, rest, err = planConfig.ReadProposal(proposal)
		c.Must(err == nil && len(rest) == 0, "the step: %v", err)
	}
}

func (sb *StepBegin) apply(m *Machine, at hosts.At) hosts.Answer {
	t := m.topology
	_, out := governor.Begin(at, t.records, t.plan, sb.Term, sb.Revision, sb.Proposal)
	return m.stepAnswer(out)
}

// Report is an executor's report on a step.
type Report uint8

// The reports. Each corresponds to a Plan method with an equal name.
const (
	ReportProgress Report = 1 + iota // the step has reached Phase
	ReportRetry                      // an attempt failed, for Text; the step stays open
	ReportFail                       // an attempt failed, for Text; the step is over
	ReportDone                       // the step has reached its goal
	ReportDrop                       // the step is no longer wanted
)

// StepReport reports a step's progress.
type StepReport struct {
	Act    plan.Act
	Report Report
	Phase  plan.Phase
	Text   string
}

func (r *StepReport) code(c *codec.Coder) {
	phase, failures, to := uint64(r.Act.Phase), uint64(r.Act.Failures), uint64(r.Phase)
	c.Numbers((*uint64)(&r.Act.Step), &phase, &failures, &r.Act.Term, &to)
	c.Must(max(phase, failures, to) < 1<<32, "a phase or the failures of a step are too many")
	if c.Reading() {
		r.Act.Phase, r.Act.Failures, r.Phase = plan.Phase(phase), uint32(failures), plan.Phase(to)
	}
	codec.Small(c, &r.Report)
	c.Text(&r.Text, anyLength)
}

func (r *StepReport) apply(m *Machine, at hosts.At) hosts.Answer {
	p, now, out := m.topology.plan, plan.Moment{Now: at.Now, Term: at.Term}, plan.Unfit
	switch r.Report {
	case ReportProgress:
		out = p.Progress(now, r.Act, r.Phase)
	case ReportRetry:
		out = p.Retry(now, r.Act, r.Text)
	case ReportFail:
		out = p.Fail(now, r.Act, r.Text)
	case ReportDone:
		out = p.Done(now, r.Act)
	case ReportDrop:
		out = p.Drop(now, r.Act)
	}
	return m.stepAnswer(out)
}

// stepAnswer is the answer to an executor for an act's outcome.
func (m *Machine) stepAnswer(out plan.Outcome) hosts.Answer {
	status := protocol.StatusPreconditionFailed
	switch out {
	case plan.Applied:
		return hosts.Answer{}
	case plan.OtherTerm, plan.Over, plan.Moved:
		status = protocol.StatusStale
	case plan.Replanned:
		status = protocol.StatusFenced
	case plan.Unknown:
		status = protocol.StatusNotFound
	case plan.Unfit:
		status = protocol.StatusBadRequest
	}
	return refusal(status, "nothing was changed: %v", out)
}

// refusal is an answer from the machine itself.
func refusal(status protocol.Status, format string, args ...any) hosts.Answer {
	return hosts.Answer{Status: status, Text: fmt.Sprintf(format, args...)}
}

func forbidden(format string, args ...any) hosts.Answer {
	return refusal(protocol.StatusPreconditionFailed, format, args...)
}
