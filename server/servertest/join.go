package servertest

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/server/join"
	"github.com/signalbox/signalbox/server/peerrpc"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// Room is the maximum number of hosts, including later joins. Ids continue after those of the bootstrap.
func Room(n int) Option { return func(o *options) { o.room = n } }

// Join makes a host with an empty data directory join, by the rules of package join, and starts it. Its id must be the
// cluster's next one. It asks until the context ends; a second call continues an unfinished one. replace names the host
// to replace, empty for none.
func (c *Cluster) Join(ctx context.Context, id shard.HostID, replace string) error {
	var addresses []string
	for _, known := range c.Members() {
		addresses = append(addresses, raftAddress(known))
	}
	n := join.Newcomer{
		Ask: join.Ask{Name: Name(id), Incarnation: Incarnation(id), Shards: c.shards(), Raft: raftAddress(id),
			Client: Address(id), Version: version, Level: level.Newest, Replace: replace},
		Addresses: addresses, Record: directory{c, id}, Call: c.callOf(id),
	}
	g, err := join.NewRunner(n).Run(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("servertest: host %d: %w", id, err)
	case g.Host != id:
		return fmt.Errorf("servertest: host %d has joined as host %d", id, g.Host)
	}
	return c.open(id)
}

// directory is a joining host's durable state. It implements join.Record.
type directory struct {
	cluster *Cluster
	host    shard.HostID
}

// KeepSecret implements join.Record.
func (directory) KeepSecret([]byte) error { return nil }

// Join implements join.Record.
func (d directory) Join(a identity.Admission) error {
	c := d.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.members, d.host) {
		c.members = append(c.members, d.host)
	}
	c.known[d.host] = nil
	for _, other := range a.Hosts {
		c.known[d.host] = append(c.known[d.host], other.ID)
	}
	return nil
}

// callOf is a joining host's way to call others: as far as the network passes log messages.
func (c *Cluster) callOf(id shard.HostID) peerrpc.CallUnnamed {
	return func(ctx context.Context, address string, request func(peerrpc.Transcript) ([]byte, error)) ([]byte, error) {
		to := c.reachedAt(address)
		if to == 0 {
			return nil, errHostDown
		}
		if err := (callsOf{c, id}).pass(ctx, to); err != nil {
			return nil, err
		}
		other := c.Host(to)
		if other == nil {
			return nil, errHostDown
		}
		var caller join.Caller
		_, _ = rand.Read(caller.Transcript[:]) // never fails
		payload, err := request(caller.Transcript)
		if err != nil {
			return nil, err
		}
		server := join.NewServer(join.Config{Self: to, Bootstrap: c.bootstrap(), Cluster: other})
		answer, err := server.Answer(ctx, caller, payload)
		if err != nil {
			return nil, err
		}
		return answer, (callsOf{c, id}).pass(ctx, to)
	}
}

// bootstrap is the cluster's bootstrap.
func (c *Cluster) bootstrap() identity.Bootstrap {
	b := identity.Bootstrap{Cluster: clusterID, Shards: c.shards()}
	for _, id := range c.initialMembers() {
		b.InitialMembers = append(b.InitialMembers, identity.InitialMember{ID: id, Name: Name(id),
			Incarnation: Incarnation(id), Raft: raftAddress(id)})
	}
	return b
}

func raftAddress(id shard.HostID) string { return "raft-" + Name(id) }

// reachedAt is the host at an address.
func (c *Cluster) reachedAt(address string) shard.HostID {
	for _, id := range c.Members() {
		if raftAddress(id) == address {
			return id
		}
	}
	return 0
}

// Members lists the bootstrap and joined hosts, including expelled ones.
func (c *Cluster) Members() []shard.HostID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.members)
}

// admit returns why a host refuses another host's messages, nil if it accepts them. An expelled host cannot continue.
func (c *Cluster) admit(id shard.HostID, at *server.Host, from shard.HostID) error {
	records, _, ok := at.Records()
	if !ok {
		return nil
	}
	switch h := records.Host(from); {
	case h == nil && c.learns(id, records, from):
	case h == nil:
		return fmt.Errorf("servertest: host %d is not on record", from)
	case h.Current.Variant == protocol.HostExpelled:
		err := fmt.Errorf("%w: host %d was expelled", server.ErrRefused, from)
		c.halt(from, err)
		return err
	}
	return nil
}

// learns reports whether a host learns of a joined host from the recorded hosts, as in production. The host may have
// had no meta replica at the time of the join, and the joined host may govern by now.
func (c *Cluster) learns(id shard.HostID, known *hosts.Records, of shard.HostID) bool {
	for _, h := range known.Hosts() {
		other := c.Host(h.ID)
		if h.ID == id || !h.Living() || other == nil || !c.logs.Connected(id, h.ID) {
			continue
		}
		if r, _, ok := other.Records(); ok && r.Host(of) != nil && r.Host(of).Living() {
			return true
		}
	}
	return false
}

// halt notifies a host that it cannot continue.
func (c *Cluster) halt(id shard.HostID, err error) {
	c.mu.Lock()
	h := c.hosts[id]
	c.mu.Unlock()
	if h != nil && h.halt != nil {
		h.halt(err)
	}
}

// noteHosts stores the hosts known to a host, for its next start. A replica being filled begins with old records: for
// these the host forgets no host that has joined since, because it may be the sending leader.
func (c *Cluster) noteHosts(id shard.HostID, r *hosts.Records) {
	var known []shard.HostID
	var latest shard.HostID
	for _, h := range r.Hosts() {
		latest = max(latest, h.ID)
		if h.Current.Variant != protocol.HostExpelled {
			known = append(known, h.ID)
		}
	}
	c.mu.Lock()
	for _, before := range c.known[id] {
		if before > latest {
			known = append(known, before)
		}
	}
	c.known[id] = known
	c.mu.Unlock()
	c.logs.Know(id, known)
}
