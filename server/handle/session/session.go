package session

import (
	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/session"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// Handlers returns the handlers.
func Handlers(h *handle.Host) handle.Table {
	s := handlers{h}
	return handle.Table{
		protocol.KindSessionStart:    s.start,
		protocol.KindSessionAttach:   s.attach,
		protocol.KindSessionBind:     s.bind,
		protocol.KindSessionStop:     s.stop,
		protocol.KindSessionDetach:   s.detach,
		protocol.KindSessionDestroy:  s.destroy,
		protocol.KindSessionDescribe: s.describe,
		protocol.KindSessionList:     s.list,
		protocol.KindSessionHoldings: s.holdings,
	}
}

type handlers struct{ *handle.Host }

// addLost adds the session's losses to the lease of a newly attached session. A shard's later losses are pushed to
// attached sessions.
func (h handlers) addLost(l *protocol.Lease) {
	for _, lost := range h.Set.Lost() {
		l.Lost.Append(lost)
	}
}

// leaseOf returns a session's lease terms for the client.
func leaseOf(n *meta.Node, timeout uint64) protocol.Lease {
	return protocol.Lease{
		NodeID: uint64(n.ID), TimeoutMillis: timeout,
		GraceMillis: n.Config.Effective().SessionGracePeriodMillis, Config: protocol.NodeConfig(n.Config),
	}
}

// record encodes details for the log and the machine, which do not interpret the fields.
func record(d *kind.Details) []byte {
	if *d == (kind.Details{}) {
		return nil
	}
	return protocol.AppendRecord(nil, d)
}

// Details returns the details a session's client reports.
func Details(v *shard.SessionView) (d kind.Details) {
	if v.Details != "" {
		_ = protocol.ReadRecord(protocol.View(v.Details), &d, 0) // written by a host
	}
	return d
}

// over is the refusal for a request whose session has ended.
var over error = &protocol.Result{Status: protocol.StatusSessionExpired}

// unavailable refuses a request that may succeed if retried soon.
func unavailable(message string) error {
	return &protocol.Result{
		Status: protocol.StatusUnavailable, Message: message,
		WaitMillis: uint64(replica.OverloadWait.Milliseconds()),
	}
}

// detach removes a session from the connection, as if the connection had closed for this session only.
func (h handlers) detach(r *handle.Request) (handle.Reply, error) {
	m := &r.SessionDetach
	id := shard.SessionID(m.SessionID)
	b, err := h.Binding(r, id)
	if err != nil {
		return nil, err
	}
	r.Conn.Unbind(id)
	h.Set.ForgetSession(id, r.Conn)
	if b.Attached {
		// If the session has moved to a new connection meanwhile, the new connection's own time applies.
		h.Set.Home(id).Leases.Detach(id, r.Conn.Holder(), millis(m.LeftMillis), r.HeardAt)
		h.Set.Wake()
	}
	return &protocol.SessionDetachAnswer{}, nil
}
