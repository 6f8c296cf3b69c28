package health

import (
	"slices"
	"sync"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

const (
	// maxRemote is the maximum number of remote sessions that health issues describe; further sessions are listed by
	// id only.
	maxRemote = 1024
	// shownFor is how long a home shard's answer is used, and how long a home shard without an answer is not asked
	// again.
	shownFor = 10 * time.Second
)

// RemoteSessions are the sessions with remote home shards that health issues name.
type RemoteSessions struct {
	mu   sync.Mutex
	have map[shard.SessionID]*remoteSession
}

// remoteSession is a remote session as last described by its home shard, or only an id if the home shard has not
// answered.
type remoteSession struct {
	shown       protocol.Session
	asked, used time.Time
}

// Shown returns a session as last described by its home shard. If the description is old, the next Learn asks again.
func (rs *RemoteSessions) Shown(id shard.SessionID, now time.Time) protocol.Session {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.have == nil {
		rs.have = make(map[shard.SessionID]*remoteSession)
	}
	x := rs.have[id]
	if x == nil && len(rs.have) < maxRemote {
		x = &remoteSession{}
		rs.have[id] = x
	}
	if x == nil {
		return protocol.Session{}
	}
	x.used = now
	return x.shown
}

// Learn asks the home shards of named sessions that were not asked recently, and reports whether any new session was
// described. Sessions no list has named recently are dropped.
func (rs *RemoteSessions) Learn(now time.Time,
	ask func([]shard.SessionID, func(map[shard.SessionID]protocol.Session))) (news bool) {
	var ids []shard.SessionID
	rs.mu.Lock()
	for id, x := range rs.have {
		switch {
		case now.Sub(x.used) > shownFor:
			delete(rs.have, id)
		case x.asked.IsZero() || now.Sub(x.asked) > shownFor:
			x.asked = now
			ids = append(ids, id)
		}
	}
	rs.mu.Unlock()
	slices.Sort(ids)
	done := make(chan map[shard.SessionID]protocol.Session, 1)
	ask(ids, func(shown map[shard.SessionID]protocol.Session) { done <- shown })
	shown := <-done
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for id, v := range shown {
		if x := rs.have[id]; x != nil {
			news = news || x.shown.ID == 0
			x.shown = v
		}
	}
	return news
}
