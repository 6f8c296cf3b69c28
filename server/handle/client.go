package handle

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
)

// Lists and descriptions show a session's client. The session stores its client at creation and at its last change.
// While the session is attached, its home shard leader knows the current client from the connection.

// ClientRef returns a request's client in the form for commands.
func ClientRef(c *caller.Caller) shard.ClientRef {
	return shard.ClientRef{
		Address: protocol.View(c.Client.Address), Name: protocol.View(c.Client.Name),
		Version: protocol.View(c.Client.Version),
	}
}

// CallerOf returns the client of the connection that holds a session, nil for none.
func CallerOf(holder *lease.Holder) *caller.Caller {
	if holder == nil {
		return nil
	}
	if c, is := holder.Owner.(Connection); is {
		return c.Caller()
	}
	return nil
}

// ClientAt returns a session's client at its home shard, and whether the session is attached there.
func ClientAt(home *replica.Replica, v *shard.SessionView) (_ protocol.ClientInfo, attached bool) {
	holder := home.Leases.Holder(v.ID)
	if c := CallerOf(holder); c != nil {
		return infoOf(&c.Client), true
	}
	return infoOf(&v.Client), holder != nil
}

func infoOf(c *shard.ClientState) protocol.ClientInfo {
	return protocol.ClientInfo{
		Address: protocol.View(c.Address), Name: protocol.View(c.Name), Version: protocol.View(c.Version),
	}
}

// ClientOf returns a session's client for any home shard, as known to the host's replica of the home shard.
func (h *Host) ClientOf(id shard.SessionID) protocol.ClientInfo {
	home := h.Set.Home(id)
	if !home.Here() {
		return protocol.ClientInfo{}
	}
	if c := CallerOf(home.Leases.Holder(id)); c != nil {
		return infoOf(&c.Client)
	}
	client, _ := home.Machine.Client(id)
	return infoOf(&client)
}
