package http

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/gateway/operation"
)

// leaderChangesKept is the maximum number of kept leader changes.
const leaderChangesKept = 200

// LeaderChange is a shard's leader change that the gateway noticed between two polls.
type LeaderChange struct {
	At     time.Time `name:"time"`
	Shard  uint64    `about:"Shard id. 0 is the meta shard"`
	Leader uint64    `about:"Host id of the leader in the term"`
	Term   uint64    `about:"Raft term. A gap since the earlier change means that changes in between were not noticed"`
}

// history has each host's loads and the shards' leader changes, as the gateway noticed them in its polls.
type history struct {
	mu      sync.Mutex
	loads   map[string]*loads // by host name
	leaders map[uint64]LeaderChange
	changes []LeaderChange
}

// add adds all hosts' statuses. A host that is no longer listed is forgotten.
func (hi *history) add(hosts []client.HostStatus, now time.Time) {
	hi.mu.Lock()
	defer hi.mu.Unlock()
	known := make(map[string]*loads, len(hosts))
	for i := range hosts {
		h := &hosts[i]
		if h.Name == "" {
			continue // a silent host is not asked for its name
		}
		of := cmp.Or(hi.loads[h.Name], &loads{})
		if h.Load != nil {
			load := newLoad(h.Load)
			load.At = now
			of.add(load)
		}
		known[h.Name] = of
	}
	if len(known) < len(hosts) { // silent hosts keep their loads
		for name, of := range hi.loads {
			known[name] = cmp.Or(known[name], of)
		}
	}
	hi.loads = known
	hi.addLeaders(hosts, now)
}

// addLeaders compares the leader in each shard's highest term with the leader known before.
func (hi *history) addLeaders(hosts []client.HostStatus, now time.Time) {
	for i := range hosts {
		for _, s := range append(hosts[i].Shards, hosts[i].Meta) {
			before, known := hi.leaders[s.ID]
			if s.Leader == 0 || s.Term <= before.Term {
				continue
			}
			change := LeaderChange{At: now, Shard: s.ID, Leader: s.Leader, Term: s.Term}
			if hi.leaders == nil {
				hi.leaders = make(map[uint64]LeaderChange)
			}
			hi.leaders[s.ID] = change
			if !known {
				continue
			}
			if len(hi.changes) >= leaderChangesKept {
				hi.changes = append(hi.changes[:0], hi.changes[1:]...)
			}
			hi.changes = append(hi.changes, change)
		}
	}
}

// loadsOf returns a host's loads, none for an unknown host.
func (hi *history) loadsOf(name string) []Load {
	hi.mu.Lock()
	defer hi.mu.Unlock()
	if of := hi.loads[name]; of != nil {
		return of.all()
	}
	return []Load{}
}

// leaderChanges returns the kept leader changes, the oldest first.
func (hi *history) leaderChanges() []LeaderChange {
	hi.mu.Lock()
	defer hi.mu.Unlock()
	return slices.Clone(hi.changes)
}

// leaderChanges returns the recorded leader changes. It asks all hosts for their status first, which records changes
// since the last request.
func leaderChanges(ctx context.Context, c *call, _ *operation.None) (l operation.List[LeaderChange], err error) {
	_, err = c.gateway.addWhole(ctx, c.caller)
	l.Items = c.gateway.history.leaderChanges()
	return l, err
}

// hostLoadRequest asks for a host's loads.
type hostLoadRequest struct {
	Host string `about:"Host name. Default: the responding host"`
}

// hostLoads returns the responding host's loads, or another host's loads as far as the gateway knows.
func hostLoads(ctx context.Context, c *call, q *hostLoadRequest) (l operation.List[Load], err error) {
	if q.Host == "" {
		l.Items = c.gateway.loads.all()
		return l, c.caller.Ping(ctx) // the token may have been revoked
	}
	_, err = c.gateway.addWhole(ctx, c.caller)
	l.Items = c.gateway.history.loadsOf(q.Host)
	return l, err
}
