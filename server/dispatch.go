package server

import (
	"errors"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/shard"
)

func asDecodeError(err error, to **protocol.DecodeError) bool { return errors.As(err, to) }

// dispatch starts one request, on the connection's event loop. What is in the request is valid only
// until it returns. It returns false where the connection must be closed.
func (c *conn) dispatch(r *protocol.Request) bool {
	if !c.greeted {
		return c.hello(r)
	}
	if r.Kind == protocol.KindWatchStop {
		// Whatever waits for the client: it wants less.
		c.watchStop(r)
		return true
	}
	c.begin(r)
	if c.inFlight.Load() > int64(c.host.config.Limits.RequestsInFlight) {
		c.overloaded(r.ID, r.Kind, "too many requests of this connection are unanswered")
		return true
	}
	if c.peer.Pending() > slowPending && r.Kind != protocol.KindPing {
		c.overloaded(r.ID, r.Kind, "too many answers wait to be read")
		return true
	}
	if c.host.pending.due() {
		c.host.relieve()
	}
	if c.host.pending.over.Load() && r.Kind != protocol.KindPing && c.peer.Pending() > 0 {
		c.overloaded(r.ID, r.Kind, "too many answers wait to be read by all clients of this host")
		return true
	}
	switch r.Kind {
	case protocol.KindHello:
		c.failure(r, protocol.StatusBadRequest, "a second HELLO")
	case protocol.KindPing:
		c.ping(r.ID)
	case protocol.KindRouting:
		c.routing(r.ID, &r.Routing)
	case protocol.KindHostStatus:
		c.hostStatus(r)
	case protocol.KindNodeCreate:
		c.nodeCreate(r)
	case protocol.KindNodeDescribe:
		c.nodeDescribe(r)
	case protocol.KindNodeAlter:
		c.nodeAlter(r)
	case protocol.KindNodeDrop:
		c.nodeDrop(r)
	case protocol.KindNodeList:
		c.nodeList(r)
	case protocol.KindSessionStart:
		c.sessionStart(r)
	case protocol.KindSessionAttach:
		c.sessionAttach(r)
	case protocol.KindSessionBind:
		c.sessionBind(r)
	case protocol.KindSessionStop:
		c.sessionStop(r)
	case protocol.KindSessionDestroy:
		c.sessionDestroy(r)
	case protocol.KindSessionDescribe:
		c.sessionDescribe(r)
	case protocol.KindSessionList:
		c.sessionList(r)
	case protocol.KindSessionHoldings:
		c.sessionHoldings(r)
	case protocol.KindSemaphoreCreate:
		m := &r.SemaphoreCreate
		c.mutate(r, &m.Mutation, m.NodeID, m.Name, shard.Command{
			Kind: shard.CmdSemaphoreCreate, Count: m.Limit, Data: m.Data,
		})
	case protocol.KindSemaphoreUpdate:
		m := &r.SemaphoreUpdate
		c.mutate(r, &m.Mutation, m.NodeID, m.Name, shard.Command{
			Kind: shard.CmdSemaphoreUpdate, Data: m.Data, Order: shard.OrderID(m.OrderID),
			Revision: shard.Revision(m.ExpectedRevision),
		})
	case protocol.KindSemaphoreResize:
		m := &r.SemaphoreResize
		c.mutate(r, &m.Mutation, m.NodeID, m.Name, shard.Command{
			Kind: shard.CmdSemaphoreResize, Count: m.Limit, Revision: shard.Revision(m.ExpectedRevision),
		})
	case protocol.KindSemaphoreDelete:
		m := &r.SemaphoreDelete
		command := shard.Command{Kind: shard.CmdSemaphoreDelete}
		if m.Force {
			command.Flags = shard.FlagForce
		}
		c.mutate(r, &m.Mutation, m.NodeID, m.Name, command)
	case protocol.KindAcquire:
		m := &r.Acquire
		command := shard.Command{
			Kind: shard.CmdAcquire, Count: m.Count, Timeout: m.TimeoutMillis, Data: m.Data,
		}
		if m.Ephemeral {
			command.Flags = shard.FlagEphemeral
		}
		c.mutate(r, &m.Mutation, m.NodeID, m.Name, command)
	case protocol.KindRelease:
		m := &r.Release
		c.mutate(r, &m.Mutation, m.NodeID, m.Name, shard.Command{
			Kind: shard.CmdRelease, Order: shard.OrderID(m.OrderID),
		})
	case protocol.KindSemaphoreDescribe:
		c.semaphoreDescribe(r)
	case protocol.KindSemaphoreList:
		c.semaphoreList(r)
	case protocol.KindWatch:
		c.watch(r)
	default:
		c.failure(r, protocol.StatusUnsupported, "this host does not know the request")
	}
	return true
}

