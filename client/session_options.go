package client

import (
	"fmt"
	"strconv"
	"time"

	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/option"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/session"
)

// SessionOption sets how a session is started and kept.
type SessionOption func(*sessionConfig)

type sessionConfig struct {
	timeout time.Duration
	details session.Details
	onState func(State)
	renew   bool
}

// SessionTimeout sets how long the session lives at its host without a connection. Range: MinSessionTimeout to half an
// hour. Default: DefaultSessionTimeout. After a client fails, other sessions wait for the timeout until they get its
// semaphores; after an interruption, a client can reconnect within the timeout.
//
// With 0 the session ends with the connection. The client then never knows how long its leases last, so only order ids
// protect data.
func SessionTimeout(d time.Duration) SessionOption {
	return func(c *sessionConfig) { c.timeout = d }
}

// Description sets the session's description in listings.
func Description(text string) SessionOption {
	return func(c *sessionConfig) { c.details.Description = text }
}

// OnState is called after the session state has changed, in order, in its own goroutine.
func OnState(f func(State)) SessionOption {
	return func(c *sessionConfig) { c.onState = f }
}

// Recreate replaces an ended session by a new one, unless the end was a Close or the node was dropped. The old
// session's leases stay lost, and waiting calls fail with ErrSessionExpired; later calls wait for the new session.
func Recreate() SessionOption {
	return func(c *sessionConfig) { c.renew = true }
}

func newSessionConfig(options []SessionOption) (sessionConfig, error) {
	c := sessionConfig{timeout: DefaultSessionTimeout}
	option.Apply(&c, options)
	const most = protocol.MaxSessionTimeoutMillis * time.Millisecond
	switch {
	case c.timeout < 0 || c.timeout > most:
		return c, failure.BadRequest(fmt.Sprintf("the session timeout %v is out of range; use 0 to "+
			"%v", c.timeout, most))
	case c.timeout > 0 && c.timeout < MinSessionTimeout:
		return c, failure.BadRequest(fmt.Sprintf("the session timeout %v is too short to keep a session alive; "+
			"use at least %v, or 0 to end the session with its connection",
			c.timeout, MinSessionTimeout))
	}
	return c, nil
}

// State is a session state, as seen by the user.
type State int

const (
	// Attached: a host holds the session for this client.
	Attached State = iota
	// Detached: the session has no connection at the moment. The leases hold until the client's own deadline, and the
	// client tries to attach the session again.
	Detached
	// Expired: the session is over, and all its leases are lost; Session.Err says why. A session with
	// Recreate goes on with Attached.
	Expired
	// Closed: the user closed the session.
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
