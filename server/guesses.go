package server

import (
	"sync"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
)

const (
	// freeGuesses is how many wrong keys of sessions a connection may send in a row, and guessPause how long it takes
	// until it may send one more. A client that has lost its key has a few sessions, whoever guesses has one.
	freeGuesses = 8
	guessPause  = time.Second
)

// guesses counts the wrong keys that came over a connection. Beyond the bound its attaches and binds are refused
// before their keys are looked at.
type guesses struct {
	mu sync.Mutex
	// clear is when all wrong keys are forgiven, one every guessPause. Guarded by mu.
	clear time.Time
}

// failed counts a wrong key.
func (g *guesses) failed(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.clear.Before(now) {
		g.clear = now
	}
	g.clear = g.clear.Add(guessPause)
}

// wait returns how long it takes until a key is looked at again, zero where one is now.
func (g *guesses) wait(now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now.Add((freeGuesses - 1) * guessPause).After(g.clear) {
		return 0
	}
	return g.clear.Sub(now) - (freeGuesses-1)*guessPause
}

// tryKey compares the key that came for a session with the one that it has, and answers where they differ.
func (c *conn) tryKey(home *replica.Replica, id shard.SessionID, key []byte, request uint64, k protocol.Kind) bool {
	now := c.host.now()
	wait := c.guesses.wait(now)
	if wait == 0 && home.Machine.KeyMatches(id, key) {
		return true
	}
	refusal := protocol.Result{Status: protocol.StatusBadSession, Message: "the session has another key"}
	if wait == 0 {
		c.guesses.failed(now)
	} else {
		refusal = protocol.Result{
			Status: protocol.StatusOverloaded, Message: "too many wrong keys of sessions came over this connection",
			WaitMillis: uint64(wait.Milliseconds()) + 1,
		}
	}
	c.Fail(request, k, &refusal)
	c.flush()
	return false
}
