package server

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
)

// dispatch starts one request, on the connection's event loop. The bytes of the request are valid only until dispatch
// returns. It returns false if the connection must be closed.
func (c *conn) dispatch(r *protocol.Request) bool {
	if !c.greeted {
		return c.hello(r)
	}
	c.asker = ""
	if c.behalf.RequestID == r.ID && c.behalf.Address != nil {
		c.asker, c.behalf = string(c.behalf.Address), protocol.OnBehalf{}
	}
	if r.Kind == protocol.KindWatchStop {
		// A WATCH_STOP is never refused, however much else the client asks for: it frees memory that the host holds
		// for the client.
		c.watchStop(r)
		return true
	}
	if r.Kind.Right() == protocol.RightNone {
		c.failure(r, protocol.StatusUnauthorized, c.lacking(c.from(), r.Kind, "", ""))
		return true
	}
	if c.refuseLagging(r) {
		return true
	}
	if of := acts[r.Kind]; of != nil {
		c.beginAct(r, of)
	}
	if c.inFlight.Load() > int64(c.host.config.Limits.RequestsInFlight) {
		c.overloaded(r.ID, r.Kind, "too many requests of this connection are unanswered")
		return true
	}
	if c.peer.Pending() > slowPending && r.Kind != protocol.KindPing {
		c.overloaded(r.ID, r.Kind, "too many answers wait to be read")
		return true
	}
	waiting := &c.host.pending
	if waiting.counted.Load()+waiting.added.Load() > waiting.limit {
		c.host.relievePending()
	}
	if waiting.over.Load() && r.Kind != protocol.KindPing && c.peer.Pending() > 0 {
		c.overloaded(r.ID, r.Kind, "too many answers wait to be read by all clients of this host")
		return true
	}
	switch handle := handlers[r.Kind]; {
	case replica.Mutations[r.Kind].Command != nil:
		c.mutate(r)
	case handle != nil:
		handle(c, r)
	default:
		c.failure(r, protocol.StatusUnsupported, "this host does not know the request")
	}
	return true
}

// handlers execute the requests that are no mutations of objects, by kind. Every kind in the protocol's table has a
// handler, or is a mutation.
var handlers = [requestKinds]func(*conn, *protocol.Request){
	protocol.KindHello: func(c *conn, r *protocol.Request) {
		c.failure(r, protocol.StatusBadRequest, "a second HELLO")
	},
	protocol.KindPing:              func(c *conn, r *protocol.Request) { c.ping(r.ID) },
	protocol.KindOnBehalf:          (*conn).onBehalf,
	protocol.KindRouting:           func(c *conn, r *protocol.Request) { c.routing(r.ID, &r.Routing) },
	protocol.KindHostStatus:        withRight(somewhere, (*conn).hostStatus),
	protocol.KindHostLoad:          withRight(somewhere, (*conn).hostLoad),
	protocol.KindConcerns:          withRight(somewhere, (*conn).concerns),
	protocol.KindNodeCreate:        (*conn).nodeCreate,
	protocol.KindNodeDescribe:      (*conn).nodeDescribe,
	protocol.KindNodeAlter:         (*conn).nodeAlter,
	protocol.KindNodeDrop:          (*conn).nodeDrop,
	protocol.KindNodeList:          withRight(somewhere, (*conn).nodeList),
	protocol.KindSessionStart:      (*conn).sessionStart,
	protocol.KindSessionAttach:     (*conn).sessionAttach,
	protocol.KindSessionBind:       (*conn).sessionBind,
	protocol.KindSessionStop:       (*conn).sessionStop,
	protocol.KindSessionDetach:     (*conn).sessionDetach,
	protocol.KindSessionDestroy:    (*conn).sessionDestroy,
	protocol.KindSessionDescribe:   (*conn).sessionDescribe,
	protocol.KindSessionList:       (*conn).sessionList,
	protocol.KindSessionHoldings:   (*conn).sessionHoldings,
	protocol.KindSemaphoreDescribe: (*conn).semaphoreDescribe,
	protocol.KindSemaphoreList:     (*conn).semaphoreList,
	protocol.KindWatch:             (*conn).watch,
	protocol.KindWatchStop:         (*conn).watchStop,
	protocol.KindRolloutDescribe:   (*conn).rolloutDescribe,
	protocol.KindRolloutList:       (*conn).rolloutList,
	protocol.KindRolloutPlan:       (*conn).rolloutPlan,
	protocol.KindAccessChange:      withRight(somewhere, (*conn).accessChange),
	protocol.KindAccessList:        withRight(somewhere, (*conn).accessList),
	protocol.KindAccessAsk:         (*conn).accessAsk,
	protocol.KindAccessDenials:     withRight(somewhere, (*conn).accessDenials),
	protocol.KindBackupDescribe:    withRight(everywhere, (*conn).backupDescribe),
	protocol.KindBackupBegin:       withRight(everywhere, (*conn).backupBegin),
	protocol.KindBackupRead:        withRight(everywhere, (*conn).backupRead),
	protocol.KindBackupEnd:         withRight(everywhere, (*conn).backupEnd),
	protocol.KindProcessDescribe:   (*conn).processDescribe,
	protocol.KindProcessList:       (*conn).processList,
	protocol.KindInboxOpen:         (*conn).inboxOpen,
	protocol.KindHostOperate:       (*conn).hostOperate,
	protocol.KindShardTransfer:     (*conn).shardTransfer,
	protocol.KindShardRecover:      withRight(everywhere, (*conn).shardRecover),
	protocol.KindClusterDescribe:   withRight(somewhere, (*conn).clusterDescribe),
	protocol.KindClusterPlan:       withRight(somewhere, (*conn).clusterPlan),
	protocol.KindClusterWhy:        withRight(somewhere, (*conn).clusterWhy),
	protocol.KindStepCancel:        (*conn).stepCancel,
	protocol.KindPolicy:            (*conn).policy,
	protocol.KindAuditRead:         withRight(everywhere, (*conn).auditRead),
	protocol.KindToken:             (*conn).joinToken,
}

