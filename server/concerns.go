package server

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/concern"
	"github.com/signalbox/signalbox/server/concern"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// Concerns returns the concerns of this host, the worst first. The list must not be changed. Sessions with their homes
// elsewhere are named as their homes name them, so the call may wait for other hosts.
func (h *Host) Concerns() []kind.Concern {
	list := h.book.Read(h.config.Clock())
	if h.strangers.learn(h) {
		list = h.book.Renew(h.config.Clock())
	}
	return list
}

// isTakenAway reports whether operators have drained or expelled this host, as far as the host knows. Such a host need
// not be ready: further concerns name the drain or the expulsion.
func (h *Host) isTakenAway() bool {
	t, ok := h.Topology()
	if !ok {
		return false
	}
	own := t.Records.Host(h.config.ID)
	return own != nil && (own.Target.Reason == hosts.ReasonDrained || !own.Living())
}

// gather adds the observations of this host.
func (h *Host) gather(l *concern.List) {
	own := concern.Own{}
	if h.config.Own != nil {
		own = h.config.Own()
	}
	own.Name, own.Refusal = h.config.Name, h.refusal()
	if !h.isTakenAway() {
		own.NotReady = h.Ready()
	}
	if load := h.load.Load(); load != nil {
		own.CommitP99, own.Requests = load.CommitP99, load.Requests
	}
	given := h.set.Quotas()
	given.Objects = cmp.Or(given.Objects, shard.DefaultShardObjects)
	given.Bytes = cmp.Or(given.Bytes, shard.DefaultShardBytes)
	for _, r := range h.replicas {
		own.Stalls += uint64(r.Leases.Counts().Stalls)
		own.Slow += r.Hub.Counters().Slow
		l.AddQuotas(h.config.Name, r, given, h.nodes)
		if r.Leads() {
			l.AddObjects(r, h.nodes, h.whoIs)
		} else {
			l.Forget(r)
		}
	}
	l.AddOwn(&own)
	if shown, err := h.Overview(); err == nil && shown.Seen != nil {
		for _, c := range shown.Concerns() {
			l.Add(c)
		}
		if held := h.Level().Holders(); held != "" {
			l.Add(kind.New(kind.LevelHeld, kind.About{}, held))
		}
	}
}

// nodes implements concern.Nodes.
func (h *Host) nodes(id shard.NodeID) (path string, longestWait time.Duration, ok bool) {
	n, ok := h.meta.Machine.NodeByID(id)
	if bound := n.Config.LongestWaitMillis; bound != protocol.Forever {
		longestWait = time.Duration(bound) * time.Millisecond
	}
	return n.Path, longestWait, ok
}

// whoIs names the client of a session for people.
func (h *Host) whoIs(id shard.SessionID) string {
	var client protocol.ClientInfo
	var description string
	if home := h.set.Of(id.Slot()); home.Here() {
		v, _ := home.Machine.DescribeSession(id)
		client, description = h.core.ClientOf(id), v.Description
	} else {
		s := h.strangers.named(id, h.config.Clock())
		client, description = s.Client, string(s.Description)
	}
	name := cmp.Or(description, string(client.Name), "session "+id.String())
	if len(client.Address) > 0 {
		name += " at " + string(client.Address)
	}
	return name
}

const (
	// maxStrangers bounds the sessions with their homes elsewhere that lists of concerns name; the others are ids.
	maxStrangers = 1024
	// strangeFor is how old the word of a home may be, and how long a home that gave none is not asked again.
	strangeFor = 10 * time.Second
)

// strangers are sessions with their homes elsewhere that lists of concerns name.
type strangers struct {
	mu   sync.Mutex
	have map[shard.SessionID]*stranger
}

// stranger is such a session as its home showed it, and nothing but an id if the home did not.
type stranger struct {
	shown       protocol.Session
	asked, used time.Time
}

// named returns a session as its home showed the session last. The next learn asks the home, if that is long ago.
func (s *strangers) named(id shard.SessionID, now time.Time) protocol.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.have == nil {
		s.have = make(map[shard.SessionID]*stranger)
	}
	x := s.have[id]
	if x == nil && len(s.have) < maxStrangers {
		x = &stranger{}
		s.have[id] = x
	}
	if x == nil {
		return protocol.Session{}
	}
	x.used = now
	return x.shown
}

// learn asks the homes of the sessions that were named and not asked about lately, and returns whether any was shown
// that had not been. Sessions that no list has named lately are forgotten.
func (s *strangers) learn(h *Host) (news bool) {
	var ids []shard.SessionID
	now := h.config.Clock()
	s.mu.Lock()
	for id, x := range s.have {
		switch {
		case now.Sub(x.used) > strangeFor:
			delete(s.have, id)
		case x.asked.IsZero() || now.Sub(x.asked) > strangeFor:
			x.asked = now
			ids = append(ids, id)
		}
	}
	s.mu.Unlock()
	slices.Sort(ids)
	done := make(chan map[shard.SessionID]protocol.Session, 1)
	h.set.AskShown(ids, func(shown map[shard.SessionID]protocol.Session) { done <- shown })
	shown := <-done
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, v := range shown {
		if x := s.have[id]; x != nil {
			news = news || x.shown.ID == 0
			x.shown = v
		}
	}
	return news
}
