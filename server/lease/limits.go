package lease

import (
	"errors"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/shard"
)

const (
	// DefaultStallAfter is the longest that the calls of Due may be apart before the table takes it
	// that this host was standing still.
	DefaultStallAfter = 2 * time.Second
	// RetryAfter is how long sessions are left alone whose expiry came to nothing, before they are due
	// again: a shard without a quorum is not flooded with proposals.
	RetryAfter = 200 * time.Millisecond
	// maxChecks bounds the work of one Due, and so how long it holds the table's lock.
	maxChecks = 20_000
	// driftShare is the part of a grace period that Freshness leaves unused, for clocks of two hosts
	// that run at different speeds: good for a difference of 1.5 percent.
	driftShare = 64
	// catchUpShare is the share of a standstill that clients get on top of it, for what they sent meanwhile to be
	// read, and maxCatchUp the most that this is.
	catchUpShare = 4
	maxCatchUp   = 5 * time.Second
	// readerGone is how long a reader may stand still before its connections count as silent.
	readerGone = 30 * time.Second
	// readerCheck is how long to wait for a reader that has not come round.
	readerCheck = 50 * time.Millisecond
	// maxTimeout is the longest session timeout that a table takes.
	maxTimeout = shard.MaxSessionTimeout
)

// ErrConfig is what is wrong with every Config that Validate refuses.
var ErrConfig = errors.New("bad lease config")

// Config is what a Table is made of.
type Config struct {
	// Grace returns what the sessions of a node get on top of their timeout after a change of leader:
	// the largest grace period that any host may still rely on, and for a node that this host does not
	// know (yet) the largest that any node can have. It is asked for by Restore, and must not have fallen
	// since the time that is given to Restore was read. Required.
	Grace func(shard.NodeID) time.Duration
	// Halt is called where the table would do what it must not, before it panics: the host must not go on. May be nil.
	Halt func(error)
	// StallAfter is the longest that calls of Due may be apart without being taken for a stall; zero
	// stands for DefaultStallAfter.
	StallAfter time.Duration
}

// Validate checks the config. An error is an ErrConfig.
func (c Config) Validate() error {
	switch {
	case c.Grace == nil:
		return fmt.Errorf("%w: Grace is missing", ErrConfig)
	case c.StallAfter < 0:
		return fmt.Errorf("%w: StallAfter is %v; it must not be negative", ErrConfig, c.StallAfter)
	}
	return nil
}

// assert stops the host rather than let it judge from a table that is wrong which sessions are alive.
func assert(ok bool, what string) {
	if !ok {
		panic("lease: broken invariant: " + what)
	}
}

// assert is assert, by way of Config.Halt.
func (t *Table) assert(ok bool, what string) {
	if ok {
		return
	}
	if t.halt != nil {
		t.halt(errors.New("lease: broken invariant: " + what))
	}
	assert(false, what)
}
