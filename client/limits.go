package client

import "time"

// What the client does where its user does not say otherwise, and what bounds it.
const (
	// DefaultPort is the port of an address that has none.
	DefaultPort = "7420"
	// DefaultSessionTimeout is the timeout of a session that is started without one.
	DefaultSessionTimeout = 10 * time.Second
	// MinSessionTimeout is the smallest timeout of a session, other than 0, with which a client can keep it alive over the
	// loss of a connection. Of the timeout a third passes between two pings, a quarter until one that is not answered
	// gives the connection away, and a tenth is margin. What is left must be enough for one try to attach elsewhere, of
	// 50 ms: that takes 158 ms. The rest is for pauses of the two processes: 50 ms for an answer to a ping.
	MinSessionTimeout = 200 * time.Millisecond
	// DefaultDialTimeout bounds the making of a connection, up to the host's welcome.
	DefaultDialTimeout = 5 * time.Second

	// nodeGap is how long the id of a node is believed before a semaphore that is not found makes the
	// client ask whether the node is still the same.
	nodeGap = time.Second
	// farewellTime is how long Client.Close waits for its sessions to be ended at their hosts.
	farewellTime = time.Second
	// shortLived is how many sessions in a row may end soon after they began before a renewal pauses.
	shortLived = 3
	// describeTries is how often a description of several pages is begun anew because the semaphore
	// changed meanwhile.
	describeTries = 4
)
