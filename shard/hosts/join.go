package hosts

import (
	"cmp"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
)

// InitialMember is a host in a new cluster's bootstrap.
type InitialMember struct {
	ID          shard.HostID
	Name        string
	Incarnation Incarnation // zero if unknown
	Addresses   Addresses
	Version     string
	Level       level.Level
}

// Bootstrap records the initial hosts, each with a vote in every shard. A second Bootstrap changes nothing.
func (r *Records) Bootstrap(at At, members []InitialMember) Answer {
	if len(r.hosts) > 0 {
		return Answer{Existed: true}
	}
	if len(members) == 0 || len(members) > MaxHosts {
		return refuse(protocol.StatusBadRequest, "%d hosts; a cluster starts with 1 to %d", len(members), MaxHosts)
	}
	sorted := slices.SortedFunc(slices.Values(members), func(a, b InitialMember) int { return cmp.Compare(a.ID, b.ID) })
	for i, f := range sorted {
		named := slices.IndexFunc(sorted, func(g InitialMember) bool { return g.Name == f.Name })
		if a := f.check(); a.Status != protocol.StatusSuccess {
			return a
		}
		if named != i || i > 0 && sorted[i-1].ID == f.ID {
			return refuse(protocol.StatusBadRequest, "initial members must have distinct names and ids")
		}
		if slices.ContainsFunc(sorted[:i], func(g InitialMember) bool {
			return g.Incarnation == f.Incarnation && f.Incarnation != Incarnation{}
		}) {
			return refuse(protocol.StatusBadRequest, "initial members must have distinct incarnations")
		}
	}
	for _, f := range sorted {
		r.addInitialMember(at, f)
	}
	for _, s := range r.shards {
		s = r.edit(s.ID)
		for _, f := range sorted {
			s.Replicas = append(s.Replicas, Replica{ID: uint64(f.ID), Host: f.ID, Role: RoleVoter,
				Since: clock.Moment(at.Now)})
		}
	}
	return Answer{}
}

// check validates an initial member on its own.
func (im *InitialMember) check() Answer {
	if err := cmp.Or(host.CheckWord("the host name", im.Name, 1, MaxName), im.Addresses.check(),
		host.CheckWord("the version", im.Version, 0, MaxVersion)); err != nil {
		return badRequest(err)
	}
	if im.ID == 0 || im.ID >= FirstReplica {
		return refuse(protocol.StatusBadRequest, "initial members have ids from 1 to %d", FirstReplica-1)
	}
	return Answer{}
}

// addInitialMember records an initial member.
func (r *Records) addInitialMember(at At, f InitialMember) {
	bootstrapped := State{Variant: protocol.HostOnline, Epoch: 1, Reason: ReasonBootstrap, Since: clock.Moment(at.Now),
		Wall: at.Wall}
	h := &Host{ID: f.ID, Name: f.Name, Incarnation: f.Incarnation, Addresses: f.Addresses, Version: f.Version,
		Level: f.Level, Current: bootstrapped, Target: bootstrapped}
	r.put(h)
	r.note(at, EventJoin, h, "bootstrap")
}

// Join is a host's request to join the cluster.
type Join struct {
	Cluster     string
	Name        string
	Incarnation Incarnation
	Addresses   Addresses
	Domain      Domain
	Version     string
	Level       level.Level
	// Replace names the living host to be replaced, empty for none. No other living host may have the newcomer's name.
	Replace string
	// Token is the id of the join token the host has proved to know. Trusted is set if a certificate has proved the
	// host's right to join, or if the cluster requires no proof.
	Token   string
	Trusted bool
	// Heard is set if the proposing leader is in contact with the host to be replaced. Grace is the longest
	// grace period that a node may have, in milliseconds.
	Heard bool
	Grace uint64
}

