package shard

// Longest is the session with the longest timeout of a shard. The session is 0 for a timeout that a client has asked
// for and that no session has yet.
type Longest struct {
	Timeout uint64 // milliseconds
	Session SessionID
}

// Over returns the longer one, and of equals the one with the lower session.
func (l Longest) Over(other Longest) Longest {
	if other.Timeout > l.Timeout || other.Timeout == l.Timeout && other.Session < l.Session {
		return other
	}
	return l
}

// QuietReason is the text for people with which commands are refused while nothing is granted after a renewal.
const QuietReason = "the shard lost its majority and was made anew: nothing is granted until no client of before can " +
	"believe in what it held (signalbox check shows how long that takes)"

// Group is the group of replicas of a shard that was made anew. All is zero for a shard with the group of its
// bootstrap.
//
// Until is the end of the wait: until then no session is given a holding, and no session of an earlier group is called
// dead. 0 says that the wait has not begun: some host may still act for an earlier group.
type Group struct {
	Number uint64
	Began  uint64 // the time of the shard at the renewal
	Until  uint64
	// Before is the last counter of a session of an earlier group.
	Before uint64
	// Longest is the longest timeout of a session that an earlier group may have granted.
	Longest Longest
}

// Waits reports whether clients may believe in what they held before the renewal.
func (g *Group) Waits(now uint64) bool { return g.Number != 0 && (g.Until == 0 || now < g.Until) }

// Left returns for how many milliseconds the shard waits at the least.
func (g *Group) Left(now uint64) uint64 {
	switch {
	case !g.Waits(now):
		return 0
	case g.Until == 0:
		return max(g.Longest.Timeout, 1)
	}
	return g.Until - now
}
