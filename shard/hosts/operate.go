package hosts

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
)

// Drain sets a host's target to Offline: its leaderships and votes are transferred, and then it can be stopped.
func (r *Records) Drain(at At, ref string) Answer {
	h, a := r.operated(ref)
	if h == nil {
		return a
	}
	if !h.Wanted() && !h.Target.Reason.Failed() {
		return Answer{Host: h.ID, Existed: true}
	}
	if why := r.without(h, absenceDrained); h.Wanted() && why != "" {
		return forbid("host %s cannot be drained: %s", h.Name, why)
	}
	return r.aim(at, h, protocol.HostOffline, ReasonDrained, at.Why)
}

// Undrain reverts a drain.
func (r *Records) Undrain(at At, ref string) Answer {
	h, a := r.operated(ref)
	switch {
	case h == nil:
		return a
	case h.Wanted():
		return Answer{Host: h.ID, Existed: true}
	case h.Target.Reason != ReasonDrained:
		return forbid("host %s is not drained, but offline: %s; start the host to bring the host online", h.Name,
			h.Target.Reason)
	}
	return r.aim(at, h, protocol.HostOnline, ReasonUndrained, at.Why)
}

// Cordon sets whether a host is excluded from new replicas, votes and leaderships.
func (r *Records) Cordon(at At, ref string, cordoned bool) Answer {
	h, a := r.operated(ref)
	switch {
	case h == nil:
		return a
	case h.Cordoned == cordoned:
		return Answer{Host: h.ID, Existed: true}
	}
	next := *h
	next.Cordoned = cordoned
	if cordoned {
		return r.alter(at, &next, "cordoned")
	}
	return r.alter(at, &next, "uncordoned")
}

// Alter changes a host's failure domain.
func (r *Records) Alter(at At, ref string, d Domain) Answer {
	if err := d.Check(); err != nil {
		return badRequest(err)
	}
	h, a := r.operated(ref)
	switch {
	case h == nil:
		return a
	case slices.Equal(h.Domain, d):
		return Answer{Host: h.ID, Existed: true}
	}
	if err := r.checkKeys(d, h); err != nil {
		return forbid("%v", err)
	}
	next := *h
	next.Domain = d
	return r.alter(at, &next, "failure domain %q", d.String())
}

// Weigh sets a host's weight.
func (r *Records) Weigh(at At, ref string, weight uint64) Answer {
	if weight > MaxWeight {
		return badRequest(fmt.Errorf("the weight is %d; 0 to %d are allowed", weight, MaxWeight))
	}
	h, a := r.operated(ref)
	switch {
	case h == nil:
		return a
	case h.Weight() == int(weight):
		return Answer{Host: h.ID, Existed: true}
	}
	next := *h
	next.Weighs = weight + 1
	return r.alter(at, &next, "weight %d", weight)
}

// operated finds the living host named in an operator's command.
func (r *Records) operated(ref string) (*Host, Answer) {
	h, a := r.find(ref)
	if h != nil && !h.Living() {
		return nil, forbid("host %s was expelled permanently", h.Name)
	}
	return h, a
}

// Expel removes a host permanently. A host that is not offline needs force. grace is the longest grace period that a
// node may have, in milliseconds.
func (r *Records) Expel(at At, ref string, force bool, grace uint64) Answer {
	h, a := r.find(ref)
	if h == nil {
		return a
	}
	if !h.Living() {
		return Answer{Host: h.ID, Existed: true}
	}
	how := absenceDead
	if h.Wanted() || h.Current.Variant == protocol.HostOnline {
		how = absenceLeaving
	}
	switch why := r.without(h, how); {
	case r.isLast(h.ID):
		return forbid("host %s is the last host in the cluster", h.Name)
	case how == absenceLeaving && !force:
		return forbid("host %s is online; drain the host first, or expel the host with --force", h.Name)
	case why != "":
		return forbid("host %s cannot be expelled: %s", h.Name, why)
	}
	r.expel(at, h, ReasonExpelled, grace)
	return Answer{Host: h.ID}
}

