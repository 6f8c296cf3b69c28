package governor

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
	"github.com/signalbox/signalbox/shard/slots"
)

var kindNames = map[plan.Kind]string{
	KindTransfer: "transfer-leader", KindAdd: "add-replica",
	KindPromote: "promote-replica", KindRemove: "remove-replica",
	KindClear: "delete-replica-data", KindFail: "mark-failed", KindReach: "set-state",
	KindMoveSlot: "move-slot", KindServe: "enable-shard", KindRetire: "delete-shard", KindRestart: "restart-shard",
}

// KindName returns a step kind's name for people.
func KindName(k plan.Kind) string { return kindNames[k] }

// stepType describes how to judge steps of one kind.
func stepType(kind plan.Kind) plan.Type[*hosts.Records, *Seen, Action] {
	return plan.Type[*hosts.Records, *Seen, Action]{
		Kind: kind, Name: kindNames[kind], Describe: describe, Judge: judge,
		Reached: func(v View, s *plan.Step[Action]) (plan.Phase, bool) { return 0, reached(v, kind, &s.Payload) },
		Model: func(v View, s *plan.Step[Action]) (*hosts.Records, *Seen) {
			r, seen := v.State.Clone(), v.Seen.clone()
			model(hosts.At{Now: v.Now}, r, seen, kind, &s.Payload)
			return r, seen
		},
	}
}

// reached reports whether records and observations show that a step has reached its goal.
func reached(v View, kind plan.Kind, a *Action) bool {
	switch kind {
	case KindTransfer:
		seen := v.Seen.shard(a.Shard)
		return seen != nil && seen.Leader != 0 && seen.Leader != a.From
	case KindFail:
		h := v.State.Host(a.Host)
		return h != nil && !h.Wanted()
	case KindReach:
		h := v.State.Host(a.Host)
		return h != nil && h.Current.Variant == a.Variant && h.Current.Epoch == a.Epoch
	case KindMoveSlot:
		return v.State.Slots().Of(a.Slot).Generation >= a.Number
	}
	s := v.State.Shard(a.Shard)
	if s == nil {
		return kind == KindRetire
	}
	p := s.Replica(a.Replica)
	switch kind {
	case KindServe:
		return s.Phase != hosts.ShardAdded
	case KindRetire:
		return s.Phase == hosts.ShardRetired
	case KindRestart:
		return s.Group > a.Number
	case KindAdd:
		return p != nil && p.Member()
	case KindPromote:
		return p != nil && p.Role == hosts.RoleVoter
	case KindRemove:
		return p == nil || !p.Member()
	}
	return p == nil
}

// fits reports whether the records can take a new step.
func fits(r *hosts.Records, pr *plan.Proposal[Action]) bool {
	a := &pr.Payload
	if kindNames[pr.Kind] == "" {
		return false
	}
	if pr.Kind != KindFail && pr.Kind != KindReach && r.Shard(a.Shard) == nil {
		return false
	}
	switch pr.Kind {
	case KindServe, KindRetire, KindRestart:
		return true // the command itself checks the records
	case KindMoveSlot:
		return a.Number != 0 && a.Number == r.MoveGeneration(a.Slot, a.Shard, a.Into)
	}
	return pr.Kind != KindAdd || r.Clone().Allocate(hosts.At{}, a.Shard, a.Host, a.Replica, a.Change).Status ==
		protocol.StatusSuccess
}

// allot reserves in the records what a new step needs: a replica id, a transfer time, or a generation.
func allot(at hosts.At, r *hosts.Records, kind plan.Kind, a *Action) {
	switch kind {
	case KindAdd:
		r.Allocate(at, a.Shard, a.Host, a.Replica, a.Change)
	case KindTransfer:
		r.Transferred(at, a.Shard)
	case KindMoveSlot:
		r.BeginMove(at, a.Slot, a.Into)
	}
}

// model changes the records and the observations as a successful step does. The step may not have begun yet, so model
// calls allot too.
func model(at hosts.At, r *hosts.Records, seen *Seen, kind plan.Kind, a *Action) {
	allot(at, r, kind, a)
	switch kind {
	case KindFail:
		r.Failed(at, 0, a.Host, a.Epoch, a.Reason, a.Text)
		return
	case KindReach:
		r.Reach(at, 0, a.Host, a.Variant, a.Epoch)
		return
	case KindClear:
		if h := r.Host(a.Host); h != nil {
			r.Cleared(at, a.Shard, a.Replica, h.Incarnation)
		}
		return
	case KindMoveSlot:
		r.AssignSlot(at, a.Slot, slots.Owner{Shard: uint64(a.Into), Generation: a.Number}, "")
		return
	case KindServe:
		r.MarkServing(at, 0, a.Shard)
		return
	case KindRetire:
		r.Retire(at, 0, a.Shard)
		return
	case KindRestart:
		r.BeginAgain(at, 0, a.Shard, a.Number, a.Host)
		return
	}
	reports := seen.shard(a.Shard)
	if reports == nil {
		return
	}
	if kind == KindTransfer {
		reports.Leader, reports.LedFor = a.Host, 0
		if a.Shard == hosts.Meta {
			seen.Self, seen.Began = a.Host, at.Now
		}
		return
	}
	reports.Change = max(reports.Change, a.Change) + 1
	r.Known(at, 0, a.Shard, reports.Change, membership(r.Shard(a.Shard), kind, a.Replica))
	if kind == KindAdd {
		seen.caughtUp(reports, r.Policy(), a)
	}
}

// caughtUp marks an added learner, and its host, as up to date.
func (s *Seen) caughtUp(reports *ShardSeen, policy host.Policy, a *Action) {
	reports.Replicas = append(reports.Replicas, ReplicaSeen{ID: a.Replica})
	h := s.host(a.Host)
	if h == nil {
		s.Hosts = append(s.Hosts, HostObservation{Host: a.Host})
		h = &s.Hosts[len(s.Hosts)-1]
	}
	h.Tried, h.SilentFor, h.Barrier = true, 0, 0
	h.FreshFor = max(h.FreshFor, field.MillisOf(policy.StableFor))
}

// membership returns a shard's members after a change.
func membership(s *hosts.Shard, kind plan.Kind, replica uint64) []hosts.Member {
	var list []hosts.Member
	for i := range s.Replicas {
		p := &s.Replicas[i]
		role := p.Role
		if p.ID == replica {
			role = map[plan.Kind]hosts.Role{KindAdd: hosts.RoleLearner, KindPromote: hosts.RoleVoter}[kind]
		}
		if role == hosts.RoleLearner || role == hosts.RoleVoter {
			list = append(list, hosts.Member{Replica: p.ID, Role: role})
		}
	}
	return list
}
