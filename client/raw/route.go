package raw

import (
	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/protocol"
)

// route is where a request without a session goes, and how often.
type route struct {
	target   cluster.Target
	numbered *protocol.Numbered // of the request, where it has one
	once     bool               // it is not sent again where it may have been carried out
}

// routeOf returns the route of a request; ok is false for one that has none here.
func routeOf(m protocol.RequestMessage) (r route, ok bool) {
	switch m := m.(type) {
	case *protocol.NodeCreate:
		r = route{target: cluster.MetaLeader, numbered: &m.Numbered}
	case *protocol.NodeAlter:
		r = route{target: cluster.MetaLeader, numbered: &m.Numbered}
	case *protocol.NodeDrop:
		r = route{target: cluster.MetaLeader, numbered: &m.Numbered}
	case *protocol.NodeDescribe, *protocol.NodeList, *protocol.AccessAsk:
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

// object is what a request of a session says of the semaphore that it is about.
type object struct {
	session  *uint64
	node     *uint64
	name     []byte
	mutation *protocol.Mutation // nil of a read
}

// objectOf returns what a request says of its semaphore; ok is false where it is about none.
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

// sinceOf returns what the answer to a change of nodes says for numbered requests that come later.
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
