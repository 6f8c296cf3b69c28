package slots

import "github.com/signalbox/signalbox/shard"

// Way is how a host answers a request for a slot.
type Way uint8

// The ways.
const (
	// Serve: this shard owns the slot, as far as the replica knows. For a mutation, the log decides.
	Serve Way = 1 + iota
	// Barrier: like Serve, for a read by a client that knows a higher generation. The replica may lag, so the read
	// waits for a barrier, and is then routed again.
	Barrier
	// Redirect: a shard has the slot under a higher generation than the request names. The client gets MOVED.
	Redirect
	// Park: the client knows a higher generation than this replica, which is about to catch up. The request waits
	// briefly, then the client gets UNAVAILABLE.
	Park
	// Unavailable: the slot is between two shards, or the client knows as much as this replica. The client waits and
	// asks again.
	Unavailable

	ways
)

var wayNames = [ways]string{
	Serve: "serve", Barrier: "barrier", Redirect: "redirect", Park: "park", Unavailable: "unavailable",
}

// String formats the way for people.
func (w Way) String() string { return wayNames[w] }

// Request has the properties of a request that decide its route.
type Request struct {
	Slot shard.Slot
	// Generation is the slot's highest generation known to the client, 0 if the request names none.
	Generation uint64
	// Reads is set if the request changes nothing, and is answered without the log.
	Reads bool
	// Table is the slot's owner in the host's copy of the meta shard's table. The copy may lag.
	Table Owner
}

// Route decides how to answer a request, from the replica's applied state. For a Redirect, Route also returns the
// owner. Every redirect raises the client's generation, and a slot has finitely many generations, so redirects end.
func (s *Slots) Route(r Request) (Way, Owner) {
	x := s.Of(r.Slot)
	if x.State == Owned {
		if r.Reads && r.Generation > x.Generation {
			return Barrier, Owner{}
		}
		return Serve, Owner{}
	}
	hint := x.Hint
	if r.Table.Generation > hint.Generation && r.Table.Shard != s.shard {
		hint = r.Table
	}
	switch {
	case hint.Generation > r.Generation:
		return Redirect, hint
	case r.Generation > x.Seen:
		return Park, Owner{}
	}
	return Unavailable, Owner{}
}