// withRight lets a handler have the requests of clients with the right to them in the node of the path as a whole.
func withRight(path string, handle func(*conn, *protocol.Request)) func(*conn, *protocol.Request) {
	return func(c *conn, r *protocol.Request) {
		if c.authorize(r, path, "") {
			handle(c, r)
		}
	}
}

// failure answers a request that the host refuses, with a message for people.
func (c *conn) failure(r *protocol.Request, s protocol.Status, message string) {
	c.Fail(r.ID, r.Kind, &protocol.Result{Status: s, Message: clip(message)})
}

// overloaded refuses a request because of a limit of this host.
func (c *conn) overloaded(id uint64, k protocol.Kind, message string) {
	c.Fail(id, k, &protocol.Result{
		Status: protocol.StatusOverloaded, Message: message,
		WaitMillis: uint64(replica.OverloadWait.Milliseconds()),
	})
}

// hello is the first request of a connection.
func (c *conn) hello(r *protocol.Request) bool {
	h := c.host
	refuse := func(reason cutReason, s protocol.Status, message string) bool {
		c.failure(r, s, message)
		c.closeWithReason(reason, s, message)
		return false
	}
	if r.Kind != protocol.KindHello {
		return refuse(cutBadRequest, protocol.StatusBadRequest, "the first request must be a HELLO")
	}
	version, ok := r.Hello.CommonVersion()
	if !ok {
		return refuse(cutUnsupported, protocol.StatusUnsupported, "no protocol version in common")
	}
	if c.entering {
		return refuse(cutBadRequest, protocol.StatusBadRequest, "a HELLO waits for its answer")
	}
	e, refused := h.enter(r.Hello.Token, c.certificateOf())
	switch {
	case e.unknown:
		c.enterLater(r, version)
		return true
	case refused == nil:
		c.welcome(r.ID, &r.Hello, version, e, protocol.ReadKinds(&r.Hello.PushKinds))
		c.greeted = true
		return true
	}
	c.deniedEntry()
	return refuse(cutUnauthorized, refused.Status, refused.Message)
}

// enterLater finds out the rights of a client after a barrier, with all tokens known: the client's token may have
// been made a moment ago, through another host.
func (c *conn) enterLater(r *protocol.Request, version uint64) {
	c.entering = true
	id, hello, certificate := r.ID, r.Hello, c.certificateOf()
	pushes := protocol.ReadKinds(&hello.PushKinds)
	hello.Token, hello.ClientName = slices.Clone(hello.Token), slices.Clone(hello.ClientName)
	hello.ClientVersion, hello.PushKinds = slices.Clone(hello.ClientVersion), protocol.Kinds{}
	c.host.meta.Confirm(func(sure bool) {
		e, refused := c.host.enter(hello.Token, certificate)
		if e.unknown && !sure {
			refused = &protocol.Result{Status: protocol.StatusUnavailable, Message: lagging, WaitMillis: lagWait}
		}
		if refused != nil {
			c.deniedEntry()
			c.Fail(id, protocol.KindHello, refused)
			c.cutOff(cutUnauthorized, refused.Status, refused.Message)
			return
		}
		c.welcome(id, &hello, version, e, pushes)
		c.flush()
	})
}

// welcome lets a client in, with the pushes that the client understands. After a barrier the connection may be
// closed.
func (c *conn) welcome(id uint64, m *protocol.Hello, version uint64, e entry, pushes protocol.KindSet) {
	h := c.host
	from := c.peer.RemoteAddr()
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.rights, c.name, c.reviewed = e.rights, e.name, e.rights.Version()
	c.client = shard.ClientState{Name: string(m.ClientName), Version: string(m.ClientVersion)}
	if from != nil {
		c.client.Address = clipAddress(from.String())
	}
	c.source = pipeline.NewSource(e.name, from, len(h.replicas))
	c.pushes = pushes
	c.encoder.Understands(pushes)
	c.mu.Unlock()
	h.metrics.Greeted.Inc()
	routing := h.meta.RoutingVersion()
	c.Answer(id, &protocol.Welcome{
		Version: version, HostID: uint64(h.config.ID), HostName: []byte(h.config.Name),
		ClusterID: []byte(h.config.Cluster), RoutingVersion: routing,
		Limits: h.config.Limits, PingIntervalMillis: uint64(h.config.PingInterval.Milliseconds()),
		RequestKinds: protocol.RequestKinds(), Since: h.meta.Machine.NextAnswer(),
		Generation: h.meta.Machine.Generation().Number, KnownAs: clipName(e.name),
	})
	// A new routing is pushed only to welcomed connections, lest it come before the Welcome.
	c.welcomed.Store(true)
	if now := h.meta.RoutingVersion(); now != routing {
		c.Push(0, &protocol.RoutingChanged{Version: now})
	}
}
