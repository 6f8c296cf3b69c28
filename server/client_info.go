package server

import (
	"bytes"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
)

// What lists and descriptions say of a session's client. The session keeps who made it, or changed it last; while it is
// attached, the host that leads its home shard knows better: the connection that it is attached over.

// clientRef is the connection's client as commands carry it.
func (c *conn) clientRef() shard.ClientRef {
	return shard.ClientRef{
		Address: protocol.View(c.client.Address), Name: protocol.View(c.client.Name),
		Version: protocol.View(c.client.Version),
	}
}

// onBehalf notes for whom a gateway sends its next request.
func (c *conn) onBehalf(r *protocol.Request) {
	c.behalf = protocol.OnBehalf{RequestID: r.OnBehalf.RequestID, Address: bytes.Clone(r.OnBehalf.Address)}
	c.Answer(r.ID, &protocol.OnBehalfAnswer{})
}

// from is where the request comes from that is being dispatched, for people: what a gateway says counts for no more
// than the gateway, so its address stands beside it.
func (c *conn) from() string {
	if c.asker == "" {
		return c.client.Address
	}
	return c.asker + " through " + c.client.Address
}

// clientAt returns the client of a session at its home shard, and whether the session is attached there.
func clientAt(home *replica.Replica, v *shard.SessionView) (_ protocol.ClientInfo, attached bool) {
	client, holder := &v.Client, home.Leases.Holder(v.ID)
	if holder != nil {
		if c, ok := holder.Owner.(*conn); ok {
			client = &c.client
		}
	}
	return protocol.ClientInfo{
		Address: protocol.View(client.Address), Name: protocol.View(client.Name),
		Version: protocol.View(client.Version),
	}, holder != nil
}

// clientOf returns the client of a session, wherever its home is: as this host's replica of the home shard knows it.
func (h *Host) clientOf(id shard.SessionID) protocol.ClientInfo {
	home := h.set.Of(id.Slot())
	v, known := home.Machine.Session(id)
	if !known {
		return protocol.ClientInfo{}
	}
	client, _ := clientAt(home, &v)
	return client
}

// clipAddress returns an address as one that a session may keep.
func clipAddress(address string) string { return address[:min(len(address), shard.MaxClientAddress)] }

// clipName is the name of a client as it fits into a message.
func clipName(name string) []byte { return []byte(name[:min(len(name), protocol.MaxPrincipalBytes)]) }
