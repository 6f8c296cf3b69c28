package admin

import "time"

// The limits of the admin server. It is for few clients that are well known, and must not hold the host up
// when they are not.
const (
	// maxConnections is how many there may be at once; one more is closed.
	maxConnections = 256
	headerTimeout  = 5 * time.Second
	readTimeout    = 10 * time.Second
	// writeTimeout leaves room for a profile of a minute.
	writeTimeout   = 75 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 16 << 10
	// closeTimeout is how long Close waits for requests under way.
	closeTimeout = 200 * time.Millisecond
)
