package connection

import (
	"bytes"
	"crypto/x509"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/shard"
)

// dispatch starts one request on the connection's event loop. The request's bytes are valid only until dispatch
// returns. dispatch returns false if the connection must be closed.
func (c *Conn) dispatch(m *protocol.Request) bool {
	r := &c.request
	r.Request, r.Asker, r.Node = m, "", 0
	if r.Caller == nil {
		return c.hello()
	}
	if c.behalf.RequestID == m.ID && c.behalf.Address != nil {
		r.Asker, c.behalf = string(c.behalf.Address), protocol.ForwardedFor{}
	}
	reply, err := c.handle(r)
	c.count(r.Node)
	t := r.Ticket()
	switch err := err.(type) {
	case *protocol.Result:
		c.Fail(t.Ticket, err)
		return true
	case error:
		t.Complete(nil, err)
		return true
	}
	switch reply := reply.(type) {
	case handle.Queued:
		if !slices.Contains(c.touched, reply.Replica) {
			c.touched = append(c.touched, reply.Replica)
		}
	case protocol.AnswerMessage:
		c.Answer(t.Ticket, reply)
	default:
		t.Complete(reply, nil)
	}
	return true
}

// handle runs the request's handler if the host's limits admit the request. A WATCH_STOP is always admitted, because
// it frees memory the host holds for the client.
func (c *Conn) handle(r *handle.Request) (handle.Reply, error) {
	if r.Kind != protocol.KindWatchStop {
		if err := c.admit(r); err != nil {
			return nil, err
		}
	}
	switch h := c.set.Handlers[r.Kind]; {
	case r.Kind == protocol.KindPing:
		return c.ping(r)
	case r.Kind == protocol.KindForwardedFor:
		c.behalf = protocol.ForwardedFor{RequestID: r.ForwardedFor.RequestID,
			Address: bytes.Clone(r.ForwardedFor.Address)}
		return &protocol.ForwardedForAnswer{}, nil
	case h != nil:
		return h(r)
	}
	return nil, handle.Refuse(protocol.StatusUnsupported, "the host does not support the request")
}

// admit refuses a request without the required right, or above the host's limits.
func (c *Conn) admit(r *handle.Request) error {
	if r.Kind.Right() == protocol.RightNone {
		return r.Caller.Unauthorized(r.From(), r.Kind, "", "")
	}
	if err := r.Caller.Lagging(r.Kind, r.From); err != nil {
		return err
	}
	if e := c.set.Audit.Begin(r.Request, r.From); e != nil {
		c.keep(r.ID, e)
	}
	if c.inFlight.Load() > int64(c.set.Limits.RequestsInFlight) {
		return handle.Overloaded("too many unanswered requests on the connection")
	}
	if r.Kind != protocol.KindPing && c.peer.Pending() > slowPending {
		return handle.Overloaded("too many unread answers on the connection")
	}
	waiting := &c.set.pending
	if waiting.full() {
		c.set.relievePending()
	}
	if waiting.over.Load() && r.Kind != protocol.KindPing && c.peer.Pending() > 0 {
		return handle.Overloaded("too many unread answers over all clients")
	}
	return nil
}

// hello handles HELLO, the first request on a connection. hello returns false if the connection must be closed.
func (c *Conn) hello() bool {
	r := &c.request
	t := pipeline.Ticket{Request: r.ID, Kind: r.Kind, Started: r.Started}
	refuse := func(reason cutReason, s protocol.Status, message string) bool {
		c.Fail(t, &protocol.Result{Status: s, Message: message})
		c.closeWithReason(reason, s, message)
		return false
	}
	if r.Kind != protocol.KindHello {
		return refuse(cutBadRequest, protocol.StatusBadRequest, "the first request must be a HELLO")
	}
	version, ok := r.Hello.CommonVersion()
	if !ok {
		return refuse(cutUnsupported, protocol.StatusUnsupported, "no common protocol version")
	}
	if c.entering {
		return refuse(cutBadRequest, protocol.StatusBadRequest, "an earlier HELLO is unanswered")
	}
	token, certificate := slices.Clone(r.Hello.Token), c.certificate()
	client := shard.ClientState{Name: string(r.Hello.ClientName), Version: string(r.Hello.ClientVersion)}
	if from := c.peer.RemoteAddr(); from != nil {
		client.Address = caller.ClipAddress(from.String())
	}
	pushes := protocol.ReadKinds(&r.Hello.PushKinds)
	by, unknown, refused := c.set.Gate.Enter(token, certificate)
	by.Client = client
	switch {
	case unknown:
		c.entering = true
		c.set.Gate.EnterSure(token, certificate, func(by *caller.Caller, refused *protocol.Result) {
			if refused != nil {
				c.set.Gate.DeniedEntry(client.Address)
				c.Fail(t, refused)
				c.cutOff(cutUnauthorized, refused.Status, refused.Message)
				return
			}
			by.Client = client
			c.welcome(t, version, by, pushes)
			c.flush()
		})
	case refused != nil:
		c.set.Gate.DeniedEntry(client.Address)
		return refuse(cutUnauthorized, refused.Status, refused.Message)
	default:
		c.welcome(t, version, by, pushes)
		r.Caller = c.Caller()
	}
	return true
}

// certificate returns the client's certificate, if the host has verified the certificate.
func (c *Conn) certificate() *x509.Certificate {
	state := c.peer.TLS()
	if state == nil || len(state.VerifiedChains) == 0 || len(state.PeerCertificates) == 0 {
		return nil
	}
	return state.PeerCertificates[0]
}

// welcome admits a client that understands the given pushes. After a barrier, the connection may already be closed.
func (c *Conn) welcome(t pipeline.Ticket, version uint64, by *caller.Caller, pushes protocol.KindSet) {
	s := c.set
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.reviewed = by.Version()
	c.source = pipeline.NewSource(by.Name, c.peer.RemoteAddr())
	c.pushes = pushes
	c.out.encoder.Understands(pushes)
	c.mu.Unlock()
	s.Metrics.Greeted.Inc()
	welcome := s.Host.Welcome()
	welcome.Version, welcome.Limits, welcome.RequestKinds = version, s.Limits, protocol.RequestKinds()
	welcome.PingIntervalMillis = uint64(s.PingInterval.Milliseconds())
	welcome.Principal = []byte(by.Name[:min(len(by.Name), protocol.MaxPrincipalBytes)])
	c.Answer(t, &welcome)
	// A routing change is pushed only to welcomed connections, so that it never precedes the Welcome.
	c.caller.Store(by)
	if now := s.Host.RoutingVersion(); now != welcome.RoutingVersion {
		c.Push(0, &protocol.RoutingChanged{Version: now})
	}
}
