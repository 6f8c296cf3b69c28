package client

import "strconv"

// State is what a session is to its user.
type State int

const (
	// Attached: a host holds the session for this client.
	Attached State = iota
	// Detached: no connection carries the session at the moment. Its leases hold until the client's own
	// deadline, and the client tries to attach it again.
	Detached
	// Expired: the session is over, and all its leases are lost; Session.Err says why. A session with
	// Renew goes on with Attached.
	Expired
	// Closed: the session was closed by its user.
	Closed
)

var states = [...]string{Attached: "attached", Detached: "detached", Expired: "expired", Closed: "closed"}

// String returns the state in a word.
func (s State) String() string {
	if s >= 0 && int(s) < len(states) {
		return states[s]
	}
	return "state " + strconv.Itoa(int(s))
}
