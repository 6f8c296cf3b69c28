package server

import (
	"maps"
	"sync"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
)

const (
	// connGuesses is how many wrong keys of sessions a connection may send in a row, addressGuesses how many all
	// connections of an address may. guessPause is how long it takes until one more is compared. A client that has
	// lost its keys has a few sessions; a machine that guesses has one connection after the other.
	connGuesses    = 8
	addressGuesses = 64
	guessPause     = time.Second
	// maxGuessers bounds the addresses whose wrong keys are counted. Where there are more, those without a wait are
	// forgotten, and new ones share one budget.
	maxGuessers = 4096
)

// guesses counts the wrong keys that came over a connection, or from an address. Beyond the bound keys are refused
// before they are compared.
type guesses struct {
	// clear is when all wrong keys are forgiven, one every guessPause.
	clear time.Time
}

// failed counts a wrong key.
func (g *guesses) failed(now time.Time) {
	if g.clear.Before(now) {
		g.clear = now
	}
	g.clear = g.clear.Add(guessPause)
}

// wait returns how long it takes until a key is compared again, where so many are free; zero where one is now.
func (g *guesses) wait(now time.Time, free int) time.Duration {
	if g.clear.Before(now) {
		return 0
	}
	return max(0, g.clear.Sub(now)-time.Duration(free-1)*guessPause)
}

// guessers are the addresses from which wrong keys came.
type guessers struct {
	mu        sync.Mutex // guards what follows, and the guesses of connections
	addresses map[string]*guesses
	others    guesses // of those that are more than maxGuessers
}

// of returns the guesses of an address. The lock is held.
func (g *guessers) of(address string, now time.Time) *guesses {
	if known := g.addresses[address]; known != nil {
		return known
	}
	if len(g.addresses) >= maxGuessers {
		maps.DeleteFunc(g.addresses, func(_ string, of *guesses) bool { return !of.clear.After(now) })
	}
	if len(g.addresses) >= maxGuessers {
		return &g.others
	}
	if g.addresses == nil {
		g.addresses = make(map[string]*guesses)
	}
	known := new(guesses)
	g.addresses[address] = known
	return known
}

// wait returns how long it takes until a key of the connection is compared again, zero where one is now.
func (g *guessers) wait(c *conn, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	wait := c.guesses.wait(now, connGuesses)
	if len(g.addresses) == 0 {
		return wait
	}
	if of := g.addresses[c.source.Address()]; of != nil {
		return max(wait, of.wait(now, addressGuesses))
	}
	if len(g.addresses) >= maxGuessers {
		return max(wait, g.others.wait(now, addressGuesses))
	}
	return wait
}

// failed counts a wrong key of the connection.
func (g *guessers) failed(c *conn, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c.guesses.failed(now)
	g.of(c.source.Address(), now).failed(now)
}

// tryKey compares the key that came for a session with the one that it has, and answers where they differ.
func (c *conn) tryKey(home *replica.Replica, id shard.SessionID, key []byte, request uint64, k protocol.Kind) bool {
	now := c.host.now()
	wait := c.host.guessers.wait(c, now)
	if wait == 0 && home.Machine.KeyMatches(id, key) {
		return true
	}
	refusal := protocol.Result{Status: protocol.StatusBadSession, Message: "the session has another key"}
	if wait == 0 {
		c.host.guessers.failed(c, now)
	} else {
		refusal = protocol.Result{
			Status: protocol.StatusOverloaded, Message: "too many wrong keys of sessions came over this connection, " +
				"or from its address",
			WaitMillis: uint64(wait.Milliseconds()) + 1,
		}
	}
	c.Fail(request, k, &refusal)
	c.flush()
	return false
}
