package server

import (
	"bytes"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
)

// Lists and descriptions show a session's client. The session keeps the client from its creation or its last change.
// While the session is attached, the leader of its home shard knows better: the client of the connection.

// clientRef is the connection's client in the form for commands.
func (c *conn) clientRef() shard.ClientRef {
	return shard.ClientRef{
		Address: protocol.View(c.client.Address), Name: protocol.View(c.client.Name),
		Version: protocol.View(c.client.Version),
	}
}

// onBehalf notes the client for the next request of a gateway.
func (c *conn) onBehalf(r *protocol.Request) {
	c.behalf = protocol.OnBehalf{RequestID: r.OnBehalf.RequestID, Address: bytes.Clone(r.OnBehalf.Address)}
	c.Answer(r.ID, &protocol.OnBehalfAnswer{})
}

// from is the origin of the request that is being dispatched, for people. A gateway's word counts for no more than
// the gateway, so the gateway's address stands beside the client's.
func (c *conn) from() string {
	if c.asker == "" {
		return c.client.Address
	}
	return c.asker + " through " + c.client.Address
}

// clientAt returns the client of a session at its home shard, and whether the session is attached there.
func clientAt(home *replica.Replica, v *shard.SessionView) (_ protocol.ClientInfo, attached bool) {
	holder := home.Leases.Holder(v.ID)
	if c := connOf(holder); c != nil {
		return infoOf(&c.client), true
	}
	return infoOf(&v.Client), holder != nil
}

// connOf returns the connection of a holder, nil for none.
func connOf(holder *lease.Holder) *conn {
	if holder == nil {
		return nil
	}
	c, _ := holder.Owner.(*conn)
	return c
}

func infoOf(c *shard.ClientState) protocol.ClientInfo {
	return protocol.ClientInfo{
		Address: protocol.View(c.Address), Name: protocol.View(c.Name), Version: protocol.View(c.Version),
	}
}

// clientOf returns the client of a session with any home, as this host's replica of the home shard knows the client.
func (h *Host) clientOf(id shard.SessionID) protocol.ClientInfo {
	home := h.set.Of(id.Slot())
	if !home.Here() {
		return protocol.ClientInfo{}
	}
	if c := connOf(home.Leases.Holder(id)); c != nil {
		return infoOf(&c.client)
	}
	client, _ := home.Machine.Client(id)
	return infoOf(&client)
}

// showSession shows a session to another host: as the home knows the session, if this host has a copy of its home, with
// what the session holds in the shards of parts, of the others in none.
func (h *Host) showSession(id shard.SessionID, parts []uint64) protocol.Session {
	s := protocol.Session{ID: uint64(id)}
	if home := h.set.Of(id.Slot()); len(parts) == 0 && home.Here() {
		if v, known := home.Machine.DescribeSession(id); known {
			s.Description = []byte(v.Description)
			s.Client, s.Attached = clientAt(home, &v)
		}
	}
	for _, r := range h.replicas {
		if slices.Contains(parts, r.ID) {
			h.addHoldings(&s, r)
		}
	}
	return s
}

// clipAddress returns an address cut to the length that a session may keep.
func clipAddress(address string) string { return address[:min(len(address), shard.MaxClientAddress)] }

// clipName is the name of a client as it fits into a message.
func clipName(name string) []byte { return []byte(name[:min(len(name), protocol.MaxPrincipalBytes)]) }
