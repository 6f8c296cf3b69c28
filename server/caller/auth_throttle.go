package caller

import (
	"maps"
	"sync"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

const (
	// connAttempts is how many wrong keys of sessions a connection may send in a row, addressGuesses how many all
	// connections of an address may send. throttlePause is the time until one further key is compared. A client with
	// lost keys has a few sessions; a guessing machine has connection after connection.
	connAttempts    = 8
	addressAttempts = 64
	throttlePause   = time.Second
	// maxThrottled bounds the addresses with counts of wrong keys. Beyond the bound, addresses without a wait are
	// forgotten, and new addresses share one budget.
	maxThrottled = 4096
)

// AuthThrottle counts the wrong keys of a connection, or of an address. Beyond the bound keys are refused without a
// comparison.
type AuthThrottle struct {
	// clear is when all wrong keys are forgiven, one every throttlePause.
	clear time.Time
}

// failed counts a wrong key.
func (at *AuthThrottle) failed(now time.Time) {
	if at.clear.Before(now) {
		at.clear = now
	}
	at.clear = at.clear.Add(throttlePause)
}

// wait returns the time until a key is compared again, if so many wrong keys are free; zero if a key may be compared
// now.
func (at *AuthThrottle) wait(now time.Time, free int) time.Duration {
	if at.clear.Before(now) {
		return 0
	}
	return max(0, at.clear.Sub(now)-time.Duration(free-1)*throttlePause)
}

// addressThrottles are the addresses with wrong keys.
type addressThrottles struct {
	mu        sync.Mutex // guards the fields below, and the counts of all AuthThrottle
	addresses map[string]*AuthThrottle
	others    AuthThrottle // of the addresses beyond maxThrottled
}

// of returns the throttle of an address. The lock is held.
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

// wait returns the time until a key of the connection is compared again, zero if a key may be compared now.
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

// failed counts a wrong key of the connection.
func (at *addressThrottles) failed(c *AuthThrottle, address string, now time.Time) {
	at.mu.Lock()
	defer at.mu.Unlock()
	c.failed(now)
	at.of(address, now).failed(now)
}

// CheckKey refuses the key of a session, sent over a connection with these guesses from an address, unless matches
// says that the key is right.
func (g *Gate) CheckKey(c *AuthThrottle, address string, matches func() bool) error {
	now := g.Clock()
	wait := g.addressThrottles.wait(c, address, now)
	switch {
	case wait > 0:
		return &protocol.Result{
			Status: protocol.StatusOverloaded, Message: "too many wrong keys of sessions came over this connection, " +
				"or from its address",
			WaitMillis: uint64(wait.Milliseconds()) + 1,
		}
	case matches():
		return nil
	}
	g.addressThrottles.failed(c, address, now)
	return &protocol.Result{Status: protocol.StatusBadSession, Message: "the session has another key"}
}
