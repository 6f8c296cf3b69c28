package caller

import (
	"maps"
	"sync"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

const (
	// connGuesses is how many wrong keys of sessions a connection may send in a row, addressGuesses how many all
	// connections of an address may send. guessPause is the time until one further key is compared. A client with
	// lost keys has a few sessions; a guessing machine has connection after connection.
	connGuesses    = 8
	addressGuesses = 64
	guessPause     = time.Second
	// maxGuessers bounds the addresses with counts of wrong keys. Beyond the bound, addresses without a wait are
	// forgotten, and new addresses share one budget.
	maxGuessers = 4096
)

// Guesses counts the wrong keys of a connection, or of an address. Beyond the bound keys are refused without a
// comparison.
type Guesses struct {
	// clear is when all wrong keys are forgiven, one every guessPause.
	clear time.Time
}

// failed counts a wrong key.
func (g *Guesses) failed(now time.Time) {
	if g.clear.Before(now) {
		g.clear = now
	}
	g.clear = g.clear.Add(guessPause)
}

// wait returns the time until a key is compared again, if so many wrong keys are free; zero if a key may be compared
// now.
func (g *Guesses) wait(now time.Time, free int) time.Duration {
	if g.clear.Before(now) {
		return 0
	}
	return max(0, g.clear.Sub(now)-time.Duration(free-1)*guessPause)
}

// guessers are the addresses with wrong keys.
type guessers struct {
	mu        sync.Mutex // guards the fields below, and the counts of all Guesses
	addresses map[string]*Guesses
	others    Guesses // of the addresses beyond maxGuessers
}

// of returns the guesses of an address. The lock is held.
func (g *guessers) of(address string, now time.Time) *Guesses {
	if known := g.addresses[address]; known != nil {
		return known
	}
	if len(g.addresses) >= maxGuessers {
		maps.DeleteFunc(g.addresses, func(_ string, of *Guesses) bool { return !of.clear.After(now) })
	}
	if len(g.addresses) >= maxGuessers {
		return &g.others
	}
	if g.addresses == nil {
		g.addresses = make(map[string]*Guesses)
	}
	known := new(Guesses)
	g.addresses[address] = known
	return known
}

// wait returns the time until a key of the connection is compared again, zero if a key may be compared now.
func (g *guessers) wait(c *Guesses, address string, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	wait := c.wait(now, connGuesses)
	if len(g.addresses) == 0 {
		return wait
	}
	if of := g.addresses[address]; of != nil {
		return max(wait, of.wait(now, addressGuesses))
	}
	if len(g.addresses) >= maxGuessers {
		return max(wait, g.others.wait(now, addressGuesses))
	}
	return wait
}

// failed counts a wrong key of the connection.
func (g *guessers) failed(c *Guesses, address string, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c.failed(now)
	g.of(address, now).failed(now)
}

// CheckKey refuses the key of a session, sent over a connection with these guesses from an address, unless matches
// says that the key is right.
func (g *Gate) CheckKey(c *Guesses, address string, matches func() bool) error {
	now := g.Clock()
	wait := g.guessers.wait(c, address, now)
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
	g.guessers.failed(c, address, now)
	return &protocol.Result{Status: protocol.StatusBadSession, Message: "the session has another key"}
}
