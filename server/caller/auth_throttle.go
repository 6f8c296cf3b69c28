package caller

import (
	"maps"
	"sync"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

const (
	// connAttempts is the number of wrong session keys a connection may send in a row. addressAttempts is the number
	// for all connections from one address together. Beyond these limits, one key is compared every throttlePause. A
	// client with lost keys has few sessions; an attacker opens connection after connection.
	connAttempts    = 8
	addressAttempts = 64
	throttlePause   = time.Second
	// maxThrottled is the maximum number of addresses with wrong key counts. Above the limit, addresses without a
	// pending wait are forgotten, and new addresses share one budget.
	maxThrottled = 4096
)

// AuthThrottle counts wrong session keys from a connection or an address. Above the limit, keys are refused without a
// comparison.
type AuthThrottle struct {
	// clear is the time at which all wrong keys are forgiven; one is forgiven every throttlePause.
	clear time.Time
}

// failed counts a wrong key.
func (at *AuthThrottle) failed(now time.Time) {
	if at.clear.Before(now) {
		at.clear = now
	}
	at.clear = at.clear.Add(throttlePause)
}

// wait returns the time until the next key may be compared, with the first free wrong keys exempt. Zero means a key
// may be compared now.
func (at *AuthThrottle) wait(now time.Time, free int) time.Duration {
	if at.clear.Before(now) {
		return 0
	}
	return max(0, at.clear.Sub(now)-time.Duration(free-1)*throttlePause)
}

// addressThrottles tracks addresses that have sent wrong keys.
type addressThrottles struct {
	mu        sync.Mutex // guards the fields below, and the state in every AuthThrottle
	addresses map[string]*AuthThrottle
	others    AuthThrottle // shared by addresses beyond maxThrottled
}

// of returns an address's throttle. The lock is held.
func (at *addressThrottles) of(address string, now time.Time) *AuthThrottle {
	if known := at.addresses[address]; known != nil {
		return known
	}
	if len(at.addresses) >= maxThrottled {
		maps.DeleteFunc(at.addresses, func(_ string, of *AuthThrottle) bool { return !of.clear.After(now) })
	}
	if len(at.addresses) >= maxThrottled {
		return &at.others
	}
	if at.addresses == nil {
		at.addresses = make(map[string]*AuthThrottle)
	}
	known := new(AuthThrottle)
	at.addresses[address] = known
	return known
}

// wait returns the time until the connection's next key may be compared. Zero means a key may be compared now.
func (at *addressThrottles) wait(c *AuthThrottle, address string, now time.Time) time.Duration {
	at.mu.Lock()
	defer at.mu.Unlock()
	wait := c.wait(now, connAttempts)
	if len(at.addresses) == 0 {
		return wait
	}
	if of := at.addresses[address]; of != nil {
		return max(wait, of.wait(now, addressAttempts))
	}
	if len(at.addresses) >= maxThrottled {
		return max(wait, at.others.wait(now, addressAttempts))
	}
	return wait
}

// failed counts a wrong key from the connection.
func (at *addressThrottles) failed(c *AuthThrottle, address string, now time.Time) {
	at.mu.Lock()
	defer at.mu.Unlock()
	c.failed(now)
	at.of(address, now).failed(now)
}

// CheckKey refuses a session key from the given connection and address, unless matches confirms the key.
func (g *Gate) CheckKey(c *AuthThrottle, address string, matches func() bool) error {
	now := g.Clock()
	wait := g.addressThrottles.wait(c, address, now)
	switch {
	case wait > 0:
		return &protocol.Result{
			Status: protocol.StatusOverloaded, Message: "too many wrong session keys over the connection, or " +
				"from its address",
			WaitMillis: uint64(wait.Milliseconds()) + 1,
		}
	case matches():
		return nil
	}
	g.addressThrottles.failed(c, address, now)
	return &protocol.Result{Status: protocol.StatusBadSession, Message: "the session has another key"}
}
