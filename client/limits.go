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
	// minAttachPatience: that takes 158 ms. The rest is for pauses of the two processes: 50 ms for an answer to a ping.
	MinSessionTimeout = 200 * time.Millisecond
	// DefaultDialTimeout bounds the making of a connection, up to the host's welcome.
	DefaultDialTimeout = 5 * time.Second

	// dialPatience is how long a request waits for a connection that is being made before it looks for
	// another host. The making goes on.
	dialPatience = time.Second
	// openStagger is how long Open waits for one host before it tries the next one beside it.
	openStagger = 200 * time.Millisecond
	// routingPatience bounds one question for the routing.
	routingPatience = time.Second
	// routingGap is how long an answer about the routing is believed by those who ask again.
	routingGap = 10 * time.Millisecond
	// nodeGap is how long the id of a node is believed before a semaphore that is not found makes the
	// client look whether the node is still the same.
	nodeGap = time.Second

	// firstPause and maxPause bound the pause before a second try. It doubles from try to try, and a
	// random part of it is waited.
	firstPause = 25 * time.Millisecond
	maxPause   = time.Second
	// movesAtOnce is how often in a row a request follows a host's word to another host without a pause.
	movesAtOnce = 4
	// strayTries is how often a request is sent again after a host said that it does not know the
	// session here, though the session lives.
	strayTries = 8

	// maxSilence is the longest time between two pings, whatever sessions and hosts ask for.
	maxSilence = 5 * time.Second
	// minAttachPatience is the least time that a host gets to answer one try to attach.
	minAttachPatience = 50 * time.Millisecond
	// minMargin is the least time that a client gives up before its session may end.
	minMargin = 10 * time.Millisecond
	// queueSlack is how much longer than its timeout an acquire is left to a host that cannot be
	// reached, or that began to count anew.
	queueSlack = 500 * time.Millisecond
	// farewellTime is how long Client.Close waits for its sessions to be ended at their hosts.
	farewellTime = time.Second

	// stopsAtOnce is how many sessions that nobody waits for are ended at their hosts at a time.
	stopsAtOnce = 64

	// shortLives is how many sessions in a row may end soon after they began before a renewal pauses.
	shortLives = 3

	// unansweredMax is how many mutations of a session may be unanswered, or answered out of order. A
	// shard keeps no more answers for a session than a little above it.
	unansweredMax = 1000
	// inFlightMax is how many requests of a connection may be unanswered where the host does not say.
	inFlightMax = 1024
	// smallWrite is what every connection's buffer has room for while nothing is in it.
	smallWrite = 2 << 10
	// keptBuffer is the largest buffer that a connection keeps while it has no use for it.
	keptBuffer = 64 << 10
	// describeTries is how often a description of several pages is begun anew because the semaphore
	// changed meanwhile.
	describeTries = 4
)
