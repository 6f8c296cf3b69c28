package overview

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// addHosts adds the hosts by id: all that belong to the cluster, and of those that have left the latest, as many as the
// page has room for.
func (c *Cluster) addHosts(a *protocol.ClusterDescribeAnswer) {
	all := c.Records.Hosts()
	authors := c.authors()
	room := protocol.PageBytes - a.Shards.Size() - a.Concerns.Size()
	var shown []protocol.ClusterHost
	for i := len(all) - 1; i >= 0; i-- {
		h := all[i]
		x := c.host(h, authors)
		var one protocol.ClusterHosts
		one.Append(x)
		gone := h.Current.Variant == protocol.HostExpelled
		if gone && one.Size() > room {
			continue
		}
		room -= one.Size()
		shown = append(shown, x)
	}
	slices.Reverse(shown)
	for _, x := range shown {
		a.Hosts.Append(x)
	}
}

func (c *Cluster) host(h *hosts.Host, authors map[change]string) protocol.ClusterHost {
	x := protocol.ClusterHost{
		ID: uint64(h.ID), Name: []byte(h.Name), Starts: h.Start.Number,
		Addresses: protocol.HostAddresses{
			Raft: []byte(h.Addresses.Raft), Client: []byte(h.Addresses.Client), Admin: []byte(h.Addresses.Admin),
		},
		Domain: []byte(h.Domain.String()), Version: []byte(h.Version), Level: uint64(h.Level), Cordoned: h.Cordoned,
		Current:  c.standing(&h.Current, authors[change{h.ID, hosts.EventCurrent, h.Current.Since}]),
		Target:   c.standing(&h.Target, authors[change{h.ID, hosts.EventTarget, h.Target.Since}]),
		Replaces: uint64(h.Replaces), ReturnsMillis: left(c.Now, h.ReturnAfter),
	}
	if h.Incarnation != (hosts.Incarnation{}) {
		x.Incarnation = h.Incarnation[:]
	}
	if c.Seen == nil {
		return x
	}
	x.Seen.Alive = c.Seen.Alive(h.ID)
	for _, seen := range c.Seen.Hosts {
		if seen.Host == h.ID {
			x.Seen.SilentMillis, x.Seen.StuckMillis, x.Seen.FreshMillis = seen.SilentFor, seen.StuckFor, seen.FreshFor
		}
	}
	return x
}

func (c *Cluster) standing(s *hosts.State, by string) protocol.HostStanding {
	return protocol.HostStanding{
		State: s.Variant, Epoch: s.Epoch, Reason: []byte(s.Reason.String()), Text: []byte(s.Text), By: []byte(by),
		AgeMillis: c.age(s.Since),
	}
}

// change is what an entry of the history is found by.
type change struct {
	host  shard.HostID
	event hosts.Event
	since uint64
}

// authors are those who asked for the states that hosts have, as far as the history still has them.
func (c *Cluster) authors() map[change]string {
	wanted := make(map[change]string)
	for _, h := range c.Records.Hosts() {
		wanted[change{h.ID, hosts.EventCurrent, h.Current.Since}] = ""
		wanted[change{h.ID, hosts.EventTarget, h.Target.Since}] = ""
	}
	entries := c.Records.Audit(1, hosts.MaxAudit)
	for i := range entries {
		e := &entries[i]
		if key := (change{e.Host, e.Event, e.Since}); e.Host != 0 {
			if _, ok := wanted[key]; ok {
				wanted[key] = e.By
			}
		}
	}
	return wanted
}