// failure answers a request that the host refuses, with a word for people.
func (c *conn) failure(r *protocol.Request, s protocol.Status, message string) {
	c.Fail(r.ID, r.Kind, &protocol.Result{Status: s, Message: clip(message)})
}

// overloaded refuses a request because of a limit of this host.
func (c *conn) overloaded(id uint64, k protocol.Kind, message string) {
	c.Fail(id, k, &protocol.Result{
		Status: protocol.StatusOverloaded, Message: message,
		WaitMillis: uint64(overloadWait.Milliseconds()),
	})
}

// hello is the first request of a connection.
func (c *conn) hello(r *protocol.Request) bool {
	h := c.host
	refuse := func(reason cutReason, s protocol.Status, message string) bool {
		c.failure(r, s, message)
		c.part(reason, s, message)
		return false
	}
	if r.Kind != protocol.KindHello {
		return refuse(cutBadRequest, protocol.StatusBadRequest, "the first request must be a HELLO")
	}
	version, ok := r.Hello.CommonVersion()
	if !ok {
		return refuse(cutUnsupported, protocol.StatusUnsupported, "no protocol version in common")
	}
	rights, name, ok := h.access.Enter(r.Hello.Token)
	if !ok {
		return refuse(cutUnauthorized, protocol.StatusUnauthorized, "the token is not known here")
	}
	c.rights, c.name, c.greeted, c.reviewed = rights, name, true, rights.Version()
	c.client = shard.ClientState{Name: string(r.Hello.ClientName), Version: string(r.Hello.ClientVersion)}
	from := c.peer.RemoteAddr()
	if from != nil {
		c.client.Address = clipAddress(from.String())
	}
	c.source = pipeline.NewSource(name, from, len(h.replicas))
	c.mu.Lock()
	c.encoder.Understands(protocol.ReadKinds(&r.Hello.PushKinds))
	c.mu.Unlock()
	h.greeted(c)
	routing := h.routes.version()
	c.answer(r.ID, &protocol.Welcome{
		Version: version, HostID: uint64(h.config.ID), HostName: []byte(h.config.Name),
		ClusterID: []byte(h.config.Cluster), RoutingVersion: routing,
		Limits: h.config.Limits, PingIntervalMillis: uint64(h.config.PingInterval.Milliseconds()),
		RequestKinds: protocol.RequestKinds(),
	})
	// Those who have not said hello are not told of a new routing, lest it come before the Welcome.
	c.said.Store(true)
	if now := h.routes.version(); now != routing {
		c.push(0, &protocol.RoutingChanged{Version: now})
	}
	return true
}

// may tells whether the client may do this in the node of that path, and answers where it may not.
func (c *conn) may(r *protocol.Request, path string) bool {
	if c.permits(r.Kind, path) {
		return true
	}
	c.failure(r, protocol.StatusUnauthorized, c.lacking(r.Kind, path))
	return false
}

// mayIn is may for a node that is named by its id.
func (c *conn) mayIn(r *protocol.Request, id shard.NodeID) bool {
	if _, all := c.rights.(everything); all {
		return true
	}
	node, ok := c.host.meta.machine.NodeByID(id)
	switch {
	case ok && c.permits(r.Kind, node.Path):
		return true
	case !c.permits(r.Kind, ""):
		return c.may(r, "") // it may do so in no node, whichever there are
	case !ok || !c.permits(protocol.KindNodeDescribe, node.Path):
		c.failure(r, protocol.StatusNotFound, noSuchNode)
		return false
	}
	return c.may(r, node.Path)
}

// hasName tells whether the name of a semaphore can be one, and answers where it cannot.
func (c *conn) hasName(r *protocol.Request, name []byte) bool {
	if len(name) == 0 {
		c.failure(r, protocol.StatusBadRequest, "a name has at least one byte")
		return false
	}
	return true
}

