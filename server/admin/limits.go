package admin

import "time"

// The limits of the admin server. It is for few clients that are well known, and must not hold the host up
// when they are not.
const (
	// maxConnections is how many there may be at once; one more takes the place of the one that has done nothing for
	// longest.
	maxConnections = 256
	// pageLimit is how many pages are made at once, other than those of health; well below maxConnections.
	pageLimit     = 32
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	// writeTimeout leaves room for a profile of a minute.
	writeTimeout   = 75 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 16 << 10
	// closeTimeout is how long Close waits for requests under way.
	closeTimeout = 200 * time.Millisecond
)