// expel sets a host's final target.
func (r *Records) expel(at At, h *Host, why Reason, grace uint64) {
	next := *h
	next.Grace = grace
	r.aim(at, &next, protocol.HostExpelled, why, at.Why)
	for _, s := range r.shards {
		if slices.ContainsFunc(s.Replicas, func(p Replica) bool { return r.forgotten(s, &p) }) {
			s = r.edit(s.ID)
			s.Replicas = slices.DeleteFunc(s.Replicas, func(p Replica) bool { return r.forgotten(s, &p) })
		}
		if s.Wish == h.ID {
			s = r.edit(s.ID)
			s.Wish, s.WishUntil = 0, 0
		}
	}
	r.noteBare(at)
}

// Replace lets a host replace a host that is gone, and expels the old host. heard is set if the proposing leader is in
// contact with the old host.
func (r *Records) Replace(at At, old, by string, heard bool, grace uint64) Answer {
	h, a := r.find(old)
	if h == nil {
		return a
	}
	next := r.Named(by)
	switch {
	case next == nil:
		return refuse(protocol.StatusNotFound, "there is no host %s to serve as the replacement", by)
	case next == h:
		return refuse(protocol.StatusBadRequest, "a host cannot replace itself")
	case !h.Living() && next.Replaces == h.ID:
		return Answer{Host: next.ID, Existed: true}
	case !h.Living():
		return forbid("host %s was expelled permanently", h.Name)
	case heard:
		return forbid("host %s is alive and in contact with the cluster; drain and expel the host", h.Name)
	case !next.Wanted():
		return forbid("host %s cannot be the replacement: the target is not online", next.Name)
	}
	if why := r.without(h, absenceDead); why != "" {
		return forbid("host %s cannot be replaced now: %s", h.Name, why)
	}
	at.Why = cmp.Or(at.Why, "host "+next.Name+" takes its place")
	r.expel(at, h, ReasonReplaced, grace)
	successor := *r.Host(next.ID)
	successor.Replaces = h.ID
	r.put(&successor)
	return Answer{Host: next.ID}
}

// Transfer asks the governor to transfer a shard's leadership to a host.
func (r *Records) Transfer(at At, id ShardID, ref string) Answer {
	h, a := r.operated(ref)
	s := r.Shard(id)
	switch {
	case h == nil:
		return a
	case s == nil:
		return refuse(protocol.StatusNotFound, "there is no shard %d", id)
	case !h.Online():
		return forbid("host %s is not online", h.Name)
	case !s.votes(h.ID):
		return forbid("host %s has no vote in shard %d", h.Name, id)
	case s.Wish == h.ID && at.Now < s.WishUntil:
		return Answer{Host: h.ID, Existed: true}
	}
	s = r.edit(id)
	s.Wish, s.WishUntil = h.ID, clock.Moment(at.Now)+WishMillis
	led := fmt.Sprintf("shard %d", id)
	if id == Meta {
		led = "the meta shard"
	}
	r.note(at, EventTransfer, h, "to lead %s", led)
	return Answer{Host: h.ID}
}

func (s *Shard) votes(host shard.HostID) bool {
	return slices.ContainsFunc(s.Replicas, func(p Replica) bool { return p.Host == host && p.Role == RoleVoter })
}

// DefaultPolicy is a new cluster's policy.
func DefaultPolicy() host.Policy {
	return host.Policy{OfflineAfter: 5 * time.Second, ReplaceAfter: 10 * time.Minute, StableFor: 10 * time.Second,
		BalanceEvery: 5 * time.Minute, Copies: 2}
}

// SetPolicy puts a new policy into force. The command names the policy the new one was derived from, so concurrent
// changes are not lost.
func (r *Records) SetPolicy(at At, from, to host.Policy) Answer {
	if err := to.Check(); err != nil {
		return badRequest(err)
	}
	switch {
	case r.policy == to:
		return Answer{Existed: true}
	case r.policy != from:
		return refuse(protocol.StatusFenced, "the policy was changed meanwhile")
	case to.Replicas == 0 && r.Living() > MaxHosts:
		return forbid("a replica of every shard on every host requires at most %d hosts, but the cluster has %d",
			MaxHosts, r.Living())
	case to.Tier != "" && to.Tier != from.Tier && r.voting(to.Tier) == 0:
		return forbid("no host has the label %s", to.Tier)
	}
	r.policy = to
	r.revision++
	r.note(at, EventPolicy, nil, "%s", to.Text())
	return Answer{}
}
