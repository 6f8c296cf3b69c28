package health

import (
	"slices"
	"sync"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

const (
	// maxRemote bounds the remote sessions that lists of health issues name; the others are ids.
	maxRemote = 1024
	// shownFor is how old the word of a home may be, and how long a home that gave none is not asked again.
	shownFor = 10 * time.Second
)

// RemoteSessions are the sessions with their homes elsewhere that lists of health issues name.
type RemoteSessions struct {
	mu   sync.Mutex
	have map[shard.SessionID]*remoteSession
}

// remoteSession is such a session as its home showed it, and nothing but an id if the home did not.
type remoteSession struct {
	shown       protocol.Session
	asked, used time.Time
}

// Shown returns a session as its home showed the session last. The next Learn asks the home, if that is long ago.
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

// Learn asks the homes of the sessions that were named and not asked about lately, and returns whether any was shown
// that had not been. Sessions that no list has named lately are forgotten.
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
