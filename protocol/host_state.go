package protocol

import "strconv"

// HostState says whether a host takes part in its cluster.
type HostState uint8

const (
	// HostUnknown: the host that answers cannot tell.
	HostUnknown HostState = 0
	// HostOnline: the host serves.
	HostOnline HostState = 1
	// HostOffline: the host does not serve, and is expected back.
	HostOffline HostState = 2
	// HostExpelled: the host has left for ever.
	HostExpelled HostState = 3
)

var hostStateNames = [...]string{
	HostUnknown:  "UNKNOWN",
	HostOnline:   "ONLINE",
	HostOffline:  "OFFLINE",
	HostExpelled: "EXPELLED",
}

// String returns the state as the docs write it, or its number where it is not known here.
func (s HostState) String() string {
	if int(s) < len(hostStateNames) {
		return hostStateNames[s]
	}
	return "HOST_STATE_" + strconv.Itoa(int(s))
}
