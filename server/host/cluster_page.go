package host

import (
	"encoding/hex"
	"strings"

	"github.com/signalbox/signalbox/server/admin"
	"github.com/signalbox/signalbox/server/overview"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
)

// Cluster implements admin.Host.
func (h *Host) Cluster() (admin.Cluster, error) {
	core := h.core.Load()
	if core == nil {
		return admin.Cluster{}, h.awaited()
	}
	shown, err := core.Overview()
	if err != nil {
		return admin.Cluster{}, err
	}
	return clusterPage(&shown), nil
}

// clusterPage is a cluster as the page shows it.
func clusterPage(c *overview.Cluster) admin.Cluster {
	page := admin.Cluster{
		ID: c.Records.Cluster(), Generation: c.Records.Generation().Number, Governor: uint64(c.Governor),
		Observed: c.Seen != nil, Hosts: []admin.Member{}, Shards: []admin.Placement{}, Concerns: concernsOf(c),
	}
	for _, x := range c.Records.Hosts() {
		if x.ID == c.Governor {
			page.GovernorPages = x.Addresses.Admin
		}
		if x.Living() {
			page.Hosts = append(page.Hosts, memberOf(c, x))
		}
	}
	redundancies := make(map[hosts.ShardID]governor.Redundancy)
	for _, r := range c.Redundancies() {
		redundancies[r.Shard] = r
		if page.Tolerated == nil || r.Tolerated < *page.Tolerated {
			page.Tolerated = &r.Tolerated
		}
	}
	for _, s := range c.Records.Shards() {
		to := placementOf(c, s)
		if r, observed := redundancies[s.ID]; observed {
			to.Redundancy = redundancyOf(&r)
		}
		page.Shards = append(page.Shards, to)
	}
	return page
}

func memberOf(c *overview.Cluster, x *hosts.Host) admin.Member {
	to := admin.Member{
		ID: uint64(x.ID), Name: x.Name, Current: word(x.Current.Variant), Target: word(x.Target.Variant),
		Reason: x.Target.Reason.String(), SinceSeconds: c.Age(x.Target.Since).Seconds(), Cordoned: x.Cordoned,
		Domain: x.Domain.String(), RaftAddress: x.Addresses.Raft, ClientAddress: x.Addresses.Client,
		AdminAddress: x.Addresses.Admin, Version: x.Version, Level: int(x.Level),
	}
	if x.Target.Text != "" {
		to.Reason = x.Target.Text
	}
	if x.Incarnation != (hosts.Incarnation{}) {
		to.Incarnation = hex.EncodeToString(x.Incarnation[:])
	}
	if c.Seen != nil {
		alive := c.Seen.Alive(x.ID)
		to.Alive = &alive
	}
	return to
}

func placementOf(c *overview.Cluster, s *hosts.Shard) admin.Placement {
	to := admin.Placement{ID: uint64(s.ID), Leader: c.LeaderOf(s.ID), Voters: []uint64{}, Learners: []uint64{}}
	for i := range s.Replicas {
		switch p := &s.Replicas[i]; p.Role {
		case hosts.RoleVoter:
			to.Voters = append(to.Voters, uint64(p.Host))
		case hosts.RoleLearner:
			to.Learners = append(to.Learners, uint64(p.Host))
		}
	}
	return to
}

func redundancyOf(r *governor.Redundancy) *admin.Redundancy {
	to := &admin.Redundancy{Wanted: r.Wanted, Live: r.Live, Tolerated: r.Tolerated}
	for _, d := range r.Domains {
		to.Domains = append(to.Domains, admin.DomainLoss{Label: d.Key + "=" + d.Value, Live: d.Live,
			Tolerated: d.Tolerated})
	}
	return to
}

func concernsOf(c *overview.Cluster) []admin.Concern {
	list := []admin.Concern{}
	for _, x := range c.Concerns() {
		to := admin.Concern{Severity: word(x.Severity), Code: string(x.Code), Text: string(x.Text),
			Mend: string(x.Mend), Host: x.HostID}
		for id := range x.Shards.All() {
			to.Shards = append(to.Shards, uint64(id))
		}
		list = append(list, to)
	}
	return list
}

// word is a value as pages have it.
func word(v interface{ String() string }) string { return strings.ToLower(v.String()) }