// refuseSession answers a request of a session that does not act over this connection. A session that is over is never
// said to live: a client would attach it again. One that the client may not know of is answered as one that is over.
func (c *conn) refuseSession(r *protocol.Request, id shard.SessionID, message string) {
	home := c.host.replicaOf(id.Slot())
	lives := protocol.Result{Status: protocol.StatusBadSession, Message: message}
	over := protocol.Result{Status: protocol.StatusSessionExpired, Message: "the session is over"}
	if _, known := c.session(home, id); known {
		c.Fail(r.ID, r.Kind, &lives)
		return
	}
	if home.machine.Liveness(id) == shard.Dead {
		c.Fail(r.ID, r.Kind, &over)
		return
	}
	request, kind := r.ID, r.Kind
	home.fresh.confirm(func(ok, _ bool) {
		_, known := c.session(home, id)
		switch {
		case !ok:
			c.Fail(request, kind, &protocol.Result{Status: protocol.StatusUnavailable, Message: homeAway})
		case known:
			c.Fail(request, kind, &lives)
		default:
			c.Fail(request, kind, &over)
		}
		c.flush()
	})
}

// mutate queues a change of a semaphore at its shard.
func (c *conn) mutate(r *protocol.Request, m *protocol.Mutation, node uint64, name []byte, command shard.Command) {
	h := c.host
	id := shard.NodeID(node)
	if !c.mayIn(r, id) {
		return
	}
	if !c.hasName(r, name) {
		return
	}
	session := shard.SessionID(m.SessionID)
	command.Node, command.Name = id, name
	command.Session, command.Number, command.Acked = session, m.Number, m.Acknowledged
	if session != 0 {
		b, held := c.bindingOf(r, session)
		if held {
			return
		}
		if b == nil {
			c.refuseSession(r, session, "the session is neither attached over nor bound to this connection")
			return
		}
		if b.node != id {
			c.failure(r, protocol.StatusBadSession, "the session is of another node")
			return
		}
	} else if alive := h.meta.machine.NodeAlive(id); alive == nodeLater {
		c.mutateLater(r, command)
		return
	} else if alive != nodeAlive {
		c.failure(r, protocol.StatusNotFound, noSuchNode)
		return
	}
	// What is held can be given back: a little room is kept, and nobody should have to wait for the disk.
	if r.Kind != protocol.KindRelease && !h.admitsWrites(c, r) {
		return
	}
	rp := h.replicaOf(shard.SlotOf(id, name))
	o := pipeline.Op{Caller: c, Source: c.source, Request: r.ID, Kind: r.Kind, Started: c.started}
	o.Delayable = r.Kind == protocol.KindAcquire && !rp.pipeline.Urgent() && rp.machine.WillQueue(&command)
	if c.submit(o, rp, &command) {
		c.touch(rp)
	}
}

// mutateLater is mutate in a node that this host has not heard of: it may have been made a moment ago, through
// another host. It asks the meta shard first.
func (c *conn) mutateLater(r *protocol.Request, command shard.Command) {
	h := c.host
	if !h.admitsWrites(c, r) {
		return
	}
	command.Name, command.Data = slices.Clone(command.Name), slices.Clone(command.Data)
	o := pipeline.Op{Caller: c, Source: c.source, Request: r.ID, Kind: r.Kind, Started: c.started}
	h.meta.confirm(func(sure bool) {
		rp := h.replicaOf(shard.SlotOf(command.Node, command.Name))
		switch {
		case !sure:
			c.Fail(o.Request, o.Kind, &protocol.Result{Status: protocol.StatusUnavailable, Message: metaAway})
		case h.meta.machine.NodeAlive(command.Node) != nodeAlive:
			c.Fail(o.Request, o.Kind, &protocol.Result{Status: protocol.StatusNotFound, Message: noSuchNode})
		case c.submit(o, rp, &command):
			rp.pipeline.Flush()
		}
		c.flush()
	})
}

// These tell people why a request about a node or a session is refused.
const (
	noSuchNode = "no node of this id"
	metaAway   = "the meta shard cannot be asked at the moment"
	homeAway   = "the session's home shard cannot be asked at the moment"
)

// submit queues a command whose result answers a request, or answers it. It tells whether the shard's pipeline has
// to be flushed.
func (c *conn) submit(o pipeline.Op, rp *replica, command *shard.Command) bool {
	if !rp.leads() {
		c.moved(o.Request, o.Kind, rp)
		return false
	}
	if needs := shard.LevelOf(command); needs > rp.currentLevel() {
		c.Fail(o.Request, o.Kind, c.host.aboveLevel(needs))
		return false
	}
	if !rp.pipeline.Add(o, command) {
		c.overloaded(o.Request, o.Kind, "the shard's queue is full")
		return false
	}
	return true
}

// moved tells where the leader of a shard is.
func (c *conn) moved(id uint64, k protocol.Kind, rp *replica) {
	result := c.host.movedResult(rp)
	c.Fail(id, k, &result)
}
