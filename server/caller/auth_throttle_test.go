package caller

import (
	"fmt"
	"testing"
	"time"
)

// TestWrongKeysOverManyConnectionsAreThrottled: new connections do not help an attacker who guesses keys, and clients
// at other addresses are not delayed.
func TestWrongKeysOverManyConnectionsAreThrottled(t *testing.T) {
	var g addressThrottles
	now := time.Now()
	type client struct {
		AuthThrottle
		address string
	}
	connect := func(address string) *client { return &client{address: address} }
	// guess returns how many keys are compared.
	guess := func(c *client, keys int) (compared int) {
		for range keys {
			if g.wait(&c.AuthThrottle, c.address, now) == 0 {
				compared++
				g.failed(&c.AuthThrottle, c.address, now)
			}
		}
		return compared
	}
	if n := guess(connect("10.0.0.1"), 100); n != connAttempts {
		t.Errorf("one connection: %d keys were compared, %d are free", n, connAttempts)
	}
	compared := connAttempts
	for range 100 {
		compared += guess(connect("10.0.0.1"), connAttempts)
	}
	if compared != addressAttempts {
		t.Errorf("a hundred connections: %d keys were compared, %d are free", compared, addressAttempts)
	}
	if wait := g.wait(&AuthThrottle{}, "10.0.0.2", now); wait != 0 {
		t.Errorf("a client of another address waits for %v", wait)
	}
	if wait := g.wait(&AuthThrottle{}, "10.0.0.1", now); wait <= 0 || wait > throttlePause {
		t.Errorf("a key from the address of the guesses is compared in %v", wait)
	}
	now = now.Add(throttlePause)
	if n := guess(connect("10.0.0.1"), 100); n != 1 {
		t.Errorf("after %v: %d keys were compared", throttlePause, n)
	}
}

// TestThrottledAddressesAreBounded: the host stores a bounded number of addresses that sent wrong keys, and still
// throttles the rest.
func TestThrottledAddressesAreBounded(t *testing.T) {
	var g addressThrottles
	now := time.Now()
	compared := 0
	for i := range 10 * maxThrottled {
		c, address := &AuthThrottle{}, fmt.Sprintf("10.0.%d.%d", i>>8, i&255)
		if i >= 1<<16 {
			break
		}
		if g.wait(c, address, now) == 0 {
			compared++
			g.failed(c, address, now)
		}
	}
	if len(g.addresses) > maxThrottled {
		t.Errorf("%d addresses are kept", len(g.addresses))
	}
	if most := maxThrottled + addressAttempts; compared != most {
		t.Errorf("%d keys were compared; %d are free", compared, most)
	}
	now = now.Add(time.Hour)
	g.failed(&AuthThrottle{}, "10.9.9.9", now)
	if len(g.addresses) != 1 {
		t.Errorf("%d addresses are kept that guessed an hour ago", len(g.addresses)-1)
	}
}
