package overview

import (
	"encoding/hex"
	"math"
	"slices"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// addHosts adds the hosts by id: all hosts in the cluster, and as many of the most recently departed hosts as the
// page can hold.
func (c *Cluster) addHosts(a *protocol.ClusterDescribeAnswer) {
	room := protocol.PageBytes - a.HealthIssues.Size()
	for i := range a.Shards {
		room -= protocol.Size(&a.Shards[i])
	}
	all := c.Hosts()
	for i := range all {
		if all[i].Current.State != host.Expelled {
			room -= protocol.Size(&all[i])
		}
	}
	for _, x := range slices.Backward(all) {
		if x.Current.State == host.Expelled {
			if room -= protocol.Size(&x); room < 0 {
				continue
			}
		}
		a.Hosts = append(a.Hosts, x)
	}
	slices.Reverse(a.Hosts)
}

// Hosts returns all hosts by id.
func (c *Cluster) Hosts() []host.Host {
	authors := c.authors()
	list := []host.Host{}
	for _, h := range c.Records.Hosts() {
		list = append(list, c.host(h, authors))
	}
	return list
}

// host converts a host to its protocol form: the record and, if the local host is the governor, the observations.
func (c *Cluster) host(h *hosts.Host, authors map[change]string) host.Host {
	x := host.Host{
		ID: uint64(h.ID), Name: h.Name, Incarnation: digits(h.Incarnation), Starts: h.Start.Number,
		RaftAddress: h.Addresses.Raft, ClientAddress: h.Addresses.Client, AdminAddress: h.Addresses.Admin,
		Domain: h.Domain, Version: h.Version, Level: int(h.Level), Cordoned: h.Cordoned, Weight: h.Weight(),
		Current:  c.standing(&h.Current, authors[change{h.ID, hosts.EventCurrent, h.Current.Since}]),
		Target:   c.standing(&h.Target, authors[change{h.ID, hosts.EventTarget, h.Target.Since}]),
		Replaces: uint64(h.Replaces), Returns: left(c.Now, h.ReturnAfter),
	}
	if h.IsSlow() {
		x.SlowFor, x.Slow = max(c.Age(h.Slow.Since), time.Millisecond), h.Slow.Text
	}
	if c.Seen == nil {
		return x
	}
	x.Alive = c.Seen.Alive(h.ID)
	for _, seen := range c.Seen.Hosts {
		if seen.Host == h.ID {
			x.SilentFor, x.StuckFor = field.Duration(seen.SilentFor), field.Duration(seen.StuckFor)
			x.Fresh = field.Duration(seen.FreshFor)
			x.SyncTime, x.TimerLag = micros(seen.Speed.Sync), micros(seen.Speed.Delay)
			x.RoundTrip, x.Stalls = micros(seen.Speed.Round), int(min(seen.Speed.Stalls, math.MaxInt32))
		}
	}
	return x
}

// micros is a measured time, 0 if unknown. Times that cannot be are cut.
func micros(n uint64) time.Duration { return time.Duration(min(n, 1<<53)) * time.Microsecond }

// digits returns an incarnation in the form for people, empty for no incarnation.
func digits(i hosts.Incarnation) string {
	if i == (hosts.Incarnation{}) {
		return ""
	}
	return hex.EncodeToString(i[:])
}

// standing converts a host's state to its protocol form, with the caller that requested the state.
func (c *Cluster) standing(s *hosts.State, by string) host.Standing {
	return host.Standing{
		State: s.Variant, Epoch: s.Epoch, Reason: s.Reason.String(), Text: s.Text, Author: by, Since: c.Age(s.Since),
	}
}

// change is an audit entry's key: the host, the event, and the time.
type change struct {
	host  shard.HostID
	event hosts.Event
	since uint64
}

// authors returns the callers that requested the hosts' current states, as far back as the audit log goes.
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
