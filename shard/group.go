package shard

// Longest is the session with the longest timeout in a shard. The session is 0 for a timeout a client has requested and
// that no session has yet.
type Longest struct {
	Timeout uint64 // milliseconds
	Session SessionID
}

// Over returns the longer one, and on a tie the one with the lower session.
func (l Longest) Over(other Longest) Longest {
	if other.Timeout > l.Timeout || other.Timeout == l.Timeout && other.Session < l.Session {
		return other
	}
	return l
}

// QuietReason is the text for people in refusals while nothing is granted after a shard rebuild.
const QuietReason = "the shard lost its majority and was made anew: nothing is granted until no client of before can " +
	"believe in what it held (signalbox check shows how long that takes)"

// Group is a rebuilt shard's replica group. It is all zero for a shard with its bootstrap group.
//
// Until is the end of the wait: until then no session is granted a holding, and no session from an earlier group is
// reported dead. 0 means that the wait has not begun: some host may still act for an earlier group.
type Group struct {
	Number uint64
	Began  uint64 // shard time of the rebuild
	Until  uint64
	// Before is the last session counter issued by an earlier group.
	Before uint64
	// Longest is the longest session timeout an earlier group may have granted.
	Longest Longest
}

// Waits reports whether clients may still believe in holdings from before the rebuild.
func (g *Group) Waits(now uint64) bool { return g.Number != 0 && (g.Until == 0 || now < g.Until) }

// Left returns how many milliseconds the shard still waits, at least.
func (g *Group) Left(now uint64) uint64 {
	switch {
	case !g.Waits(now):
		return 0
	case g.Until == 0:
		return max(g.Longest.Timeout, 1)
	}
	return g.Until - now
}
