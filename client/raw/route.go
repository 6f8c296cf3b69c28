package raw

import (
	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/protocol"
)

// route determines where and how often a request without a session is sent.
type route struct {
	target   cluster.Target
	numbered *protocol.Idempotency // a request field, if present
	once     bool                  // not sent again if a try may have been carried out
}

// routeOf returns a request's route; ok is false for an unsupported request.
func routeOf(m protocol.RequestMessage) (r route, ok bool) {
	switch m := m.(type) {
	case *protocol.NodeCreate:
		r = route{target: cluster.MetaLeader, numbered: &m.Idempotency}
	case *protocol.NodeAlter:
		r = route{target: cluster.MetaLeader, numbered: &m.Idempotency}
	case *protocol.NodeDrop:
		r = route{target: cluster.MetaLeader, numbered: &m.Idempotency}
	case *protocol.NodeDescribe, *protocol.NodeList, *protocol.AccessCheck:
		r.target = cluster.MetaLeader
	case *protocol.SessionDescribe:
		r.target = cluster.LeaderAt(protocol.SessionSlot(m.SessionID))
	case *protocol.SessionDestroy:
		r.target = cluster.LeaderAt(protocol.SessionSlot(m.SessionID))
	case *protocol.SessionList:
		r.target = cluster.ShardLeader(m.ShardID)
	case *protocol.SessionHoldings:
		r.target = cluster.ShardLeader(m.ShardID)
	case *protocol.SemaphoreList:
		r.target = cluster.NearShardLeader(m.ShardID)
	case *protocol.SemaphoreDescribe:
		r.target = cluster.NearLeader(protocol.SemaphoreSlot(m.NodeID, m.Name))
	default:
		o, is := objectOf(m)
		if !is || o.mutation.SessionID != 0 {
			return route{}, false
		}
		r = route{target: cluster.LeaderAt(protocol.SemaphoreSlot(*o.node, o.name)), once: true}
	}
	return r, true
}

// object is the section of a session's request that names the semaphore.
type object struct {
	session  *uint64
	node     *uint64
	name     []byte
	mutation *protocol.Mutation // nil for a read
}

// objectOf returns the section that names the semaphore; ok is false if the request has no semaphore.
func objectOf(m protocol.RequestMessage) (o object, ok bool) {
	of := func(of *protocol.Mutation, node *uint64, name []byte) object {
		return object{session: &of.SessionID, node: node, name: name, mutation: of}
	}
	switch m := m.(type) {
	case *protocol.Acquire:
		o = of(&m.Mutation, &m.NodeID, m.Name)
	case *protocol.Release:
		o = of(&m.Mutation, &m.NodeID, m.Name)
	case *protocol.SemaphoreCreate:
		o = of(&m.Mutation, &m.NodeID, m.Name)
	case *protocol.SemaphoreUpdate:
		o = of(&m.Mutation, &m.NodeID, m.Name)
	case *protocol.SemaphoreResize:
		o = of(&m.Mutation, &m.NodeID, m.Name)
	case *protocol.SemaphoreDelete:
		o = of(&m.Mutation, &m.NodeID, m.Name)
	case *protocol.SemaphoreDescribe:
		o = object{session: &m.SessionID, node: &m.NodeID, name: m.Name}
	default:
		return object{}, false
	}
	return o, true
}

// sinceOf returns the number in a node change's response that later numbered requests continue from.
func sinceOf(a *protocol.Answer) uint64 {
	switch a.Kind {
	case protocol.KindNodeCreate.Answer():
		return a.NodeCreate.Since
	case protocol.KindNodeAlter.Answer():
		return a.NodeAlter.Since
	case protocol.KindNodeDrop.Answer():
		return a.NodeDrop.Since
	}
	return 0
}