// Join records a host, offline until it boots. A repeated join with the same incarnation gets the same answer.
func (r *Records) Join(at At, j Join) Answer {
	if err := j.check(); err != nil {
		return badRequest(err)
	}
	if j.Cluster != r.cluster {
		return forbid("the cluster id is %s, not %s", r.cluster, j.Cluster)
	}
	if h := r.Incarnated(j.Incarnation); h != nil {
		return rejoin(h, &j)
	}
	next := &Host{ID: r.lastHost + 1, Name: j.Name, Incarnation: j.Incarnation, Domain: j.Domain,
		Addresses: j.Addresses, Version: j.Version, Level: j.Level}
	old, a := r.replaced(&j)
	if a.Status != protocol.StatusSuccess {
		return a
	}
	if a := r.checkJoin(at, next, old); a.Status != protocol.StatusSuccess {
		return a
	}
	if a := r.useToken(at, &j); a.Status != protocol.StatusSuccess {
		return a
	}
	if old != nil {
		next.Replaces = old.ID
		at := at
		at.Why = "host " + j.Name + " takes its place"
		r.expel(at, old, ReasonReplaced, j.Grace)
	}
	waiting := State{Variant: protocol.HostOffline, Reason: ReasonJoined, Since: clock.Moment(at.Now), Wall: at.Wall}
	next.Current, next.Target = waiting, waiting
	r.put(next)
	r.note(at, EventJoin, next, "joined")
	return Answer{Host: next.ID}
}

func (j *Join) check() error {
	if err := cmp.Or(host.CheckWord("the host name", j.Name, 1, MaxName), j.Addresses.check(), j.Domain.Check(),
		host.CheckWord("the version", j.Version, 0, MaxVersion)); err != nil {
		return err
	}
	if j.Incarnation == (Incarnation{}) {
		return errIncarnation
	}
	return nil
}

// rejoin answers a join by an incarnation that is on record.
func rejoin(h *Host, j *Join) Answer {
	a := Answer{Host: h.ID, Existed: true}
	switch {
	case !h.Living():
		a = forbid("host %s with this data directory was expelled; use an empty --data-dir to join again", h.Name)
	case h.Name != j.Name:
		a = forbid("the data directory belongs to host %s, not to %s", h.Name, j.Name)
	case h.Domain.String() != j.Domain.String():
		a = forbid("host %s has the failure domain %q; change the domain with signalbox host alter", h.Name,
			h.Domain)
	}
	a.Host = h.ID
	return a
}

// replaced returns the host a newcomer replaces, or nil.
func (r *Records) replaced(j *Join) (*Host, Answer) {
	if j.Replace == "" {
		return nil, Answer{}
	}
	old := r.Named(j.Replace)
	switch {
	case old == nil && j.Replace == j.Name:
		return nil, Answer{} // no host has the newcomer's name
	case old == nil:
		return nil, refuse(protocol.StatusNotFound, "there is no host %s to be replaced", j.Replace)
	case j.Heard:
		return nil, forbid("host %s is alive and in contact with the cluster; stop the host, or drain and expel "+
			"the host", old.Name)
	}
	if why := r.without(old, absenceDead); why != "" {
		return nil, forbid("host %s cannot be replaced now: %s", old.Name, why)
	}
	return old, Answer{}
}

// checkJoin checks a newcomer against the cluster's hosts, except the replaced host.
func (r *Records) checkJoin(at At, next, old *Host) Answer {
	if other := r.Named(next.Name); other != nil && other != old {
		return refuse(protocol.StatusAlreadyExists,
			"host %s already exists with a different data directory; choose a different --name, or pass "+
				"--replace %s if the existing host is permanently lost", other.Name, other.Name)
	}
	if err := cmp.Or(r.checkVersion(next.Version, old), checkLevel(at, next), r.checkKeys(next.Domain, old),
		r.checkAddresses(&next.Addresses, old)); err != nil {
		return forbid("%v", err)
	}
	if most := r.mostHosts(); r.Living()-count(old != nil) >= most {
		return forbid("the cluster has %d hosts, the maximum", most)
	}
	return Answer{}
}
